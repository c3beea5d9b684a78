use super::headers::Head;
use crate::event::{Dir, Side};
use crate::{End, GapCause};

/// An event on a connection. `stream` is the HTTP/2 stream number.
#[derive(Debug)]
pub enum Event<'a> {
    /// A request began.
    Open {
        /// HTTP/2 stream number.
        stream: u32,
        /// The head of the message.
        head: Head,
    },
    /// A request was noticed whose head was not seen or cannot be decoded, because the observation
    /// began later.
    Begun {
        /// HTTP/2 stream number.
        stream: u32,
    },
    /// Decompressed bytes of the current message.
    Data {
        /// HTTP/2 stream number.
        stream: u32,
        /// Direction.
        dir: Dir,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// The current message is complete.
    Message {
        /// HTTP/2 stream number.
        stream: u32,
        /// Direction.
        dir: Dir,
    },
    /// A message cannot be decompressed, or is too large. `bytes` is its length on the wire.
    Lost {
        /// HTTP/2 stream number.
        stream: u32,
        /// Direction of the message.
        dir: Dir,
        /// Length on the wire.
        bytes: u64,
        /// [`GapCause::Encoding`], [`GapCause::Compression`] or [`GapCause::Size`].
        cause: GapCause,
        /// The reason.
        why: String,
    },
    /// Bytes are missing: from a message of this stream, or from unknown streams if `None`.
    Missing {
        /// HTTP/2 stream number, if known.
        stream: Option<u32>,
        /// Direction.
        dir: Dir,
        /// Messages of which no bytes were missing before, if known.
        messages: u64,
        /// Number of missing bytes.
        bytes: u64,
        /// No bytes of the message follow.
        is_over: bool,
    },
    /// A part of a frame on a stream that the client never opened, and that is not followed.
    Unopened {
        /// Direction.
        dir: Dir,
        /// Bytes of the part.
        bytes: &'a [u8],
        /// The part is the last one of the frame.
        is_last: bool,
    },
    /// Further streams of the connection are not followed.
    NotFollowed {
        /// Number of streams since the last event of this kind.
        streams: u64,
    },
    /// The stream ends in the middle of a response. [`Event::End`] follows.
    Cut {
        /// HTTP/2 stream number.
        stream: u32,
        /// Length that the response was to have on the wire.
        bytes: u64,
    },
    /// The stream ended.
    End {
        /// HTTP/2 stream number.
        stream: u32,
        /// How the stream ended.
        end: End,
    },
    /// A side sent a PING.
    Ping {
        /// Direction.
        dir: Dir,
    },
    /// A side answered a PING.
    PingAnswer {
        /// Direction.
        dir: Dir,
    },
    /// The connection is shutting down.
    GoAway {
        /// The side that shuts down.
        by: Side,
        /// HTTP/2 error code.
        code: u32,
        /// Debug data as text.
        debug: String,
    },
    /// The connection cannot be read any further. Always the last event.
    Opaque {
        /// The reason.
        why: String,
    },
}
