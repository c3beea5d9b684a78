//! A message above 4 MiB, the default limit of what gRPC clients and servers receive.
//!
//! Why: A receiver with the default limit ends the stream with RESOURCE_EXHAUSTED, and gets the same message
//! again after it comes back. Where the receiver was seen to take such a message it is a note only.
//!
//! Example:
//! ```text
//! < cds v=1 n=a [ … 5 MB … ]
//! ```
//!
//! Instead: raise the receiver's limit, use delta, or make the resources smaller.
//!
//! Protocol: "gRPC: maximum message size"; row P.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "over-4mib",
    severity: Severity::Warn,
    rows: "P",
    source: include_str!("over_4mib.rs"),
    on: &[On::Message(check), On::Request(took)],
};

use crate::engine::session::MessageKind;
use crate::wire::content::{BlobId, Catalog};
use crate::wire::event::Dir;

/// 4 MiB.
const LIMIT: u64 = 4 << 20;
/// Resources that are named.
const NAMED: usize = 3;
/// Receivers that are remembered.
const RECEIVERS: usize = 4096;

fn check(case: &mut RuleContext<'_>, message: &crate::wire::Message) {
    if message.size <= LIMIT {
        return;
    }
    let catalog = case.catalog();
    let blobs = message.resources().map_or(&[][..], |list| list.blobs());
    let names: Vec<_> =
        heaviest(catalog, blobs).iter().map(|id| crate::engine::session::key(catalog, *id)).collect();
    let receiver = (case.stream.session.unwrap_or(usize::MAX), message.dir());
    let took = case.world.took_large.contains(&receiver);
    let text = format!("{:.1} MB: above the 4 MiB that gRPC receives by default", message.size as f64 / 1e6);
    let severity = took.then_some(Severity::Info);
    case.raise(
        &RULE,
        Found { blame: super::sender(message), text, names: &names, severity, ..Found::default() },
    );
}

/// The largest few of the entries, the largest first.
fn heaviest(catalog: &Catalog, blobs: &[BlobId]) -> Vec<BlobId> {
    let size = |id: &BlobId| catalog.blob(*id).size;
    let mut found: Vec<BlobId> = Vec::with_capacity(NAMED + 1);
    for id in blobs {
        let full = found.len() == NAMED;
        if full && found.last().is_some_and(|last| size(last) >= size(id)) || found.contains(id) {
            continue;
        }
        found.insert(found.partition_point(|other| size(other) >= size(id)), *id);
        found.truncate(NAMED);
    }
    found
}

/// The client accepted a large response.
fn took(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    let Some(answered) = asking.outcome.answers.filter(|_| asking.outcome.kind == MessageKind::Ack) else {
        return;
    };
    let large = case.memo.pending(answered).is_some_and(|sent| sent.size > LIMIT);
    let receiver = (case.stream.session.unwrap_or(usize::MAX), Dir::Resp);
    if large && case.world.took_large.len() < RECEIVERS && !case.world.took_large.contains(&receiver) {
        case.world.took_large.push(receiver);
    }
}
