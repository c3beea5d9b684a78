//! A static cluster of an Envoy bootstrap needs an xDS cluster that is listed after it.
//!
//! Why: Static clusters are started in their order. One that takes its secrets or endpoints from a server whose cluster comes
//! later waits until its time is up, and Envoy starts slowly.
//!
//! Example:
//! ```text
//! static_resources:
//!   clusters:
//!   - {name: app, type: EDS, eds_cluster_config: {eds_config: {ads: {}}}}
//!   - {name: xds}
//! ```
//!
//! Instead: put the clusters of xDS servers first.
//!
//! Protocol: "Bootstrap configuration", order of clusters; row I-10.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "bootstrap-xds-cluster-order",
    severity: Severity::Warn,
    rows: "I-10",
    source: include_str!("bootstrap_xds_cluster_order.rs"),
    on: &[On::Bootstrap(check)],
};

use serde_json::Value;

use super::super::bootstrap::{Bootstrap, Spot, cluster_names, each_object_in, is_ads, is_api};

fn check(file: &Bootstrap) -> Vec<Spot> {
    let clusters = file.clusters();
    let names: Vec<&str> =
        clusters.iter().map(|cluster| cluster["name"].as_str().unwrap_or_default()).collect();
    let ads = file.ads_config().map(cluster_names).unwrap_or_default();
    let mut found = Vec::new();
    for (i, cluster) in clusters.iter().enumerate() {
        each_object_in(cluster, &format!("static_resources.clusters[{i}]"), &mut |place, of| {
            let needs = match () {
                () if is_ads(of) => ads.clone(),
                () if is_api(of) => cluster_names(of),
                () => return,
            };
            // A name that is nowhere among the static clusters is not one of order.
            let late = needs.into_iter().find(|name| names.iter().skip(i + 1).any(|later| later == name));
            if let Some(late) = late.filter(|late| !names.iter().take(i + 1).any(|name| name == late)) {
                let text =
                    format!("needs the cluster {late:?}, which is listed after {:?}", name_of(cluster));
                found.push(Spot::new(place, text));
            }
        });
    }
    found
}

fn name_of(cluster: &Value) -> &str {
    cluster["name"].as_str().unwrap_or_default()
}
