//! Readers for redirects and list collections.
//!
//! `docs/protocol.md#k-11` and the following rows.

use super::locator;
use crate::discovery::fields::any;
use crate::event::Sym;
use crate::pb::Fields;
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
}

impl Locator {
    /// Returns `None` if the bytes are not a locator.
    pub fn read(bytes: &[u8]) -> Option<Locator> {
        let uri = locator::uri(bytes)?;
        let mut kinds = locator::directives(bytes);
        let unknown = kinds.iter().any(|kind| !matches!(kind, 1 | 2));
        let count = kinds.len();
        kinds.sort_unstable();
        kinds.dedup();
        Some(Locator { uri, bad_directive: unknown || kinds.len() < count })
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
    Name::parse(uri).is_some_and(|name| name.context.iter().any(|(key, _)| key.starts_with("xds.")))
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
        return Locator::read(arm.bytes()).map_or(ListEntry::Empty, ListEntry::Locator);
    }
    let text = |number: u32| {
        let field = Fields::new(arm.bytes()).map_while(Result::ok).filter(|field| field.number == number);
        field.last().map_or_else(String::new, |field| field.text().into_owned())
    };
    ListEntry::Inline { name: text(1), version: text(2) }
}

/// Returns the value of an `Any`.
pub fn value(any: &[u8]) -> &[u8] {
    let value = Fields::new(any).map_while(Result::ok).filter(|field| field.number == any::VALUE).last();
    value.map_or(&[], |field| field.bytes())
}
