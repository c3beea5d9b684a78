//! What the client refused is sent again as it was.
//!
//! Why: Nothing has changed, so the client will refuse again: a loop that costs both sides and hides the reason
//! among its repetitions.
//!
//! Example:
//! ```text
//! < eds v=1 n=a [foo]
//! > eds n=a names=[foo] nack="bad"
//! < eds v=2 n=b [foo]
//! ```
//!
//! Instead: after a NACK wait until the content changes before you send that type again.
//!
//! Protocol: "When to send an update"; rows E-30, F-34.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "nack-resend-loop",
    severity: Severity::Warn,
    rows: "E-30, F-34",
    source: include_str!("nack_resend_loop.rs"),
    on: &[On::Response(check)],
};

use crate::wire::event::Sym;

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    if answer.view.resources.is_empty() || answer.heartbeat() {
        return;
    }
    if answer.view.is_delta { delta(case, answer) } else { sotw(case, answer) }
}

fn sotw(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let same =
        |old: &&super::super::memo::Sent| old.list.fingerprint() == answer.view.resources.fingerprint();
    let newest = case.memo.previous.as_ref().map(|before| before.seq);
    let of_newest = case.memo.refused.back().filter(|old| Some(old.seq) == newest);
    let again = super::sotw_needless_update::same_content(case, answer);
    let refused = case.memo.refused.iter().find(same).or(of_newest.filter(|_| again));
    if let Some(seq) = refused.map(|old| old.seq) {
        let text = format!("version {} is what the client refused before", super::shown(answer.view.version));
        let evidence = [seq];
        case.raise(&RULE, Found { blame: Blame::Server, text, evidence: &evidence, ..Found::default() });
    }
}

/// In delta per resource: same version and content.
fn delta(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let again = |name: &&Sym| answer.track.refused.contains(*name);
    let names: Vec<Sym> = answer.outcome.repeated.iter().filter(again).copied().collect();
    if !names.is_empty() {
        let text = "sent again at the version that the client refused".to_owned();
        let evidence: Vec<_> = case.memo.refused.back().iter().map(|old| old.seq).collect();
        let blame = Blame::Server;
        case.raise(&RULE, Found { blame, text, names: &names, evidence: &evidence, ..Found::default() });
    }
}
