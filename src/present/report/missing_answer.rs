//! Likely reasons for requests without an answer, from the stream and from the graph of the client.

use std::sync::Arc;

use xdscope_engine::graph::{self, Graph};
use xdscope_engine::store::{MissingAnswer, MissingAnswerCause, StateFact, Store};
use xdscope_schema::Schema;
use xdscope_wire::event::Kind;

/// Returns likely reasons for the missing answers of a type, the likeliest first.
///
/// `graph` is the graph of the client ([`xdscope_engine::graph::streams_of`]); without it,
/// references from clusters are not considered.
pub fn missing_answers(store: &Store, state: &StateFact, graph: Option<&Graph>) -> Vec<MissingAnswer> {
    let mut out = MissingAnswer::all(store, state.summary.stream, &state.summary.type_url);
    let kind = Kind::of_type_url(state.summary.type_url.as_str()).map(|(kind, _)| kind);
    let graph = graph.filter(|graph| kind == Some(Kind::Eds) && graph.count(Kind::Cds) > 0);
    let open = state.summary.last_state.is_none();
    if let Some(graph) = graph
        && open
    {
        let is_explained = |name: &Arc<str>| {
            let of = out.iter().find(|answer| answer.names.contains(name));
            of.is_some_and(|of| {
                matches!(of.reason, MissingAnswerCause::StaleNonce | MissingAnswerCause::AlreadySent)
            })
        };
        let node = |name: &Arc<str>| graph.find(Kind::Eds, name).and_then(|id| graph.get(id));
        let unknown = |name: &Arc<str>| node(name).is_none_or(|node| node.users.is_empty());
        let waited =
            state.subscription.missing.iter().filter(|name| !state.subscription.absent.contains(*name));
        let names: Vec<_> = waited.filter(|name| !is_explained(name) && unknown(name)).cloned().collect();
        if !names.is_empty() {
            for answer in &mut out {
                answer.names.retain(|name| !names.contains(name));
            }
            out.retain(|answer| !answer.names.is_empty());
            out.push(MissingAnswer { reason: MissingAnswerCause::UnknownToCds, names, what: None, at: None });
        }
    }
    out.sort_by_key(|answer| MissingAnswerCause::ALL.iter().position(|reason| *reason == answer.reason));
    out
}

/// Like [`missing_answers`], with the graph of the client, which is built only for endpoints.
pub fn missing_answers_of(store: &Store, schema: &Schema, state: &StateFact) -> Vec<MissingAnswer> {
    let eds = Kind::of_type_url(state.summary.type_url.as_str()).is_some_and(|(kind, _)| kind == Kind::Eds);
    let graph = (eds && !state.subscription.missing.is_empty() && state.summary.last_state.is_none())
        .then(|| Graph::of(store, schema, &graph::streams_of(store, state.summary.stream)));
    missing_answers(store, state, graph.as_ref())
}

/// Returns `ledger-v2: no cluster of this client names it: the server may not know it (guess)`.
///
/// The question mark says that the reason is a guess.
pub fn missing_answer(answer: &MissingAnswer) -> String {
    let text: String = match &answer.names[..] {
        [] => "*".into(),
        names => super::names(names, 3),
    };
    format!("{text}: {} (guess)", missing_answer_reason(answer))
}

/// Returns the likely reason as a sentence without a subject.
pub fn missing_answer_reason(answer: &MissingAnswer) -> String {
    let what = answer.what.as_deref().unwrap_or_default();
    match answer.reason {
        MissingAnswerCause::StaleNonce => {
            "requested with a stale nonce: the server ignores such requests".into()
        }
        MissingAnswerCause::AlreadySent => {
            "sent on this stream before: the server may regard it as delivered".into()
        }
        MissingAnswerCause::OutdatedClaim => {
            "the first request states another version than the server sent last: the server may not have \
             compared the versions"
                .into()
        }
        MissingAnswerCause::UnknownToCds => {
            "no cluster of this client refers to it: the server may not know it".into()
        }
        MissingAnswerCause::NotSuperset => {
            format!("the request does not name {what}: the server may wait until all its resources are named")
        }
        MissingAnswerCause::SameVersion => {
            format!("requested with version {what}, the newest: the server may take the request for an ACK")
        }
        MissingAnswerCause::Unsubscribed => "the client has unsubscribed: no answer is due".into(),
    }
}
