//! `xdstp:` names in URLs that users, bootstraps and resources state.

use super::{Name, is_glob, locator};
use crate::event::{Kind, TYPE_PREFIX, TypeUrl};

/// Nesting of alternatives that is kept.
const MAX_ALTERNATIVE_DEPTH: usize = 4;

/// A name that cannot be subscribed to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// Not an `xdstp:` URL.
    #[error("`{0}` is not `xdstp://[AUTHORITY]/TYPE/ID[?PARAMETERS][#DIRECTIVES]`")]
    Malformed(String),
    /// A context parameter with a reserved prefix.
    #[error("`{0}`: parameters that begin with `xds.` are reserved, except `xds.resource.`")]
    Reserved(String),
    /// An unknown or repeated directive.
    #[error("`{0}`: directives are `alt=` and `entry=`, each once")]
    Directive(String),
    /// `*` within a path.
    #[error("`{0}`: `*` is allowed only at the end of a path")]
    Glob(String),
    /// A glob, which only delta streams support.
    #[error("`{0}`: globs are not supported in SotW")]
    GlobInSotw(String),
    /// A name of another type.
    #[error("`{0}` has another type than the subscription")]
    Type(String),
}

/// A structured name, parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructuredName {
    /// The name on the wire: sorted parameters, no directives (docs/protocol.md#k-08).
    pub name: String,
    /// The authority; empty if the name has none.
    pub authority: String,
    /// Type of the resource; for a list the type of its members.
    pub type_url: TypeUrl,
    /// Whether the name is a glob collection.
    pub glob: bool,
    /// Names to use while the source is unreachable, best first (docs/protocol.md#k-29).
    pub alternatives: Vec<StructuredName>,
}

impl StructuredName {
    /// Parses a URL from a user or a bootstrap.
    ///
    /// # Errors
    ///
    /// The URL is malformed, or has reserved parameters, wrong directives or a misplaced `*`.
    pub fn configured(url: &str) -> Result<StructuredName, BadName> {
        let wish = StructuredName::read(url, MAX_ALTERNATIVE_DEPTH)
            .ok_or_else(|| BadName::Malformed(url.to_owned()))?;
        let name = Name::parse(url).ok_or_else(|| BadName::Malformed(url.to_owned()))?;
        if name.has_reserved_key() {
            return Err(BadName::Reserved(url.to_owned()));
        }
        let keys = directives(url).map(|directive| directive.split_once('=').unwrap_or((directive, "")).0);
        let keys: Vec<&str> = keys.collect();
        let once = |key: &&str| keys.iter().filter(|other| other == &key).count() == 1;
        if !keys.iter().all(|key| matches!(*key, "alt" | "entry") && once(key)) {
            return Err(BadName::Directive(url.to_owned()));
        }
        let stars = name.id.split('/').filter(|segment| *segment == "*").count();
        if stars > usize::from(wish.glob) {
            return Err(BadName::Glob(url.to_owned()));
        }
        Ok(wish)
    }

    /// Parses a URL in a resource. Errors are the server's, so a malformed part is ignored.
    pub fn found(url: &str) -> Option<StructuredName> {
        StructuredName::read(url, MAX_ALTERNATIVE_DEPTH)
    }

    fn read(url: &str, depth: usize) -> Option<StructuredName> {
        let name = Name::parse(url)?;
        let item = name.kind.strip_suffix("Collection").unwrap_or(name.kind);
        let alternative = directives(url)
            .find_map(|directive| directive.strip_prefix("alt="))
            .and_then(locator::decode_percent)
            .filter(|_| depth > 0)
            .and_then(|url| StructuredName::read(&url, depth - 1));
        let mut alternatives: Vec<StructuredName> = alternative.into_iter().collect();
        if let Some(first) = alternatives.first_mut() {
            let more = std::mem::take(&mut first.alternatives);
            alternatives.extend(more);
        }
        Some(StructuredName {
            name: wire_name(&name),
            authority: name.authority.to_owned(),
            type_url: TypeUrl::new(format!("{TYPE_PREFIX}{item}")),
            glob: is_glob(url),
            alternatives,
        })
    }

    /// Returns the kind of the type, if known.
    pub fn kind(&self) -> Option<Kind> {
        Kind::of_type_url(self.type_url.as_str()).map(|(kind, _)| kind)
    }
}

/// Returns a name as it is sent: with sorted parameters, and without directives.
pub fn wire_name(name: &Name<'_>) -> String {
    let mut context = name.context.clone();
    context.sort_unstable();
    let context: Vec<String> = context.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let mark = if context.is_empty() { "" } else { "?" };
    format!("xdstp://{}/{}/{}{mark}{}", name.authority, name.kind, name.id, context.join("&"))
}

/// Returns the type and the name on the wire of a structured URL; `None` if it is not one.
pub fn parse_subscription(url: &str) -> Option<(TypeUrl, String)> {
    StructuredName::found(url).map(|wish| (wish.type_url, wish.name))
}

fn directives(url: &str) -> impl Iterator<Item = &str> {
    let fragment = url.split_once('#').map_or("", |(_, fragment)| fragment);
    fragment.split(',').filter(|directive| !directive.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const L: &str = "envoy.config.listener.v3.Listener";

    #[test]
    fn sends_sorted_parameters_without_directives() {
        let wish = StructuredName::configured(&format!(
            "xdstp://a/{L}/x/y?b=2&a=1#entry=e,alt=xdstp://c/{L}/z%3Fk=v"
        ));
        let wish = wish.expect("a valid name");
        assert_eq!(wish.name, format!("xdstp://a/{L}/x/y?a=1&b=2"));
        assert_eq!((wish.authority.as_str(), wish.kind(), wish.glob), ("a", Some(Kind::Lds), false));
        assert_eq!(wish.alternatives[0].name, format!("xdstp://c/{L}/z?k=v"));
        let list = StructuredName::configured(&format!("xdstp:///{L}Collection/foo")).expect("a list");
        assert_eq!((list.kind(), list.authority.as_str()), (Some(Kind::Lds), ""));
        assert_eq!(list.name, format!("xdstp:///{L}Collection/foo"));
        assert!(StructuredName::configured(&format!("xdstp://a/{L}/x/*?k=v")).expect("a glob").glob);
    }

    /// docs/protocol.md#k-08, docs/protocol.md#k-27: a locator has its parts decoded.
    #[test]
    fn names_of_locators_equal_their_urls() {
        for id in ["100%25", "a%2Fb", "a%23b", "a%3Fb", "a%20b", "caf%C3%A9", "a:b/c"] {
            let url = format!("xdstp://a/{L}/{id}?k=x%26y%3Dz");
            let own = StructuredName::configured(&url).expect("a valid name");
            assert_eq!(own.name, url, "sent as written");
            let bytes = locator::encode(&url).expect("a locator");
            let redirect = locator::uri(&bytes).expect("a URL");
            let target = StructuredName::found(&redirect).expect("a valid name");
            let canonical = |name: &str| Name::parse(name).expect("a name").canonical();
            assert_eq!(canonical(&target.name), canonical(&own.name), "{id}");
        }
        assert!(StructuredName::configured(&format!("xdstp://a/{L}/a b")).is_err(), "a space is encoded");
    }

    #[test]
    fn reports_why_name_is_refused() {
        let refused = |url: String| StructuredName::configured(&url).expect_err("an invalid name");
        assert!(matches!(refused("xdstp://a".into()), BadName::Malformed(_)));
        assert!(matches!(refused(format!("xdstp://a/{L}/x?xds.foo=1")), BadName::Reserved(_)));
        assert!(matches!(refused(format!("xdstp://a/{L}/x?%78ds%2Efoo=1")), BadName::Reserved(_)));
        assert!(matches!(refused(format!("xdstp://a/{L}/x#what=1")), BadName::Directive(_)));
        assert!(matches!(refused(format!("xdstp://a/{L}/x#entry=a,entry=b")), BadName::Directive(_)));
        assert!(matches!(refused(format!("xdstp://a/{L}/x/*/y")), BadName::Glob(_)));
        assert!(
            StructuredName::configured(&format!("xdstp://a/{L}/x?xds.resource.vip=1")).is_ok(),
            "docs/protocol.md#k-09"
        );
    }

    #[test]
    fn limits_nested_alternatives() {
        let mut url = format!("xdstp://a/{L}/x");
        for _ in 0..40 {
            url = format!("xdstp://a/{L}/x#alt={}", url.replace('%', "%25").replace('#', "%23"));
        }
        assert_eq!(
            StructuredName::configured(&url).expect("a valid name").alternatives.len(),
            MAX_ALTERNATIVE_DEPTH
        );
    }
}
