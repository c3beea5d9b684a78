//! Connections observed by a tap or in a packet capture, turned into frames.

mod first_end;
mod pings;
mod pipeline;
pub mod rest;
#[cfg(test)]
mod tests;
mod unidentified;

pub use pipeline::{CleanMetadata, Pipeline};

use std::sync::Arc;

use bytes::Bytes;

use xdscope_wire::event::{Dir, Side, Time};
use xdscope_wire::h2::{Head, SkimmedPart};
use xdscope_wire::{End, Intervention, Secured};

/// The number of an observed connection, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnId(pub u64);

/// One event on one observed connection.
#[derive(Clone, Debug)]
pub struct TapCopy {
    /// The connection.
    pub conn: ConnId,
    /// The time of the event.
    pub at: Time,
    /// The event.
    pub event: TapEvent,
}

impl TapEvent {
    /// Returns the memory of the event in a queue, in bytes.
    pub fn memory(&self) -> usize {
        let head = match self {
            TapEvent::Stream { event: StreamEvent::Open(head), .. } => head.memory(),
            _ => 0,
        };
        self.size() + head + std::mem::size_of::<TapCopy>()
    }

    /// Returns the direction of forwarded bytes and their number, with those that are missing.
    pub fn forwarded(&self) -> Option<(Dir, u64)> {
        match self {
            TapEvent::Bytes { dir, bytes } => Some((*dir, bytes.len() as u64)),
            TapEvent::Skimmed { dir, parts, .. } => {
                let bytes = parts.iter().map(|part| u64::from(part.kept) + u64::from(part.missing)).sum();
                Some((*dir, bytes))
            }
            TapEvent::Lost { dir, bytes, .. } => Some((*dir, *bytes)),
            _ => None,
        }
    }

    /// Returns how many bytes the event carries.
    pub fn size(&self) -> usize {
        match self {
            TapEvent::Bytes { bytes, .. } => bytes.len(),
            TapEvent::Stream { event: StreamEvent::Message { pieces, .. }, .. } => {
                pieces.iter().map(Bytes::len).sum()
            }
            TapEvent::Skimmed { kept, parts, .. } => {
                kept.len() + parts.len() * std::mem::size_of::<SkimmedPart>()
            }
            TapEvent::Intercepted { what, .. } => what.size(),
            _ => 0,
        }
    }
}

/// An event on a connection, as the tap or the server of this process reports it.
#[derive(Clone, Debug)]
pub enum TapEvent {
    /// A client connected. In a tap, the upstream connection is being established.
    Opened {
        /// Address of the client.
        peer: String,
        /// Address of the upstream, or of the listener on a connection that terminates here.
        server: String,
    },
    /// Client and upstream could not be connected. The client's connection is closed.
    Failed {
        /// The step that failed.
        step: ConnectStep,
        /// The error, as a message to the user.
        error: String,
    },
    /// The TLS handshake of one leg, successful or not.
    Secured {
        /// The far end of the leg.
        side: Side,
        /// Version, names and certificates.
        facts: Arc<Secured>,
    },
    /// Bytes that were forwarded.
    Bytes {
        /// Direction of the bytes.
        dir: Dir,
        /// The bytes, decrypted.
        bytes: Bytes,
    },
    /// An HTTP/2 event on a connection that terminates here. No bytes have to be parsed for it.
    Stream {
        /// HTTP/2 stream number.
        stream: u32,
        /// The event on the stream.
        event: StreamEvent,
    },
    /// Forwarded bytes of which the bodies of messages did not fit into the queue.
    Skimmed {
        /// Direction of the bytes.
        dir: Dir,
        /// The bytes that follow the connection: frame heads, headers, gRPC prefixes.
        kept: Vec<u8>,
        /// The form of the bytes: how many of `kept`, then how many missing ones.
        parts: Vec<SkimmedPart>,
    },
    /// Forwarded bytes whose copy did not fit into the queue.
    Lost {
        /// Direction of the bytes.
        dir: Dir,
        /// Number of lost bytes.
        bytes: u64,
        /// Number of reads from the socket that the bytes came from.
        chunks: u64,
    },
    /// xdscope did something to a message of a stream.
    Intercepted {
        /// HTTP/2 stream number.
        stream: u32,
        /// The intervention, with the original messages.
        what: Arc<Intervention>,
    },
    /// One end has closed its sending direction, and the other end was notified; or the server has
    /// answered in another protocol, which ends the connection.
    Finished {
        /// The direction that ended.
        dir: Dir,
    },
    /// Both directions have ended.
    Closed {
        /// The side whose connection broke, if either did.
        by: Option<Side>,
        /// The error of that connection, as a message to the user.
        error: Option<String>,
    },
}

/// An event on one stream of a terminated connection.
#[derive(Clone, Debug)]
pub enum StreamEvent {
    /// A request began.
    Open(Head),
    /// A complete message, in pieces that are shared with the sender.
    Message {
        /// Direction of the message.
        dir: Dir,
        /// The message without its gRPC prefix; joined, the pieces are the message.
        pieces: Vec<Bytes>,
    },
    /// A message without content: its copy did not fit, or it could not be decompressed.
    Lost {
        /// Size of the message in bytes, if known.
        bytes: u64,
    },
    /// The stream ended.
    End(End),
}

/// The steps that establish both legs of a tapped connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectStep {
    /// Resolving the name of the upstream.
    Resolve,
    /// The TCP connection to the upstream.
    Connect,
    /// The TLS handshake with the upstream.
    Tls,
    /// The TLS handshake with the client.
    Accept,
    /// Rewriting the headers of the client's requests.
    Headers,
}

impl ConnectStep {
    /// Returns the words in front of `failed` in messages to the user.
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
