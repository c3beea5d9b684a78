//! The effect of a NACK on traffic: what stays in use, and what is missing.

use std::sync::Arc;

use crate::store::{NackFact, ResourceFact, ResourceState, Store};
use xdscope_wire::event::{Kind, StreamId, TypeUrl};

use super::{Extracted, Nack, RefusedPush};

/// Effects that a report lists.
const MAX_EFFECTS: usize = 8;

/// The effect of a NACK on traffic. Only what is certain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NackEffect {
    /// The refused resource; `None` if the NACK names none, so that the effect is that on the type.
    pub name: Option<Arc<str>>,
    /// The known type of the resource.
    pub kind: Option<Kind>,
    /// The version that the client uses.
    pub in_use: InUse,
}

/// The version that a client uses in place of a refused resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InUse {
    /// The version in force.
    Earlier(Arc<str>),
    /// Nothing: no version was accepted.
    Nothing,
    /// Nothing that is known: the start of the stream was not recorded.
    Unknown,
    /// A version that was accepted after the refusal.
    Later,
    /// Nothing any more, and for another reason than the refusal: the state of the resource.
    Gone(ResourceState),
}

impl InUse {
    /// All words.
    pub const WORDS: [&str; 5] = ["earlier", "nothing", "unknown", "later", "gone"];

    /// Returns the word of the JSON contract.
    pub fn word(&self) -> &'static str {
        match self {
            InUse::Earlier(_) => "earlier",
            InUse::Nothing => "nothing",
            InUse::Unknown => "unknown",
            InUse::Later => "later",
            InUse::Gone(_) => "gone",
        }
    }
}

/// Returns the effects of the newest of several NACKs of one version.
///
/// A resource whose name was guessed from the response counts as not named.
pub(super) fn effects(
    nack: &Nack,
    push: &dyn RefusedPush,
    store: &Store,
    stream: StreamId,
    type_url: &TypeUrl,
    last: &NackFact,
) -> Vec<NackEffect> {
    let kind = Kind::of_type_url(type_url.as_str()).map(|(kind, _)| kind);
    let is_partial = store.stream(stream).is_some_and(|stream| stream.partial);
    let mut effects: Vec<NackEffect> = Vec::new();
    let named = nack.entries.iter().filter_map(|entry| entry.name.as_ref()).filter(|name| !name.guessed);
    for name in named {
        let is_pushed = push.names().iter().any(|pushed| **pushed == *name.value);
        let is_listed = effects.iter().any(|known| known.name.as_deref() == Some(name.value.as_str()));
        if !is_pushed || is_listed || effects.len() == MAX_EFFECTS {
            continue;
        }
        let Some(fact) = store.resource(stream, type_url, &name.value) else { continue };
        effects.push(NackEffect { name: Some(fact.name.clone()), kind, in_use: in_use(&fact, is_partial) });
    }
    let is_unnamed = |name: &Option<Extracted>| name.as_ref().is_none_or(|name| name.guessed);
    if effects.is_empty() && nack.entries.iter().all(|entry| is_unnamed(&entry.name)) {
        effects.extend(of_unnamed(store, stream, type_url, last, is_partial));
    }
    effects
}

/// Returns the version that a client uses of a resource in a refused response.
pub(super) fn in_use_of(store: &Store, stream: StreamId, type_url: &TypeUrl, name: &str) -> InUse {
    let is_partial = store.stream(stream).is_some_and(|stream| stream.partial);
    let in_use = match store.resource(stream, type_url, name) {
        Some(fact) => in_use(&fact, is_partial),
        None if is_partial => InUse::Unknown,
        None => InUse::Nothing,
    };
    // A SotW client states the version that it uses.
    let stated = || store.state(stream, type_url)?.versions.in_force.filter(|version| !version.is_empty());
    match in_use {
        InUse::Unknown => stated().map_or(InUse::Unknown, InUse::Earlier),
        in_use => in_use,
    }
}

/// Returns what the client uses in place of a refused content.
fn in_use(fact: &ResourceFact, is_partial: bool) -> InUse {
    match fact.in_force.as_ref().map(|known| &known.version) {
        None if !fact.refused && is_gone(fact.state) => InUse::Gone(fact.state),
        _ if !fact.refused => InUse::Later,
        Some(version) => InUse::Earlier(version.clone()),
        None if is_partial || fact.state == ResourceState::Kept => InUse::Unknown,
        None => InUse::Nothing,
    }
}

/// Whether the client has given up the resource, or the server has removed it.
fn is_gone(state: ResourceState) -> bool {
    use ResourceState::*;
    matches!(state, Removed | Absent | Expired | Released)
}

/// Returns the effect of a NACK that names no resource: that on the type while a SotW client
/// refuses the newest response, else that on the first resource which the client still refuses.
fn of_unnamed(
    store: &Store,
    stream: StreamId,
    type_url: &TypeUrl,
    last: &NackFact,
    is_partial: bool,
) -> Option<NackEffect> {
    let state = store.state(stream, type_url)?;
    let is_of_type = !state.summary.variant.is_delta() && state.summary.open_nack.is_some();
    match store.refused_by(stream, type_url, last.n) {
        Some(refused) if !is_of_type => {
            let in_use = match refused.in_force {
                Some(version) => InUse::Earlier(version),
                None if !refused.knows_in_force => InUse::Unknown,
                None => InUse::Nothing,
            };
            let kind = Kind::of_type_url(type_url.as_str()).map(|(kind, _)| kind);
            Some(NackEffect { name: Some(refused.name), kind, in_use })
        }
        _ => of_type(store, stream, type_url, last, is_partial),
    }
}

/// Returns the effect of a SotW NACK that names no resource on the type.
fn of_type(
    store: &Store,
    stream: StreamId,
    type_url: &TypeUrl,
    last: &NackFact,
    is_partial: bool,
) -> Option<NackEffect> {
    let state = store.state(stream, type_url).filter(|state| !state.summary.variant.is_delta())?;
    let in_use = match state.versions.in_force.as_ref().filter(|version| !version.is_empty()) {
        _ if state.is_mended(last) => InUse::Later,
        _ if store.is_expired(stream, type_url) => InUse::Nothing,
        Some(version) => InUse::Earlier(version.clone()),
        None if is_partial => InUse::Unknown,
        None => InUse::Nothing,
    };
    let kind = Kind::of_type_url(type_url.as_str()).map(|(kind, _)| kind);
    Some(NackEffect { name: None, kind, in_use })
}
