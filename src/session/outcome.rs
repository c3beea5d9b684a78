use crate::event::{Seq, StreamId, Sym, Time};

use super::{Class, MessageKind};

/// What a frame did, for the history and for rules.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) stream: StreamId,
    pub(crate) at: Time,
    /// Of a message.
    pub(crate) seq: Option<Seq>,
    /// Index of the track on its stream.
    pub(crate) track: Option<usize>,
    pub(crate) what: Happened,
}

#[derive(Debug)]
pub(crate) enum Happened {
    Open,
    Close,
    Request(RequestOutcome),
    Response(ResponseOutcome),
    /// A message that says nothing to the state: undecodable, or of a unary method.
    Aside,
    /// Counts only: opaque traffic, a gap.
    Counted,
}

#[derive(Debug)]
pub(crate) struct RequestOutcome {
    pub(crate) kind: MessageKind,
    pub(crate) class: Option<Class>,
    pub(crate) implied: bool,
    /// The response that a verdict settles.
    pub(crate) answers: Option<Seq>,
    /// Names that came into the subscription.
    pub(crate) added: Vec<Sym>,
    pub(crate) removed: Vec<Sym>,
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
}
