//! A static Envoy bootstrap from the resources that a client has, so that it starts without a
//! control plane.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use xdscope_wire::event::Kind;

/// Nesting of messages that is searched, as deep as descriptors are decoded.
const MAX_DEPTH: usize = 100;

/// The resources of a client in protobuf JSON with the original field names, by type and name.
pub type ResourcesByKind = BTreeMap<Kind, BTreeMap<String, Value>>;

/// A bootstrap without xDS, and what it lacks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OfflineBootstrap {
    /// The bootstrap.
    pub value: Value,
    /// Messages for the user about resources that are missing or were changed.
    pub notes: BTreeSet<String>,
}

/// Returns a bootstrap with all resources inlined: clusters with their endpoints, listeners with
/// their routes and filters, secrets by name.
///
/// `node` is the node of the client; null if unknown.
pub fn offline(resources: &ResourcesByKind, node: &Value) -> OfflineBootstrap {
    let mut inliner = Inliner { resources, notes: BTreeSet::new() };
    let clusters: Vec<Value> = inliner.all(Kind::Cds).iter().map(|value| inliner.cluster(value)).collect();
    let listeners: Vec<Value> = inliner.all(Kind::Lds).iter().map(|value| inliner.inlined(value)).collect();
    let secrets = inliner.all(Kind::Sds);
    let layers = inliner.layers();
    let mut value = json!({
        "node": own_node(node),
        "admin": { "address": { "socket_address": { "address": "127.0.0.1", "port_value": 0 } } },
        "static_resources": { "listeners": listeners, "clusters": clusters, "secrets": secrets },
    });
    if !layers.is_empty() {
        value["layered_runtime"] = json!({ "layers": layers });
    }
    OfflineBootstrap { value, notes: inliner.notes }
}

/// Returns the node with the fields that a person may set.
fn own_node(node: &Value) -> Value {
    let mut own = json!({ "id": "offline", "cluster": "offline" });
    for name in ["id", "cluster", "metadata", "locality"] {
        if let Some(value) = node.get(name) {
            own[name] = value.clone();
        }
    }
    own
}

struct Inliner<'a> {
    resources: &'a ResourcesByKind,
    notes: BTreeSet<String>,
}

/// Returns a resource without its type, as a list of one type holds it.
fn without_type(value: &Value) -> Value {
    let mut value = value.clone();
    if let Value::Object(members) = &mut value {
        members.remove("@type");
    }
    value
}

impl Inliner<'_> {
    fn all(&self, kind: Kind) -> Vec<Value> {
        self.resources.get(&kind).into_iter().flatten().map(|(_, value)| without_type(value)).collect()
    }

    /// Returns a resource, or notes that the client does not have it.
    fn find(&mut self, kind: Kind, name: &str) -> Option<Value> {
        let found = self.resources.get(&kind).and_then(|known| known.get(name)).map(without_type);
        if found.is_none() {
            self.notes.insert(format!("{} {name}: missing, so references to it were removed", kind.label()));
        }
        found
    }

    /// Returns a cluster with its endpoints.
    fn cluster(&mut self, cluster: &Value) -> Value {
        let mut cluster = self.inlined(cluster);
        let Some(members) = cluster.as_object_mut() else { return cluster };
        // The load reports would go to a control plane.
        members.remove("lrs_server");
        if members.get("type").is_none_or(|of| of != "EDS") {
            return cluster;
        }
        let name = members.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let eds = members.remove("eds_cluster_config").unwrap_or_default();
        let service = eds.get("service_name").and_then(Value::as_str).filter(|name| !name.is_empty());
        let assignment = self.find(Kind::Eds, service.unwrap_or(&name));
        let assignment = assignment.unwrap_or_else(|| json!({ "cluster_name": name }));
        members.insert("type".into(), json!("STATIC"));
        members.insert("load_assignment".into(), self.inlined(&assignment));
        cluster
    }

    /// Returns the layers of the runtime resources.
    fn layers(&self) -> Vec<Value> {
        let layer = |(name, value): (&String, &Value)| {
            let layer = value.get("layer").cloned().unwrap_or_else(|| json!({}));
            json!({ "name": name, "static_layer": layer })
        };
        self.resources.get(&Kind::Rtds).into_iter().flatten().map(layer).collect()
    }

    /// Returns a resource with the resources that it refers to in place of the references.
    fn inlined(&mut self, value: &Value) -> Value {
        let mut value = value.clone();
        self.inline(&mut value, 0);
        remove_marks(&mut value);
        value
    }

    fn inline(&mut self, value: &mut Value, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match value {
            Value::Array(items) => {
                items.iter_mut().for_each(|item| self.inline(item, depth + 1));
                items.retain(|item| !is_removed(item));
            }
            Value::Object(members) => {
                self.routes(members);
                self.scopes(members);
                self.virtual_hosts(members);
                self.discovered_filter(members);
                self.secret(members);
                for member in members.values_mut() {
                    self.inline(member, depth + 1);
                }
                self.transport_socket(members);
            }
            _ => {}
        }
    }

    /// Replaces `rds` by the route configuration.
    fn routes(&mut self, members: &mut Map<String, Value>) {
        let name = members.get("rds").and_then(|rds| rds.get("route_config_name")).and_then(Value::as_str);
        let Some(name) = name.map(str::to_owned) else { return };
        members.remove("rds");
        let routes = self.find(Kind::Rds, &name);
        members
            .insert("route_config".into(), offline_routes(routes.unwrap_or_else(|| json!({ "name": name }))));
    }

    /// Replaces `scoped_rds` by the scopes, each with its route configuration.
    fn scopes(&mut self, members: &mut Map<String, Value>) {
        if !members.contains_key("scoped_rds") || !members.contains_key("scope_key_builder") {
            return;
        }
        members.remove("scoped_rds");
        let mut scopes = Vec::new();
        for mut scope in self.all(Kind::Srds) {
            let name = scope.get("route_configuration_name").and_then(Value::as_str).map(str::to_owned);
            let routes = name.and_then(|name| self.find(Kind::Rds, &name));
            if let (Some(scope), Some(routes)) = (scope.as_object_mut(), routes) {
                scope.remove("route_configuration_name");
                scope.remove("on_demand");
                scope.insert("route_configuration".into(), offline_routes(routes));
            }
            scopes.push(scope);
        }
        let list = json!({ "scoped_route_configurations": scopes });
        members.insert("scoped_route_configurations_list".into(), list);
    }

    /// Adds the virtual hosts of a route configuration with `vhds`.
    fn virtual_hosts(&mut self, members: &mut Map<String, Value>) {
        if members.get("vhds").is_none_or(|vhds| vhds.get("config_source").is_none()) {
            return;
        }
        members.remove("vhds");
        let prefix = format!("{}/", members.get("name").and_then(Value::as_str).unwrap_or_default());
        let hosts = self.resources.get(&Kind::Vhds).into_iter().flatten();
        let hosts = hosts.filter(|(name, _)| name.starts_with(&prefix)).map(|(_, value)| without_type(value));
        let hosts: Vec<Value> = hosts.collect();
        match members.get_mut("virtual_hosts").and_then(Value::as_array_mut) {
            Some(known) => known.extend(hosts),
            None => drop(members.insert("virtual_hosts".into(), json!(hosts))),
        }
    }

    /// Replaces `config_discovery` by the configuration of the filter, or by its default.
    fn discovered_filter(&mut self, members: &mut Map<String, Value>) {
        let Some(discovery) = members.get("config_discovery").filter(|value| value.is_object()).cloned()
        else {
            return;
        };
        let name = members.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        members.remove("config_discovery");
        let found = self.find(Kind::Ecds, &name).and_then(|found| found.get("typed_config").cloned());
        match found.or_else(|| discovery.get("default_config").cloned()) {
            Some(config) => drop(members.insert("typed_config".into(), config)),
            None => drop(members.insert(REMOVED.into(), json!(true))),
        }
    }

    /// Makes a reference to a secret a reference to a static secret.
    fn secret(&mut self, members: &mut Map<String, Value>) {
        let is_file = |config: &Value| config.get("path").or(config.get("path_config_source")).is_some();
        if members.get("sds_config").is_none_or(is_file) {
            return;
        }
        members.remove("sds_config");
        let name = members.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        if self.find(Kind::Sds, &name).is_none() {
            members.insert(MISSING_SECRET.into(), json!(true));
        }
    }

    /// Removes a transport socket whose secrets are missing: Envoy would not start.
    fn transport_socket(&mut self, members: &mut Map<String, Value>) {
        if members.get("transport_socket").is_some_and(lacks_secret) {
            members.remove("transport_socket");
            let name = members.get("name").and_then(Value::as_str).unwrap_or("a filter chain");
            self.notes.insert(format!("{name}: in plaintext, because its secrets are missing"));
        }
    }
}

/// Marks a filter without a configuration, which is left out.
const REMOVED: &str = "@removed";

/// Marks a reference to a secret that is missing.
const MISSING_SECRET: &str = "@missing-secret";

fn is_removed(value: &Value) -> bool {
    value.get(REMOVED).is_some()
}

/// Whether a value refers to a missing secret at any depth.
fn lacks_secret(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.contains_key(MISSING_SECRET) || members.values().any(lacks_secret),
        Value::Array(items) => items.iter().any(lacks_secret),
        _ => false,
    }
}

/// Removes the marks of missing secrets outside of transport sockets.
fn remove_marks(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove(MISSING_SECRET);
            members.values_mut().for_each(remove_marks);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_marks),
        _ => {}
    }
}

/// Returns a route configuration that may name clusters that do not exist, as one from a control
/// plane may.
fn offline_routes(mut routes: Value) -> Value {
    if let Some(members) = routes.as_object_mut() {
        members.insert("validate_clusters".into(), json!(false));
    }
    routes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resources(all: &[(Kind, &str, Value)]) -> ResourcesByKind {
        let mut out = ResourcesByKind::new();
        for (kind, name, value) in all {
            out.entry(*kind).or_default().insert((*name).to_owned(), value.clone());
        }
        out
    }

    #[test]
    fn inlines_endpoints_routes_and_filters() {
        let source = json!({ "ads": {} });
        let eds = json!({ "eds_config": source, "service_name": "svc" });
        let filter = json!({ "name": "f", "config_discovery": { "config_source": source } });
        let rds = json!({ "route_config_name": "r", "config_source": source });
        let listener = json!({ "@type": "T", "name": "l", "filters": [{ "typed_config": {
            "@type": "HCM", "rds": rds, "http_filters": [filter, { "name": "gone", "config_discovery": {} }],
        }}]});
        let given = resources(&[
            (Kind::Cds, "c", json!({ "@type": "T", "name": "c", "type": "EDS", "eds_cluster_config": eds })),
            (Kind::Eds, "svc", json!({ "@type": "T", "cluster_name": "svc", "endpoints": [] })),
            (Kind::Lds, "l", listener),
            (Kind::Rds, "r", json!({ "@type": "T", "name": "r", "vhds": { "config_source": source } })),
            (Kind::Vhds, "r/a", json!({ "@type": "T", "name": "a" })),
            (Kind::Ecds, "f", json!({ "@type": "T", "name": "f", "typed_config": { "@type": "X" } })),
            (Kind::Rtds, "rt", json!({ "@type": "T", "name": "rt", "layer": { "k": 1 } })),
        ]);
        let made = offline(&given, &json!({ "id": "n" }));
        let at = |path: &str| made.value.pointer(path).cloned().unwrap_or_default();
        assert_eq!(
            at("/static_resources/clusters/0"),
            json!({ "name": "c", "type": "STATIC", "load_assignment": { "cluster_name": "svc", "endpoints": [] } })
        );
        let manager = at("/static_resources/listeners/0/filters/0/typed_config");
        assert_eq!(manager["http_filters"], json!([{ "name": "f", "typed_config": { "@type": "X" } }]));
        assert_eq!(
            manager["route_config"],
            json!({ "name": "r", "virtual_hosts": [{ "name": "a" }], "validate_clusters": false })
        );
        assert_eq!(at("/layered_runtime/layers/0"), json!({ "name": "rt", "static_layer": { "k": 1 } }));
        assert_eq!(at("/node/id"), json!("n"));
        assert_eq!(made.notes, ["ECDS gone: missing, so references to it were removed".to_owned()].into());
    }

    #[test]
    fn inlines_scopes_and_keeps_known_secrets_only() {
        let scopes = json!({ "name": "s", "scope_key_builder": {}, "scoped_rds": {} });
        let tls = |name: &str| {
            json!({ "name": "tls", "typed_config": {
            "certs": [{ "name": name, "sds_config": { "ads": {} } }] }})
        };
        let given = resources(&[
            (
                Kind::Lds,
                "l",
                json!({ "name": "l", "filter_chains": [{ "transport_socket": tls("known"), "x": scopes }] }),
            ),
            (Kind::Cds, "c", json!({ "name": "c", "type": "STATIC", "transport_socket": tls("gone") })),
            (Kind::Srds, "a", json!({ "name": "a", "route_configuration_name": "r", "key": {} })),
            (Kind::Rds, "r", json!({ "name": "r" })),
            (Kind::Sds, "known", json!({ "name": "known" })),
        ]);
        let made = offline(&given, &Value::Null);
        let chain = &made.value["static_resources"]["listeners"][0]["filter_chains"][0];
        assert_eq!(chain["transport_socket"]["typed_config"]["certs"], json!([{ "name": "known" }]));
        let scope = &chain["x"]["scoped_route_configurations_list"]["scoped_route_configurations"][0];
        assert_eq!(scope["route_configuration"], json!({ "name": "r", "validate_clusters": false }));
        assert_eq!(made.value["static_resources"]["clusters"], json!([{ "name": "c", "type": "STATIC" }]));
        assert!(made.notes.iter().any(|note| note.starts_with("c: in plaintext")), "{:?}", made.notes);
    }
}
