use crate::wire::event::{Dir, Seq, StreamId, Sym, Time};

use super::responses::{Order, Status};
use super::{MessageKind, RequestClass, Wildcard};

/// What a frame did, for the history and for rules.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) stream: StreamId,
    pub(crate) at: Time,
    /// Of a message.
    pub(crate) seq: Option<Seq>,
    /// Index of the track on its stream.
    pub(crate) track: Option<usize>,
    pub(crate) what: SessionEvent,
}

#[derive(Debug)]
pub(crate) enum SessionEvent {
    Open,
    Close,
    Request(RequestOutcome),
    Response(ResponseOutcome),
    /// A message that says nothing to the state: undecodable, or of a unary method.
    Aside,
    /// Counts only: opaque traffic.
    Passed(Dir),
    /// Counts only: a gap.
    Counted,
}

#[derive(Debug)]
pub(crate) struct RequestOutcome {
    pub(crate) kind: MessageKind,
    pub(crate) class: Option<RequestClass>,
    pub(crate) implied: bool,
    /// The response that a verdict settles.
    pub(crate) answers: Option<Seq>,
    /// Names that came into the subscription.
    pub(crate) added: Vec<Sym>,
    pub(crate) removed: Vec<Sym>,
    /// It is the track's first.
    pub(crate) first: bool,
    /// The track's history was not known in full when it came (◐).
    pub(crate) partial: bool,
    /// The wildcard before it.
    pub(crate) was: Wildcard,
    /// The response whose nonce it carries.
    pub(crate) about: Option<About>,
    /// Older responses that it passes over without a verdict (row E-04).
    pub(crate) skipped: Vec<Seq>,
    /// Delta: names unsubscribed that were in no set (row F-24).
    pub(crate) phantoms: Vec<Sym>,
}

/// A response that a request speaks of, as it stood when the request came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About {
    pub(crate) seq: Seq,
    pub(crate) order: Order,
    pub(crate) was: Status,
    /// No newer one had been sent.
    pub(crate) newest: bool,
}

/// What an entry without payload is (row G-11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hollow {
    /// It prolongs the time to live of what the client has.
    Heartbeat,
    /// The same with a version that was not the last one sent: it changes nothing.
    OtherVersion,
    /// It says in the style of 003 that there is no such resource.
    NotFound,
}

#[derive(Debug)]
pub(crate) struct ResponseOutcome {
    pub(crate) kind: MessageKind,
    /// The request that this is the first response to.
    pub(crate) answers: Option<Seq>,
    pub(crate) added: Vec<Sym>,
    pub(crate) changed: Vec<Sym>,
    pub(crate) removed: Vec<Sym>,
    pub(crate) same: u64,
    /// Names that stood twice (row E-43).
    pub(crate) twice: Vec<Sym>,
    /// The nonce was issued before on this track (row F-03).
    pub(crate) nonce_reused: bool,
    pub(crate) order: Order,
    /// Names whose content changed although their version did not (rows E-15, F-35).
    pub(crate) rewritten: Vec<Sym>,
    /// Delta: resources sent again as they were, same version, though nothing asked for them (row F-35).
    pub(crate) repeated: Vec<Sym>,
    /// Delta: the same for what the client said to hold at that version (row F-17).
    pub(crate) held: Vec<Sym>,
    pub(crate) hollow: Vec<(Sym, Hollow)>,
    /// Names taken away that the client neither had nor wanted (row F-27).
    pub(crate) strangers: Vec<Sym>,
}
