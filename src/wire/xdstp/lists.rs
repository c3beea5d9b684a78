//! Readers for redirects and list collections.
//!
//! `docs/protocol.md#k-11` and the following rows.

use super::locator;
use crate::discovery::fields::any;
use crate::event::Sym;
use crate::pb::{Fields, WireField, rebuild};
use crate::xdstp::Name;

/// A structured name and its parts.
pub type ParsedName<'a> = (Sym, Name<'a>);

/// The type of the payload of a redirect (docs/protocol.md#k-27).
pub const LOCATOR: &str = "type.googleapis.com/xds.core.v3.ResourceLocator";

/// A `ResourceLocator`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locator {
    /// The URI with its directives.
    pub uri: String,
    /// Whether a directive is unknown or repeated.
    pub bad_directive: bool,
    /// Whether the locator is a string, as in the original proposal (`docs/protocol.md#l-24`).
    pub is_text: bool,
}

impl Locator {
    /// Reads a redirect. Returns `None` if the bytes are not a locator.
    pub fn read(bytes: &[u8]) -> Option<Locator> {
        match locator::text(bytes) {
            Some(text) => Some(Locator::proposed(text)),
            None => Locator::published(bytes),
        }
    }

    /// Reads the locator of an entry. Returns `None` if the bytes are not a locator.
    fn read_entry(bytes: &[u8]) -> Option<Locator> {
        match locator::entry_text(bytes) {
            Some(text) => Some(Locator::proposed(text)),
            None => Locator::read(bytes),
        }
    }

    /// Reads a locator in the form of the original proposal, a string (`docs/protocol.md#l-24`).
    fn proposed(text: &str) -> Locator {
        Locator { uri: text.to_owned(), bad_directive: has_bad_directive(text), is_text: true }
    }

    fn published(bytes: &[u8]) -> Option<Locator> {
        let uri = locator::uri(bytes)?;
        let mut kinds = locator::directives(bytes);
        let unknown = kinds.iter().any(|kind| !matches!(kind, 1 | 2));
        let count = kinds.len();
        kinds.sort_unstable();
        kinds.dedup();
        Some(Locator { uri, bad_directive: unknown || kinds.len() < count, is_text: false })
    }

    /// Whether a context parameter has a key with the reserved prefix `xds.`:
    /// `docs/protocol.md#k-09`.
    pub fn has_reserved_key(&self) -> bool {
        has_reserved_key(&self.uri)
    }

    /// Returns the canonical name of the target.
    pub fn target(&self) -> String {
        Name::parse(&self.uri).map_or_else(|| self.uri.clone(), |name| name.canonical())
    }

    /// Returns the inline entry that the locator selects: `docs/protocol.md#k-15`.
    pub fn entry(&self) -> Option<String> {
        selected_entry(&self.uri)
    }
}

/// Returns the inline entry of a list that a URI selects: `docs/protocol.md#k-15`.
pub fn selected_entry(uri: &str) -> Option<String> {
    let directives = uri.split_once('#')?.1;
    let entry = directives.split(',').find_map(|directive| directive.strip_prefix("entry="))?;
    locator::decode_percent(entry)
}

/// Returns the first alternative in a locator: `docs/protocol.md#k-29`.
pub fn alternative(uri: &str) -> Option<String> {
    let directives = uri.split_once('#')?.1;
    let target = directives.split(',').find_map(|directive| directive.strip_prefix("alt="))?;
    locator::decode_percent(target)
}

/// Whether a URI has a context parameter whose key has the reserved prefix `xds.`.
pub fn has_reserved_key(uri: &str) -> bool {
    Name::parse(uri).is_some_and(|name| name.parameters().any(|(key, _)| key.starts_with("xds.")))
}

/// Whether the fragment of a URI has an unknown or a repeated directive: `docs/protocol.md#k-11`.
pub fn has_bad_directive(uri: &str) -> bool {
    let Some((_, fragment)) = uri.split_once('#') else { return false };
    let count = |key: &str| fragment.split(',').filter(|directive| directive.starts_with(key)).count();
    let (alternatives, entries) = (count("alt="), count("entry="));
    alternatives > 1 || entries > 1 || alternatives + entries < fragment.split(',').count()
}

/// One entry of a list collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListEntry {
    /// A reference to a resource.
    Locator(Locator),
    /// An inline resource.
    Inline {
        /// The name; empty for an anonymous entry.
        name: String,
        /// The version; empty if the entry states none.
        version: String,
    },
    /// Neither of both.
    Empty,
}

/// Reads the entries of a `<T>Collection` from its bytes.
pub fn entries(bytes: &[u8]) -> Vec<ListEntry> {
    let entries = Fields::new(bytes).map_while(Result::ok).filter(|field| field.number == 1);
    entries.map(|field| entry(field.bytes())).collect()
}

/// Visits the named inline entries of a `<T>Collection`: name, version, and bytes of the resource.
pub fn inline_versions(bytes: &[u8], mut visit: impl FnMut(&str, &str, &[u8])) {
    let fields = |bytes| Fields::new(bytes).map_while(Result::ok);
    for entry in fields(bytes).filter(|field| field.number == 1) {
        let Some(inline) = fields(entry.bytes()).filter(|field| field.number == 2).last() else { continue };
        let last = |number| fields(inline.bytes()).filter(|field| field.number == number).last();
        let (Some(name), Some(version)) = (last(1), last(2)) else { continue };
        let content = last(3);
        visit(&name.text(), &version.text(), content.as_ref().map_or(&[], |content| content.bytes()));
    }
}

fn entry(bytes: &[u8]) -> ListEntry {
    let arms = Fields::new(bytes).map_while(Result::ok).filter(|field| matches!(field.number, 1 | 2));
    let Some(arm) = arms.last() else { return ListEntry::Empty };
    if arm.number == 1 {
        return Locator::read_entry(arm.bytes()).map_or(ListEntry::Empty, ListEntry::Locator);
    }
    let text = |number: u32| {
        let field = Fields::new(arm.bytes()).map_while(Result::ok).filter(|field| field.number == number);
        field.last().map_or_else(String::new, |field| field.text().into_owned())
    };
    ListEntry::Inline { name: text(1), version: text(2) }
}

/// Returns an `Any` with its locators in the form of the published messages, where they are strings
/// as in the original proposal (`docs/protocol.md#l-24`). `None` if there are none.
pub fn published(any: &[u8]) -> Option<Vec<u8>> {
    let types = Fields::new(any).map_while(Result::ok).filter(|field| field.number == any::TYPE_URL);
    let type_url = types.last()?.text();
    let is_collection = type_url.ends_with("Collection");
    if type_url != LOCATOR && !is_collection {
        return None;
    }
    let in_value = |field: &WireField<'_>| match field.number {
        any::VALUE if is_collection => rebuild(field.bytes(), published_entry, |_| None),
        any::VALUE => published_locator(locator::text(field.bytes())?),
        _ => None,
    };
    rebuild(any, in_value, |_| None)
}

/// Encodes the URI of a locator in the form of the original proposal as a published
/// `ResourceLocator`, without directives that the published message lacks.
fn published_locator(uri: &str) -> Option<Vec<u8>> {
    let canonical = || Name::parse(uri).and_then(|name| locator::encode(&name.canonical()).ok());
    locator::encode(uri).ok().or_else(canonical)
}

fn published_entry(entry: &WireField<'_>) -> Option<Vec<u8>> {
    let published_arm = |arm: &WireField<'_>| {
        if arm.number != 1 {
            return None;
        }
        published_locator(locator::entry_text(arm.bytes()).or_else(|| locator::text(arm.bytes()))?)
    };
    if entry.number == 1 { rebuild(entry.bytes(), published_arm, |_| None) } else { None }
}

/// Returns the value of an `Any`.
pub fn value(any: &[u8]) -> &[u8] {
    let value = Fields::new(any).map_while(Result::ok).filter(|field| field.number == any::VALUE).last();
    value.map_or(&[], |field| field.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::encode::encode_any;
    use crate::pb::put_len_field;

    const URI: &str = "xdstp://a/t.T/x?k=v";

    fn field(number: u32, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        put_len_field(&mut out, number, bytes);
        out
    }

    /// `docs/protocol.md#l-24`
    #[test]
    fn publishes_locators_in_the_form_of_the_proposal() {
        let structured = locator::encode(URI).expect("a locator");
        let redirect = encode_any(LOCATOR, &field(1, URI.as_bytes()));
        assert_eq!(published(&redirect), Some(encode_any(LOCATOR, &structured)));
        assert_eq!(published(&encode_any(LOCATOR, &structured)), None);
        let list = |locator: &[u8]| {
            let entries = [field(1, &field(1, locator)), field(1, &field(2, b"\x0a\x01n"))].concat();
            encode_any("type.googleapis.com/t.TCollection", &entries)
        };
        assert_eq!(published(&list(URI.as_bytes())), Some(list(&structured)));
        assert_eq!(published(&list(&structured)), None);
        let entries = entries(value(&list(URI.as_bytes())).to_vec().as_slice());
        let locator = Locator { uri: URI.to_owned(), bad_directive: false, is_text: true };
        assert_eq!(entries.first(), Some(&ListEntry::Locator(locator)));
    }
}
