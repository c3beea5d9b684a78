//! A response that says what the one before said.
//!
//! Why: A server sends only when something changed. Sending the same again costs both sides, and the client
//! can't tell why.
//!
//! Example:
//! ```text
//! < eds v=1 n=a [foo]
//! > eds v=1 n=a names=[foo]
//! < eds v=1 n=b [foo]
//! ```
//!
//! Instead: after a verdict wait for a change, or for new names.
//!
//! Protocol: "When to send an update"; row E-29.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "sotw-needless-update",
    severity: Severity::Warn,
    rows: "E-29",
    source: include_str!("sotw_needless_update.rs"),
    on: &[On::Response(check)],
};

use crate::wire::event::Kind;

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    if !repeats(case, answer) || asked_lately(case, answer) {
        return;
    }
    let Some(before) = case.memo.previous.as_ref().map(|before| before.seq) else { return };
    // Envoy wants the endpoints of a cluster again once the cluster was updated (row H-05).
    let parent = case.stream_memo.clusters_changed.is_some_and(|changed| changed > before);
    if answer.track.kind == Some(Kind::Eds) && parent {
        return;
    }
    let text = format!("version {} sent again, nothing in it changed", super::shown(answer.view.version));
    let evidence = [before];
    case.raise(&RULE, Found { blame: Blame::Server, text, evidence: &evidence, ..Found::default() });
}

/// Version and contents are those of the response before, and nothing was added to the subscription since.
pub(super) fn repeats(case: &RuleContext<'_>, answer: &ResponseContext<'_>) -> bool {
    let Some(before) = &case.memo.previous else { return false };
    let same = !answer.view.is_delta && before.version == *answer.view.version && !answer.heartbeat();
    same && case.is_grpc() && case.whole() && !case.memo.added_since && same_content(case, answer)
}

/// The same names as in the response before, and nothing new in them.
pub(super) fn same_content(case: &RuleContext<'_>, answer: &ResponseContext<'_>) -> bool {
    let Some(before) = &case.memo.previous else { return false };
    if before.list.fingerprint() == answer.view.resources.fingerprint() {
        return true;
    }
    let catalog = case.catalog();
    let known =
        |id: &crate::wire::content::BlobId| before.list.find(catalog, catalog.entry(*id).name).is_some();
    let alike = answer.unchanged() && before.list.len() == answer.view.resources.len();
    alike && answer.outcome.twice.is_empty() && answer.view.resources.blobs().iter().all(known)
}

/// A name was asked for a short time ago and has not come: the server may have answered just that, with the
/// response before on its way at the same time.
fn asked_lately(case: &RuleContext<'_>, answer: &ResponseContext<'_>) -> bool {
    let lately = |at: crate::wire::event::Time| case.at.since(at) < case.options.timers.answer;
    answer.track.waiting.iter().any(|(_, asked)| lately(asked.since))
}
