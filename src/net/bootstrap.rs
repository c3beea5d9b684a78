//! Points a client's bootstrap at the tap: Envoy's (YAML or JSON) and gRPC's (JSON).
//!
//! A pure function over text. Only addresses of xDS servers change; everything else keeps its meaning, comments
//! are lost.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::tap::Address;

/// A bootstrap that goes through the tap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// In the language of the original: JSON stays JSON, YAML stays YAML.
    pub text: String,
    /// What was changed, and what a person should know, a line each.
    pub said: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BootstrapError {
    #[error("neither JSON nor YAML: {0}")]
    Syntax(String),
    #[error("neither an Envoy bootstrap (static_resources, dynamic_resources) nor a gRPC one (xds_servers)")]
    NoBootstrap,
    #[error("names no xDS server: no ads_config, no api_config_source, no xds_servers")]
    NoServer,
    #[error("{0}")]
    Unsupported(String),
    #[error("no xDS server at {wanted} in it; it has {found}")]
    NotFound { wanted: String, found: String },
}

/// Rewrites `text` so that clients reach each upstream through the listener in front of it. With one map and one
/// server in the file, that server is meant, whatever its address. `tls`: what to say of a client that speaks TLS.
pub fn rewrite(text: &str, maps: &[(Address, Address)], tls: &str) -> Result<Rewritten, BootstrapError> {
    let json = serde_json::from_str::<Value>(text).ok();
    let yaml = json.is_none();
    let mut value = match json {
        Some(value) => value,
        None => serde_saphyr::from_str::<Value>(text)
            .map_err(|error| BootstrapError::Syntax(error.to_string()))?,
    };
    let mut work = Work { maps, tls, found: Vec::new(), said: Vec::new(), changed: 0, any: false };
    let root = value.as_object_mut().ok_or(BootstrapError::NoBootstrap)?;
    let grpc = get(root, "xds_servers").is_some();
    let envoy = get(root, "static_resources").is_some() || get(root, "dynamic_resources").is_some();
    // The first pass counts the servers; with a single one the second may take it for the upstream.
    for pass in 0..2 {
        work.any = pass == 1 && maps.len() == 1 && work.found.len() == 1;
        match (grpc, envoy) {
            (true, _) => work.grpc(root),
            (false, true) => work.envoy(root),
            _ => return Err(BootstrapError::NoBootstrap),
        }
        if work.changed > 0 || work.found.len() != 1 {
            break;
        }
    }
    if work.found.is_empty() {
        return Err(BootstrapError::NoServer);
    }
    if work.changed == 0 {
        let wanted: Vec<_> = maps.iter().map(|(_, upstream)| upstream.to_string()).collect();
        let found: Vec<_> = work.found.to_vec();
        return Err(BootstrapError::NotFound { wanted: wanted.join(", "), found: found.join(", ") });
    }
    let text = if yaml {
        crate::schema::to_yaml(&value)
    } else {
        serde_json::to_string_pretty(&value).map_err(|error| BootstrapError::Syntax(error.to_string()))?
    };
    Ok(Rewritten { text: text.trim_end().to_owned() + "\n", said: work.said })
}

struct Work<'a> {
    maps: &'a [(Address, Address)],
    tls: &'a str,
    /// Addresses of the xDS servers seen, each once.
    found: Vec<String>,
    said: Vec<String>,
    changed: usize,
    /// The one server is meant even if its address is another.
    any: bool,
}

/// A field by its proto name or its JSON name.
pub(super) fn get<'a>(of: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    of.get(name).or_else(|| of.get(&camel(name)))
}

fn get_mut<'a>(of: &'a mut Map<String, Value>, name: &str) -> Option<&'a mut Value> {
    let key = if of.contains_key(name) { name.to_owned() } else { camel(name) };
    of.get_mut(&key)
}

fn camel(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| {
        let (head, tail) = part.split_at(part.len().min(1));
        all + &head.to_ascii_uppercase() + tail
    })
}

fn same(a: &str, b: &str) -> bool {
    let plain = |text: &str| text.replace("localhost:", "127.0.0.1:");
    plain(a) == plain(b)
}

impl Work<'_> {
    /// Where a client of the server at `address` shall connect instead.
    fn instead(&mut self, address: &str) -> Option<Address> {
        if !self.found.iter().any(|known| same(known, address)) {
            self.found.push(address.to_owned());
        }
        let map = self.maps.iter().find(|(_, upstream)| same(&upstream.to_string(), address));
        let map = map.or_else(|| self.maps.first().filter(|_| self.any))?;
        self.changed += 1;
        Some(map.0.clone())
    }

    fn grpc(&mut self, root: &mut Map<String, Value>) {
        if let Some(servers) = get_mut(root, "xds_servers") {
            self.servers("xds_servers", servers);
        }
        for (name, authority) in
            get_mut(root, "authorities").and_then(Value::as_object_mut).into_iter().flatten()
        {
            if let Some(servers) =
                authority.as_object_mut().and_then(|authority| get_mut(authority, "xds_servers"))
            {
                self.servers(&format!("authorities.{name}.xds_servers"), servers);
            }
        }
    }

    fn servers(&mut self, place: &str, servers: &mut Value) {
        for (i, server) in servers.as_array_mut().into_iter().flatten().enumerate() {
            let secure = server["channel_creds"][0]["type"].as_str().unwrap_or("insecure").to_owned();
            let Some(uri) = server.get_mut("server_uri") else { continue };
            let Some(old) = uri.as_str().map(plain_uri) else { continue };
            if let Some(new) = self.instead(&old) {
                *uri = Value::String(new.to_string());
                self.said.push(format!("{place}[{i}].server_uri: {old} → {new}"));
                if secure != "insecure" {
                    self.said.push(format!("{place}[{i}] uses {secure} credentials: {}", self.tls));
                }
            }
        }
    }

    fn envoy(&mut self, root: &mut Map<String, Value>) {
        let mut clusters = BTreeSet::new();
        let mut open = vec![Value::Object(root.clone())];
        while let Some(value) = open.pop() {
            match value {
                Value::Object(fields) => {
                    if get(&fields, "api_type").is_some() {
                        sources(&fields, &mut clusters);
                    }
                    open.extend(fields.into_iter().map(|(_, value)| value));
                }
                Value::Array(items) => open.extend(items),
                _ => {}
            }
        }
        self.google_grpc(root);
        let list = get_mut(root, "static_resources")
            .and_then(Value::as_object_mut)
            .and_then(|resources| resources.get_mut("clusters"))
            .and_then(Value::as_array_mut);
        for cluster in list.into_iter().flatten() {
            let name = cluster["name"].as_str().unwrap_or_default().to_owned();
            if clusters.contains(&name) {
                let secure =
                    cluster.as_object().is_some_and(|cluster| get(cluster, "transport_socket").is_some());
                let before = self.changed;
                self.addresses(&name, cluster);
                if secure && self.changed > before {
                    self.said.push(format!("cluster {name} uses TLS: {}", self.tls));
                }
            }
        }
    }

    /// Every `address` below a cluster.
    fn addresses(&mut self, cluster: &str, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                if let Some(address) = fields.get_mut("address").filter(|address| address.is_object())
                    && let Some(old) = endpoint(address)
                {
                    if let Some(new) = self.instead(&old) {
                        self.said.push(format!("cluster {cluster}: {old} → {new}"));
                        *address = envoy_address(&new);
                    }
                    return;
                }
                fields.values_mut().for_each(|value| self.addresses(cluster, value));
            }
            Value::Array(items) => items.iter_mut().for_each(|value| self.addresses(cluster, value)),
            _ => {}
        }
    }

    fn google_grpc(&mut self, fields: &mut Map<String, Value>) {
        if let Some(service) = get_mut(fields, "google_grpc").and_then(Value::as_object_mut)
            && let Some(uri) = get_mut(service, "target_uri")
            && let Some(old) = uri.as_str().map(plain_uri)
            && let Some(new) = self.instead(&old)
        {
            *uri = Value::String(new.to_string());
            self.said.push(format!("google_grpc: {old} → {new}"));
        }
        let mut open: Vec<&mut Value> = fields.values_mut().collect();
        while let Some(value) = open.pop() {
            match value {
                Value::Object(inner) => self.google_grpc(inner),
                Value::Array(items) => open.extend(items.iter_mut()),
                _ => {}
            }
        }
    }
}

/// The clusters that an ApiConfigSource names.
fn sources(source: &Map<String, Value>, clusters: &mut BTreeSet<String>) {
    let services = get(source, "grpc_services").map(|services| match services {
        Value::Array(list) => list.clone(),
        one => vec![one.clone()],
    });
    for service in services.into_iter().flatten() {
        let envoy =
            service.as_object().and_then(|service| get(service, "envoy_grpc")).and_then(Value::as_object);
        if let Some(name) = envoy.and_then(|envoy| get(envoy, "cluster_name")).and_then(Value::as_str) {
            clusters.insert(name.to_owned());
        }
    }
    let names = get(source, "cluster_names").and_then(Value::as_array);
    clusters.extend(names.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)));
}

/// An Envoy `Address` as text.
pub(super) fn endpoint(address: &Value) -> Option<String> {
    let address = address.as_object()?;
    if let Some(pipe) = address.get("pipe") {
        return Some(format!("unix:{}", pipe["path"].as_str()?));
    }
    let socket = get(address, "socket_address")?.as_object()?;
    let host = socket.get("address")?.as_str()?;
    let port = get(socket, "port_value")?;
    let port = port.as_u64().or_else(|| port.as_str()?.parse().ok())?;
    Some(if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") })
}

fn envoy_address(address: &Address) -> Value {
    match address {
        Address::Unix(path) => json!({"pipe": {"path": path.to_string_lossy()}}),
        Address::Tcp(text) => {
            let (host, port) = text.rsplit_once(':').unwrap_or((text, "0"));
            let host = host.trim_matches(['[', ']']);
            json!({"socket_address": {"address": host, "port_value": port.parse::<u16>().unwrap_or(0)}})
        }
    }
}

/// A gRPC target without its scheme.
pub(super) fn plain_uri(uri: &str) -> String {
    let uri = uri.strip_prefix("dns:").unwrap_or(uri);
    let uri = uri.strip_prefix("///").or(uri.strip_prefix("http://")).unwrap_or(uri);
    uri.replace("unix:///", "unix:/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn maps(listen: &str, upstream: &str) -> Vec<(Address, Address)> {
        vec![(listen.parse().unwrap(), upstream.parse().unwrap())]
    }

    const ENVOY: &str = r#"
node: {id: edge, cluster: c}   # who
dynamic_resources:
  ads_config:
    api_type: GRPC
    grpc_services: [{envoy_grpc: {cluster_name: xds}}]
static_resources:
  clusters:
  - name: xds
    load_assignment:
      endpoints:
      - lb_endpoints:
        - endpoint: {address: {socket_address: {address: cp.mesh, port_value: 15010}}}
  - name: other
    load_assignment:
      endpoints:
      - lb_endpoints:
        - endpoint: {address: {socket_address: {address: cp.mesh, port_value: 15010}}}
"#;

    fn read(text: &str) -> Value {
        serde_saphyr::from_str(text).unwrap()
    }

    #[test]
    fn only_the_xds_cluster_of_an_envoy_moves() {
        let out = rewrite(ENVOY, &maps("127.0.0.1:18001", "cp.mesh:15010"), "the tap reads it").unwrap();
        let mut want = read(ENVOY);
        want["static_resources"]["clusters"][0]["load_assignment"]["endpoints"][0]["lb_endpoints"][0]["endpoint"]
            ["address"] = json!({"socket_address": {"address": "127.0.0.1", "port_value": 18001}});
        assert_eq!(read(&out.text), want);
        assert_eq!(out.said, ["cluster xds: cp.mesh:15010 → 127.0.0.1:18001"]);
    }

    #[test]
    fn a_single_server_is_meant_whatever_its_address() {
        let out = rewrite(ENVOY, &maps("unix:/run/tap.sock", "10.0.0.1:1"), "the tap reads it").unwrap();
        assert!(out.text.contains("/run/tap.sock"), "{}", out.text);
        assert_eq!(out.said.len(), 1);
    }

    #[test]
    fn grpc_bootstraps_stay_json() {
        let text = r#"{"xds_servers":[{"server_uri":"dns:///cp:1","channel_creds":[{"type":"tls"}]}],
            "authorities":{"a":{"xds_servers":[{"server_uri":"other:2"}]}},"node":{"id":"n"}}"#;
        let out = rewrite(text, &maps("127.0.0.1:9", "cp:1"), "the tap reads it").unwrap();
        let value: Value = serde_json::from_str(&out.text).unwrap();
        assert_eq!(value["xds_servers"][0]["server_uri"], "127.0.0.1:9");
        assert_eq!(value["authorities"]["a"]["xds_servers"][0]["server_uri"], "other:2");
        assert_eq!(out.said.len(), 2, "{:?}", out.said);
        assert!(out.said[1].ends_with("uses tls credentials: the tap reads it"), "{:?}", out.said);
    }

    #[test]
    fn the_examples_go_through_the_tap() {
        for text in [
            include_str!("../../examples/bootstraps/envoy-ads.yaml"),
            include_str!("../../examples/bootstraps/grpc.json"),
        ] {
            let out = rewrite(text, &maps("127.0.0.1:18001", "127.0.0.1:18000"), "the tap reads it").unwrap();
            assert_eq!(out.said.len(), 1);
            assert!(out.text.contains("18001") && !out.text.contains("18000"), "{}", out.text);
        }
    }

    #[test]
    fn what_cannot_be_done_is_told_apart() {
        let maps = maps("127.0.0.1:9", "cp:1");
        assert!(matches!(rewrite("{", &maps, ""), Err(BootstrapError::Syntax(_))));
        assert_eq!(rewrite("a: 1", &maps, ""), Err(BootstrapError::NoBootstrap));
        assert_eq!(rewrite("static_resources: {}", &maps, ""), Err(BootstrapError::NoServer));
        let two = r#"{"xds_servers":[{"server_uri":"x:1"},{"server_uri":"y:1"}]}"#;
        let error = rewrite(two, &maps, "").unwrap_err().to_string();
        assert!(error.contains("cp:1") && error.contains("x:1, y:1"), "{error}");
    }
}
