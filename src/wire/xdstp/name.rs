//! Structured resource names (gRFC A47): parts, glob collections and their members.

use std::borrow::Cow;
use std::collections::HashMap;

use super::locator::decode_percent;
use crate::content::Catalog;
use crate::event::Sym;

/// Whether the name is an `xdstp:` name (docs/protocol.md#k-02).
pub fn is_structured(name: &str) -> bool {
    name.starts_with("xdstp:")
}

/// Whether the name begins like an `xdstp:` name, and does not have its form
/// (docs/protocol.md#k-02).
pub fn is_malformed(name: &str) -> bool {
    is_structured(name) && (Name::parse(name).is_none() || has_bad_escape(name))
}

/// Whether a percent sign is not followed by two hexadecimal digits.
fn has_bad_escape(name: &str) -> bool {
    let is_hex = |digit: Option<char>| digit.is_some_and(|digit| digit.is_ascii_hexdigit());
    name.split('%').skip(1).any(|rest| {
        let mut digits = rest.chars();
        !(is_hex(digits.next()) && is_hex(digits.next()))
    })
}

/// Splits a name without its directives into path and context parameters.
fn split(name: &str) -> (&str, &str) {
    let name = name.split_once('#').map_or(name, |(name, _)| name);
    name.split_once('?').unwrap_or((name, ""))
}

/// Whether the name is a glob collection: its path ends in `/*` (docs/protocol.md#k-18).
pub fn is_glob(name: &str) -> bool {
    is_structured(name) && split(name).0.ends_with("/*")
}

/// Whether `name` is a member of `glob`: below its path, with equal context parameters in any order
/// (docs/protocol.md#k-21). `/*` spans several segments, which the protocol leaves open
/// (docs/protocol.md#k-19).
pub fn glob_matches(glob: &str, name: &str) -> bool {
    if !is_glob(glob) || !is_structured(name) {
        return false;
    }
    if glob.contains('%') || name.contains('%') || !has_authority(glob) || !has_authority(name) {
        let names = Name::parse(glob).zip(Name::parse(name));
        return names.is_some_and(|(glob, name)| is_below(&glob.canonical(), &name.canonical()));
    }
    is_below(glob, name)
}

/// Whether an authority, which may be empty, is written before the path.
fn has_authority(name: &str) -> bool {
    name.starts_with("xdstp://")
}

/// Whether a name is a member of a glob by their text.
fn is_below(glob: &str, name: &str) -> bool {
    let ((dir, wanted), (path, given)) = (split(glob), split(name));
    let below = dir.strip_suffix('*').and_then(|dir| path.strip_prefix(dir));
    below.is_some_and(|rest| !rest.is_empty() && rest != "*") && parameters(wanted) == parameters(given)
}

fn parameters(text: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = text.split('&').filter(|part| !part.is_empty()).collect();
    parts.sort_unstable();
    parts
}

/// Returns the canonical form of a structured name that is not written in canonical form
/// (docs/protocol.md#k-08).
pub fn respelled(name: &str) -> Option<String> {
    let may_differ = is_structured(name) && (!has_authority(name) || name.contains(['?', '%', '#']));
    if !may_differ {
        return None;
    }
    let canonical = Name::parse(name)?.canonical();
    (canonical != name).then_some(canonical)
}

/// Returns the symbol of a resource name that the source has, in any spelling.
pub fn named(catalog: &Catalog, text: &str) -> Option<Sym> {
    let strings = catalog.strings();
    let known = strings.find(text).map(|name| catalog.first_spelling(name));
    // A spelling that only references have stands for a name that messages spell in another way.
    if !is_structured(text) || known.is_some_and(|name| catalog.is_spelled(name)) {
        return known;
    }
    let canonical = respelled(text).and_then(|canonical| strings.find(&canonical));
    canonical.map(|name| catalog.first_spelling(name)).or(known)
}

/// Returns the symbol of the canonical form of a resource name, if the source has it.
pub fn canonical_name(catalog: &Catalog, name: Sym) -> Sym {
    let canonical = respelled(catalog.text(name));
    canonical.and_then(|canonical| catalog.strings().find(&canonical)).unwrap_or(name)
}

/// Notes the spellings of the names in a message (docs/protocol.md#k-08).
///
/// The spelling of the first message stands for all.
pub fn note_spellings(catalog: &mut Catalog, names: impl IntoIterator<Item = Sym>) {
    for name in names {
        if !is_structured(catalog.text(name)) || !catalog.note_spelled(name) {
            continue;
        }
        let Some(canonical) = respelled(catalog.text(name)) else { continue };
        let canonical = catalog.intern(&canonical);
        let known = catalog.first_spelling(canonical);
        if known != canonical || catalog.is_spelled(canonical) {
            catalog.note_spelling(name, known);
        } else {
            catalog.note_canonical(canonical, name);
        }
    }
}

/// Returns the resource type in the name: `envoy.config.listener.v3.Listener`
/// (docs/protocol.md#k-04).
pub fn resource_type(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("xdstp:")?;
    let path = match rest.strip_prefix("//") {
        Some(rest) => rest.split_once('/')?.1,
        None => rest.trim_start_matches('/'),
    };
    split(path).0.split('/').next().filter(|kind| !kind.is_empty())
}

/// The parts of a structured name, as sent (docs/protocol.md#k-02).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name<'a> {
    /// The authority; empty if the name has none.
    pub authority: &'a str,
    /// The resource type, such as `envoy.config.cluster.v3.Cluster`.
    pub kind: &'a str,
    /// The path after the type.
    pub id: &'a str,
    /// Context parameters, in order.
    pub context: Vec<(&'a str, &'a str)>,
    /// The part after `#`.
    pub directives: Option<&'a str>,
}

impl<'a> Name<'a> {
    /// Parses a name; `None` if it has no type, no id or no path.
    pub fn parse(name: &'a str) -> Option<Name<'a>> {
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

    /// Returns the resource type without percent-encoding.
    pub fn decoded_kind(&self) -> Cow<'a, str> {
        decoded(self.kind)
    }

    /// Returns the keys and values of the context parameters without percent-encoding.
    pub fn parameters(&self) -> impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)> {
        self.context.iter().map(|&(key, value)| (decoded(key), decoded(value)))
    }

    /// Whether a context parameter has the reserved prefix `xds.`, and is not one of those that
    /// type-specific code adds (docs/protocol.md#k-09).
    pub fn has_reserved_key(&self) -> bool {
        self.parameters().any(|(key, _)| key.starts_with("xds.") && !key.starts_with("xds.resource."))
    }

    /// Returns the canonical form: parameters in order, no directives, only the characters
    /// percent-encoded that would otherwise be delimiters (docs/protocol.md#k-08).
    pub fn canonical(&self) -> String {
        let pairs = self.context.iter();
        let mut context: Vec<String> =
            pairs.map(|(key, value)| format!("{}={}", encoded(key, "&="), encoded(value, "&="))).collect();
        context.sort_unstable();
        let (authority, kind) = (encoded(self.authority, "/"), encoded(self.kind, "/"));
        let mut name = format!("xdstp://{authority}/{kind}/{}", encoded(self.id, ""));
        if !context.is_empty() {
            name.push('?');
            name.push_str(&context.join("&"));
        }
        name
    }
}

/// Decodes a component; one with a bad escape stays as written.
fn decoded(text: &str) -> Cow<'_, str> {
    match decode_percent(text) {
        Some(decoded) if text.contains('%') => Cow::Owned(decoded),
        _ => Cow::Borrowed(text),
    }
}

/// Decodes a component and encodes its delimiters again: those of every component, and `also`.
///
/// An encoded asterisk stays encoded: only a plain one makes a glob.
fn encoded<'a>(text: &'a str, also: &str) -> Cow<'a, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let starless = text.replace("%2a", "%252A").replace("%2A", "%252A");
    let Some(decoded) = decode_percent(&starless) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len());
    for (at, c) in decoded.char_indices() {
        let is_star = c == '%' && decoded.get(at..at + 3) == Some("%2A");
        if !is_star && ("%?#".contains(c) || also.contains(c) || c.is_whitespace() || c.is_control()) {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                out.push_str(&format!("%{byte:02X}"));
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Authority, type and id of a name; for a glob the part of the id before the asterisk.
type NamePath<'a> = (&'a str, &'a str, &'a str);

/// The context parameters of a name, sorted.
type Parameters<'a> = Vec<(&'a str, &'a str)>;

/// Returns those of the names that are `wanted` with other context parameters, as such or as
/// members of a glob (docs/protocol.md#k-17, docs/protocol.md#k-21).
pub fn with_other_context(catalog: &Catalog, wanted: impl Iterator<Item = Sym>, names: &[Sym]) -> Vec<Sym> {
    if names.is_empty() {
        return Vec::new();
    }
    let parsed = |name: Sym| {
        let mut name = Name::parse(catalog.text(name))?;
        name.context.sort_unstable();
        Some(name)
    };
    // By path, whether of a glob or not: the parameters, until two names of one path differ.
    let mut by_path: HashMap<(NamePath<'_>, bool), Option<Parameters<'_>>> = HashMap::new();
    for name in wanted {
        let Some(own) = parsed(name) else { continue };
        let is_glob = is_glob(catalog.text(name));
        let id = if is_glob { own.id.trim_end_matches('*') } else { own.id };
        let known = by_path.entry(((own.authority, own.kind, id), is_glob));
        known
            .and_modify(|known| {
                if known.as_ref().is_some_and(|known| *known != own.context) {
                    *known = None;
                }
            })
            .or_insert(Some(own.context));
    }
    let differs = |name: &Sym| {
        let Some(own) = parsed(*name) else { return false };
        let above = own.id.match_indices('/').map(|(at, _)| own.id.split_at(at + 1));
        let above = above.filter(|(_, rest)| !rest.is_empty()).map(|(dir, _)| (dir, true));
        std::iter::once((own.id, false)).chain(above).any(|(id, is_glob)| {
            let known = by_path.get(&((own.authority, own.kind, id), is_glob));
            known.is_some_and(|known| known.as_ref() != Some(&own.context))
        })
    };
    names.iter().copied().filter(differs).collect()
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
    fn canonical_form_is_equal_for_all_spellings() {
        for (spelling, canonical) in [
            ("xdstp://a/T/x?b=2&a=1", "xdstp://a/T/x?a=1&b=2"),
            ("xdstp://a/T/x?", "xdstp://a/T/x"),
            ("xdstp://a/T/x#alt=xdstp://b/T/y", "xdstp://a/T/x"),
            ("xdstp:/T/x", "xdstp:///T/x"),
            ("xdstp://a/T/x%2Fy%3az", "xdstp://a/T/x/y:z"),
            ("xdstp://a/T/%78?k=%61", "xdstp://a/T/x?k=a"),
            ("xdstp://a/T/x?k=%26%3d", "xdstp://a/T/x?k=%26%3D"),
            ("xdstp://a/T/x/%2a", "xdstp://a/T/x/%2A"),
            ("xdstp://a/T/100%25", "xdstp://a/T/100%25"),
            ("xdstp://a/T/x?y=%zz", "xdstp://a/T/x?y=%zz"),
        ] {
            let found = Name::parse(spelling).map(|name| name.canonical());
            assert_eq!(found.as_deref(), Some(canonical), "{spelling}");
            assert_eq!(respelled(spelling).is_some(), spelling != canonical, "{spelling}");
            assert_eq!(respelled(canonical), None, "{canonical}");
        }
        assert!(glob_matches("xdstp://a/T/my%2Ddir/*?k=%61", "xdstp://a/T/my-dir/x?k=a"));
        assert!(!glob_matches("xdstp://a/T/dir/%2A", "xdstp://a/T/dir/x"));
        assert!(glob_matches("xdstp:/T/dir/*", "xdstp:///T/dir/x"));
    }

    #[test]
    fn first_spelling_stands_for_all() {
        let mut catalog = Catalog::in_memory();
        let spellings = ["xdstp://a/T/x?b=2&a=1", "xdstp://a/T/x?a=1&b=2", "xdstp://a/T/x?a=1&b=%32"];
        let names = spellings.map(|name| {
            let name = catalog.intern(name);
            note_spellings(&mut catalog, [name]);
            name
        });
        note_spellings(&mut catalog, names);
        for name in &names {
            assert_eq!(catalog.first_spelling(*name), names[0]);
        }
        // The catalog of a recording has the names of later messages.
        let mut recorded = Catalog::in_memory();
        let all = spellings.map(|name| recorded.intern(name));
        for name in all {
            note_spellings(&mut recorded, [name]);
        }
        assert_eq!(all.map(|name| recorded.first_spelling(name)), [all[0]; 3]);
        let plain = catalog.intern("xdstp://a/T/x");
        note_spellings(&mut catalog, [plain]);
        assert_eq!(catalog.first_spelling(plain), plain);
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
