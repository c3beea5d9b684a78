//! A server sends endpoints of a cluster that the client does not have.
//!
//! Why: Clusters come first, and their endpoints after them. Endpoints without a cluster are of no
//! use.
//!
//! Example:
//! ```text
//! > cds
//! < cds v=1 n=a [a{eds}]
//! > eds names=[c]
//! < eds v=1 n=b [c]
//! ```
//!
//! Advice: Send clusters before their endpoints.
//!
//! Reference: xDS protocol, "Eventual consistency considerations".

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Info, "order-eds-before-cds", "H-08", include_str!("order_eds_before_cds.rs"));

pub(super) static CHECKS: &[Check] = &[Check::Response(check)];

use crate::wire::event::Kind;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    super::support::report_unreferenced(
        ctx,
        response,
        &RULE,
        (Kind::Eds, &[Kind::Cds]),
        "endpoints of a cluster that the client does not have",
    );
}
