use xdscope_wire::xdstp::Name;

/// The parts of an `xdstp` name as sent (docs/protocol.md#k-02).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameParts {
    /// The authority, which may be empty.
    pub authority: String,
    /// The resource type: `envoy.config.listener.v3.Listener`.
    pub resource_type: String,
    /// The rest of the path.
    pub id: String,
    /// Context parameters, in order.
    pub parameters: Vec<(String, String)>,
    /// Directives: `alt=…`, `entry=…`.
    pub directives: Vec<String>,
}

impl NameParts {
    /// Returns the parts of a name; `None` if it is not an `xdstp` name with a type and an id.
    pub fn parse(name: &str) -> Option<NameParts> {
        Name::parse(name).as_ref().map(NameParts::from)
    }
}

impl From<&Name<'_>> for NameParts {
    fn from(name: &Name<'_>) -> NameParts {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let directives = name.directives.into_iter().flat_map(|all| all.split(','));
        NameParts {
            authority: name.authority.to_owned(),
            resource_type: name.kind.to_owned(),
            id: name.id.to_owned(),
            parameters: name.context.iter().map(owned).collect(),
            directives: directives.filter(|one| !one.is_empty()).map(str::to_owned).collect(),
        }
    }
}
