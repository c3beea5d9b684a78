//! An Envoy bootstrap uses `ads` but has no `ads_config`.
//!
//! Why: `ads: {}` refers to the server in `dynamic_resources.ads_config`. Without that field Envoy
//! does not start.
//!
//! Example:
//! ```text
//! dynamic_resources:
//!   cds_config: {ads: {}, resource_api_version: V3}
//! ```
//!
//! Advice: Add an `ads_config` with the cluster of the server, or use another config source.
//!
//! Reference: xDS protocol, "Client Configuration".

use crate::lint::bootstrap::{Bootstrap, BootstrapProblem, is_ads};
use crate::lint::prelude::*;

rule! {
    bootstrap-ads-missing: Error, rows "I-08";
    checks: Bootstrap(check)
}

fn check(file: &Bootstrap) -> Vec<BootstrapProblem> {
    let mut found = Vec::new();
    if file.ads_config().is_none() && !file.is_grpc() {
        file.each(&mut |place, object| {
            if is_ads(object) {
                found.push(BootstrapProblem::new(
                    place,
                    "uses `ads`, but dynamic_resources.ads_config is missing",
                ));
            }
        });
    }
    found
}
