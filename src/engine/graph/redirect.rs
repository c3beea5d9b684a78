//! Links of redirects and list collections: the resources that their locators name.

use serde_json::Value;

use crate::engine::session::locators::{self, LOCATOR, ListEntry, Locator};
use crate::engine::session::resource_type;
use crate::schema::Schema;
use crate::schema::links::{self, AuthorityLookup, Link};
use crate::wire::event::Kind;

/// Returns the references of a content, also those of a redirect (docs/protocol.md#k-27) and of a
/// list collection (docs/protocol.md#k-13).
///
/// `any` is the content and `body` its JSON with the original field names.
pub fn links_of(schema: &Schema, any: &[u8], body: &Value) -> Vec<Link> {
    let type_url = body.get("@type").and_then(Value::as_str).unwrap_or_default();
    if type_url == LOCATOR {
        let target = Locator::read(locators::value(any)).and_then(|locator| link("redirect", &locator));
        return target.into_iter().collect();
    }
    if !type_url.ends_with("Collection") {
        return links::links_of(schema, body);
    }
    let entries = locators::entries(locators::value(any)).into_iter().enumerate();
    let mut out: Vec<Link> = entries
        .filter_map(|(at, entry)| match entry {
            ListEntry::Locator(locator) => link(&format!("entries[{at}].locator"), &locator),
            _ => None,
        })
        .collect();
    out.extend(links::links_of(schema, body));
    out
}

fn link(path: &str, locator: &Locator) -> Option<Link> {
    let name = locator.target();
    let of = resource_type(&name)?;
    let message = of.strip_suffix("Collection").unwrap_or(of);
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
