//! Rows as charts count them: cheap, without texts.

use std::time::Duration;

use crate::session::MessageKind;
use xdscope_wire::event::{StreamId, Time};

/// A row without texts.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    /// The time of the row.
    pub at: Time,
    /// The stream of the row.
    pub stream: StreamId,
    /// The index of the type on the stream; `None` for openings and closings.
    pub track: Option<u16>,
    /// The kind of the row.
    pub kind: MessageKind,
    /// A NACK by version alone, which the client may take back.
    pub implied: bool,
    /// The time since the message that the row answers; `None` without timestamps.
    pub latency: Option<Duration>,
    /// Bytes of the message.
    pub bytes: u64,
}
