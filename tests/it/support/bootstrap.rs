//! Bootstraps of clients.

use std::{net::SocketAddr, path::Path};

use serde_json::{Value, json};

use super::{certs::ClientTls, snapshot::UPSTREAM_TLS};

/// Name of the cluster of the control plane in Envoy's bootstrap.
const XDS_CLUSTER: &str = "xds";

/// xDS variants of Envoy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// One aggregated stream, state of the world.
    Ads,
    /// One aggregated stream, delta.
    DeltaAds,
    /// A stream for each type (and each resource of EDS and RDS), state of the world.
    Sotw,
    /// A stream for each type, delta.
    Delta,
}

impl Variant {
    /// Returns the value of `--variant`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ads => "ads",
            Self::DeltaAds => "delta-ads",
            Self::Sotw => "sotw",
            Self::Delta => "delta",
        }
    }

    pub fn is_delta(self) -> bool {
        matches!(self, Self::DeltaAds | Self::Delta)
    }

    pub fn is_aggregated(self) -> bool {
        matches!(self, Self::Ads | Self::DeltaAds)
    }

    /// Returns the `ConfigSource` of LDS, CDS and all references.
    pub fn config_source(self) -> Value {
        if self.is_aggregated() {
            json!({ "ads": {}, "resource_api_version": "V3" })
        } else {
            json!({ "api_config_source": self.api_config_source(), "resource_api_version": "V3" })
        }
    }

    fn api_config_source(self) -> Value {
        json!({
            "api_type": if self.is_delta() { "DELTA_GRPC" } else { "GRPC" },
            "transport_api_version": "V3",
            "grpc_services": [{ "envoy_grpc": { "cluster_name": XDS_CLUSTER } }],
        })
    }
}

/// Returns a bootstrap of Envoy: everything except the control plane's cluster, at `xds`, comes by
/// xDS.
///
/// The admin port is free.
pub fn envoy(node: &str, variant: Variant, xds: SocketAddr, tls: Option<&ClientTls>) -> Value {
    let mut dynamic = json!({ "lds_config": variant.config_source(), "cds_config": variant.config_source() });
    if variant.is_aggregated() {
        dynamic["ads_config"] = variant.api_config_source();
    }
    let mut bootstrap = envoy_base(node, dynamic, xds, true);
    if let Some(tls) = tls {
        bootstrap["static_resources"]["clusters"][0]["transport_socket"] = transport_socket(tls);
    }
    bootstrap
}

/// Returns a bootstrap with structured names: all clusters of the authority `shop.example` under
/// `shop`, over one aggregated stream.
pub fn envoy_xdstp(node: &str, variant: Variant, xds: SocketAddr) -> Value {
    let api_type = if variant.is_delta() { "AGGREGATED_DELTA_GRPC" } else { "AGGREGATED_GRPC" };
    let source = json!({
        "resource_api_version": "V3",
        "api_config_source": { "api_type": api_type, "transport_api_version": "V3" },
    });
    let dynamic = json!({
        "ads_config": variant.api_config_source(),
        "cds_resources_locator": "xdstp://shop.example/envoy.config.cluster.v3.Cluster/shop/*",
        "cds_config": source,
    });
    envoy_base(node, dynamic, xds, true)
}

/// Returns a `ConfigSource` that polls once a second.
pub fn polled() -> Value {
    json!({ "resource_api_version": "V3", "api_config_source": {
        "api_type": "REST",
        "transport_api_version": "V3",
        "cluster_names": [XDS_CLUSTER],
        "refresh_delay": "1s",
        "request_timeout": "5s",
    }})
}

/// Returns a bootstrap that polls.
pub fn envoy_rest(node: &str, xds: SocketAddr) -> Value {
    envoy_base(node, json!({ "lds_config": polled(), "cds_config": polled() }), xds, false)
}

/// Returns a `ConfigSource` of a file, which Envoy reloads when another file is renamed to its
/// path.
pub fn filed(file: &Path) -> Value {
    json!({ "resource_api_version": "V3", "path_config_source": {
        "path": file,
        "watched_directory": { "path": file.parent() },
    }})
}

/// Returns a bootstrap with the files `lds.json` and `cds.json` of a folder.
pub fn envoy_files(node: &str, folder: &Path) -> Value {
    let source = |file: &str| filed(&folder.join(file));
    let dynamic = json!({ "lds_config": source("lds.json"), "cds_config": source("cds.json") });
    envoy_base(node, dynamic, "127.0.0.1:9".parse().expect("an address"), true)
}

fn envoy_base(node: &str, dynamic: Value, xds: SocketAddr, http2: bool) -> Value {
    envoy_clusters(node, &dynamic, vec![xds_cluster(XDS_CLUSTER, xds, http2)])
}

/// Returns a bootstrap with several control planes: the clusters `plane-0`, `plane-1` and so on.
pub fn envoy_planes(node: &str, dynamic: &Value, planes: &[SocketAddr]) -> Value {
    let cluster = |(at, plane): (usize, &SocketAddr)| xds_cluster(&format!("plane-{at}"), *plane, true);
    envoy_clusters(node, dynamic, planes.iter().enumerate().map(cluster).collect())
}

/// Returns an `ApiConfigSource` of a control plane; `None` means no server.
pub fn api_of(plane: Option<usize>, api_type: &str) -> Value {
    let mut api = json!({ "api_type": api_type, "transport_api_version": "V3" });
    if let Some(at) = plane {
        api["grpc_services"] = json!([{ "envoy_grpc": { "cluster_name": format!("plane-{at}") } }]);
    }
    api
}

/// Returns a `ConfigSource` of a control plane for these authorities.
pub fn source_of(plane: Option<usize>, api_type: &str, authorities: &[&str]) -> Value {
    let mut source = json!({ "resource_api_version": "V3", "api_config_source": api_of(plane, api_type) });
    if !authorities.is_empty() {
        source["authorities"] = authorities.iter().map(|name| json!({ "name": name })).collect();
    }
    source
}

fn envoy_clusters(node: &str, dynamic: &Value, clusters: Vec<Value>) -> Value {
    json!({
        "node": { "id": node, "cluster": "tests", "metadata": { "role": "edge" } },
        "admin": { "address": socket_address("127.0.0.1:0".parse().expect("an address")) },
        "dynamic_resources": dynamic,
        "static_resources": { "clusters": clusters },
    })
}

/// Returns a static cluster with the address of a control plane.
pub fn xds_cluster(name: &str, xds: SocketAddr, http2: bool) -> Value {
    let options = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
    let http = if http2 { "http2_protocol_options" } else { "http_protocol_options" };
    json!({
        "name": name,
        "type": "STATIC",
        "connect_timeout": "1s",
        "typed_extension_protocol_options": { options: {
            "@type": format!("type.googleapis.com/{options}"),
            "explicit_http_config": { http: {} },
        }},
        "load_assignment": {
            "cluster_name": name,
            "endpoints": [{ "lb_endpoints": [{ "endpoint": { "address": socket_address(xds) } }] }],
        },
    })
}

fn transport_socket(tls: &ClientTls) -> Value {
    let file = |path: &Path| json!({ "filename": path });
    let mut context = json!({
        "alpn_protocols": ["h2"],
        "validation_context": {
            "trusted_ca": file(&tls.ca),
            "match_typed_subject_alt_names": [{ "san_type": "DNS", "matcher": { "exact": tls.sni } }],
        },
    });
    if let Some(own) = &tls.own {
        context["tls_certificates"] =
            json!([{ "certificate_chain": file(&own.cert), "private_key": file(&own.key) }]);
    }
    json!({ "name": "tls", "typed_config": {
        "@type": UPSTREAM_TLS,
        "sni": tls.sni,
        "common_tls_context": context,
    }})
}

/// Returns a bootstrap of a gRPC client (gRFC A27), with TLS as in gRFC A65.
pub fn grpc(node: &str, xds: SocketAddr, tls: Option<&ClientTls>) -> Value {
    let credentials = tls.map_or(json!({ "type": "insecure" }), |tls| {
        let mut config = json!({ "ca_certificate_file": tls.ca });
        if let Some(own) = &tls.own {
            config["certificate_file"] = json!(own.cert);
            config["private_key_file"] = json!(own.key);
        }
        json!({ "type": "tls", "config": config })
    });
    json!({
        "xds_servers": [{
            "server_uri": xds.to_string(),
            "channel_creds": [credentials],
            "server_features": ["xds_v3"],
        }],
        // grpc-js requires a locality in the node.
        "node": { "id": node, "cluster": "tests", "locality": { "region": "here" } },
    })
}

/// Returns an `Address`.
pub fn socket_address(of: SocketAddr) -> Value {
    json!({ "socket_address": { "address": of.ip().to_string(), "port_value": of.port() } })
}
