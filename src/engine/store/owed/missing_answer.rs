//! Likely reasons for requests without an answer.
//!
//! The wire shows requests and responses, not why a response is missing, so each reason is a guess.

use std::sync::Arc;

use crate::session::{ClaimOutcome, NameRequest, Presence, ResourceEntry, Stream, Track};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Kind, Seq, StreamId, Sym, TypeUrl};

use crate::store::Store;

/// A likely reason why a server does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MissingAnswerCause {
    /// The request carried a nonce that was not the newest (docs/protocol.md#e-09,
    /// docs/protocol.md#f-07).
    StaleNonce,
    /// The resource was sent on this stream before and released since (docs/protocol.md#e-36,
    /// docs/protocol.md#f-14).
    AlreadySent,
    /// The client states another version than the server sent before (docs/protocol.md#f-17).
    OutdatedClaim,
    /// No cluster of the client refers to the endpoint assignment.
    UnknownToCds,
    /// SotW: the request does not name all resources of the type that the server has, and some
    /// servers wait for that.
    NotSuperset,
    /// SotW: the request carries the newest version, so it looks like an ACK
    /// (docs/protocol.md#e-17).
    SameVersion,
    /// The client has unsubscribed.
    Unsubscribed,
}

impl MissingAnswerCause {
    /// All causes.
    pub const ALL: [MissingAnswerCause; 7] = [
        MissingAnswerCause::StaleNonce,
        MissingAnswerCause::AlreadySent,
        MissingAnswerCause::OutdatedClaim,
        MissingAnswerCause::UnknownToCds,
        MissingAnswerCause::NotSuperset,
        MissingAnswerCause::SameVersion,
        MissingAnswerCause::Unsubscribed,
    ];

    /// Returns the likely reason for one name; `None` if it was sent or there is no reason.
    pub fn of_name(
        store: &Store,
        stream: StreamId,
        type_url: &TypeUrl,
        name: &str,
    ) -> Option<MissingAnswerCause> {
        let stream = store.engine.stream(stream).filter(|stream| stream.closed.is_none())?;
        let track = stream.find(type_url)?;
        let name = xdscope_wire::xdstp::named(&store.catalog, name)?;
        if let Some(request) = track.waiting.get(name) {
            return Look::new(&store.catalog, stream, track).reason(name, &request);
        }
        let entry = track.sent.get(&store.catalog, name)?;
        let gone = !track.covers(&store.catalog, name, Some(&entry)) && !track.unrequested.contains(&name);
        gone.then_some(MissingAnswerCause::Unsubscribed)
    }

    /// The word in the JSON contract.
    pub fn word(self) -> &'static str {
        match self {
            MissingAnswerCause::StaleNonce => "stale-nonce",
            MissingAnswerCause::AlreadySent => "already-sent",
            MissingAnswerCause::OutdatedClaim => "outdated-claim",
            MissingAnswerCause::UnknownToCds => "unknown-to-cds",
            MissingAnswerCause::NotSuperset => "not-superset",
            MissingAnswerCause::SameVersion => "same-version",
            MissingAnswerCause::Unsubscribed => "unsubscribed",
        }
    }
}

/// A likely reason, and the names that it applies to: none for the wildcard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingAnswer {
    /// The likely cause.
    pub reason: MissingAnswerCause,
    /// The names.
    pub names: Vec<Arc<str>>,
    /// The version, or the first name that was left out.
    pub what: Option<Arc<str>>,
    /// The newest request.
    pub at: Option<Seq>,
}

impl MissingAnswer {
    /// Returns likely reasons for missing answers on an open stream, derived from the stream alone.
    pub fn all(store: &Store, stream: StreamId, type_url: &TypeUrl) -> Vec<MissingAnswer> {
        let Some(stream) = store.engine.stream(stream).filter(|stream| stream.closed.is_none()) else {
            return Vec::new();
        };
        let Some(track) = stream.find(type_url) else { return Vec::new() };
        let look = Look::new(&store.catalog, stream, track);
        let mut out: Vec<MissingAnswer> = Vec::new();
        let mut add = |reason: MissingAnswerCause, name: Option<Sym>| {
            let name = name.map(|name| store.text(name));
            if let Some(known) = out.iter_mut().find(|known| known.reason == reason) {
                known.names.extend(name);
                return;
            }
            let what = match reason {
                MissingAnswerCause::NotSuperset => look.left_out.map(|name| store.text(name)),
                MissingAnswerCause::SameVersion => {
                    track.traffic.reported_version.as_ref().map(|version| Arc::from(version.as_str()))
                }
                _ => None,
            };
            let at = track.traffic.last_request;
            out.push(MissingAnswer { reason, names: name.into_iter().collect(), what, at });
        };
        for (name, request) in track.waiting.iter() {
            if let Some(reason) = look.reason(name, request) {
                add(reason, Some(name));
            }
        }
        if let Some(reason) = track.wildcard_owed().and_then(|owed| look.of_request(owed.message)) {
            add(reason, None);
        }
        out
    }
}

/// Findings that apply to all names of a track.
struct Look<'a> {
    catalog: &'a Catalog,
    track: &'a Track,
    /// The newest response.
    answered: Option<Seq>,
    same_version: bool,
    /// A resource that the server has sent and the client does not request.
    left_out: Option<Sym>,
}

impl<'a> Look<'a> {
    /// Collects what applies to all names of a track.
    fn new(catalog: &'a Catalog, stream: &Stream, track: &'a Track) -> Look<'a> {
        let sotw = stream.variant().is_some_and(|variant| !variant.is_delta());
        let last = track.responses.last();
        let reported = track.traffic.reported_version.as_ref().filter(|version| sotw && !version.is_empty());
        let same_version =
            reported.is_some_and(|version| last.is_none_or(|response| response.version == *version));
        let subset = sotw && !track.subscribed.is_wildcard() && !track.kind.is_some_and(Kind::full_state);
        let left_out = || {
            let entries = track.sent.entries(catalog);
            let is_left_out = |name: &Sym, entry: &ResourceEntry| {
                entry.is_present()
                    && !track.covers(catalog, *name, Some(entry))
                    && !track.unrequested.contains(name)
            };
            entries.iter().find(|(name, entry)| is_left_out(name, entry)).map(|(name, _)| *name)
        };
        let left_out = if subset && track.subscription.has_released { left_out() } else { None };
        Look { catalog, track, answered: last.map(|response| response.seq), same_version, left_out }
    }

    /// Returns why the server may not send a name that was requested.
    fn reason(&self, name: Sym, request: &NameRequest) -> Option<MissingAnswerCause> {
        let entry = self.track.sent.get(self.catalog, name);
        let sent = |state| match state {
            Presence::Again => true,
            // Requested again while present (docs/protocol.md#e-36, docs/protocol.md#f-14).
            Presence::Present => request.has_resource,
            _ => false,
        };
        let effective = self.track.subscription.effective.as_ref();
        if effective.is_some_and(|subscribed| !subscribed.is_wildcard() && !subscribed.names.contains(name)) {
            return Some(MissingAnswerCause::StaleNonce);
        }
        if entry.is_some_and(|entry| sent(entry.state)) {
            return Some(match self.track.carried.claims.get(name) {
                Some((_, ClaimOutcome::Owed)) => MissingAnswerCause::OutdatedClaim,
                _ => MissingAnswerCause::AlreadySent,
            });
        }
        if self.track.owes_newer_version(name, entry.as_ref()) {
            return Some(MissingAnswerCause::OutdatedClaim);
        }
        // A delta client states versions by name.
        let is_claimed =
            self.track.carried.claims.is_empty() || self.track.carried.claims.get(name).is_some();
        let applies =
            |reason: &MissingAnswerCause| *reason != MissingAnswerCause::OutdatedClaim || is_claimed;
        if request.has_resource { None } else { self.of_request(request.first).filter(applies) }
    }

    /// Returns the reason for a request after which no response came. A response without the name
    /// is an answer too.
    fn of_request(&self, request: Seq) -> Option<MissingAnswerCause> {
        if self.answered.is_some_and(|answered| answered > request) {
            return None;
        }
        if self.left_out.is_some() {
            Some(MissingAnswerCause::NotSuperset)
        } else if self.track.carried.owes_newer && self.track.traffic.pushes == 0 {
            Some(MissingAnswerCause::OutdatedClaim)
        } else if self.same_version {
            Some(MissingAnswerCause::SameVersion)
        } else {
            None
        }
    }
}
