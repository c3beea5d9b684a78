//! CSDS responses (`ClientStatusResponse`).
//!
//! A client has a list of resources (gRPC and recent versions of Envoy), or the sections of a
//! config dump (`xds_config`, older servers).

use serde_json::Value;

use xdscope_schema::bootstrap::fields::{field, list};
use xdscope_wire::event::TypeUrl;

use super::config_dump;
use super::dump::{DumpClient, DumpContent, DumpEntry};
use super::reader::{DumpReader, text};

/// Fields of `PerXdsConfig` with the message names of the sections.
const SECTIONS: [(&str, &str); 6] = [
    ("listener_config", "ListenersConfigDump"),
    ("cluster_config", "ClustersConfigDump"),
    ("route_config", "RoutesConfigDump"),
    ("scoped_route_config", "ScopedRoutesConfigDump"),
    ("endpoint_config", "EndpointsConfigDump"),
    ("ecds_config", "EcdsConfigDump"),
];

/// Reads the clients. Merges the scopes of a node, because gRPC channels and servers have separate
/// scopes.
pub(super) fn clients(response: &Value, reader: &mut DumpReader<'_>) -> Vec<DumpClient> {
    let mut clients: Vec<DumpClient> = Vec::new();
    for config in list(&response["config"]) {
        let (node, id) = reader.node(&config["node"]);
        let known = clients.iter_mut().find(|client| client.id.is_some() && client.id == id);
        let mut client = DumpClient { node, id, ..DumpClient::default() };
        for per_type in list(field(config, "xds_config")) {
            for (name, section) in SECTIONS {
                let value = field(per_type, name);
                if value.is_object() {
                    config_dump::section(section, value, &mut client, reader);
                }
            }
        }
        for generic in list(field(config, "generic_xds_configs")) {
            resource(generic, &mut client, reader);
        }
        match known {
            Some(known) => {
                for (url, version) in client.types {
                    known.add_type(url, version);
                }
                known.entries.append(&mut client.entries);
                known.merge();
            }
            None => {
                client.merge();
                clients.push(client);
            }
        }
    }
    clients
}

/// Reads a `GenericXdsConfig`.
fn resource(generic: &Value, client: &mut DumpClient, reader: &mut DumpReader<'_>) {
    if field(generic, "is_static_resource").as_bool() == Some(true) {
        return;
    }
    let (Some(url), Some(name)) = (text(field(generic, "type_url")), text(&generic["name"])) else { return };
    let url = if url.contains('/') {
        TypeUrl::new(&*url)
    } else {
        TypeUrl::new(format!("type.googleapis.com/{url}"))
    };
    client.add_type(url.clone(), None);
    let config = field(generic, "xds_config");
    let any =
        if config.is_object() { reader.resource(config).and_then(|resource| resource.any) } else { None };
    let mut entry = DumpEntry::new(url, name);
    if config.is_object() {
        entry.active = Some(DumpContent { version: text(field(generic, "version_info")), any });
    }
    let status = reader.status(generic);
    status.add_to(&mut entry);
    client.entries.push(entry);
}
