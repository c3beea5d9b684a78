//! An ACK leaves out names that the next request asks for again.
//!
//! Why: Every SotW request lists all names that are wanted; one that is left out is given up. It looks as if
//! the client forgot to list them with its ACK.
//!
//! Example:
//! ```text
//! > eds names=[a b]
//! < eds v=1 n=1 [a b]
//! > eds v=1 n=1 names=[a]
//! > eds v=1 n=1 names=[a b]
//! ```
//!
//! Instead: send the whole list with every request, ACKs included.
//!
//! Protocol: "How the client specifies what resources to return"; row E-31.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "names-shrunk-on-ack",
    severity: Severity::Info,
    rows: "E-31",
    source: include_str!("names_shrunk_on_ack.rs"),
    on: &[On::Request(check)],
};

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    let Some((seq, names)) = &case.memo.shrunk else { return };
    let back = asking.outcome.added.iter().copied().filter(|name| names.contains(name));
    let (names, evidence): (Vec<_>, _) = (back.collect(), [*seq]);
    if !names.is_empty() && asking.sotw().is_some() && case.whole() {
        let text = "left out of an ACK, and asked for again at once".to_owned();
        case.raise(
            &RULE,
            Found { text, names: &names, evidence: &evidence, guess: true, ..Found::default() },
        );
    }
}
