//! A server sends a route configuration that no listener of the client uses.
//!
//! Why: Listeners come before the route configurations that they refer to. A name that the client
//! requested itself is exempt.
//!
//! Example:
//! ```text
//! > lds sub=[*]
//! < lds n=a [l{rds: r}@1]
//! > rds sub=[*]
//! < rds n=b [other@1]
//! ```
//!
//! Advice: Send listeners before their route configurations.
//!
//! Reference: xDS protocol, "Eventual consistency considerations".

use super::support::report_unreferenced;
use crate::lint::prelude::*;
use xdscope_wire::event::Kind;

rule! {
    order-rds-before-lds: Info, rows "H-09";
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    report_unreferenced(
        ctx,
        response,
        &RULE,
        Kind::Rds,
        &[Kind::Lds, Kind::Srds],
        "route configuration that no listener of the client uses",
    );
}
