//! The wildcard is given up by a list of names without `*`.
//!
//! Why: A list without `*` means these names and no others. Older servers ignore the names and stay with the
//! wildcard. The next response tells which reading the server has.
//!
//! Example:
//! ```text
//! > cds
//! < cds v=1 n=a [A B]
//! > cds v=1 n=a names=[A]
//! ```
//!
//! Instead: add `*` to keep the wildcard; open a new stream to leave it with old servers.
//!
//! Protocol: "How the client specifies what resources to return"; rows E-41, L-06.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "wildcard-dropped-by-names",
    severity: Severity::Info,
    rows: "E-41, L-06",
    source: include_str!("wildcard_dropped_by_names.rs"),
    on: &[On::Request(check), On::Response(tell)],
};

use crate::engine::session::{Wildcard, key};
use crate::wire::content::BlobId;

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    let Some(request) = asking.sotw().filter(|request| !request.resource_names.is_empty()) else { return };
    let was = asking.outcome.was != Wildcard::None && !asking.outcome.first;
    if was && !asking.track.want.is_wildcard() {
        let text =
            "names without `*` end the wildcard (000: these names, 003: the wildcard goes on)".to_owned();
        let found = Found { text, names: &request.resource_names, ..Found::default() };
        case.memo.dropped = case.raise(&RULE, found);
    }
}

/// What comes next says how the server reads the list; what it may have sent before it had the list says nothing.
fn tell(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let Some(finding) = case.memo.dropped.filter(|_| answer.full() && case.whole()) else { return };
    let (catalog, want) = (case.catalog(), &answer.track.want);
    if want.is_wildcard() {
        case.memo.dropped = None;
        return;
    }
    let more = |id: &BlobId| !want.names.contains(key(catalog, *id));
    let note = match answer.view.resources.blobs().iter().any(more) {
        true if case.memo.wildcard_let_go.is_some_and(|at| case.at.since(at) <= case.options.timers.ack) => {
            return;
        }
        true => "; the server goes on with the wildcard",
        false => "; the server sends these names",
    };
    case.memo.dropped = None;
    case.findings.end(finding, case.at, note);
}
