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

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Info, "order-rds-before-lds", "H-09", include_str!("order_rds_before_lds.rs"));

pub(super) static CHECKS: &[Check] = &[Check::Response(check)];

use xdscope_wire::event::Kind;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    super::support::report_unreferenced(
        ctx,
        response,
        &RULE,
        (Kind::Rds, &[Kind::Lds, Kind::Srds]),
        "route configuration that no listener of the client uses",
    );
}
