//! An update of a file can't be used, after one that could.
//!
//! Why: It can't be read, names a resource twice, or breaks a constraint that the API states. The client keeps what it had, and nothing but its own
//! log says so: a file has no NACK.
//!
//! Example:
//! ```text
//! stream 1 file cds
//! < v=1 [c]
//! < raw=/w==
//! ```
//!
//! Instead: check a file before it replaces the one in use.
//!
//! Protocol: "Filesystem subscriptions"; row C-05.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "fs-update-rejected",
    severity: Severity::Warn,
    rows: "C-05",
    source: include_str!("fs_update_rejected.rs"),
    on: &[On::Message(read), On::Response(held)],
};

use crate::wire::event::Variant;

fn read(case: &mut RuleContext<'_>, message: &crate::wire::Message) {
    if case.stream.variant() != Some(Variant::File) {
        return;
    }
    if super::super::undecodable(message).is_none() {
        return;
    }
    if case.stream_memo.good {
        let text = "the update can't be read; what was there before stays in force".to_owned();
        case.raise(
            &RULE,
            Found { blame: Blame::Server, text, cause: Some("unreadable"), ..Found::default() },
        );
    }
}

fn held(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    if case.stream.variant() != Some(Variant::File) {
        return;
    }
    if answer.track.verdicts.open_nack.is_some() {
        if case.stream_memo.good {
            let text = "the update names a resource twice, or holds another type; what was there before stays in force";
            let cause = Some("message");
            case.raise(
                &RULE,
                Found { blame: Blame::Server, text: text.to_owned(), cause, ..Found::default() },
            );
        }
        return;
    }
    let catalog = case.catalog();
    let breaks = |id: &&crate::wire::content::BlobId| {
        let payload = catalog.entry(**id).payload;
        let broken = payload.and_then(|payload| case.world.broken.get(&payload)?.as_ref());
        broken.is_some_and(|broken| !broken.is_empty())
    };
    let bad: Vec<_> = answer
        .view
        .resources
        .blobs()
        .iter()
        .filter(breaks)
        .map(|id| crate::engine::session::key(catalog, *id))
        .collect();
    if bad.is_empty() {
        case.stream_memo.good = true;
    } else if case.stream_memo.good {
        let text = "the update breaks a constraint of the API; a client that checks them keeps what it had"
            .to_owned();
        let cause = Some("constraint");
        case.raise(
            &RULE,
            Found { blame: Blame::Server, text, names: &bad, cause, guess: true, ..Found::default() },
        );
    }
}
