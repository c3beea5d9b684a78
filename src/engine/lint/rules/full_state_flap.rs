//! A resource is missing from one LDS or CDS response and back, unchanged, in the next.
//!
//! Why: In these types what is left out is deleted. A server that sends only what changed makes the client drop
//! the rest for a moment.
//!
//! Example:
//! ```text
//! < cds v=1 n=a [A B]
//! < cds v=2 n=b [A~2]
//! < cds v=3 n=c [A~2 B]
//! ```
//!
//! Instead: put everything that the client needs into each LDS and CDS response.
//!
//! Protocol: "Deleting resources"; row E-32.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "full-state-flap",
    severity: Severity::Info,
    rows: "E-32",
    source: include_str!("full_state_flap.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    if !answer.full() || case.memo.gone.is_empty() || !case.whole() {
        return;
    }
    let catalog = case.catalog();
    let back = |name: &&crate::wire::event::Sym| {
        let was = case.memo.gone.get(*name).and_then(|blob| catalog.entry(*blob).payload);
        let now = answer.track.sent.get(catalog, **name).and_then(|slot| slot.blob);
        was.is_some() && was == now.and_then(|blob| catalog.entry(blob).payload)
    };
    let names: Vec<_> = answer.outcome.added.iter().filter(back).copied().collect();
    if !names.is_empty() {
        let text = "left out of one response and back in the next, unchanged".to_owned();
        let evidence: Vec<_> = case.memo.previous.iter().map(|before| before.seq).collect();
        let (blame, guess) = (Blame::Server, true);
        case.raise(
            &RULE,
            Found { blame, text, names: &names, evidence: &evidence, guess, ..Found::default() },
        );
    }
}
