//! Points the bootstrap of a client at the tap.
//!
//! Only the addresses of xDS servers change. Comments are lost.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::config::BootstrapError;
use crate::bootstrap::fields::{self, get, get_mut};
use crate::bootstrap::{Dialect, Document, address_text, cluster_names, target_address};

/// An xDS server, and the address at which clients shall reach it instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// `host:port` or `unix:/path`.
    pub listen: String,
    /// `host:port` or `unix:/path`.
    pub upstream: String,
}

/// A bootstrap that leads through the tap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The bootstrap in the language of the original, JSON or YAML.
    pub text: String,
    /// A line for each change, and for each thing to know about it.
    pub notes: Vec<String>,
}

/// Rewrites the bootstrap `text` so that the client reaches each upstream through its listener.
///
/// A single redirect applies to the only server of a bootstrap, whatever the address of the server.
/// `tls_note` is added to the note about a client that speaks TLS.
///
/// # Errors
/// The text is not a bootstrap, or has none of the servers.
pub fn rewrite(text: &str, redirects: &[Redirect], tls_note: &str) -> Result<Rewritten, BootstrapError> {
    let mut document = Document::parse(text)?;
    let mut rewriter = Rewriter {
        redirects,
        tls_note,
        servers: Vec::new(),
        notes: Vec::new(),
        changes: 0,
        is_only_server: false,
    };
    rewriter.rewrite(&mut document);
    // The first pass has counted the servers: a single one may have another address.
    if rewriter.changes == 0 && redirects.len() == 1 && rewriter.servers.len() == 1 {
        rewriter.is_only_server = true;
        rewriter.rewrite(&mut document);
    }
    if rewriter.servers.is_empty() {
        return Err(BootstrapError::NoServer);
    }
    if rewriter.changes == 0 {
        let wanted: Vec<_> = redirects.iter().map(|redirect| redirect.upstream.as_str()).collect();
        let found = rewriter.servers.join(", ");
        return Err(BootstrapError::NotFound { wanted: wanted.join(", "), found });
    }
    Ok(Rewritten { text: document.to_text(), notes: rewriter.notes })
}

struct Rewriter<'a> {
    redirects: &'a [Redirect],
    tls_note: &'a str,
    /// Addresses of the xDS servers of the bootstrap, each once.
    servers: Vec<String>,
    notes: Vec<String>,
    changes: usize,
    /// The bootstrap has one server, to which the redirect applies whatever the address.
    is_only_server: bool,
}

fn is_same_address(a: &str, b: &str) -> bool {
    let normalize = |text: &str| text.replace("localhost:", "127.0.0.1:");
    normalize(a) == normalize(b)
}

impl Rewriter<'_> {
    fn rewrite(&mut self, document: &mut Document) {
        let dialect = document.dialect();
        let Some(root) = document.root_mut().as_object_mut() else { return };
        match dialect {
            Dialect::Grpc => self.rewrite_grpc(root),
            Dialect::Envoy => self.rewrite_envoy(root),
        }
    }

    /// The address to use instead of the server at `address`.
    fn redirect(&mut self, address: &str) -> Option<String> {
        if !self.servers.iter().any(|known| is_same_address(known, address)) {
            self.servers.push(address.to_owned());
        }
        let redirect = self.redirects.iter().find(|redirect| is_same_address(&redirect.upstream, address));
        let redirect = redirect.or_else(|| self.redirects.first().filter(|_| self.is_only_server))?;
        self.changes += 1;
        Some(redirect.listen.clone())
    }

    fn rewrite_grpc(&mut self, root: &mut Map<String, Value>) {
        if let Some(servers) = get_mut(root, fields::XDS_SERVERS) {
            self.rewrite_servers(fields::XDS_SERVERS, servers);
        }
        let authorities = get_mut(root, fields::AUTHORITIES).and_then(Value::as_object_mut);
        for (name, authority) in authorities.into_iter().flatten() {
            let servers = authority.as_object_mut();
            if let Some(servers) = servers.and_then(|authority| get_mut(authority, fields::XDS_SERVERS)) {
                let path = format!("{}.{name}.{}", fields::AUTHORITIES, fields::XDS_SERVERS);
                self.rewrite_servers(&path, servers);
            }
        }
    }

    fn rewrite_servers(&mut self, path: &str, servers: &mut Value) {
        for (i, server) in servers.as_array_mut().into_iter().flatten().enumerate() {
            let credentials = server[fields::CHANNEL_CREDS][0]["type"].as_str();
            let credentials = credentials.unwrap_or("insecure").to_owned();
            let Some(uri) = server.get_mut(fields::SERVER_URI) else { continue };
            let Some(old) = uri.as_str().map(target_address) else { continue };
            if let Some(new) = self.redirect(&old) {
                self.notes.push(format!("{path}[{i}].{}: {old} → {new}", fields::SERVER_URI));
                *uri = Value::String(new);
                if credentials != "insecure" {
                    let note = self.tls_note;
                    self.notes.push(format!("{path}[{i}] uses {credentials} credentials: {note}"));
                }
            }
        }
    }

    fn rewrite_envoy(&mut self, root: &mut Map<String, Value>) {
        let names = xds_clusters(root);
        self.rewrite_google_grpc(root);
        let clusters = get_mut(root, fields::STATIC_RESOURCES)
            .and_then(Value::as_object_mut)
            .and_then(|resources| resources.get_mut(fields::CLUSTERS))
            .and_then(Value::as_array_mut);
        for cluster in clusters.into_iter().flatten() {
            let name = cluster["name"].as_str().unwrap_or_default().to_owned();
            if names.contains(&name) {
                let has_tls = !fields::field(cluster, fields::TRANSPORT_SOCKET).is_null();
                let before = self.changes;
                self.rewrite_addresses(&name, cluster);
                if has_tls && self.changes > before {
                    self.notes.push(format!("cluster {name} uses TLS: {}", self.tls_note));
                }
            }
        }
    }

    /// Rewrites each `address` below a cluster.
    fn rewrite_addresses(&mut self, cluster: &str, value: &mut Value) {
        match value {
            Value::Object(object) => {
                let address = object.get_mut(fields::ADDRESS).filter(|address| address.is_object());
                if let Some(address) = address
                    && let Some(old) = address_text(address)
                {
                    if let Some(new) = self.redirect(&old) {
                        self.notes.push(format!("cluster {cluster}: {old} → {new}"));
                        *address = envoy_address(&new);
                    }
                    return;
                }
                object.values_mut().for_each(|value| self.rewrite_addresses(cluster, value));
            }
            Value::Array(items) => {
                items.iter_mut().for_each(|value| self.rewrite_addresses(cluster, value));
            }
            _ => {}
        }
    }

    fn rewrite_google_grpc(&mut self, object: &mut Map<String, Value>) {
        if let Some(service) = get_mut(object, fields::GOOGLE_GRPC).and_then(Value::as_object_mut)
            && let Some(uri) = get_mut(service, fields::TARGET_URI)
            && let Some(old) = uri.as_str().map(target_address)
            && let Some(new) = self.redirect(&old)
        {
            self.notes.push(format!("google_grpc: {old} → {new}"));
            *uri = Value::String(new);
        }
        let mut open: Vec<&mut Value> = object.values_mut().collect();
        while let Some(value) = open.pop() {
            match value {
                Value::Object(inner) => self.rewrite_google_grpc(inner),
                Value::Array(items) => open.extend(items.iter_mut()),
                _ => {}
            }
        }
    }
}

/// The names of the clusters that any `ApiConfigSource` of the bootstrap leads to.
fn xds_clusters(root: &Map<String, Value>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut visit = |object: &Map<String, Value>| {
        if get(object, fields::API_TYPE).is_some() {
            names.extend(cluster_names(object).into_iter().map(str::to_owned));
        }
    };
    visit(root);
    let mut open: Vec<&Value> = root.values().collect();
    while let Some(value) = open.pop() {
        match value {
            Value::Object(object) => {
                visit(object);
                open.extend(object.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    names
}

/// An Envoy `Address` for `host:port` or `unix:/path`.
fn envoy_address(address: &str) -> Value {
    if let Some(path) = address.strip_prefix("unix:") {
        return json!({"pipe": {"path": path}});
    }
    let (host, port) = address.rsplit_once(':').unwrap_or((address, "0"));
    let host = host.trim_matches(['[', ']']);
    json!({"socket_address": {"address": host, "port_value": port.parse::<u16>().unwrap_or(0)}})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::DocumentError;

    fn redirect(listen: &str, upstream: &str) -> [Redirect; 1] {
        [Redirect { listen: listen.into(), upstream: upstream.into() }]
    }

    const ENVOY: &str = r#"
node: {id: edge, cluster: c}   # comment
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
    fn redirects_only_the_xds_cluster() {
        let out = rewrite(ENVOY, &redirect("127.0.0.1:18001", "cp.mesh:15010"), "the tap reads it").unwrap();
        let mut want = read(ENVOY);
        want["static_resources"]["clusters"][0]["load_assignment"]["endpoints"][0]["lb_endpoints"][0]["endpoint"]
            ["address"] = json!({"socket_address": {"address": "127.0.0.1", "port_value": 18001}});
        assert_eq!(read(&out.text), want);
        assert_eq!(out.notes, ["cluster xds: cp.mesh:15010 → 127.0.0.1:18001"]);
    }

    #[test]
    fn redirects_a_single_server_with_another_address() {
        let out = rewrite(ENVOY, &redirect("unix:/run/tap.sock", "10.0.0.1:1"), "the tap reads it").unwrap();
        assert!(out.text.contains("/run/tap.sock"), "{}", out.text);
        assert_eq!(out.notes.len(), 1);
    }

    #[test]
    fn keeps_grpc_bootstraps_json() {
        let text = r#"{"xds_servers":[{"server_uri":"dns:///cp:1","channel_creds":[{"type":"tls"}]}],
            "authorities":{"a":{"xds_servers":[{"server_uri":"other:2"}]}},"node":{"id":"n"}}"#;
        let out = rewrite(text, &redirect("127.0.0.1:9", "cp:1"), "the tap reads it").unwrap();
        let value: Value = serde_json::from_str(&out.text).unwrap();
        assert_eq!(value["xds_servers"][0]["server_uri"], "127.0.0.1:9");
        assert_eq!(value["authorities"]["a"]["xds_servers"][0]["server_uri"], "other:2");
        assert_eq!(out.notes.len(), 2, "{:?}", out.notes);
        assert!(out.notes[1].ends_with("uses tls credentials: the tap reads it"), "{:?}", out.notes);
    }

    #[test]
    fn redirects_the_examples() {
        for text in [
            include_str!("../../../examples/bootstraps/envoy-ads.yaml"),
            include_str!("../../../examples/bootstraps/grpc.json"),
        ] {
            let out =
                rewrite(text, &redirect("127.0.0.1:18001", "127.0.0.1:18000"), "the tap reads it").unwrap();
            assert_eq!(out.notes.len(), 1);
            assert!(out.text.contains("18001") && !out.text.contains("18000"), "{}", out.text);
        }
    }

    #[test]
    fn tells_why_a_bootstrap_cannot_be_rewritten() {
        let redirects = redirect("127.0.0.1:9", "cp:1");
        assert!(matches!(
            rewrite("{", &redirects, ""),
            Err(BootstrapError::Document(DocumentError::Syntax(_)))
        ));
        assert_eq!(
            rewrite("a: 1", &redirects, ""),
            Err(BootstrapError::Document(DocumentError::NotABootstrap))
        );
        assert_eq!(rewrite("static_resources: {}", &redirects, ""), Err(BootstrapError::NoServer));
        let two = r#"{"xds_servers":[{"server_uri":"x:1"},{"server_uri":"y:1"}]}"#;
        let error = rewrite(two, &redirects, "").unwrap_err().to_string();
        assert!(error.contains("cp:1") && error.contains("x:1, y:1"), "{error}");
    }
}
