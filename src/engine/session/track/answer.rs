//! The response that a request answers: its class, and its verdict.
//!
//! A nonce may stand for several responses if a server repeats nonces or leaves them empty. Then
//! the version decides, else the oldest response without a verdict counts. A refusal is never
//! derived from such a nonce.

use xdscope_wire::event::{Nonce, Time, VersionInfo};
use xdscope_wire::{DeltaRequest, SotwRequest};

use super::answer_verdict::{Answer, Verdict};
use crate::session::content::responses::{Order, Responses, Status};
use crate::session::outcome::{Ambiguity, ReferencedResponse, RequestOutcome};
use crate::session::track::Track;
use crate::session::{MessageKind, RequestClass, Wildcard};

impl Track {
    /// Returns the response that a SotW request answers, and the verdict.
    pub(crate) fn sotw_answer(&self, request: &SotwRequest) -> Answer {
        let (nonce, has_error) = (&request.response_nonce, request.error_detail.is_some());
        if self.polled && nonce.is_empty() {
            return self.polled_answer(request);
        }
        if let Some(answer) = self.answer_without_response(nonce, has_error, false) {
            return answer;
        }
        let candidates: Vec<Order> = self.responses.with_nonce(nonce).collect();
        let mut answer = self.responses.sotw_verdict(&request.version_info, nonce, has_error, &candidates);
        answer.class = Some(self.responses.sotw_class(nonce, &candidates, answer.verdict));
        answer
    }

    /// The answer to a poll: each request answers the response before it (docs/protocol.md#d-02).
    fn polled_answer(&self, request: &SotwRequest) -> Answer {
        if self.traffic.requests == 0 {
            // The response that it refuses came before the recording.
            let is_unseen = request.error_detail.is_some() && self.lifetime.predecessor.is_none();
            let verdict = if is_unseen { Verdict::Unseen } else { Verdict::None };
            return Answer { verdict, ..Answer::unrelated(RequestClass::Initial) };
        }
        let Some(newest) = self.responses.newest() else {
            return Answer::unrelated(RequestClass::BeforeFirstResponse);
        };
        // A client with a version in force states it also when it refuses the next one. Another
        // process of the client states none.
        let is_new_process = request.version_info.is_empty() && request.error_detail.is_none();
        if is_new_process && self.verdicts.in_force.is_some() {
            return Answer::unrelated(RequestClass::BeforeFirstResponse);
        }
        let version = self.responses.get(newest).map(|response| &response.version);
        let verdict = if !self.responses.is_pending(newest) {
            Verdict::None
        } else if request.error_detail.is_some() {
            Verdict::Nack
        } else if version == Some(&request.version_info) {
            Verdict::Ack
        } else {
            Verdict::Implied
        };
        Answer { class: Some(RequestClass::NewestNonce), ..Answer::about(Some(newest), verdict, None) }
    }

    /// Returns the answer of a request whose nonce no response has.
    fn answer_without_response(&self, nonce: &Nonce, has_error: bool, is_delta: bool) -> Option<Answer> {
        let first = self.traffic.requests == 0;
        if first && nonce.is_empty() {
            return Some(Answer::unrelated(RequestClass::Initial));
        }
        if self.responses.with_nonce(nonce).next().is_some() {
            return None;
        }
        Some(if nonce.is_empty() {
            Answer::unrelated(if is_delta {
                RequestClass::Spontaneous
            } else if self.responses.frontier.is_none() {
                RequestClass::BeforeFirstResponse
            } else {
                RequestClass::NonceDropped
            })
        } else if self.may_be_unseen(is_delta) {
            let is_answered = self.verdicts.has_answered_unseen(nonce, has_error);
            Answer::about(None, if is_answered { Verdict::None } else { Verdict::Unseen }, None)
        } else if first {
            Answer::unrelated(RequestClass::Initial)
        } else {
            Answer::unrelated(RequestClass::UnknownNonce)
        })
    }

    /// Whether a nonce that no response has may be of one that is not in the recording.
    ///
    /// A SotW client that has used a recorded nonce cannot go back to an older one
    /// (docs/protocol.md#e-10). Delta verdicts come in any order (docs/protocol.md#f-36), but no
    /// response comes before the first request.
    fn may_be_unseen(&self, is_delta: bool) -> bool {
        if is_delta { self.completeness.has_lost } else { self.completeness.has_unseen_nonces }
    }

    /// Returns the response that a delta request answers, and the verdict.
    pub(crate) fn delta_answer(&self, request: &DeltaRequest) -> Answer {
        let nonce = &request.response_nonce;
        if let Some(answer) = self.answer_without_response(nonce, request.error_detail.is_some(), true) {
            return answer;
        }
        self.responses.delta_verdict(request)
    }

    /// Returns the outcome of a request before the request changes anything.
    pub(super) fn request_outcome(&self, answer: &Answer) -> RequestOutcome {
        RequestOutcome {
            kind: MessageKind::Repeat,
            class: answer.class,
            implied: answer.verdict == Verdict::Implied,
            answers: None,
            answered_at: Time::ZERO,
            added: Vec::new(),
            removed: Vec::new(),
            first: self.traffic.requests == 0,
            partial: self.completeness.has_unseen_nonces,
            ambiguous: answer.ambiguous,
            was: self.subscribed.wildcard,
            wildcard: Wildcard::None,
            referenced: answer.order.and_then(|order| self.responses.referenced(order)),
            skipped: Vec::new(),
            unknown_unsubscribes: Vec::new(),
            node_changes: Vec::new(),
        }
    }

    /// Notes which responses the client must have received.
    pub(crate) fn use_nonce(&mut self, nonce: &Nonce, answer: &Answer) {
        // The client has at least the oldest response with the nonce.
        let oldest = if nonce.is_empty() { None } else { self.responses.with_nonce(nonce).next() };
        let is_verdict = answer.verdict != Verdict::None || self.polled;
        let answered = if is_verdict { answer.order } else { None };
        let Some(used) = oldest.max(answered) else { return };
        self.completeness.use_nonce_of(used);
        self.responses.advance(used);
    }
}

impl Responses {
    /// Returns the class of a SotW request whose nonce the candidates have.
    fn sotw_class(&self, nonce: &Nonce, candidates: &[Order], verdict: Verdict) -> RequestClass {
        let newest_candidate = candidates.last().copied();
        let frontier = self.frontier;
        if nonce.is_empty() && frontier.is_none() && verdict == Verdict::None {
            // The client may have sent the request before the response came.
            RequestClass::BeforeFirstResponse
        } else if newest_candidate == self.newest() {
            RequestClass::NewestNonce
        } else if newest_candidate >= frontier {
            RequestClass::StaleNonce
        } else if nonce.is_empty() {
            RequestClass::NonceDropped
        } else {
            RequestClass::OlderNonce
        }
    }

    /// Reads a SotW request whose nonce the candidates have, oldest first.
    fn sotw_verdict(
        &self,
        version: &VersionInfo,
        nonce: &Nonce,
        has_error: bool,
        candidates: &[Order],
    ) -> Answer {
        let pending = || candidates.iter().copied().filter(|order| self.is_pending(*order));
        let oldest_pending = pending().next();
        if has_error {
            // The version is the one in use, so it does not tell responses apart
            // (docs/protocol.md#e-23).
            return match candidates.last() {
                Some(order) if oldest_pending.is_none() && self.is_refused_by_version(*order) => {
                    Answer::about(Some(*order), Verdict::Nack, None)
                }
                _ => self.oldest_of(Verdict::Nack, pending(), candidates),
            };
        }
        let of_version =
            |order: &Order| self.get(*order).is_some_and(|response| response.version == *version);
        if pending().any(|order| of_version(&order)) {
            let mut answer = self.oldest_of(Verdict::Ack, pending().filter(of_version), candidates);
            if nonce.is_empty() && version.is_empty() {
                answer.ambiguous.get_or_insert(Ambiguity::Crossing);
            }
            return answer;
        }
        let settled = candidates.iter().copied().rev().find(of_version);
        if let Some(order) = settled.filter(|order| self.is_refused_by_version(*order)) {
            // The client changed its names before it gave its verdict.
            return Answer::about(Some(order), Verdict::Ack, None);
        }
        if let Some(pending) = oldest_pending
            && candidates.len() == 1
            && settled.is_none()
            && !nonce.is_empty()
        {
            return Answer::about(Some(pending), Verdict::Implied, None);
        }
        let order = settled.or(oldest_pending).or(candidates.last().copied());
        let seq = oldest_pending.and_then(|order| self.get(order)).map(|response| response.seq);
        Answer::about(order, Verdict::None, seq.map(Ambiguity::Verdict))
    }

    /// Reads a delta request whose nonce some responses have.
    fn delta_verdict(&self, request: &DeltaRequest) -> Answer {
        let nonce = &request.response_nonce;
        let candidates: Vec<Order> = self.with_nonce(nonce).collect();
        let pending = || candidates.iter().copied().filter(|order| self.is_pending(*order));
        let has_error = request.error_detail.is_some();
        // A request that changes nothing answers a response without a nonce
        // (docs/protocol.md#e-07).
        if nonce.is_empty() && (pending().next().is_none() || (changes_names(request) && !has_error)) {
            let oldest = pending().next().and_then(|order| self.get(order));
            return Answer {
                ambiguous: oldest.map(|response| Ambiguity::Verdict(response.seq)),
                ..Answer::unrelated(RequestClass::Spontaneous)
            };
        }
        let verdict = if has_error { Verdict::Nack } else { Verdict::Ack };
        let answer = self.oldest_of(verdict, pending(), &candidates);
        let class = match answer.verdict {
            Verdict::Ack => RequestClass::Ack,
            Verdict::Nack => RequestClass::Nack,
            _ => RequestClass::SettledNonce,
        };
        Answer { class: Some(class), ..answer }
    }

    /// Whether a response is refused by version only, and the client has answered no newer one.
    fn is_refused_by_version(&self, order: Order) -> bool {
        let status = self.get(order).map(|response| response.status);
        status == Some(Status::NackedByVersion) && Some(order) >= self.frontier
    }

    /// Returns the verdict on the oldest of the pending candidates; none if there are none.
    fn oldest_of(
        &self,
        verdict: Verdict,
        mut pending: impl Iterator<Item = Order>,
        candidates: &[Order],
    ) -> Answer {
        let Some(oldest) = pending.next() else {
            return Answer::about(candidates.last().copied(), Verdict::None, None);
        };
        let other = pending.next().and_then(|order| self.get(order));
        Answer::about(Some(oldest), verdict, other.map(|response| Ambiguity::OtherResponse(response.seq)))
    }

    /// Returns the current state of a response.
    pub(crate) fn referenced(&self, order: Order) -> Option<ReferencedResponse> {
        let response = self.get(order)?;
        let newest = self.newest() == Some(order);
        Some(ReferencedResponse { seq: response.seq, order, was: response.status, newest })
    }
}

/// Whether a delta request subscribes, unsubscribes or states versions.
pub(crate) fn changes_names(request: &DeltaRequest) -> bool {
    !(request.subscribe.is_empty()
        && request.unsubscribe.is_empty()
        && request.initial_resource_versions.is_empty()
        && request.locators_subscribe.is_empty()
        && request.locators_unsubscribe.is_empty())
}
