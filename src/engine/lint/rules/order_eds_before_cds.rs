//! A server sends endpoints of a cluster that the client does not have.
//!
//! Why: Clusters come first, and their endpoints after them. Endpoints without a cluster are of no
//! use. A name that the client requested itself is exempt.
//!
//! Example:
//! ```text
//! > cds sub=[*]
//! < cds n=a [a{eds}@1]
//! > eds sub=[*]
//! < eds n=b [c@1]
//! ```
//!
//! Advice: Send clusters before their endpoints.
//!
//! Reference: xDS protocol, "Eventual consistency considerations".

use super::support::report_unreferenced;
use crate::lint::prelude::*;
use xdscope_wire::event::Kind;

rule! {
    order-eds-before-cds: Info, rows "H-08";
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    report_unreferenced(
        ctx,
        response,
        &RULE,
        Kind::Eds,
        &[Kind::Cds],
        "endpoints of a cluster that the client does not have",
    );
}
