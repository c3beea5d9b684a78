//! Everything that was seen of one type on one stream.

use crate::session::{MessageKind, RequestClass, Wildcard};

use super::nonces::{self, Verdict};
use super::script::{Ask, Push, Text, is_full_state};

/// A response with its fate.
#[derive(Clone, Debug)]
pub(super) struct Response {
    pub(super) seq: u64,
    pub(super) at: u64,
    pub(super) push: Push,
    pub(super) status: Status,
    /// The request that gave the first verdict, or skipped the response.
    pub(super) settled_by: Option<u64>,
    /// Names in the response that the client has not, as it was when it refused the response.
    pub(super) refused: Vec<Text>,
    /// Names that the refused response removes, and that the client has.
    pub(super) refused_removals: Vec<Text>,
    /// The refusal kept names out of use.
    pub(super) has_refused_names: bool,
    /// The client has given up the refused names.
    pub(super) is_given_up: bool,
    /// Names that the response removes.
    pub(super) removed: Vec<Text>,
    /// Names that the client had accepted, and had given up when it wanted them again.
    pub(super) dropped: Vec<Text>,
}

/// The verdict on a response, and the request that gave it (docs/protocol.md#e-04).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Status {
    Pending,
    Acked,
    Nacked { at: u64, implied: bool },
    Skipped,
}

/// A NACK of a response that was not recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnseenNack {
    /// The response was sent before this one.
    pub(super) before: usize,
    pub(super) at: u64,
}

/// A name that the server has to send (docs/protocol.md#e-34, docs/protocol.md#f-14).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Owed {
    pub(super) name: Text,
    /// The request that asked for the name first.
    pub(super) since: u64,
    /// The newest request that asked for the name.
    pub(super) last: u64,
    /// The client had given up the resource with the wildcard, and asked for the wildcard again.
    pub(super) is_member: bool,
    pub(super) at: u64,
    /// The client may have the resource, so that it is not missing.
    pub(super) held: bool,
}

/// The state of one name in the view of the server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Known {
    pub(super) name: Text,
    pub(super) fate: Fate,
    pub(super) version: Text,
    /// None for a resource that is known by its version only.
    pub(super) content: Option<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fate {
    /// Sent on this stream.
    Sent,
    /// Held from an earlier stream (docs/protocol.md#e-18, docs/protocol.md#f-17).
    Kept,
    /// Wanted again after the client gave the resource up, or ignored it.
    WantedAgain,
    Removed,
    DoesNotExist,
    /// Given up by the client, and then left out of a response with full state.
    Released,
}

impl Known {
    pub(super) fn is_present(&self) -> bool {
        matches!(self.fate, Fate::Sent | Fate::Kept)
    }
}

/// The names and the wildcard of a client (docs/protocol.md#e-38, docs/protocol.md#f-20).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wants {
    pub(super) wildcard: Wildcard,
    pub(super) names: Vec<Text>,
}

/// The content of a resource that the client has refused on an earlier stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct EarlierRefusal {
    pub(super) content: Known,
    /// SotW: the version of the refused response.
    pub(super) response_version: Text,
}

/// One type on one stream.
#[derive(Clone, Debug)]
pub(super) struct Track {
    pub(super) kind: usize,
    pub(super) delta: bool,
    /// Messages before the first recorded one may be missing.
    pub(super) partial: bool,
    /// All names to which the client subscribes are known.
    pub(super) names_known: bool,
    /// Messages are missing, and the client has not started anew since.
    pub(super) has_lost: bool,
    /// The version that the client had before the first response that it accepts, as its requests
    /// show, or the stream before. A version that it has only refused shows nothing.
    pub(super) had: Text,
    /// The version that the first request states although the client has refused it.
    pub(super) refused_claim: Option<Text>,
    /// Delta: the first request states such versions.
    pub(super) has_refused_claims: bool,
    /// The first request answers a response that the stream does not have.
    pub(super) stray: Option<Stray>,
    /// The resources that such a request states are not known to be those of the client.
    pub(super) is_unproved: bool,
    /// Contents that the client has refused before, and neither accepted nor refused again since.
    pub(super) earlier_refusals: Vec<EarlierRefusal>,
    /// Delta: the newest versions of the resources that the client states at another version.
    pub(super) newest_of_claims: Vec<(Text, Option<Text>)>,
    /// The client refused something up to the end of the stream before.
    pub(super) refused_before: bool,
    pub(super) requests: usize,
    pub(super) first_request: Option<u64>,
    pub(super) responses: Vec<Response>,
    /// The newest response whose nonce the client has used (docs/protocol.md#e-09).
    pub(super) frontier: Option<usize>,
    /// Responses before the last gap in the recording.
    pub(super) gap: usize,
    /// The client has used the nonce of a response that was recorded since the last gap. A nonce
    /// that is not recorded was never issued, or before the recording (docs/protocol.md#e-11).
    pub(super) nonces_known: bool,
    pub(super) wants: Wants,
    /// The wants that the server works from, where requests were stale (docs/protocol.md#e-09).
    pub(super) effective: Option<Wants>,
    /// SotW: the names of the last request.
    pub(super) last_list: Option<Vec<Text>>,
    /// Whether the client has named anything (docs/protocol.md#e-40).
    pub(super) ever_named: bool,
    /// The wildcard was asked for at this time, and nothing has come since.
    pub(super) wildcard_owed: Option<u64>,
    pub(super) owed: Vec<Owed>,
    /// The view of the server.
    pub(super) known: Vec<Known>,
    /// Names that were sent and not wanted (docs/protocol.md#e-35).
    pub(super) unrequested: Vec<Text>,
    /// Resources that the client has from an earlier stream.
    pub(super) carried: Vec<Known>,
    /// The client has something at another version than the server sent last.
    pub(super) late: bool,
    /// The client states a version that no recorded response has.
    pub(super) claimed: Option<Text>,
    /// The client states the version of the newest response, which had no resources.
    pub(super) has_empty_version: bool,
    /// The client has accepted a response that was not recorded.
    pub(super) accepted_unseen: bool,
    /// A later stream goes on with this one.
    pub(super) replaced: bool,
    pub(super) unseen_nacks: Vec<UnseenNack>,
    /// The nonces that were not recorded and that the client has answered, and whether with a NACK.
    pub(super) unseen_nonces: Vec<(Text, bool)>,
    /// The last request for something new, until a response answers it (docs/protocol.md#e-03).
    pub(super) unanswered: Option<Stamp>,
    /// That request asks for names which the server owes.
    pub(super) asks_for_owed: bool,
    /// When the stream ended.
    pub(super) ended: Option<u64>,
}

/// An answer to a response of another stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stray {
    Nonce,
    Refusal,
}

/// The facts of one request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RequestFacts {
    pub(super) class: Option<RequestClass>,
    pub(super) kind: MessageKind,
    pub(super) implied: bool,
    pub(super) ambiguous: bool,
    /// The response that the verdict settles.
    pub(super) answers: Option<u64>,
    pub(super) skipped: Vec<u64>,
    pub(super) added: Vec<Text>,
    pub(super) removed: Vec<Text>,
}

/// Number and time of a message, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    pub(super) seq: u64,
    pub(super) at: u64,
}

impl Owed {
    /// Whether the request asks for the name.
    pub(super) fn is_asked_by(&self, request: u64) -> bool {
        self.since == request || self.last == request
    }
}

impl Track {
    pub(super) fn new(kind: usize, delta: bool, partial: bool) -> Track {
        let wildcard = if partial { Wildcard::Unknown } else { Wildcard::None };
        Track {
            kind,
            delta,
            partial,
            names_known: !partial,
            has_lost: partial,
            had: "",
            refused_claim: None,
            has_refused_claims: false,
            stray: None,
            is_unproved: false,
            earlier_refusals: Vec::new(),
            newest_of_claims: Vec::new(),
            refused_before: false,
            requests: 0,
            first_request: None,
            responses: Vec::new(),
            frontier: None,
            gap: 0,
            nonces_known: !partial,
            wants: Wants { wildcard, names: Vec::new() },
            effective: None,
            last_list: None,
            ever_named: false,
            wildcard_owed: None,
            owed: Vec::new(),
            known: Vec::new(),
            unrequested: Vec::new(),
            carried: Vec::new(),
            late: false,
            claimed: None,
            has_empty_version: false,
            accepted_unseen: false,
            replaced: false,
            unseen_nacks: Vec::new(),
            unseen_nonces: Vec::new(),
            unanswered: None,
            asks_for_owed: false,
            ended: None,
        }
    }

    /// Whether a response replaces all resources (docs/protocol.md#e-44).
    pub(super) fn is_full_state(&self) -> bool {
        !self.delta && is_full_state(self.kind)
    }

    pub(super) fn lose_messages(&mut self) {
        self.gap = self.responses.len();
        self.unseen_nonces.clear();
        self.nonces_known = false;
        self.names_known = false;
        self.has_lost = true;
        if self.requests == 0 {
            self.partial = true;
            self.wants.wildcard = Wildcard::Unknown;
        }
    }

    /// Whether the next request is known to be the first of the stream and type.
    ///
    /// In a SotW stream, a client has no nonce only until the first response
    /// (docs/protocol.md#e-08). In a delta stream, only a first request states versions
    /// (docs/protocol.md#f-15), and only a first request is empty (docs/protocol.md#f-21).
    pub(super) fn starts_with(&self, ask: &Ask) -> bool {
        if self.requests > 0 {
            return false;
        }
        let says_nothing = ask.names.is_empty() && ask.unsubscribe.is_empty() && !ask.error;
        let looks_first = ask.nonce.is_empty() && (!self.delta || says_nothing || !ask.claims.is_empty());
        !self.partial || (self.responses.is_empty() && self.gap == 0 && looks_first)
    }

    /// The answer of a first request to a response of another stream (docs/protocol.md#e-11).
    fn stray_answer(&self, ask: &Ask, starts: bool, facts: &RequestFacts) -> Option<Stray> {
        if !starts || facts.answers.is_some() {
            return None;
        }
        let is_known = self.responses.iter().any(|response| response.push.nonce == ask.nonce);
        match ask.error {
            true => Some(Stray::Refusal),
            false => (!ask.nonce.is_empty() && !is_known).then_some(Stray::Nonce),
        }
    }

    /// A request shows the version that the client has (docs/protocol.md#e-23).
    fn note_version(&mut self, version: Text) {
        let newest = self.responses.iter().rev().find(|response| response.push.version == version);
        let is_refused = newest.is_some_and(|newest| matches!(newest.status, Status::Nacked { .. }));
        let can_have = self.requests == 0 || self.has_lost || self.partial || newest.is_some();
        if !version.is_empty() && can_have && !is_refused {
            self.had = version;
        }
    }

    pub(super) fn request(&mut self, stamp: Stamp, ask: &Ask, prior: Option<&Track>) -> RequestFacts {
        let reading = nonces::read(self, ask);
        let starts = self.starts_with(ask);
        // A SotW request without a nonce may cross a response before the recording.
        self.nonces_known |= self.delta && starts;
        // A SotW request restates all names.
        self.names_known |= !self.delta || starts;
        let mut facts = RequestFacts {
            class: reading.class,
            kind: MessageKind::Repeat,
            implied: reading.verdict == Verdict::Implied,
            ambiguous: reading.ambiguous,
            answers: None,
            skipped: Vec::new(),
            added: Vec::new(),
            removed: Vec::new(),
        };
        self.use_nonce(stamp, ask, &reading, &mut facts);
        self.settle(stamp, ask, &reading, &mut facts);
        self.drop_unrequested(stamp, &mut facts);
        self.has_lost &= !starts;
        if self.requests == 0 {
            self.stray = self.stray_answer(ask, starts, &facts);
            self.refused_before = prior.is_some_and(|prior| prior.ended.is_some() && prior.is_refusing());
        }
        let before = self.wants.clone();
        let stale = matches!(
            reading.class,
            Some(RequestClass::UnknownNonce | RequestClass::OlderNonce | RequestClass::StaleNonce)
        );
        let names_again = match self.delta {
            true => !ask.names.is_empty(),
            false => false,
        };
        if self.delta {
            self.change_delta_names(stamp, ask, prior, &mut facts);
        } else {
            let is_stray = self.requests == 0 && self.stray.is_some();
            if reading.class != Some(RequestClass::UnknownNonce) && !is_stray {
                self.note_version(ask.version);
            }
            self.replace_names(stamp, ask, stale, prior, &mut facts);
        }
        let is_wild = |wants: &Wants| !matches!(wants.wildcard, Wildcard::None | Wildcard::Unknown);
        let is_wildcard_lost = before.wildcard != Wildcard::None && self.wants.wildcard == Wildcard::None;
        self.give_up_refused(&facts.removed, is_wildcard_lost);
        let gained = !is_wild(&before) && is_wild(&self.wants);
        let lost = is_wild(&before) && !is_wild(&self.wants);
        let news = gained || names_again || (!self.delta && !facts.added.is_empty());
        if news && (self.delta || !stale) {
            self.unanswered = Some(stamp);
            let is_named = |owed: &Owed| !owed.is_member && owed.is_asked_by(stamp.seq);
            self.asks_for_owed = self.owed.iter().any(is_named);
        }
        let leaves = lost
            || match self.delta {
                true => !ask.unsubscribe.is_empty(),
                false => !facts.removed.is_empty(),
            };
        facts.kind = match reading.verdict {
            Verdict::Nack | Verdict::Implied => MessageKind::Nack,
            Verdict::Unseen if ask.error => MessageKind::Nack,
            Verdict::None if reading.late => MessageKind::Nack,
            Verdict::Ack | Verdict::Unseen => MessageKind::Ack,
            Verdict::None if news => MessageKind::Subscribe,
            Verdict::None if leaves => MessageKind::Unsubscribe,
            Verdict::None => MessageKind::Repeat,
        };
        self.requests += 1;
        self.first_request.get_or_insert(stamp.seq);
        facts
    }
}
