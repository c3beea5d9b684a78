//! A message is larger than 4 MiB, the default receive limit of gRPC.
//!
//! Why: A receiver with the default limit ends the stream with RESOURCE_EXHAUSTED, and receives
//! the message again after the reconnect. The finding is info if the receiver accepts the
//! message, or accepted such a message before. A client that ends its streams in the middle of such
//! a message is reported by `stream-rejected`; the finding about the message is info.
//!
//! Example:
//! ```text
//! < cds v=1 n=a [ … 5 MB … ]
//! ```
//!
//! Advice: Raise the limit of the receiver, use delta, or make the resources smaller.
//!
//! Reference: gRPC documentation, `GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH`.

use super::support::sender;
use crate::lint::prelude::*;
use crate::session::{MessageKind, key};
use xdscope_wire::content::{BlobId, Catalog};
use xdscope_wire::event::{Dir, Side};
use xdscope_wire::{DEFAULT_RECEIVE_LIMIT, Message};

rule! {
    over-4mib: Warn, rows "P",
    ends(Ending::Response);
    checks: Message(check), Request(check_accepted), Close(check_cut)
}

/// Resources that a finding names.
const MAX_NAMED: usize = 3;
/// Receivers to remember.
const MAX_RECEIVERS: usize = 4096;

fn check(ctx: &mut RuleContext<'_>, message: &Message) {
    if message.size <= DEFAULT_RECEIVE_LIMIT {
        return;
    }
    let catalog = ctx.catalog();
    let blobs = message.resources().map_or(&[][..], |list| list.blobs());
    let names: Vec<_> = heaviest(catalog, blobs).iter().map(|id| key(catalog, *id)).collect();
    let receiver = (ctx.stream.chain.session.unwrap_or(usize::MAX), message.dir());
    let has_accepted = ctx.source_state.large_receivers.contains(&receiver);
    let text = above_limit(message.size);
    let severity = has_accepted.then_some(Severity::Info);
    let draft = FindingDraft::new(sender(message), text, &names).severity(severity);
    let finding = ctx.report(&RULE, draft);
    if message.dir() == Dir::Resp {
        ctx.state.responses.large_push = ctx.seq.zip(finding);
    }
}

fn above_limit(bytes: u64) -> String {
    format!("{:.1} MB: above the default receive limit of gRPC (4 MiB)", bytes as f64 / 1e6)
}

/// Reports a response in the middle of which the client ended the stream.
fn check_cut(ctx: &mut RuleContext<'_>) {
    let is_by_client = ctx.stream.closed.as_ref().is_some_and(|(_, end)| end.by == Some(Side::Client));
    let Some(bytes) = ctx.stream.losses.not_kept.cut_response() else { return };
    if is_by_client && bytes > DEFAULT_RECEIVE_LIMIT {
        let text =
            format!("{}; the client ended the stream in the middle of the response", above_limit(bytes));
        let draft = FindingDraft::new(Blame::Server, text, &[]);
        ctx.report(&RULE, draft.severity(Some(Severity::Info)));
    }
}

/// Returns the largest entries, largest first.
fn heaviest(catalog: &Catalog, blobs: &[BlobId]) -> Vec<BlobId> {
    let size = |id: &BlobId| catalog.blob(*id).size;
    let mut found: Vec<BlobId> = Vec::with_capacity(MAX_NAMED + 1);
    for id in blobs {
        let is_full = found.len() == MAX_NAMED;
        if is_full && found.last().is_some_and(|last| size(last) >= size(id)) || found.contains(id) {
            continue;
        }
        found.insert(found.partition_point(|other| size(other) >= size(id)), *id);
        found.truncate(MAX_NAMED);
    }
    found
}

/// Lowers the finding about a response that the client accepted, and remembers the client.
fn check_accepted(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    if request.outcome.kind != MessageKind::Ack {
        return;
    }
    let answered = request.outcome.answers;
    let Some((_, finding)) = ctx.state.responses.large_push.take_if(|(seq, _)| Some(*seq) == answered) else {
        return;
    };
    let receiver = (ctx.stream.chain.session.unwrap_or(usize::MAX), Dir::Resp);
    let receivers = &mut ctx.source_state.large_receivers;
    if !receivers.contains(&receiver) {
        ctx.findings.withdraw(finding, "; the client accepted it");
        if receivers.len() < MAX_RECEIVERS {
            receivers.push(receiver);
        }
    }
}
