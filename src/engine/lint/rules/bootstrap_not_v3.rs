//! An Envoy bootstrap does not say that it speaks v3, or has what only v2 knows.
//!
//! Why: Envoys that still know v2 take an absent version for v2, and control planes of today do not serve that. `hosts`, and
//! `http2_protocol_options` on a cluster, are forms of v2.
//!
//! Example:
//! ```text
//! dynamic_resources:
//!   ads_config: {api_type: GRPC, grpc_services: [{envoy_grpc: {cluster_name: xds}}]}
//!   cds_config: {ads: {}}
//! ```
//!
//! Instead: `transport_api_version: V3` in each source of a server, `resource_api_version: V3` in each `ConfigSource`;
//! `load_assignment` and `typed_extension_protocol_options` in clusters.
//!
//! Protocol: "Bootstrap configuration"; rows I-11, L-20.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "bootstrap-not-v3",
    severity: Severity::Info,
    rows: "I-11, L-20",
    source: include_str!("bootstrap_not_v3.rs"),
    on: &[On::Bootstrap(check)],
};

use serde_json::{Map, Value};

use super::super::bootstrap::{Bootstrap, Spot, get, is_ads, is_api};

fn check(file: &Bootstrap) -> Vec<Spot> {
    let mut found = Vec::new();
    if file.is_grpc() {
        return found;
    }
    let lacks = |of: &Map<String, Value>, field: &str| get(of, field).is_none_or(|version| version != "V3");
    file.each(&mut |place, of| {
        if is_api(of) && lacks(of, "transport_api_version") {
            found.push(Spot::new(place, "lacks `transport_api_version: V3`"));
        }
        let source = is_ads(of) || get(of, "api_config_source").is_some_and(Value::is_object);
        if source && lacks(of, "resource_api_version") {
            found.push(Spot::new(place, "lacks `resource_api_version: V3`"));
        }
        if is_api(of) && get(of, "grpc_services").is_some_and(Value::is_object) {
            found.push(Spot::new(
                format!("{place}.grpc_services"),
                "is a single service, as in v2; v3 has a list",
            ));
        }
    });
    for (i, cluster) in file.clusters().iter().enumerate() {
        let Value::Object(cluster) = cluster else { continue };
        for (field, instead) in
            [("hosts", "load_assignment"), ("http2_protocol_options", "typed_extension_protocol_options")]
        {
            if get(cluster, field).is_some() {
                let place = format!("static_resources.clusters[{i}].{field}");
                found.push(Spot::new(place, format!("is of v2; v3 has {instead}")));
            }
        }
    }
    found
}
