use super::events::EventEntry;
use xdscope_wire::event::{Dir, Seq, StreamId, Sym, Time};

use super::{MessageKind, NotKeptPart, OtherReading, RequestClass, Wildcard, WildcardReading};
use crate::session::content::responses::{Order, Status};
use crate::session::track::answer_verdict::Verdict;

/// The effect of a frame, for the history and for rules.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) stream: StreamId,
    pub(crate) at: Time,
    /// The number of the message, if the frame is a message.
    pub(crate) seq: Option<Seq>,
    /// Index of the track on its stream.
    pub(crate) track: Option<usize>,
    pub(crate) what: SessionEvent,
    pub(crate) events: Vec<EventEntry>,
}

#[derive(Debug)]
pub(crate) enum SessionEvent {
    Open,
    Close,
    Request(RequestOutcome),
    Response(ResponseOutcome),
    /// A message without an effect on the state: undecodable.
    Aside,
    /// A REST poll that was answered without a message.
    Unchanged,
    /// xdscope did something to a message: the number of the intervention on the stream.
    Intercepted(usize),
    /// Opaque traffic, which is only counted.
    Passed(Dir),
    /// Messages are missing.
    Gap(GapFact),
    /// Header fields or streams are missing, which are only counted.
    Counted,
}

/// Missing messages of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GapFact {
    /// Their direction, if known.
    pub(crate) dir: Option<Dir>,
    /// Their cause, number and bytes.
    pub(crate) part: NotKeptPart,
}

#[derive(Debug)]
pub(crate) struct RequestOutcome {
    pub(crate) kind: MessageKind,
    pub(crate) class: Option<RequestClass>,
    pub(crate) implied: bool,
    /// The response that a verdict settles, and its time.
    pub(crate) answers: Option<Seq>,
    pub(crate) answered_at: Time,
    /// Names added to the subscription.
    pub(crate) added: Vec<Sym>,
    pub(crate) removed: Vec<Sym>,
    /// Whether it is the first request of the track.
    pub(crate) first: bool,
    /// Whether earlier messages of the track are unknown.
    pub(crate) partial: bool,
    /// The other reading of the request, if there are two.
    pub(crate) ambiguous: Option<Ambiguity>,
    /// The wildcard before the request.
    pub(crate) was: Wildcard,
    /// The wildcard after the request.
    pub(crate) wildcard: Wildcard,
    /// The response whose nonce it carries.
    pub(crate) referenced: Option<ReferencedResponse>,
    /// Older responses that the client skips without a verdict (docs/protocol.md#e-04).
    pub(crate) skipped: Vec<Seq>,
    /// Delta: unsubscribed names that were not subscribed (docs/protocol.md#f-24).
    pub(crate) unknown_unsubscribes: Vec<Sym>,
    /// The fields in which the node differs from the one before on the stream
    /// (docs/protocol.md#e-06).
    pub(crate) node_changes: Vec<&'static str>,
}

impl RequestOutcome {
    /// Whether the request refuses a response that has its verdict (docs/protocol.md#e-21).
    pub(crate) fn is_late_nack(&self) -> bool {
        self.kind == MessageKind::Nack && self.answers.is_none() && self.referenced.is_some()
    }

    /// Returns the reading of the request that does not count, if there are two.
    pub(crate) fn other_reading(&self) -> Option<OtherReading> {
        Some(match self.ambiguous? {
            Ambiguity::OtherResponse(other) => OtherReading { kind: self.kind, answers: Some(other) },
            Ambiguity::Verdict(pending) => {
                let is_delta = self.class == Some(RequestClass::Spontaneous);
                let kind = if is_delta { MessageKind::Ack } else { MessageKind::Nack };
                OtherReading { kind, answers: Some(pending) }
            }
            Ambiguity::Crossing => {
                let (added, removed) = (!self.added.is_empty(), !self.removed.is_empty());
                OtherReading { kind: Verdict::None.kind(false, added, removed), answers: None }
            }
        })
    }
}

/// Two readings of a request whose nonce is that of more than one response, or empty
/// (docs/protocol.md#e-07, docs/protocol.md#f-03).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ambiguity {
    /// The verdict may be on this response too. It counts for the oldest one.
    OtherResponse(Seq),
    /// The request may be a verdict on this response. It counts as a change of names.
    Verdict(Seq),
    /// The request may have been sent before the response. It counts as its ACK.
    Crossing,
}

/// The response whose nonce a request carries, as it was before the request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReferencedResponse {
    pub(crate) seq: Seq,
    pub(crate) order: Order,
    pub(crate) was: Status,
    /// Whether it was the newest response.
    pub(crate) newest: bool,
}

/// The meaning of an entry without a payload (docs/protocol.md#g-11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hollow {
    /// Extends the time to live of a resource that the client has.
    Heartbeat,
    /// A heartbeat with a version that is not the last one sent: no effect.
    OtherVersion,
    /// The resource does not exist.
    NotFound,
}

#[derive(Debug)]
pub(crate) struct ResponseOutcome {
    pub(crate) kind: MessageKind,
    /// The request that the response answers first, and its time.
    pub(crate) answers: Option<Seq>,
    pub(crate) answered_at: Time,
    pub(crate) added: Vec<Sym>,
    pub(crate) changed: Vec<Sym>,
    pub(crate) removed: Vec<Sym>,
    /// Those of the added names that an earlier response had removed.
    pub(crate) restored: Vec<Sym>,
    pub(crate) same: u64,
    /// Names that the response has twice (docs/protocol.md#e-43).
    pub(crate) duplicates: Vec<Sym>,
    /// Whether the nonce was issued before on this track (docs/protocol.md#f-03).
    pub(crate) nonce_reused: bool,
    pub(crate) order: Order,
    /// Names whose content changed although their version did not (docs/protocol.md#e-15,
    /// docs/protocol.md#f-35).
    pub(crate) rewritten: Vec<Sym>,
    /// Delta: resources sent again with an unchanged version that nothing asked for
    /// (docs/protocol.md#f-35).
    pub(crate) repeated: Vec<Sym>,
    /// Endpoints that a new or updated cluster needs: the response is due even if nothing changed
    /// (docs/protocol.md#h-05).
    pub(crate) needed_again: Vec<Sym>,
    /// Delta: resources sent again at the version that the client claimed in its first request
    /// (docs/protocol.md#f-17).
    pub(crate) claimed_resent: Vec<Sym>,
    pub(crate) hollow: Vec<(Sym, Hollow)>,
    /// Removed names that the client neither had nor wanted (docs/protocol.md#f-27).
    pub(crate) unknown_removals: Vec<Sym>,
    /// How the server reads a list of names after a wildcard, if the response shows it.
    pub(crate) wildcard_reading: Option<WildcardReading>,
}
