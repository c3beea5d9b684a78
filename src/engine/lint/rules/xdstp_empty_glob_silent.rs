//! A glob without members is not answered.
//!
//! Why: The server should put the glob among `removed_resources`, else the client can't tell an empty glob from
//! a slow server.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a/T/x/*"]
//! advance 15s
//! ```
//!
//! Instead: name the glob in `removed_resources` while it has no member.
//!
//! Protocol: "xDS transport: structured names (TP1)"; row K-20.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "xdstp-empty-glob-silent",
    severity: Severity::Warn,
    rows: "K-20",
    source: include_str!("xdstp_empty_glob_silent.rs"),
    on: &[On::Alarm(Alarm::Waiting, check)],
};

fn check(case: &mut RuleContext<'_>) {
    super::delta_subscribe_unanswered::unanswered(
        case,
        &RULE,
        "glob without a member and without a removal",
        |case, name| crate::engine::session::is_glob(case.text(name)),
    );
}
