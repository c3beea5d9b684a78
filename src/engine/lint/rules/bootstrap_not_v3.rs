//! An Envoy bootstrap does not state V3, or uses v2 fields.
//!
//! Why: An Envoy that still supports v2 reads a missing version as v2, which current control
//! planes do not serve. `hosts`, and `http2_protocol_options` of a cluster, are v2 fields.
//!
//! Example:
//! ```text
//! dynamic_resources:
//!   ads_config: {api_type: GRPC, grpc_services: [{envoy_grpc: {cluster_name: xds}}]}
//!   cds_config: {ads: {}}
//! ```
//!
//! Advice: Set `transport_api_version: V3` in each API config source and `resource_api_version:
//! V3` in each config source. Use `load_assignment` and `typed_extension_protocol_options` in
//! clusters.
//!
//! Reference: Envoy documentation, "xDS configuration API overview".

use serde_json::{Map, Value};

use crate::lint::bootstrap::{Bootstrap, BootstrapProblem, get, is_ads, is_api};
use crate::lint::prelude::*;

rule! {
    bootstrap-not-v3: Info, rows "I-11, L-20";
    checks: Bootstrap(check)
}

fn check(file: &Bootstrap) -> Vec<BootstrapProblem> {
    let mut found = Vec::new();
    if file.is_grpc() {
        return found;
    }
    let lacks =
        |object: &Map<String, Value>, field: &str| get(object, field).is_none_or(|version| version != "V3");
    file.each(&mut |place, object| {
        if is_api(object) && lacks(object, "transport_api_version") {
            found.push(BootstrapProblem::new(place, "lacks `transport_api_version: V3`"));
        }
        let is_source = is_ads(object) || get(object, "api_config_source").is_some_and(Value::is_object);
        if is_source && lacks(object, "resource_api_version") {
            found.push(BootstrapProblem::new(place, "lacks `resource_api_version: V3`"));
        }
        if is_api(object) && get(object, "grpc_services").is_some_and(Value::is_object) {
            found.push(BootstrapProblem::new(
                format!("{place}.grpc_services"),
                "is a single service as in v2; v3 expects a list",
            ));
        }
    });
    for (index, cluster) in file.clusters().iter().enumerate() {
        let Value::Object(cluster) = cluster else { continue };
        for (field, instead) in
            [("hosts", "load_assignment"), ("http2_protocol_options", "typed_extension_protocol_options")]
        {
            if get(cluster, field).is_some() {
                let place = format!("static_resources.clusters[{index}].{field}");
                found.push(BootstrapProblem::new(place, format!("is a v2 field; v3 uses {instead}")));
            }
        }
    }
    found
}
