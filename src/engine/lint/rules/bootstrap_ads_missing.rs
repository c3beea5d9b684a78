//! An Envoy bootstrap says `ads` and has no `ads_config`.
//!
//! Why: `ads: {}` means the server that `dynamic_resources.ads_config` names. There is none, so Envoy does not start.
//!
//! Example:
//! ```text
//! dynamic_resources:
//!   cds_config: {ads: {}, resource_api_version: V3}
//! ```
//!
//! Instead: add an `ads_config` with the server's cluster, or name another source.
//!
//! Protocol: "Aggregated Discovery Service", the bootstrap; row I-08.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "bootstrap-ads-missing",
    severity: Severity::Error,
    rows: "I-08",
    source: include_str!("bootstrap_ads_missing.rs"),
    on: &[On::Bootstrap(check)],
};

use super::super::bootstrap::{Bootstrap, Spot, is_ads};

fn check(file: &Bootstrap) -> Vec<Spot> {
    let mut found = Vec::new();
    if file.ads_config().is_none() && !file.is_grpc() {
        file.each(&mut |place, of| {
            if is_ads(of) {
                found.push(Spot::new(place, "says `ads`, and there is no dynamic_resources.ads_config"));
            }
        });
    }
    found
}
