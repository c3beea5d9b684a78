//! Nearly everything that is pushed is what the client has already.
//!
//! Why: In SotW a change of one listener or cluster sends all of them again. Over the last pushes of the type
//! more than nine tenths of the bytes were unchanged, and more than 500 KB of them.
//!
//! Example:
//! ```text
//! < cds v=41 n=a [ 119 clusters, one of them changed ]
//! ```
//!
//! Instead: use the delta variant of the protocol, which sends what changed.
//!
//! Protocol: "Incremental xDS"; row P.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "delta-would-save",
    severity: Severity::Info,
    rows: "P",
    source: include_str!("delta_would_save.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    if answer.view.is_delta || case.memo.pushes.len() < 3 {
        return;
    }
    let (all, same) =
        case.memo.pushes.iter().fold((0u64, 0u64), |sum, push| (sum.0 + push.0, sum.1 + push.1));
    if same > 500_000 && same.saturating_mul(10) > all.saturating_mul(9) {
        let pushes = case.memo.pushes.len();
        let text =
            format!("{} of {} KB in {pushes} pushes were sent before, unchanged", same / 1000, all / 1000);
        case.raise(&RULE, Found { blame: Blame::Both, text, ..Found::default() });
    }
}
