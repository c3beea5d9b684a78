//! Endpoints are sent for a cluster that the client does not have.
//!
//! Why: Clusters come first, their endpoints after them. What has no cluster yet is of no use.
//!
//! Example:
//! ```text
//! > cds
//! < cds v=1 n=a [a{eds}]
//! > eds names=[c]
//! < eds v=1 n=b [c]
//! ```
//!
//! Instead: send clusters before their endpoints.
//!
//! Protocol: "Eventual consistency considerations"; row H-08.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "order-eds-before-cds",
    severity: Severity::Info,
    rows: "H-08",
    source: include_str!("order_eds_before_cds.rs"),
    on: &[On::Response(check)],
};

use crate::wire::event::Kind;

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    super::unused(
        case,
        answer,
        &RULE,
        (Kind::Eds, &[Kind::Cds]),
        "endpoints of a cluster that the client does not have",
    );
}
