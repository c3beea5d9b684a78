//! Likely reasons for requests without an answer, from the stream and from the graph of the client.

use std::sync::Arc;

use crate::engine::graph::{self, Graph};
use crate::engine::store::{MissingAnswer, MissingAnswerCause, StateFact, Store};
use crate::schema::Schema;
use crate::wire::event::Kind;

/// Returns likely reasons for the missing answers of a type, the likeliest first.
///
/// `graph` is the graph of the client ([`crate::engine::graph::streams_of`]); without it,
/// references from clusters are not considered.
pub fn silences(store: &Store, state: &StateFact, graph: Option<&Graph>) -> Vec<MissingAnswer> {
    let mut out = store.silences(state.stream, &state.type_url);
    let kind = Kind::of_type_url(state.type_url.as_str()).map(|(kind, _)| kind);
    let graph = graph.filter(|graph| kind == Some(Kind::Eds) && graph.count(Kind::Cds) > 0);
    let open = state.last_state.is_none();
    if let Some(graph) = graph.filter(|_| open) {
        let told = |name: &Arc<str>| {
            let of = out.iter().find(|silence| silence.names.contains(name));
            of.is_some_and(|of| {
                matches!(of.reason, MissingAnswerCause::StaleNonce | MissingAnswerCause::AlreadySent)
            })
        };
        let node = |name: &Arc<str>| graph.find(Kind::Eds, name).and_then(|id| graph.get(id));
        let unknown = |name: &Arc<str>| node(name).is_none_or(|node| node.users.is_empty());
        let waited = state.missing.iter().filter(|name| !state.absent.contains(*name));
        let names: Vec<_> = waited.filter(|name| !told(name) && unknown(name)).cloned().collect();
        if !names.is_empty() {
            for silence in &mut out {
                silence.names.retain(|name| !names.contains(name));
            }
            out.retain(|silence| !silence.names.is_empty());
            out.push(MissingAnswer { reason: MissingAnswerCause::UnknownToCds, names, what: None, at: None });
        }
    }
    out.sort_by_key(|silence| MissingAnswerCause::ALL.iter().position(|reason| *reason == silence.reason));
    out
}

/// Like [`silences`], with the graph of the client, which is built only for endpoints.
pub fn silences_of(store: &Store, schema: &Schema, state: &StateFact) -> Vec<MissingAnswer> {
    let eds = Kind::of_type_url(state.type_url.as_str()).is_some_and(|(kind, _)| kind == Kind::Eds);
    let graph = (eds && !state.missing.is_empty() && state.last_state.is_none())
        .then(|| Graph::of(store, schema, &graph::streams_of(store, state.stream)));
    silences(store, state, graph.as_ref())
}

/// Returns `ledger-v2: no cluster of this client names it: the server may not know it (?)`.
///
/// The question mark says that the reason is a guess.
pub fn silence(silence: &MissingAnswer) -> String {
    let mut text: String = match &silence.names[..] {
        [] => "*".into(),
        names => {
            let spelled: Vec<&str> = names.iter().take(3).map(|name| &**name).collect();
            spelled.join(", ")
        }
    };
    if silence.names.len() > 3 {
        text.push_str(&format!(" and {} more", silence.names.len() - 3));
    }
    format!("{text}: {} (?)", silence.why())
}
