//! Why a request may have no answer. The wire tells what was asked and what came, not why nothing does: each of
//! these is a guess.

use std::sync::Arc;

use crate::engine::session::{Asked, Presence, ResourceEntry, Stream, Track};
use crate::wire::content::Catalog;
use crate::wire::event::{Kind, Seq, StreamId, Sym, TypeUrl};

use super::Store;

/// What servers that keep to the protocol, or nearly, leave without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MissingAnswerCause {
    /// The request carried a nonce that was not the newest (rows E-09, F-07).
    StaleNonce,
    /// It was sent on this stream before, and let go of since (rows E-36, F-14).
    AlreadySent,
    /// An endpoint assignment that no cluster of the client names.
    UnknownToCds,
    /// SotW: the request leaves out what the server has of the type, and some wait for all of it to be named.
    NotSuperset,
    /// SotW: the request carries the newest version, so it looks like an ACK (rows E-17, E-19).
    SameVersion,
    /// The client does not ask for it any more: nothing is owed.
    Unsubscribed,
}

impl MissingAnswerCause {
    pub const ALL: [MissingAnswerCause; 6] = [
        MissingAnswerCause::StaleNonce,
        MissingAnswerCause::AlreadySent,
        MissingAnswerCause::UnknownToCds,
        MissingAnswerCause::NotSuperset,
        MissingAnswerCause::SameVersion,
        MissingAnswerCause::Unsubscribed,
    ];

    pub fn word(self) -> &'static str {
        match self {
            MissingAnswerCause::StaleNonce => "stale-nonce",
            MissingAnswerCause::AlreadySent => "already-sent",
            MissingAnswerCause::UnknownToCds => "unknown-to-cds",
            MissingAnswerCause::NotSuperset => "not-superset",
            MissingAnswerCause::SameVersion => "same-version",
            MissingAnswerCause::Unsubscribed => "unsubscribed",
        }
    }
}

/// A likely reason, and the names that it is about; none of them: the wildcard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingAnswer {
    pub reason: MissingAnswerCause,
    pub names: Vec<Arc<str>>,
    /// What the reason speaks of: the version, or the first name that was left out.
    pub what: Option<Arc<str>>,
    /// The newest request, which should have been answered.
    pub at: Option<Seq>,
}

impl MissingAnswer {
    /// What is likely, as a sentence without its subject.
    pub fn why(&self) -> String {
        let what = self.what.as_deref().unwrap_or_default();
        match self.reason {
            MissingAnswerCause::StaleNonce => {
                "asked with a nonce that is not the newest: the server ignores such requests".into()
            }
            MissingAnswerCause::AlreadySent => {
                "sent on this stream before: the server may count it as delivered".into()
            }
            MissingAnswerCause::UnknownToCds => {
                "no cluster of this client names it: the server may not know it".into()
            }
            MissingAnswerCause::NotSuperset => {
                format!(
                    "the request leaves out {what}, which the server has: it may wait for all to be named"
                )
            }
            MissingAnswerCause::SameVersion => {
                format!("asked with version {what}, the newest: the server may see nothing new in it")
            }
            MissingAnswerCause::Unsubscribed => "the client has let go of it: nothing is owed".into(),
        }
    }
}

impl Store {
    /// Likely reasons for what an open stream still waits for, by the stream alone; names for which there is none
    /// are left out.
    pub fn silences(&self, stream: StreamId, type_url: &TypeUrl) -> Vec<MissingAnswer> {
        let Some(stream) = self.engine.stream(stream).filter(|stream| stream.closed.is_none()) else {
            return Vec::new();
        };
        let Some(track) = stream.find(type_url) else { return Vec::new() };
        let look = Look::new(&self.catalog, stream, track);
        let mut out: Vec<MissingAnswer> = Vec::new();
        let mut add = |reason: MissingAnswerCause, name: Option<Sym>| {
            let name = name.map(|name| self.text(name));
            if let Some(known) = out.iter_mut().find(|known| known.reason == reason) {
                known.names.extend(name);
                return;
            }
            let what = match reason {
                MissingAnswerCause::NotSuperset => look.left_out.map(|name| self.text(name)),
                MissingAnswerCause::SameVersion => {
                    track.traffic.reported_version.as_ref().map(|version| Arc::from(version.as_str()))
                }
                _ => None,
            };
            let at = track.traffic.last_request;
            out.push(MissingAnswer { reason, names: name.into_iter().collect(), what, at });
        };
        for (name, asked) in track.waiting.iter() {
            if let Some(reason) = look.reason(name, asked) {
                add(reason, Some(name));
            }
        }
        if let Some(reason) = track.subscription.wildcard_owed.and_then(|(_, n)| look.of_request(n)) {
            add(reason, None);
        }
        out
    }

    /// The likely reason for one name, asked for now or before; `None` also where it was sent.
    pub fn silence_of(&self, stream: StreamId, type_url: &TypeUrl, name: &str) -> Option<MissingAnswerCause> {
        let stream = self.engine.stream(stream).filter(|stream| stream.closed.is_none())?;
        let track = stream.find(type_url)?;
        let name = self.catalog.strings().find(name)?;
        if let Some(asked) = track.waiting.get(name) {
            return Look::new(&self.catalog, stream, track).reason(name, &asked);
        }
        let slot = track.sent.get(&self.catalog, name)?;
        let gone = !track.covers(&self.catalog, name, Some(&slot)) && !track.unasked.contains(&name);
        gone.then_some(MissingAnswerCause::Unsubscribed)
    }
}

/// What all names of a track have in common.
struct Look<'a> {
    catalog: &'a Catalog,
    track: &'a Track,
    /// The newest response.
    answered: Option<Seq>,
    same_version: bool,
    /// A resource that the server sent here and that is not asked for.
    left_out: Option<Sym>,
}

impl<'a> Look<'a> {
    fn new(catalog: &'a Catalog, stream: &Stream, track: &'a Track) -> Look<'a> {
        let sotw = stream.variant().is_some_and(|variant| !variant.is_delta());
        let last = track.responses.last();
        let reported = track.traffic.reported_version.as_ref().filter(|version| sotw && !version.is_empty());
        let same_version =
            reported.is_some_and(|version| last.is_none_or(|response| response.version == *version));
        let subset = sotw && !track.want.is_wildcard() && !track.kind.is_some_and(Kind::full_state);
        let left_out = || {
            let slots = track.sent.slots(catalog);
            let held = |name: &Sym, slot: &ResourceEntry| {
                slot.is_present()
                    && !track.covers(catalog, *name, Some(slot))
                    && !track.unasked.contains(name)
            };
            slots.iter().find(|(name, slot)| held(name, slot)).map(|(name, _)| *name)
        };
        let left_out = if subset && track.subscription.has_released { left_out() } else { None };
        Look { catalog, track, answered: last.map(|response| response.seq), same_version, left_out }
    }

    fn reason(&self, name: Sym, asked: &Asked) -> Option<MissingAnswerCause> {
        let slot = self.track.sent.get(self.catalog, name);
        let sent = |state| match state {
            Presence::Again => true,
            // Named again while it is there (rows E-36, F-14).
            Presence::Present => asked.held,
            _ => false,
        };
        let effective = self.track.subscription.effective.as_ref();
        if effective.is_some_and(|want| !want.is_wildcard() && !want.names.contains(name)) {
            return Some(MissingAnswerCause::StaleNonce);
        }
        if slot.is_some_and(|slot| sent(slot.state)) {
            return Some(MissingAnswerCause::AlreadySent);
        }
        if asked.held { None } else { self.of_request(asked.first) }
    }

    /// Of a request that no response has come after: one that came without the name is an answer, too.
    fn of_request(&self, asked: Seq) -> Option<MissingAnswerCause> {
        if self.answered.is_some_and(|answered| answered > asked) {
            return None;
        }
        match () {
            () if self.left_out.is_some() => Some(MissingAnswerCause::NotSuperset),
            () if self.same_version => Some(MissingAnswerCause::SameVersion),
            () => None,
        }
    }
}
