//! Links of redirects and list collections: the resources that their locators name, and the inline
//! entries of lists.

use serde_json::Value;

use xdscope_schema::Schema;
use xdscope_schema::links::{self, AuthorityLookup, Link};
use xdscope_wire::event::Kind;
use xdscope_wire::xdstp::lists;
use xdscope_wire::xdstp::lists::{LOCATOR, ListEntry, Locator};
use xdscope_wire::xdstp::resource_type;

/// Inline entries of a list that have nodes of their own.
const MAX_INLINE_ENTRIES: usize = 10_000;

/// Returns the references of a content, also those of a redirect (docs/protocol.md#k-27) and of a
/// list collection (docs/protocol.md#k-13).
///
/// `any` is the content and `body` its JSON with the original field names.
pub fn links_of(schema: &Schema, any: &[u8], body: &Value) -> Vec<Link> {
    let type_url = body.get("@type").and_then(Value::as_str).unwrap_or_default();
    if type_url == LOCATOR {
        let target = Locator::read(lists::value(any)).and_then(|locator| link("redirect", &locator));
        return target.into_iter().collect();
    }
    if !type_url.ends_with("Collection") {
        return links::links_of(schema, body);
    }
    let entries = lists::entries(lists::value(any)).into_iter().enumerate();
    let mut out: Vec<Link> = entries
        .filter_map(|(at, entry)| match entry {
            ListEntry::Locator(locator) => link(&format!("entries[{at}].locator"), &locator),
            _ => None,
        })
        .collect();
    out.extend(links::links_of(schema, body));
    out
}

/// An inline entry of a list collection (docs/protocol.md#k-14).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlineEntry {
    /// The path of the entry in the list: `entries[1].inline_entry`.
    pub path: String,
    /// The name; empty if the entry is anonymous.
    pub name: String,
    /// The version.
    pub version: String,
}

impl InlineEntry {
    /// Returns the name of the entry in a graph: that of the list with the directive `entry`.
    pub fn name_in(&self, list: &str) -> String {
        match self.name.is_empty() {
            true => format!("{list} {} (anonymous)", self.path),
            false => entry_name(list, &self.name),
        }
    }
}

/// Returns the name of an inline entry of a list, as a locator states it.
pub(super) fn entry_name(list: &str, entry: &str) -> String {
    format!("{list}#entry={entry}")
}

/// Returns the inline entries of a content, up to a limit. `body` is the JSON of the content.
pub fn inline_entries(any: &[u8], body: &Value) -> Vec<InlineEntry> {
    let type_url = body.get("@type").and_then(Value::as_str).unwrap_or_default();
    if !type_url.ends_with("Collection") {
        return Vec::new();
    }
    let entries = lists::entries(lists::value(any)).into_iter().enumerate();
    let inline = entries.filter_map(|(at, entry)| match entry {
        ListEntry::Inline { name, version } => {
            Some(InlineEntry { path: format!("entries[{at}].inline_entry"), name, version })
        }
        _ => None,
    });
    inline.take(MAX_INLINE_ENTRIES).collect()
}

/// Whether a list collection lacks the inline entry that a name selects (docs/protocol.md#k-15).
///
/// `list` is the JSON of the list with the original field names.
pub fn lacks_entry(list: &Value, uri: &str) -> bool {
    let Some(entry) = lists::selected_entry(uri) else { return false };
    let entries = list.get("entries").and_then(Value::as_array);
    let inline =
        entries.into_iter().flatten().filter_map(|entry| entry.get("inline_entry")?.get("name")?.as_str());
    !inline.into_iter().any(|name| name == entry)
}

/// Returns the link of a redirect to its target, if the type is known.
fn link(path: &str, locator: &Locator) -> Option<Link> {
    let name = locator.target();
    let message = resource_type(&name)?;
    let message = message.strip_suffix("Collection").unwrap_or(message);
    let (kind, _) = Kind::of_type_url(&format!("type.googleapis.com/{message}"))?;
    let authority = AuthorityLookup::of(&name, None);
    Some(Link {
        path: path.to_owned(),
        kind,
        name: locator.uri.clone(),
        source: None,
        other_source: None,
        authority,
    })
}
