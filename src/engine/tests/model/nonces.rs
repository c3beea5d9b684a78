//! Which response a request speaks of, and what the request says about it.

use crate::session::RequestClass;

use super::script::{Ask, Entry, Text};
use super::track::{EarlierRefusal, Known, RequestFacts, Response, Stamp, Status, Track, UnseenNack};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    None,
    Ack,
    Nack,
    /// Another version than the one of the response, and no error (docs/protocol.md#e-22).
    Implied,
    /// On a response that was not recorded.
    Unseen,
}

/// A request as an answer.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) class: Option<RequestClass>,
    pub(super) verdict: Verdict,
    /// The response that the verdict is on.
    pub(super) about: Option<usize>,
    /// More than one response fits, or it is open whether the request is a verdict at all.
    pub(super) ambiguous: bool,
    /// The request refuses a response that has its verdict (docs/protocol.md#e-21).
    pub(super) late: bool,
}

impl Reading {
    fn none(class: Option<RequestClass>) -> Reading {
        Reading { class, verdict: Verdict::None, about: None, ambiguous: false, late: false }
    }

    fn verdict(verdict: Verdict, about: usize, ambiguous: bool) -> Reading {
        Reading { class: None, verdict, about: Some(about), ambiguous, late: false }
    }
}

pub(super) fn read(track: &Track, ask: &Ask) -> Reading {
    if track.requests == 0 && ask.nonce.is_empty() {
        // A client opens with an empty nonce (docs/protocol.md#e-01, docs/protocol.md#e-08).
        return Reading::none(Some(RequestClass::Initial));
    }
    let candidates = with_nonce(track, ask.nonce);
    if candidates.is_empty() {
        return without_response(track, ask);
    }
    match track.delta {
        true => read_delta(track, ask, &candidates),
        false => read_sotw(track, ask, &candidates),
    }
}

/// The responses with a nonce, oldest first.
fn with_nonce(track: &Track, nonce: Text) -> Vec<usize> {
    (0..track.responses.len()).filter(|at| track.responses[*at].push.nonce == nonce).collect()
}

fn is_pending(track: &Track, at: &usize) -> bool {
    track.responses[*at].status == Status::Pending
}

/// A request whose nonce no response has.
fn without_response(track: &Track, ask: &Ask) -> Reading {
    if ask.nonce.is_empty() {
        return Reading::none(Some(match (track.delta, track.frontier) {
            // docs/protocol.md#f-06
            (true, _) => RequestClass::Spontaneous,
            // The request may have been sent before the response came.
            (false, None) => RequestClass::BeforeFirstResponse,
            // docs/protocol.md#e-08
            (false, Some(_)) => RequestClass::NonceDropped,
        }));
    }
    if track.requests == 0 && !track.partial {
        return Reading::none(Some(RequestClass::Initial));
    }
    if track.nonces_known {
        return Reading::none(Some(RequestClass::UnknownNonce));
    }
    // A response has one verdict; an ACK may have been a change of names before it.
    let is_same = |known: &&(Text, bool)| known.0 == ask.nonce && (known.1 || !ask.error);
    if track.unseen_nonces.iter().any(|known| is_same(&known)) {
        return Reading::none(None);
    }
    // The response was sent before the recording, or in a gap (docs/protocol.md#e-11).
    Reading { class: None, verdict: Verdict::Unseen, about: None, ambiguous: false, late: false }
}

fn read_sotw(track: &Track, ask: &Ask, candidates: &[usize]) -> Reading {
    let mut reading = sotw_verdict(track, ask, candidates);
    let newest_candidate = candidates[candidates.len() - 1];
    let newest = track.responses.len() - 1;
    let is_verdict = reading.verdict != Verdict::None;
    reading.class = Some(if ask.nonce.is_empty() && track.frontier.is_none() && !is_verdict {
        RequestClass::BeforeFirstResponse
    } else if newest_candidate == newest {
        RequestClass::NewestNonce
    } else if track.frontier.is_none_or(|frontier| newest_candidate >= frontier) {
        // docs/protocol.md#e-09
        RequestClass::StaleNonce
    } else if ask.nonce.is_empty() {
        // docs/protocol.md#e-08
        RequestClass::NonceDropped
    } else {
        // docs/protocol.md#e-10
        RequestClass::OlderNonce
    });
    reading
}

fn sotw_verdict(track: &Track, ask: &Ask, candidates: &[usize]) -> Reading {
    let pending: Vec<usize> = candidates.iter().copied().filter(|at| is_pending(track, at)).collect();
    if ask.error {
        // The presence of an error decides (docs/protocol.md#e-21). Its version is the one in
        // use, which does not tell responses apart (docs/protocol.md#e-23).
        return match (pending.first(), candidates.last()) {
            (Some(oldest), _) => Reading::verdict(Verdict::Nack, *oldest, pending.len() > 1),
            // The error makes a refusal by version explicit.
            (None, Some(last)) if is_refused_by_version(track, *last) => {
                Reading::verdict(Verdict::Nack, *last, false)
            }
            (None, last) => Reading { late: is_late(track, last), ..Reading::none(None) },
        };
    }
    let has_version = |at: &usize| track.responses[*at].push.version == ask.version;
    let accepted: Vec<usize> = pending.iter().copied().filter(has_version).collect();
    if let Some(oldest) = accepted.first() {
        // Equal nonce and version make an ACK (docs/protocol.md#e-20), with an empty nonce too
        // (docs/protocol.md#e-07). With both empty, it may also be a request that crossed.
        let says_nothing = ask.nonce.is_empty() && ask.version.is_empty();
        return Reading::verdict(Verdict::Ack, *oldest, accepted.len() > 1 || says_nothing);
    }
    if let Some(settled) = candidates.iter().copied().rev().find(has_version) {
        if is_refused_by_version(track, settled) {
            // The client changed its names before its verdict (docs/protocol.md#e-22).
            return Reading::verdict(Verdict::Ack, settled, false);
        }
        // A change of names at the version in use (docs/protocol.md#e-50), or a refusal by version
        // of a pending response.
        return Reading { ambiguous: !pending.is_empty(), ..Reading::none(None) };
    }
    match pending.first() {
        Some(only) if candidates.len() == 1 && !ask.nonce.is_empty() => {
            Reading::verdict(Verdict::Implied, *only, false)
        }
        // No refusal is derived from a nonce that may mean another response.
        _ => Reading { ambiguous: !pending.is_empty(), ..Reading::none(None) },
    }
}

/// Whether a response is refused by version only, and the client has answered no newer one.
fn is_refused_by_version(track: &Track, at: usize) -> bool {
    let in_order = track.frontier.is_none_or(|frontier| at >= frontier);
    matches!(track.responses[at].status, Status::Nacked { implied: true, .. }) && in_order
}

/// Whether a refusal comes after the client has accepted or skipped the response.
fn is_late(track: &Track, at: Option<&usize>) -> bool {
    at.is_some_and(|at| matches!(track.responses[*at].status, Status::Acked | Status::Skipped))
}

fn read_delta(track: &Track, ask: &Ask, candidates: &[usize]) -> Reading {
    let pending: Vec<usize> = candidates.iter().copied().filter(|at| is_pending(track, at)).collect();
    let says_more = !(ask.names.is_empty() && ask.unsubscribe.is_empty() && ask.claims.is_empty());
    if ask.nonce.is_empty() && (pending.is_empty() || (says_more && !ask.error)) {
        // docs/protocol.md#f-06
        let ambiguous = !pending.is_empty();
        return Reading { ambiguous, ..Reading::none(Some(RequestClass::Spontaneous)) };
    }
    let Some(oldest) = pending.first() else {
        let late = ask.error && is_late(track, candidates.last());
        return Reading { late, ..Reading::none(Some(RequestClass::SettledNonce)) };
    };
    // docs/protocol.md#f-05
    let (verdict, class) = match ask.error {
        true => (Verdict::Nack, RequestClass::Nack),
        false => (Verdict::Ack, RequestClass::Ack),
    };
    Reading { class: Some(class), ..Reading::verdict(verdict, *oldest, pending.len() > 1) }
}

impl Track {
    /// Notes which responses the client must have received.
    pub(super) fn use_nonce(&mut self, stamp: Stamp, ask: &Ask, reading: &Reading, facts: &mut RequestFacts) {
        let mut used = reading.about;
        if !ask.nonce.is_empty() {
            // The client has at least the oldest response with the nonce.
            used = used.max(with_nonce(self, ask.nonce).first().copied());
        }
        let Some(used) = used else { return };
        // Delta verdicts come in any order, so that later ones may be about responses before the
        // recording (docs/protocol.md#f-36).
        if used >= self.gap && !self.delta {
            self.nonces_known = true;
        }
        self.frontier = self.frontier.max(Some(used));
        if self.delta {
            // Verdicts come in any order (docs/protocol.md#f-36).
            return;
        }
        for at in 0..used {
            if is_pending(self, &at) {
                // docs/protocol.md#e-04
                self.responses[at].status = Status::Skipped;
                self.responses[at].settled_by = Some(stamp.seq);
                facts.skipped.push(self.responses[at].seq);
            }
        }
    }

    /// Delta: settles what the client has dropped, because it came before the first request
    /// (docs/protocol.md#f-36).
    pub(super) fn drop_unrequested(&mut self, stamp: Stamp, facts: &mut RequestFacts) {
        let (Some(answered), Some(first)) = (facts.answers, self.first_request) else { return };
        if !self.delta || !self.nonces_known || answered < first {
            return;
        }
        let is_dropped = |of: &&mut Response| of.status == Status::Pending && of.seq < first;
        for response in self.responses.iter_mut().filter(is_dropped) {
            (response.status, response.settled_by) = (Status::Skipped, Some(stamp.seq));
            facts.skipped.push(response.seq);
        }
    }

    /// Applies the verdict.
    pub(super) fn settle(&mut self, stamp: Stamp, ask: &Ask, reading: &Reading, facts: &mut RequestFacts) {
        if let Some(about) = reading.about {
            self.responses[about].settled_by.get_or_insert(stamp.seq);
        }
        if let (Verdict::Ack | Verdict::Nack | Verdict::Implied, Some(about)) =
            (reading.verdict, reading.about)
        {
            self.settle_earlier_refusals(about, reading.verdict == Verdict::Ack);
        }
        match (reading.verdict, reading.about) {
            (Verdict::Ack, Some(about)) => {
                facts.answers = Some(self.responses[about].seq);
                self.responses[about].status = Status::Acked;
            }
            (Verdict::Nack | Verdict::Implied, Some(about)) => {
                facts.answers = Some(self.responses[about].seq);
                let accepted = self.accepted();
                let push = &self.responses[about].push;
                // An error about the only resource of a response refuses its version too.
                let is_only = push.entries.len() == 1 && reading.verdict == Verdict::Nack;
                let has = |entry: &Entry, known: &Known| {
                    let is_same_version = known.version == self.version_of(push, entry);
                    known.content == Some(entry.content) && (is_same_version || !is_only)
                };
                let lacks = |entry: &&Entry| {
                    !accepted.iter().any(|known| known.name == entry.name && has(entry, known))
                };
                let refused = push.entries.iter().filter(lacks);
                let refused: Vec<Text> = refused.map(|entry| entry.name).collect();
                let has = |name: &Text| accepted.iter().any(|known| known.name == *name);
                let removals: Vec<Text> = self.responses[about].removed.iter().copied().filter(has).collect();
                let response = &mut self.responses[about];
                response.has_refused_names = !refused.is_empty() || !removals.is_empty();
                (response.refused, response.refused_removals) = (refused, removals);
                response.is_given_up = false;
                let implied = reading.verdict == Verdict::Implied;
                self.responses[about].status = Status::Nacked { at: stamp.at, implied };
            }
            (Verdict::Unseen, _) => self.settle_unseen(stamp, ask),
            _ => {}
        }
    }

    /// The verdict counts for what a response sends or removes.
    fn settle_earlier_refusals(&mut self, about: usize, is_accepted: bool) {
        let is_full = self.is_full_state();
        let response = &self.responses[about];
        let is_settled = |of: &EarlierRefusal| {
            let name = of.content.name;
            let is_sent = response.push.entries.iter().any(|entry| entry.name == name);
            is_sent || response.removed.contains(&name) || (is_full && is_accepted)
        };
        self.earlier_refusals.retain(|of| !is_settled(of));
    }

    /// Applies the verdict on a response that was not recorded.
    fn settle_unseen(&mut self, stamp: Stamp, ask: &Ask) {
        self.unseen_nonces.push((ask.nonce, ask.error));
        match ask.error {
            true => {
                self.unseen_nacks.push(UnseenNack { before: self.gap, at: stamp.at });
            }
            false => self.accepted_unseen = true,
        }
    }
}
