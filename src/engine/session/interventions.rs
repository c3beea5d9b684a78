//! Interventions of xdscope in a stream, and whether both sides agree again.

pub(super) mod divergence;
mod doubled_request;
pub(super) mod of_track;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Outcome;
use super::outcome::SessionEvent;
use super::stream::Stream;
use super::track::Track;
use divergence::{Divergence, Losses, is_second_answer};
use doubled_request::DoubledRequest;
use of_track::changes_of;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Dir, Seq, Side, Sym, Time, TypeUrl};
use xdscope_wire::{End, Interference, Intervention, InterventionFacts, Message, MessageBody, MessageShape};

/// Interventions of a stream that are kept.
const MAX_INTERVENTIONS: usize = 4096;

impl Stream {
    /// Assigns a push that has no type, or one that the client has never requested, to the push
    /// that xdscope has changed last, if that is still to come.
    fn claim_altered_push(&mut self, outcome: &mut Outcome) {
        let stated = outcome.track.and_then(|track| self.tracks.get(track));
        if self.interventions.is_empty() || stated.is_some_and(|track| track.traffic.requests > 0) {
            return;
        }
        let awaits = |track: &Track| track.interventions.awaits_changed_push();
        let Some(index) = self.all_tracks().position(awaits) else { return };
        let Some(changed) = self.tracks.get_mut(index) else { return };
        let claimed = changed.interventions.claim_changed_push(outcome.seq);
        match outcome.track.and_then(|track| self.tracks.get_mut(track)) {
            Some(stated) => stated.interventions.diverged = claimed,
            None => outcome.track = Some(index),
        }
    }

    /// Notes what a message means for the interventions of the stream.
    pub(super) fn note_message(&mut self, outcome: &mut Outcome, message: &Message, catalog: &Catalog) {
        if message.dir() == Dir::Resp {
            self.claim_altered_push(outcome);
        }
        if let Some(track) = outcome.track.and_then(|track| self.tracks.get_mut(track)) {
            if let SessionEvent::Response(response) = &outcome.what {
                track.interventions.doubled.take_if(|doubled| !doubled.pushed(response.kind));
            }
            track.interventions.note_agreement(outcome, message, catalog);
        }
    }

    /// Returns the intervention that has ended the stream, or because of which a peer has ended it
    /// or may have given it up.
    pub(crate) fn ended_by_xdscope(&self) -> Option<&Arc<InterventionFacts>> {
        let (_, end) = self.closed.as_ref()?;
        let is_cause = |facts: &&Arc<InterventionFacts>| match facts.interference {
            Interference::Ended | Interference::Blackholed => true,
            // The client opens another connection, and leaves this one.
            Interference::GoAway => end.by != Some(Side::Server),
            _ => false,
        };
        self.interventions.iter().rev().find(is_cause).or_else(|| self.unanswered_because_of(end))
    }

    /// Whether the client has not got a response of the server, or not yet.
    pub(super) fn has_withheld_response(&self) -> bool {
        let is_withheld = |facts: &Arc<InterventionFacts>| {
            let is_kept = matches!(facts.interference, Interference::Dropped | Interference::Bounced);
            facts.dir == Dir::Resp && (is_kept || facts.interference.postpones())
        };
        self.interventions.iter().any(is_withheld)
    }

    /// Returns the last intervention that has sent a request of a type later than the client did.
    pub(crate) fn postponed_request(&self, type_url: &TypeUrl) -> Option<&Arc<InterventionFacts>> {
        let of_type = self.interventions.iter().rev().filter(|facts| facts.type_url == *type_url);
        of_type.filter(|facts| facts.dir == Dir::Req).find(|facts| facts.interference.postpones())
    }

    /// Returns the intervention because of which a stream may have ended before a response: the
    /// client got none or the server no request, or the server got another one.
    fn unanswered_because_of(&self, end: &End) -> Option<&Arc<InterventionFacts>> {
        use Interference::{Bounced, Changed, Dropped};
        let is_cause = |facts: &&Arc<InterventionFacts>| {
            let is_changed = facts.dir == Dir::Req && facts.interference == Changed;
            let is_withheld =
                matches!(facts.interference, Dropped | Bounced) || facts.interference.postpones();
            is_changed || is_withheld && end.by != Some(Side::Server)
        };
        if self.traffic.has_response {
            return None;
        }
        self.interventions.iter().rev().find(is_cause)
    }

    /// Notes the end of the stream. The end that a fault has made is not the one of a peer.
    pub(super) fn close(&mut self, end: &End, at: Time) {
        let is_made = |facts: &Arc<InterventionFacts>| facts.interference == Interference::Ended;
        let mut end = End::clone(end);
        if let Some(made) = self.interventions.last().filter(|facts| is_made(facts)) {
            end.by = None;
            end.note = Some(format!("by {}", made.by));
        }
        self.closed = Some((at, end));
        self.tracks.iter_mut().for_each(|track| track.lifetime.ended = Some(at));
    }

    /// Notes an intervention after the message `after`. Returns the index of its track.
    pub(super) fn intercepted(
        &mut self,
        facts: &InterventionFacts,
        lost: &Losses,
        after: Seq,
        at: Time,
    ) -> Option<usize> {
        let facts = Arc::new(facts.clone());
        let is_second_answer = is_second_answer(&facts, self.interventions.iter().rev());
        if self.interventions.len() < MAX_INTERVENTIONS {
            self.interventions.push(facts.clone());
        }
        let is_of_all = facts.interference == Interference::Blackholed;
        // A correction brings both sides together again, once a push is acknowledged, unless the
        // server must not hear of a name.
        let is_correction = facts.interference == Interference::Corrected && *lost == Losses::default();
        let asks_again = matches!(facts.interference, Interference::Duplicated | Interference::Corrected);
        let is_doubled = facts.dir == Dir::Req && asks_again;
        for track in &mut self.tracks {
            if is_doubled && track.type_url == facts.type_url {
                track.interventions.doubled = Some(DoubledRequest::new(&facts));
            }
            if !is_correction && !is_second_answer && (is_of_all || track.type_url == facts.type_url) {
                let before = track.interventions.diverged.take();
                let since = before.as_ref().map(|before| before.since);
                track.interventions.diverged =
                    Divergence::after(before, facts.clone(), lost.clone(), after, at);
                if let Some(since) = since
                    && track.interventions.diverged.is_none()
                {
                    track.interventions.agree(since, at);
                }
            }
        }
        self.tracks.iter().position(|track| track.type_url == facts.type_url)
    }
}

/// Returns the resources and names in which one side of a delta stream differs from what the other
/// side sent, after an intervention whose messages are kept. `track`: the type of the message,
/// which the client has sent.
pub(super) fn losses(catalog: &mut Catalog, what: &Intervention, track: Option<&Track>) -> Losses {
    let Intervention { facts, original, sent, sent_dir } = what;
    let sent = if *sent_dir == facts.dir { sent.as_deref() } else { None };
    let is_known = match facts.interference {
        Interference::Dropped | Interference::Bounced => facts.is_delta,
        Interference::Changed => facts.is_delta && sent.is_some(),
        // Names that a fault has made up are left out of requests.
        Interference::Corrected => facts.dir == Dir::Req,
        _ => false,
    };
    let mut lost = Losses::default();
    let (Some(original), true) = (original, is_known) else { return lost };
    match facts.dir {
        Dir::Req if facts.interference == Interference::Corrected => {
            // The client may have given the name up while the request was delayed.
            let wants = |name: Sym| track.is_none_or(|track| track.subscribed.names.contains(name));
            lost.names = names_left_out(catalog, original, sent, facts.is_delta, wants);
        }
        Dir::Resp => lost.resources = lost_resources(catalog, original, sent),
        Dir::Req => lost.names = lost_names(catalog, original, sent, track),
    }
    lost
}

/// Returns the resources that differ between a delta push and the push that was sent in its place.
fn lost_resources(catalog: &mut Catalog, original: &[u8], sent: Option<&[u8]>) -> BTreeSet<Arc<str>> {
    let mut contents = |bytes: &[u8]| {
        let message = Message::parse(MessageShape::DeltaResponse, bytes, catalog);
        let Some(response) = message.response() else { return BTreeSet::new() };
        let name = |name: Sym| Arc::<str>::from(catalog.text(name));
        let sent = response.resources.blobs().iter().map(|id| (name(catalog.name(*id)), Some(id.0)));
        sent.chain(response.removed.iter().map(|gone| (name(*gone), None))).collect::<BTreeSet<_>>()
    };
    let (was, is) = (contents(original), sent.map(contents).unwrap_or_default());
    was.symmetric_difference(&is).map(|(name, _)| name.clone()).collect()
}

/// Returns the names that a request asks for, that are not in the request sent in its place, and
/// that the client still wants.
fn names_left_out(
    catalog: &mut Catalog,
    original: &[u8],
    sent: Option<&[u8]>,
    is_delta: bool,
    wants: impl Fn(Sym) -> bool,
) -> BTreeMap<Arc<str>, bool> {
    let shape = if is_delta { MessageShape::DeltaRequest } else { MessageShape::SotwRequest };
    let mut names = |bytes: &[u8]| -> BTreeSet<Sym> {
        let message = Message::parse(shape, bytes, catalog);
        message.request().into_iter().flat_map(|request| request.names.iter().copied()).collect()
    };
    let (was, is) = (names(original), sent.map(names).unwrap_or_default());
    let left_out = was.difference(&is).filter(|name| wants(**name));
    left_out.map(|name| (catalog.text(*name).into(), true)).collect()
}

/// Returns the names of the subscription in which the server differs from the client, which has
/// sent a delta request, while another one or none has reached the server.
fn lost_names(
    catalog: &mut Catalog,
    original: &[u8],
    sent: Option<&[u8]>,
    track: Option<&Track>,
) -> BTreeMap<Arc<str>, bool> {
    let mut changes = |bytes: &[u8]| -> (TypeUrl, BTreeSet<(Sym, bool)>) {
        let message = Message::parse(MessageShape::DeltaRequest, bytes, catalog);
        let mut changes = changes_of(&message);
        if let MessageBody::DeltaRequest(request) = &message.body
            && changes.is_empty()
            && request.response_nonce.is_empty()
        {
            // Only a first request says nothing: it is for all resources (docs/protocol.md#f-21).
            changes.insert((catalog.intern("*"), true));
        }
        (message.type_url(), changes)
    };
    let (type_url, was) = changes(original);
    let (_, is) = sent.map(changes).filter(|(other, _)| *other == type_url).unwrap_or_default();
    let wants = |name: Sym| {
        track.is_some_and(|track| track.subscribed.is_wildcard() || track.subscribed.names.contains(name))
    };
    let foreign = is.difference(&was).filter(|(name, is_subscribed)| wants(*name) != *is_subscribed);
    let foreign = foreign.map(|(name, is_subscribed)| (*name, !is_subscribed));
    let lost = foreign.chain(was.difference(&is).copied());
    lost.map(|(name, is_missing)| (catalog.text(name).into(), is_missing)).collect()
}
