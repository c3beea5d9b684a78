//! Redirects and list collections, taken apart as far as rules need them (rows K-11 to K-17, K-27).

use crate::engine::session::{Name, locator};
use crate::wire::discovery::fields::any;
use crate::wire::pb::Fields;

/// A `ResourceLocator`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Locator {
    /// With its directives.
    pub(super) uri: String,
    /// A directive that is neither `alt` nor `entry`, or one that is there twice.
    pub(super) bad_directive: bool,
}

impl Locator {
    /// `None` where the bytes are no locator.
    pub(super) fn read(bytes: &[u8]) -> Option<Locator> {
        let uri = locator::uri(bytes)?;
        let mut kinds = locator::directives(bytes);
        let unknown = kinds.iter().any(|kind| !matches!(kind, 1 | 2));
        let count = kinds.len();
        kinds.sort_unstable();
        kinds.dedup();
        Some(Locator { uri, bad_directive: unknown || kinds.len() < count })
    }

    /// The name that it leads to, in the form in which equal names are equal.
    pub(super) fn target(&self) -> String {
        Name::parse(&self.uri).map_or_else(|| self.uri.clone(), |name| name.canonical())
    }

    /// The inlined entry that it means (row K-15).
    pub(super) fn entry(&self) -> Option<&str> {
        let directives = self.uri.split_once('#')?.1;
        directives.split(',').find_map(|directive| directive.strip_prefix("entry="))
    }
}

/// The first alternative that a locator names (row K-29).
pub(super) fn alternative(uri: &str) -> Option<String> {
    let directives = uri.split_once('#')?.1;
    let target = directives.split(',').find_map(|directive| directive.strip_prefix("alt="))?;
    locator::decode_percent(target)
}

/// One entry of a list collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Locator(Locator),
    /// Its name; empty for an anonymous one.
    Inline(String),
    /// Neither.
    Empty,
}

/// The entries of a `<T>Collection`, by its bytes.
pub(super) fn entries(bytes: &[u8]) -> Vec<Entry> {
    let entries = Fields::new(bytes).map_while(Result::ok).filter(|field| field.number == 1);
    entries.map(|field| entry(field.bytes())).collect()
}

fn entry(bytes: &[u8]) -> Entry {
    let arms = Fields::new(bytes).map_while(Result::ok).filter(|field| matches!(field.number, 1 | 2));
    let Some(arm) = arms.last() else { return Entry::Empty };
    if arm.number == 1 {
        return Locator::read(arm.bytes()).map_or(Entry::Empty, Entry::Locator);
    }
    let name = Fields::new(arm.bytes()).map_while(Result::ok).filter(|field| field.number == 1).last();
    Entry::Inline(name.map_or_else(String::new, |name| name.text().into_owned()))
}

/// The value of an `Any`.
pub(super) fn value(any: &[u8]) -> &[u8] {
    let value = Fields::new(any).map_while(Result::ok).filter(|field| field.number == any::VALUE).last();
    value.map_or(&[], |field| field.bytes())
}
