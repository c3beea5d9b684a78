//! A static cluster in an Envoy bootstrap needs an xDS cluster listed later.
//!
//! Why: Envoy initializes static clusters in order. A cluster that takes secrets or endpoints from
//! a server whose cluster comes later waits for a timeout, so Envoy starts slowly.
//!
//! Example:
//! ```text
//! static_resources:
//!   clusters:
//!   - {name: app, type: EDS, eds_cluster_config: {eds_config: {ads: {}}}}
//!   - {name: xds}
//! ```
//!
//! Advice: List the clusters of xDS servers first.
//!
//! Reference: Envoy documentation, "Bootstrap configuration".

use serde_json::Value;

use crate::lint::bootstrap::{Bootstrap, BootstrapProblem, cluster_names, each_object_in, is_ads, is_api};
use crate::lint::prelude::*;

rule! {
    bootstrap-xds-cluster-order: Warn, rows "I-10";
    checks: Bootstrap(check)
}

fn check(file: &Bootstrap) -> Vec<BootstrapProblem> {
    let clusters = file.clusters();
    let names: Vec<&str> = clusters.iter().map(name_of).collect();
    let ads = file.ads_config().map(cluster_names).unwrap_or_default();
    let mut found = Vec::new();
    for (i, cluster) in clusters.iter().enumerate() {
        each_object_in(cluster, &format!("static_resources.clusters[{i}]"), &mut |place, object| {
            let needs = if is_ads(object) {
                ads.clone()
            } else if is_api(object) {
                cluster_names(object)
            } else {
                return;
            };
            // A name that is not a static cluster is not a problem of order.
            let late = needs.into_iter().find(|name| names.iter().skip(i + 1).any(|later| later == name));
            if let Some(late) = late
                && !names.iter().take(i + 1).any(|name| *name == late)
            {
                let text =
                    format!("needs the cluster {late:?}, which is listed after {:?}", name_of(cluster));
                found.push(BootstrapProblem::new(place, text));
            }
        });
    }
    found
}

fn name_of(cluster: &Value) -> &str {
    cluster["name"].as_str().unwrap_or_default()
}
