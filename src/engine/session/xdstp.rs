//! Structured resource names (gRFC A47): parts, glob collections and their members.

/// Whether the name is an `xdstp:` name (docs/protocol.md#k-02).
pub(crate) fn is_structured(name: &str) -> bool {
    name.starts_with("xdstp:")
}

/// Splits a name without its directives into path and context parameters.
fn split(name: &str) -> (&str, &str) {
    let name = name.split_once('#').map_or(name, |(name, _)| name);
    name.split_once('?').unwrap_or((name, ""))
}

/// Whether the name is a glob collection: its path ends in `/*` (docs/protocol.md#k-18).
pub(crate) fn is_glob(name: &str) -> bool {
    is_structured(name) && split(name).0.ends_with("/*")
}

/// Whether `name` is a member of `glob`: below its path, with equal context parameters in any order
/// (docs/protocol.md#k-21). `/*` spans several segments, which the protocol leaves open
/// (docs/protocol.md#k-19).
pub(crate) fn glob_matches(glob: &str, name: &str) -> bool {
    if !is_glob(glob) || !is_structured(name) {
        return false;
    }
    let ((dir, wanted), (path, given)) = (split(glob), split(name));
    let below = dir.strip_suffix('*').and_then(|dir| path.strip_prefix(dir));
    below.is_some_and(|rest| !rest.is_empty() && rest != "*") && parameters(wanted) == parameters(given)
}

fn parameters(text: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = text.split('&').filter(|part| !part.is_empty()).collect();
    parts.sort_unstable();
    parts
}

/// Returns the canonical form of a name with several context parameters (docs/protocol.md#k-08).
pub(crate) fn reordered(name: &str) -> Option<String> {
    let several = is_structured(name) && split(name).1.contains('&');
    several.then(|| Name::parse(name).map(|name| name.canonical())).flatten()
}

/// Returns the resource type in the name: `envoy.config.listener.v3.Listener`
/// (docs/protocol.md#k-04).
pub(crate) fn resource_type(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("xdstp:")?;
    let path = match rest.strip_prefix("//") {
        Some(rest) => rest.split_once('/')?.1,
        None => rest.trim_start_matches('/'),
    };
    split(path).0.split('/').next().filter(|kind| !kind.is_empty())
}

/// The parts of a structured name, as sent (docs/protocol.md#k-02).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name<'a> {
    pub(crate) authority: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) id: &'a str,
    /// Context parameters, in order.
    pub(crate) context: Vec<(&'a str, &'a str)>,
    /// The part after `#`.
    pub(crate) directives: Option<&'a str>,
}

impl<'a> Name<'a> {
    /// Parses a name; `None` if it has no type, no id or no path.
    pub(crate) fn parse(name: &'a str) -> Option<Name<'a>> {
        let rest = name.strip_prefix("xdstp:")?;
        let (rest, directives) = match rest.split_once('#') {
            Some((rest, directives)) => (rest, Some(directives)),
            None => (rest, None),
        };
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = match path.strip_prefix("//") {
            Some(path) => path.split_once('/')?,
            None => ("", path.strip_prefix('/').unwrap_or(path)),
        };
        let (kind, id) = path.split_once('/')?;
        let odd = |text: &str| text.chars().any(|c| c.is_whitespace() || c.is_control());
        if kind.is_empty() || id.is_empty() || odd(rest) {
            return None;
        }
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let context = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, ""))).collect();
        Some(Name { authority, kind, id, context, directives })
    }

    /// Returns the canonical form: parameters in order, no directives (docs/protocol.md#k-08).
    pub(crate) fn canonical(&self) -> String {
        let mut context = self.context.clone();
        context.sort_unstable();
        let context: Vec<String> = context.iter().map(|(key, value)| format!("{key}={value}")).collect();
        format!("xdstp://{}/{}/{}?{}", self.authority, self.kind, self.id, context.join("&"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glob_matches_names_below_path_with_equal_parameters() {
        let glob = "xdstp://a/envoy.config.listener.v3.Listener/mine/*?x=1&y=2";
        assert!(is_glob(glob));
        for (name, is) in [
            ("xdstp://a/envoy.config.listener.v3.Listener/mine/foo?y=2&x=1", true),
            ("xdstp://a/envoy.config.listener.v3.Listener/mine/foo/bar?x=1&y=2", true),
            ("xdstp://a/envoy.config.listener.v3.Listener/mine/foo?x=1", false),
            ("xdstp://a/envoy.config.listener.v3.Listener/other/foo?x=1&y=2", false),
            (glob, false),
            ("foo", false),
        ] {
            assert_eq!(glob_matches(glob, name), is, "{name}");
        }
    }

    #[test]
    fn parses_name_into_parts() {
        let name = Name::parse("xdstp://a/T/x/y?k=v&b=#alt=z").expect("a name");
        assert_eq!((name.authority, name.kind, name.id), ("a", "T", "x/y"));
        assert_eq!((name.context.as_slice(), name.directives), (&[("k", "v"), ("b", "")][..], Some("alt=z")));
        assert_eq!(name.canonical(), "xdstp://a/T/x/y?b=&k=v");
        for bad in ["xdstp://a", "xdstp://a/T", "xdstp://a/T/", "xdstp:///", "xdstp://a/T/x y", "plain"] {
            assert_eq!(Name::parse(bad), None, "{bad}");
        }
        assert_eq!(Name::parse("xdstp:/T/x").map(|name| name.authority), Some(""));
    }

    #[test]
    fn resource_type_is_first_segment() {
        assert_eq!(resource_type("xdstp://a/T/id?x=1"), Some("T"));
        assert_eq!(resource_type("xdstp:///T/id"), Some("T"));
        assert_eq!(resource_type("xdstp:T/id"), Some("T"));
        assert_eq!(resource_type("xdstp://a"), None);
        assert_eq!(resource_type("plain"), None);
    }
}
