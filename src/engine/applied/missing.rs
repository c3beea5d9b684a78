//! References of the resources in use of a config dump to resources that the client lacks.
//!
//! Envoy lists all route configurations that it has received, and all clusters that it has. A
//! listener in use without its routes answers each request with 404.

use std::collections::HashSet;

use serde_json::Value;

use xdscope_schema::Schema;
use xdscope_schema::bootstrap::fields::{field, list};
use xdscope_schema::links::{Link, links_of};
use xdscope_wire::discovery::encode::encode_any;
use xdscope_wire::event::Kind;
use xdscope_wire::xdstp::is_structured;

use super::config_dump::{configs, has_all, kind_of};
use super::dump::{DumpClient, DumpEntry, MissingReference};

/// References that are kept.
const MAX_MISSING: usize = 64;

/// Returns the references of a config dump to routes that the client lacks, and those of its static
/// listeners to clusters. Empty if the dump may lack such resources.
///
/// References of other resources to clusters are those of the session of the dump.
pub(super) fn in_dump(dump: &Value, client: &DumpClient, schema: &Schema) -> Vec<MissingReference> {
    let has_routes = has_all(dump) && configs(dump).any(|config| is_named(config, ".RoutesConfigDump"));
    let known: HashSet<(Kind, &str)> =
        client.entries.iter().filter_map(|entry| Some((kind_of(entry)?, &*entry.name))).collect();
    let is_missing = |link: &Link| match (link.kind, &client.other_clusters) {
        (Kind::Rds, _) => has_routes && !known.contains(&(link.kind, &*link.name)),
        (Kind::Cds, Some(others)) => {
            !known.contains(&(link.kind, &*link.name)) && !others.contains(&link.name)
        }
        _ => false,
    };
    let mut missing = Vec::new();
    let mut add = |(user_kind, user): (Kind, &str), is_static: bool, links: Vec<Link>| {
        let links = links.into_iter().filter(|link| is_static || link.kind == Kind::Rds);
        for link in links.filter(|link| !is_structured(&link.name) && is_missing(link)) {
            let reference = MissingReference {
                user_kind,
                user: user.to_owned(),
                is_static,
                kind: link.kind,
                name: link.name,
            };
            if missing.len() < MAX_MISSING && !missing.contains(&reference) {
                missing.push(reference);
            }
        }
    };
    for entry in &client.entries {
        if let Some(user) = kind_of(entry).filter(|kind| matches!(kind, Kind::Lds | Kind::Srds)) {
            add((user, &*entry.name), false, links_of_entry(entry, schema));
        }
    }
    for item in configs(dump).flat_map(|config| list(field(config, "static_listeners"))) {
        let listener = field(item, "listener");
        let name = listener["name"].as_str().unwrap_or_default();
        add((Kind::Lds, name), true, links_of_static(listener, schema).unwrap_or_default());
    }
    missing
}

fn is_named(config: &Value, name: &str) -> bool {
    config["@type"].as_str().is_some_and(|url| url.ends_with(name))
}

/// Returns the references of a resource of a dump that is in use.
fn links_of_entry(entry: &DumpEntry, schema: &Schema) -> Vec<Link> {
    let Some(any) = entry.active.as_ref().and_then(|content| content.any.as_ref()) else {
        return Vec::new();
    };
    let body = schema.any_to_json(any);
    // Envoy requests the routes of such a scope when a request needs them.
    let is_on_demand = body["on_demand"] == true;
    if is_on_demand { Vec::new() } else { links_of(schema, &body) }
}

/// Returns the references of a static listener. `None` if the listener is invalid.
fn links_of_static(listener: &Value, schema: &Schema) -> Option<Vec<Link>> {
    let url = listener["@type"].as_str()?;
    let mut body = listener.clone();
    body.as_object_mut()?.shift_remove("@type");
    let bytes = schema.encode_known(url, &body).ok()?.bytes;
    Some(links_of(schema, &schema.any_to_json(&encode_any(url, &bytes))))
}
