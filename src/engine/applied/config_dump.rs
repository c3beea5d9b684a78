//! Envoy's config dump, which has a section for each type.
//!
//! Reads the resources from xDS (`dynamic_...`). Skips the resources from the bootstrap
//! (`static_...`), but for the names of its clusters, to which routes refer.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use serde_json::Value;

use xdscope_schema::bootstrap::fields::{field, list};
use xdscope_wire::event::{ApiVersion, Kind};

use super::dump::{DumpClient, DumpContent, DumpEntry};
use super::reader::{DumpReader, DumpResource, text};
use crate::admin::AdminFacts;

/// A section of a config dump.
struct Section {
    /// Short name of the message.
    message: &'static str,
    /// Type of the resources.
    kind: Kind,
    lists: &'static [EntryList],
}

/// A list of resources in a section.
struct EntryList {
    list: &'static str,
    /// Field of an item that holds the resource.
    inner: &'static str,
    usage: Usage,
}

/// The use that Envoy makes of a resource.
#[derive(Clone, Copy)]
enum Usage {
    Active,
    Warming,
}

const fn active(list: &'static str, inner: &'static str) -> EntryList {
    EntryList { list, inner, usage: Usage::Active }
}

const fn warming(list: &'static str, inner: &'static str) -> EntryList {
    EntryList { list, inner, usage: Usage::Warming }
}

const SECTIONS: [Section; 7] = [
    Section {
        message: "ListenersConfigDump",
        kind: Kind::Lds,
        lists: &[active("dynamic_listeners", "listener")],
    },
    Section {
        message: "ClustersConfigDump",
        kind: Kind::Cds,
        lists: &[
            active("dynamic_active_clusters", "cluster"),
            warming("dynamic_warming_clusters", "cluster"),
        ],
    },
    Section {
        message: "RoutesConfigDump",
        kind: Kind::Rds,
        lists: &[active("dynamic_route_configs", "route_config")],
    },
    Section {
        message: "ScopedRoutesConfigDump",
        kind: Kind::Srds,
        lists: &[active("dynamic_scoped_route_configs", "scoped_route_configs")],
    },
    Section {
        message: "EndpointsConfigDump",
        kind: Kind::Eds,
        lists: &[active("dynamic_endpoint_configs", "endpoint_config")],
    },
    Section {
        message: "SecretsConfigDump",
        kind: Kind::Sds,
        lists: &[active("dynamic_active_secrets", "secret"), warming("dynamic_warming_secrets", "secret")],
    },
    Section { message: "EcdsConfigDump", kind: Kind::Ecds, lists: &[active("ecds_filters", "ecds_filter")] },
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
    let mut admin = AdminFacts::default();
    let mut has_admin = false;
    for config in configs(dump) {
        if admin.read_page(config) {
            has_admin = true;
            continue;
        }
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
                if let Some(section) = SECTIONS.iter().find(|section| section.message == *name)
                    && let Some(list) = section.lists.first()
                {
                    add_type(section.kind, None, &mut client);
                    item(section.kind, config, list, &mut client, reader);
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
    client.other_clusters = other_clusters(dump, &client);
    client.admin = has_admin.then_some(admin);
    client
}

/// Returns the clusters that the client has besides the resources of its dump: static ones, and
/// those whose content is invalid.
///
/// Returns `None` if the dump may lack clusters. A client that fetches clusters on demand, for
/// resources that are not in its session, may lack any cluster.
fn other_clusters(dump: &Value, client: &DumpClient) -> Option<Vec<String>> {
    let section = clusters_section(dump)?;
    let lists = ["static_listeners", "ecds_filters"];
    let mut unread =
        configs(dump).flat_map(|config| lists.into_iter().flat_map(move |name| list(field(config, name))));
    if !has_all(dump) || unread.any(fetches_clusters) {
        return None;
    }
    let is_resource = |entry: &&DumpEntry| {
        let mut contents = [&entry.active, &entry.warming].into_iter().flatten();
        kind_of(entry) == Some(Kind::Cds) && contents.any(|content| content.any.is_some())
    };
    let resources: HashSet<&str> =
        client.entries.iter().filter(is_resource).map(|entry| &*entry.name).collect();
    let mut others: Vec<String> =
        cluster_names(section).difference(&resources).map(|name| (*name).to_owned()).collect();
    others.sort_unstable();
    Some(others)
}

fn cluster_names(section: &Value) -> HashSet<&str> {
    clusters_of(section).filter_map(|cluster| cluster["name"].as_str()).collect()
}

/// Whether the dump has all resources of the client: the clusters of the bootstrap, which
/// `/config_dump?name_regex=...` leaves out. Without a bootstrap the fields were chosen
/// (`/config_dump?mask=...`), unless the version or both lists of clusters are among them.
pub(super) fn has_all(dump: &Value) -> bool {
    let Some(section) = clusters_section(dump) else { return false };
    let bootstrap =
        configs(dump).map(|config| field(config, "bootstrap")).find(|bootstrap| bootstrap.is_object());
    let Some(bootstrap) = bootstrap else {
        let has = |name: &str| !field(section, name).is_null();
        return has("version_info") || (has("static_clusters") && has("dynamic_active_clusters"));
    };
    let clusters = list(field(field(bootstrap, "static_resources"), "clusters")).iter();
    let mut stated = clusters.filter_map(|cluster| cluster["name"].as_str());
    let names = cluster_names(section);
    stated.all(|name| names.contains(name))
}

/// Whether a listener or filter has a source of clusters that are fetched on demand.
fn fetches_clusters(item: &Value) -> bool {
    let mut open = vec![item];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => {
                if ["odcds", "odcds_config"].iter().any(|name| !field(value, name).is_null()) {
                    return true;
                }
                open.extend(fields.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    false
}

pub(super) fn configs(dump: &Value) -> impl Iterator<Item = &Value> {
    list(&dump["configs"]).iter()
}

fn clusters_section(dump: &Value) -> Option<&Value> {
    let is_clusters =
        |config: &&Value| config["@type"].as_str().is_some_and(|url| url.ends_with(".ClustersConfigDump"));
    configs(dump).find(is_clusters)
}

/// Returns the clusters in a section of a dump, of all lists.
fn clusters_of(section: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["static_clusters", "dynamic_active_clusters", "dynamic_warming_clusters"];
    lists.into_iter().flat_map(|name| list(field(section, name))).map(|item| field(item, "cluster"))
}

pub(super) fn kind_of(entry: &DumpEntry) -> Option<Kind> {
    Kind::of_type_url(entry.type_url.as_str()).map(|(kind, _)| kind)
}

/// Returns the EDS names of the clusters, because the dump also lists the endpoints of all other
/// clusters.
///
/// Returns `None` if the dump has no clusters.
fn by_eds(dump: &Value) -> Option<BTreeSet<&str>> {
    let eds = clusters_of(clusters_section(dump)?).filter(|cluster| cluster["type"] == "EDS");
    let names = eds.filter_map(|cluster| {
        let service = field(field(cluster, "eds_cluster_config"), "service_name").as_str();
        service.filter(|name| !name.is_empty()).or_else(|| cluster["name"].as_str())
    });
    Some(names.collect())
}

fn add_type(kind: Kind, version: Option<Arc<str>>, client: &mut DumpClient) {
    if let Some(url) = kind.type_url(ApiVersion::V3) {
        client.add_type(url, version);
    }
}

/// Reads a section of a config dump or of CSDS. `name` is the message name.
pub(super) fn section(name: &str, value: &Value, client: &mut DumpClient, reader: &mut DumpReader<'_>) {
    let Some(Section { kind, lists, .. }) = SECTIONS.iter().find(|section| section.message == name) else {
        return;
    };
    add_type(*kind, text(field(value, "version_info")), client);
    for entries in *lists {
        for found in list(field(value, entries.list)) {
            item(*kind, found, entries, client, reader);
        }
    }
}

/// Whether Envoy has requested a resource of a dump and not received it: Envoy lists such a secret
/// with a version of its own, and such an extension without version and configuration.
fn has_never_come(kind: Kind, version: Option<&str>, resource: &Value) -> bool {
    let is_empty = || field(resource, "typed_config").is_null();
    match kind {
        Kind::Ecds => version.is_none() && is_empty(),
        _ => version == Some(UNINITIALIZED),
    }
}

fn item(kind: Kind, item: &Value, list: &EntryList, client: &mut DumpClient, reader: &mut DumpReader<'_>) {
    let status = reader.status(item);
    let name = text(&item["name"]);
    let mut found: Vec<DumpEntry> = Vec::new();
    let mut add = |state: &Value, usage: Usage, reader: &mut DumpReader<'_>| {
        let version = text(field(state, "version_info"));
        let resources = match field(state, list.inner) {
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
            if has_never_come(kind, version.as_deref(), resource) {
                entry.is_requested = true;
            } else {
                match usage {
                    Usage::Active => entry.active = content,
                    Usage::Warming => entry.warming = content,
                }
            }
            found.push(entry);
        }
    };
    if kind == Kind::Lds {
        add(field(item, "active_state"), Usage::Active, reader);
        add(field(item, "warming_state"), Usage::Warming, reader);
    } else {
        add(item, list.usage, reader);
    }
    let url = found.first().map(|entry| entry.type_url.clone()).or_else(|| kind.type_url(ApiVersion::V3));
    let name = name.or_else(|| found.first().map(|entry| entry.name.clone())).or_else(|| {
        // The name may be in the rejected content only.
        let failed = field(field(item, "error_state"), "failed_configuration");
        ["name", "cluster_name"].into_iter().find_map(|name| text(field(failed, name)))
    });
    client.entries.append(&mut found);
    if let (Some(url), Some(name), false) = (url, name, status.is_empty()) {
        let mut entry = DumpEntry::new(url, name);
        status.add_to(&mut entry);
        client.entries.push(entry);
    }
}
