//! Connections as they passed somewhere, a tap or a packet capture: what happened on each, and the frames that gives.

mod begun;
mod pipeline;
pub mod rest;

pub use pipeline::{CleanMetadata, Pipeline};

use std::sync::Arc;

use bytes::Bytes;

use crate::wire::event::{Dir, Side, Time};
use crate::wire::h2::Head;
use crate::wire::{End, Secured};

/// A connection that is observed, numbered from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnId(pub u64);

/// One thing that happened on one connection.
#[derive(Clone, Debug)]
pub struct TapCopy {
    pub conn: ConnId,
    pub at: Time,
    pub what: TapEvent,
}

impl TapEvent {
    /// Bytes that it carries.
    pub fn size(&self) -> usize {
        match self {
            TapEvent::Bytes { bytes, .. } => bytes.len(),
            TapEvent::Spoken { what: FrameEffect::Message { pieces, .. }, .. } => {
                pieces.iter().map(Bytes::len).sum()
            }
            _ => 0,
        }
    }
}

#[derive(Clone, Debug)]
pub enum TapEvent {
    /// A client connected; of a tap, its upstream is being dialled.
    Opened { peer: String, server: String },
    /// There are no two legs, or nothing can pass between them: the step that failed, and why. The client's connection is
    /// closed.
    Failed { step: ConnectStep, error: String },
    /// A leg under TLS: what its handshake showed, also one that failed. `side`: the other end of the leg.
    Secured { side: Side, facts: Arc<Secured> },
    /// Bytes that were passed on.
    Bytes { dir: Dir, bytes: Bytes },
    /// On a stream of a connection that ends here, told by whoever speaks on it: nothing is to be read out of bytes.
    Spoken { stream: u32, what: FrameEffect },
    /// Bytes that were passed on and whose copy did not fit.
    Lost { dir: Dir, bytes: u64, chunks: u64 },
    /// One end will send no more; the other was told.
    Finished { dir: Dir },
    /// Both directions are over. `by`: the side whose connection broke, if it did.
    Closed { by: Option<Side>, error: Option<String> },
}

/// What was said on a stream.
#[derive(Clone, Debug)]
pub enum FrameEffect {
    Open(Head),
    /// A whole message: its bytes in pieces, which are shared with whoever sends them.
    Message {
        dir: Dir,
        pieces: Vec<Bytes>,
    },
    /// A message that is not kept: its copy did not fit, or it can't be decompressed.
    Lost {
        bytes: u64,
    },
    End(End),
}

/// The steps to two connected legs, and what is done between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectStep {
    Resolve,
    Connect,
    /// The TLS handshake with the upstream.
    Tls,
    /// The TLS handshake with the client.
    Accept,
    /// Changing the headers of a client's requests.
    Headers,
}

impl ConnectStep {
    pub fn word(self) -> &'static str {
        match self {
            ConnectStep::Resolve => "resolve",
            ConnectStep::Connect => "connect",
            ConnectStep::Tls => "TLS to",
            ConnectStep::Accept => "TLS with the client",
            ConnectStep::Headers => "changing headers",
        }
    }
}
