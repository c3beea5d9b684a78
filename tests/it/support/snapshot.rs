//! Contents of a control plane: resources as protobuf JSON, in versions.

use std::{collections::BTreeMap, net::SocketAddr};

use serde_json::{Value, json};

use super::bootstrap::{Variant, socket_address};

pub const LISTENER: &str = "type.googleapis.com/envoy.config.listener.v3.Listener";
pub const ROUTE: &str = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration";
pub const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
pub const ENDPOINTS: &str = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";
pub const SECRET: &str = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret";

const ROUTER: &str = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router";
const HTTP: &str =
    "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";
pub const UPSTREAM_TLS: &str =
    "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext";

/// A snapshot of a control plane.
#[derive(Clone, Default)]
pub struct Snapshot {
    by_type: BTreeMap<&'static str, Value>,
}

impl Snapshot {
    /// Replaces all resources of `type_url`; other types stay.
    #[must_use]
    pub fn with(mut self, type_url: &'static str, version: &str, resources: Vec<Value>) -> Self {
        let resources: Vec<_> = resources.into_iter().map(|r| typed(type_url, r)).collect();
        self.by_type.insert(type_url, json!({ "version": version, "resources": resources }));
        self
    }

    /// Returns a chain in version `1`: the listener `in`, its route `r-in`, the cluster `echo`, its
    /// endpoint `backend`.
    pub fn chain(variant: Variant, backend: SocketAddr) -> Self {
        Self::default()
            .with(LISTENER, "1", vec![listener("in", "r-in", variant)])
            .with(ROUTE, "1", vec![route("r-in", "echo")])
            .with(CLUSTER, "1", vec![cluster("echo", variant)])
            .with(ENDPOINTS, "1", vec![endpoints("echo", backend)])
    }

    /// Returns version `2` of a chain: the route moves to a second cluster, `more`.
    #[must_use]
    pub fn grown(self, variant: Variant, backend: SocketAddr) -> Self {
        self.with(CLUSTER, "2", vec![cluster("echo", variant), cluster("more", variant)])
            .with(ENDPOINTS, "2", vec![endpoints("echo", backend), endpoints("more", backend)])
            .with(ROUTE, "2", vec![route("r-in", "more")])
    }

    /// Returns version `3` of a chain, without the unreferenced first cluster.
    #[must_use]
    pub fn shrunk(self, variant: Variant, backend: SocketAddr) -> Self {
        self.with(CLUSTER, "3", vec![cluster("more", variant)]).with(
            ENDPOINTS,
            "3",
            vec![endpoints("more", backend)],
        )
    }

    /// Returns a chain for a gRPC client of `xds:///target`.
    pub fn grpc_chain(target: &str, backend: SocketAddr) -> Self {
        Self::chain(Variant::Ads, backend).with(
            LISTENER,
            "1",
            vec![api_listener(target, "r-in", Variant::Ads)],
        )
    }

    /// Returns the snapshot in the form of the control plane's command.
    pub fn to_json(&self) -> Value {
        json!(self.by_type)
    }
}

fn typed(type_url: &str, mut resource: Value) -> Value {
    resource["@type"] = json!(type_url);
    resource
}

/// Returns an HTTP listener on a free loopback port.
pub fn listener(name: &str, route: &str, source: Variant) -> Value {
    json!({
        "name": name,
        "address": socket_address("127.0.0.1:0".parse().expect("an address")),
        "filter_chains": [{ "filters": [{ "name": "http", "typed_config": http(route, source) }] }],
    })
}

/// Returns the listener of a gRPC client.
pub fn api_listener(name: &str, route: &str, source: Variant) -> Value {
    json!({ "name": name, "api_listener": { "api_listener": http(route, source) } })
}

fn http(route: &str, source: Variant) -> Value {
    json!({
        "@type": HTTP,
        "stat_prefix": "in",
        "rds": { "route_config_name": route, "config_source": source.config_source() },
        "http_filters": [{ "name": "router", "typed_config": { "@type": ROUTER } }],
    })
}

/// Returns a route configuration with one route, to `cluster`.
pub fn route(name: &str, cluster: &str) -> Value {
    let all = json!({ "match": { "prefix": "" }, "route": { "cluster": cluster } });
    json!({ "name": name, "virtual_hosts": [{ "name": "all", "domains": ["*"], "routes": [all] }] })
}

/// Returns a cluster with EDS endpoints under its own name.
pub fn cluster(name: &str, source: Variant) -> Value {
    json!({
        "name": name,
        "type": "EDS",
        "connect_timeout": "1s",
        "eds_cluster_config": { "eds_config": source.config_source() },
    })
}

/// Returns one endpoint of the cluster `name`.
pub fn endpoints(name: &str, backend: SocketAddr) -> Value {
    let one = json!({ "endpoint": { "address": socket_address(backend) } });
    json!({
        "cluster_name": name,
        "endpoints": [{
            "locality": { "region": "here" }, "load_balancing_weight": 1, "lb_endpoints": [one],
        }],
    })
}

/// Returns the clusters `bad-1` and `bad-2`, which Envoy rejects in one NACK with a reason for
/// each.
pub fn bad_clusters() -> Vec<Value> {
    let address = json!({ "socket_address": { "address": "not-an-ip", "port_value": 1 } });
    let bad = |name: &str| {
        let endpoints = json!([{ "lb_endpoints": [{ "endpoint": { "address": address } }] }]);
        json!({
            "name": name,
            "type": "STATIC",
            "connect_timeout": "1s",
            "load_assignment": { "cluster_name": name, "endpoints": endpoints },
        })
    };
    vec![bad("bad-1"), bad("bad-2")]
}

/// Returns a cluster that Envoy rejects before all others, with a multi-line dump of the cluster
/// that contains `note`.
pub fn dumped_cluster(name: &str, note: &str) -> Value {
    json!({ "name": name, "type": "STATIC", "connect_timeout": "0s", "alt_stat_name": note })
}

/// Returns a cluster that needs the secret `secret` for its upstream TLS.
pub fn cluster_with_secret(name: &str, secret: &str, source: Variant) -> Value {
    json!({
        "name": name,
        "type": "STATIC",
        "connect_timeout": "1s",
        "transport_socket": { "name": "tls", "typed_config": {
            "@type": UPSTREAM_TLS,
            "common_tls_context": {
                "tls_certificate_sds_secret_configs": [{ "name": secret, "sds_config": source.config_source() }],
            },
        }},
    })
}

/// Returns a secret that Envoy rejects (its certificate chain has no source) with the private key
/// `key`.
///
/// Envoy's error text has a dump of the secret with its key.
pub fn bad_secret(name: &str, key: &str) -> Value {
    json!({
        "name": name,
        "tls_certificate": { "certificate_chain": {}, "private_key": { "inline_string": key } },
    })
}

/// Returns a secret that Envoy accepts: a certificate and its key in PEM.
pub fn secret(name: &str, cert: &str, key: &str) -> Value {
    let inline = |text: &str| json!({ "inline_string": text });
    json!({
        "name": name,
        "tls_certificate": { "certificate_chain": inline(cert), "private_key": inline(key) },
    })
}
