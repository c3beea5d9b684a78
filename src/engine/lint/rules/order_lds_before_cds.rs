//! A listener routes to a cluster that the client does not have.
//!
//! Why: Traffic is lost until the cluster arrives. Clusters in the bootstrap of the client are not
//! visible. An Envoy refuses inline routes to a cluster that it does not have, unless
//! `validate_clusters` is false: its verdict says whether the cluster is missing. The order of
//! separate streams is uncertain: there the finding is info.
//!
//! Example:
//! ```text
//! > cds
//! < cds v=1 n=a [X]
//! > lds
//! < lds v=1 n=b [l{to: [Y]}]
//! ```
//!
//! Advice: Send clusters before the listeners that refer to them.
//!
//! Reference: xDS protocol, "Eventual consistency considerations".

use super::support::{names_to_use, report_unknown_clusters};
use crate::lint::client::RouteUse;
use crate::lint::prelude::*;
use xdscope_wire::event::Kind;

rule! {
    order-lds-before-cds: Warn, rows "H-09",
    ends(Ending::State), about(Subject::MissingCluster), worded(Sentence::WithNames);
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if response.track.kind == Some(Kind::Lds) {
        let new = names_to_use(ctx, response);
        report_unknown_clusters(ctx, &RULE, response.track, &new, RouteUse::Sent);
    }
}
