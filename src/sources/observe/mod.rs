//! Connections observed by a tap or in a packet capture, turned into frames.

mod pipeline;
pub mod rest;
mod unidentified;

pub use pipeline::{CleanMetadata, Pipeline};

use std::sync::Arc;

use bytes::Bytes;

use crate::wire::event::{Dir, Side, Time};
use crate::wire::h2::Head;
use crate::wire::{End, Secured};

/// The number of an observed connection, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnId(pub u64);

/// One event on one observed connection.
#[derive(Clone, Debug)]
pub struct TapCopy {
    pub conn: ConnId,
    pub at: Time,
    pub event: TapEvent,
}

impl TapEvent {
    /// Returns how many bytes the event carries.
    pub fn size(&self) -> usize {
        match self {
            TapEvent::Bytes { bytes, .. } => bytes.len(),
            TapEvent::Stream { event: StreamEvent::Message { pieces, .. }, .. } => {
                pieces.iter().map(Bytes::len).sum()
            }
            _ => 0,
        }
    }
}

#[derive(Clone, Debug)]
pub enum TapEvent {
    /// A client connected. In a tap, the upstream connection is being established.
    Opened { peer: String, server: String },
    /// Client and upstream could not be connected. The client's connection is closed.
    Failed { step: ConnectStep, error: String },
    /// The TLS handshake of one leg, successful or not. `side` is the far end of that leg.
    Secured { side: Side, facts: Arc<Secured> },
    /// Bytes that were forwarded.
    Bytes { dir: Dir, bytes: Bytes },
    /// An HTTP/2 event on a connection that terminates here. No bytes have to be parsed for it.
    Stream { stream: u32, event: StreamEvent },
    /// Forwarded bytes whose copy did not fit into the queue.
    Lost { dir: Dir, bytes: u64, chunks: u64 },
    /// One end has closed its sending direction, and the other end was notified.
    Finished { dir: Dir },
    /// Both directions have ended. `by` is the side whose connection broke, if either did.
    Closed { by: Option<Side>, error: Option<String> },
}

/// An event on one stream of a terminated connection.
#[derive(Clone, Debug)]
pub enum StreamEvent {
    Open(Head),
    /// A complete message, in pieces that are shared with the sender.
    Message {
        dir: Dir,
        pieces: Vec<Bytes>,
    },
    /// A message without content: its copy did not fit, or it could not be decompressed.
    Lost {
        bytes: u64,
    },
    End(End),
}

/// The steps that establish both legs of a tapped connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectStep {
    Resolve,
    Connect,
    /// The TLS handshake with the upstream.
    Tls,
    /// The TLS handshake with the client.
    Accept,
    /// Rewriting the headers of the client's requests.
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
