//! A listener routes to a cluster that the client does not have.
//!
//! Why: Traffic for it is lost until the cluster comes. Clusters that stand in the client's own bootstrap are
//! not seen here. On different streams the order is not the server's promise: then it is a note.
//!
//! Example:
//! ```text
//! > cds
//! < cds v=1 n=a [X]
//! > lds
//! < lds v=1 n=b [l{to: [Y]}]
//! ```
//!
//! Instead: send clusters before the listeners that name them.
//!
//! Protocol: "Eventual consistency considerations"; row H-09.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "order-lds-before-cds",
    severity: Severity::Warn,
    rows: "H-09",
    source: include_str!("order_lds_before_cds.rs"),
    on: &[On::Response(check)],
};

use crate::wire::event::Kind;

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    if answer.track.kind == Some(Kind::Lds) {
        super::unknown_clusters(
            case,
            answer,
            &RULE,
            "the listener routes to a cluster that the client does not have",
        );
    }
}
