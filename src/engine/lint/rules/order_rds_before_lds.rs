//! A route configuration is sent that no listener of the client uses.
//!
//! Why: Listeners come before the routes they name. What no listener uses is of no use.
//!
//! Example:
//! ```text
//! > lds
//! < lds v=1 n=a [l{rds: r}]
//! > rds names=[other]
//! < rds v=1 n=b [other]
//! ```
//!
//! Instead: send listeners before their routes.
//!
//! Protocol: "Eventual consistency considerations"; row H-09.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "order-rds-before-lds",
    severity: Severity::Info,
    rows: "H-09",
    source: include_str!("order_rds_before_lds.rs"),
    on: &[On::Response(check)],
};

use crate::wire::event::Kind;

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    super::unused(
        case,
        answer,
        &RULE,
        (Kind::Rds, &[Kind::Lds, Kind::Srds]),
        "routes that no listener of the client uses",
    );
}
