//! Envoy's config dump, which has a section for each type.
//!
//! Reads the resources from xDS (`dynamic_...`). Skips the resources from the bootstrap
//! (`static_...`).

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::wire::event::{ApiVersion, Kind};

use super::{Absence, DumpClient, DumpContent, DumpEntry, DumpReader, DumpResource, field, list, text};

/// A list of resources in a section.
struct EntryList {
    list: &'static str,
    /// Field of an item that holds the resource.
    inner: &'static str,
    /// Whether the resources are warming.
    warming: bool,
}

const fn place(list: &'static str, inner: &'static str, warming: bool) -> EntryList {
    EntryList { list, inner, warming }
}

/// Message names of the sections, with the type and lists of resources.
const SECTIONS: [(&str, Kind, &[EntryList]); 7] = [
    ("ListenersConfigDump", Kind::Lds, &[place("dynamic_listeners", "listener", false)]),
    (
        "ClustersConfigDump",
        Kind::Cds,
        &[
            place("dynamic_active_clusters", "cluster", false),
            place("dynamic_warming_clusters", "cluster", true),
        ],
    ),
    ("RoutesConfigDump", Kind::Rds, &[place("dynamic_route_configs", "route_config", false)]),
    (
        "ScopedRoutesConfigDump",
        Kind::Srds,
        &[place("dynamic_scoped_route_configs", "scoped_route_configs", false)],
    ),
    ("EndpointsConfigDump", Kind::Eds, &[place("dynamic_endpoint_configs", "endpoint_config", false)]),
    (
        "SecretsConfigDump",
        Kind::Sds,
        &[place("dynamic_active_secrets", "secret", false), place("dynamic_warming_secrets", "secret", true)],
    ),
    ("EcdsConfigDump", Kind::Ecds, &[place("ecds_filters", "ecds_filter", false)]),
];

/// The version of a secret that Envoy has requested but not received.
const UNINITIALIZED: &str = "uninitialized";

/// Whether a type URL is the type of a section.
pub(super) fn is_section(url: &str) -> bool {
    url.rsplit('/').next().is_some_and(|name| name.starts_with("envoy.admin.") && name.contains("ConfigDump"))
}

/// Reads the client of a config dump.
pub(super) fn client(dump: &Value, reader: &mut DumpReader<'_>) -> DumpClient {
    let mut client = DumpClient::default();
    for config in list(&dump["configs"]) {
        let Some(url) = config["@type"].as_str() else { continue };
        let message = url.rsplit('/').next().unwrap_or_default();
        let message = message.split('.').skip_while(|part| !part.ends_with("ConfigDump")).collect::<Vec<_>>();
        match message.as_slice() {
            ["BootstrapConfigDump"] => {
                (client.node, client.id) = reader.node(&field(config, "bootstrap")["node"]);
            }
            [name] => section(name, config, &mut client, reader),
            // `/config_dump?resource=...` gives the items alone.
            [name, _] => {
                if let Some((_, kind, places)) = SECTIONS.iter().find(|(known, ..)| known == name)
                    && let Some(place) = places.first()
                {
                    about(*kind, None, &mut client);
                    item(*kind, config, place, &mut client, reader);
                }
            }
            _ => {}
        }
    }
    if let Some(names) = by_eds(dump) {
        let eds = |entry: &DumpEntry| kind_of(entry) == Some(Kind::Eds);
        client.entries.retain(|entry| !eds(entry) || names.contains(&*entry.name));
    }
    client.merge();
    client
}

fn kind_of(entry: &DumpEntry) -> Option<Kind> {
    Kind::of_type_url(entry.type_url.as_str()).map(|(kind, _)| kind)
}

/// Returns the EDS names of the clusters, because the dump also lists the endpoints of all other
/// clusters.
///
/// Returns `None` if the dump has no clusters.
fn by_eds(dump: &Value) -> Option<BTreeSet<&str>> {
    let is_clusters =
        |config: &&Value| config["@type"].as_str().is_some_and(|url| url.ends_with(".ClustersConfigDump"));
    let section = list(&dump["configs"]).iter().find(is_clusters)?;
    let lists = ["static_clusters", "dynamic_active_clusters", "dynamic_warming_clusters"];
    let clusters =
        lists.into_iter().flat_map(|name| list(field(section, name))).map(|item| field(item, "cluster"));
    let eds = clusters.filter(|cluster| cluster["type"] == "EDS");
    let names = eds.filter_map(|cluster| {
        let service = field(field(cluster, "eds_cluster_config"), "service_name").as_str();
        service.filter(|name| !name.is_empty()).or_else(|| cluster["name"].as_str())
    });
    Some(names.collect())
}

fn about(kind: Kind, version: Option<Arc<str>>, client: &mut DumpClient) {
    if let Some(url) = kind.type_url(ApiVersion::V3) {
        client.about(url, version);
    }
}

/// Reads a section of a config dump or of CSDS. `name` is the message name.
pub(super) fn section(name: &str, section: &Value, client: &mut DumpClient, reader: &mut DumpReader<'_>) {
    let Some((_, kind, places)) = SECTIONS.iter().find(|(known, ..)| *known == name) else { return };
    about(*kind, text(field(section, "version_info")), client);
    for place in *places {
        for found in list(field(section, place.list)) {
            item(*kind, found, place, client, reader);
        }
    }
}

fn item(kind: Kind, item: &Value, place: &EntryList, client: &mut DumpClient, reader: &mut DumpReader<'_>) {
    let refused = reader.refused(field(item, "error_state"));
    let absence = match field(item, "client_status").as_str() {
        Some("REQUESTED" | "TIMEOUT" | "RECEIVED_ERROR") => Some(Absence::Requested),
        Some("DOES_NOT_EXIST") => Some(Absence::DoesNotExist),
        _ => None,
    };
    let name = text(&item["name"]);
    let mut found: Vec<DumpEntry> = Vec::new();
    let mut hold = |state: &Value, inner: &str, warming: bool, reader: &mut DumpReader<'_>| {
        let version = text(field(state, "version_info"));
        let resources = match field(state, inner) {
            Value::Array(items) => items.as_slice(),
            Value::Null => &[],
            one => std::slice::from_ref(one),
        };
        for resource in resources {
            let Some(DumpResource { type_url, name: own_name, any }) = reader.resource(resource) else {
                continue;
            };
            let Some(name) = own_name.or_else(|| name.clone()) else { continue };
            let content = Some(DumpContent { version: version.clone(), any });
            let mut entry = DumpEntry::new(type_url, name);
            if version.as_deref() == Some(UNINITIALIZED) {
                entry.absence = Some(Absence::Requested);
            } else if warming {
                entry.warming = content;
            } else {
                entry.active = content;
            }
            found.push(entry);
        }
    };
    if kind == Kind::Lds {
        hold(field(item, "active_state"), place.inner, false, reader);
        hold(field(item, "warming_state"), place.inner, true, reader);
    } else {
        hold(item, place.inner, place.warming, reader);
    }
    let url = found.first().map(|entry| entry.type_url.clone()).or_else(|| kind.type_url(ApiVersion::V3));
    let name = name.or_else(|| found.first().map(|entry| entry.name.clone())).or_else(|| {
        // The name may be in the rejected content only.
        let failed = field(field(item, "error_state"), "failed_configuration");
        ["name", "cluster_name"].into_iter().find_map(|name| text(field(failed, name)))
    });
    client.entries.append(&mut found);
    if let (Some(url), Some(name)) = (url, name)
        && (refused.is_some() || absence.is_some())
    {
        client.entries.push(DumpEntry { refused, absence, ..DumpEntry::new(url, name) });
    }
}

/// Removes the values that Envoy adds to dumped endpoints: good health, weights and other defaults.
pub(super) fn remove_additions(assignment: &mut Value) {
    let is = |fields: &Map<String, Value>, name: &str, value: &Value| fields.get(name) == Some(value);
    let empty = Value::Object(Map::new());
    let drop = |of: &mut Value, name: &str, values: &[Value]| {
        if let Some(fields) = of.as_object_mut() {
            let spelled = if fields.contains_key(name) { name.to_owned() } else { super::camel(name) };
            if values.iter().any(|value| is(fields, &spelled, value)) {
                fields.shift_remove(&spelled);
            }
        }
    };
    for locality in assignment["endpoints"].as_array_mut().into_iter().flatten() {
        drop(locality, "locality", std::slice::from_ref(&empty));
        drop(locality, "load_balancing_weight", &[0.into()]);
        let endpoints = if locality.get("lbEndpoints").is_some() { "lbEndpoints" } else { "lb_endpoints" };
        for endpoint in locality[endpoints].as_array_mut().into_iter().flatten() {
            drop(endpoint, "health_status", &["HEALTHY".into()]);
            drop(endpoint, "load_balancing_weight", &[1.into()]);
            if let Some(inner) = endpoint.get_mut("endpoint") {
                drop(inner, "health_check_config", std::slice::from_ref(&empty));
            }
        }
    }
    if let Some(policy) = assignment.get_mut("policy") {
        drop(policy, "overprovisioning_factor", &[140.into()]);
    }
    drop(assignment, "policy", &[empty]);
}
