//! Virtual hosts asked for, or sent, on a SotW method.
//!
//! Why: VHDS exists as a delta service only. A SotW server has no way to send virtual hosts one by one.
//!
//! Example:
//! ```text
//! stream 1 ads
//! > vhds names=["rc/foo.com"]
//! ```
//!
//! Instead: use a delta variant for VHDS.
//!
//! Protocol: "Virtual Host Discovery Service"; row A-05.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "vhds-on-sotw",
    severity: Severity::Error,
    rows: "A-05",
    source: include_str!("vhds_on_sotw.rs"),
    on: &[On::Request(asked), On::Response(answered)],
};

fn asked(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    if asking.sotw().is_some() && asking.outcome.first {
        check(case, asking.track.kind, Blame::Client, "asked for");
    }
}

fn answered(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    if !answer.view.is_delta && answer.track.traffic.requests == 0 {
        check(case, answer.track.kind, Blame::Server, "sent");
    }
}

fn check(case: &mut RuleContext<'_>, kind: Option<crate::wire::event::Kind>, blame: Blame, what: &str) {
    if kind == Some(crate::wire::event::Kind::Vhds) {
        let text = format!("virtual hosts {what} on a SotW method: VHDS is delta only");
        case.raise(&RULE, Found { blame, text, ..Found::default() });
    }
}
