//! Names that came with an old nonce are not answered.
//!
//! Why: A delta server applies changes of the subscription whatever nonce stands beside them; there are no
//! stale requests in delta.
//!
//! Example:
//! ```text
//! < n=1 [a@1]
//! < n=2 [b@1]
//! > n=1 sub=[z]
//! advance 15s
//! ```
//!
//! Instead: take the names first, and look at the nonce for the verdict only.
//!
//! Protocol: "Incremental xDS"; row F-07.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "delta-stale-sub-ignored",
    severity: Severity::Warn,
    rows: "F-07",
    source: include_str!("delta_stale_sub_ignored.rs"),
    on: &[On::Alarm(Alarm::Waiting, check)],
};

fn check(case: &mut RuleContext<'_>) {
    super::delta_subscribe_unanswered::unanswered(
        case,
        &RULE,
        "asked for with an old nonce, and never answered",
        |case, name| case.memo.stale_added.contains(&name),
    );
}
