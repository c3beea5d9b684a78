//! An Envoy bootstrap does not define the cluster of an xDS server, or defines it without HTTP/2.
//!
//! Why: Envoy does not start if a config source names a cluster that is not static. A gRPC server
//! does not understand the HTTP/1.1 that Envoy speaks to a cluster without HTTP/2 options.
//!
//! Example:
//! ```text
//! dynamic_resources:
//!   ads_config: {api_type: GRPC, grpc_services: [{envoy_grpc: {cluster_name: xds}}]}
//! static_resources:
//!   clusters:
//!   - {name: xds}
//! ```
//!
//! Advice: Define the cluster in `static_resources.clusters`. Set `explicit_http_config:
//! {http2_protocol_options: {}}` of `envoy.extensions.upstreams.http.v3.HttpProtocolOptions` in its
//! `typed_extension_protocol_options`.
//!
//! Reference: Envoy documentation, "xDS configuration API overview".

use serde_json::Value;

use crate::lint::bootstrap::{Bootstrap, BootstrapProblem, cluster_names, get, is_api};
use crate::lint::prelude::*;

rule! {
    bootstrap-xds-cluster: Error, rows "P";
    checks: Bootstrap(check)
}

/// The key of the options of HTTP in `typed_extension_protocol_options`.
const HTTP_OPTIONS: &str = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";

fn check(file: &Bootstrap) -> Vec<BootstrapProblem> {
    let clusters = file.clusters();
    let mut found: Vec<BootstrapProblem> = Vec::new();
    // A file without clusters is only a part of a bootstrap.
    if file.is_grpc() || clusters.is_empty() {
        return found;
    }
    file.each(&mut |place, object| {
        let names = if is_api(object) { cluster_names(object) } else { Vec::new() };
        let is_rest = get(object, "api_type").is_some_and(|kind| kind == "REST");
        for name in names {
            let mut named = clusters.iter().enumerate().filter(|(_, cluster)| cluster["name"] == name);
            let (place, text) = match named.next() {
                None => (place.to_owned(), format!("names {name:?}, which is not a static cluster")),
                Some((index, cluster)) if !is_rest && !has_http2(cluster) => {
                    let place = format!("static_resources.clusters[{index}]");
                    (place, format!("lacks http2_protocol_options, and gRPC to {name:?} needs HTTP/2"))
                }
                Some(_) => continue,
            };
            if found.iter().all(|known| known.place != place || known.text != text) {
                found.push(BootstrapProblem::new(place, text));
            }
        }
    });
    found
}

/// Whether Envoy may speak a later HTTP than HTTP/1.1 to a cluster.
fn has_http2(cluster: &Value) -> bool {
    let Some(cluster) = cluster.as_object() else { return true };
    // The field of v2 is deprecated and still works.
    if get(cluster, "http2_protocol_options").is_some() {
        return true;
    }
    let extensions = get(cluster, "typed_extension_protocol_options");
    let options = extensions.and_then(|extensions| extensions.get(HTTP_OPTIONS));
    let Some(options) = options.and_then(Value::as_object) else { return false };
    let explicit = get(options, "explicit_http_config").and_then(Value::as_object);
    let has = |field: &str| explicit.is_some_and(|explicit| get(explicit, field).is_some());
    let chosen_later = ["auto_config", "use_downstream_protocol_config"];
    has("http2_protocol_options")
        || has("http3_protocol_options")
        || chosen_later.iter().any(|field| get(options, field).is_some())
}
