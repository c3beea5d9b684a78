use std::sync::Arc;

use crate::wire::event::{Code, Dir, Side, StreamId, Time};

use super::{Message, Tls};

/// What every source yields, live or recorded: one thing that happened on one stream.
///
/// Nothing right of a frame knows whether it came from a tap, a client, a recording or a script.
#[derive(Clone, Debug)]
pub struct Frame {
    pub at: Time,
    pub stream: StreamId,
    pub what: FramePayload,
}

#[derive(Clone, Debug)]
pub enum FramePayload {
    /// A stream was opened. Always the first frame of its stream.
    Open(Box<Open>),
    /// One discovery message, either way.
    Message(Arc<Message>),
    /// Traffic of an opaque stream since the last frame of this kind: counted, not kept (row A-19). On a stream of REST
    /// polls an answer that holds no message, such as 304; on another xDS stream nothing is counted, and it stands for a
    /// PING on its connection (row I-12).
    Opaque { dir: Dir, messages: u64, bytes: u64 },
    /// This much of the copy was lost here; the traffic itself was unharmed.
    Gap { messages: u64, bytes: u64 },
    /// The stream ended. Always its last frame.
    End(Box<End>),
}

/// The facts of a stream's opening.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Open {
    /// The gRPC path; for a connection that is not gRPC what it speaks, such as `HTTP/1.1`.
    pub method: String,
    /// Address of the client, as the tap saw it.
    pub peer: Option<String>,
    /// Address of the server.
    pub server: Option<String>,
    /// Initial metadata, already redacted, in order.
    pub metadata: Vec<(String, String)>,
    /// The node in binary protobuf, where it was sent before the source begins.
    pub node_hint: Option<Vec<u8>>,
    /// The stream had begun before the source did (◐, section 0.2).
    pub partial: bool,
    /// Peer profile (group L); `None` is the current one.
    pub profile: Option<Profile>,
    /// What is known of the connection's legs under TLS.
    pub tls: Tls,
}

impl Open {
    /// Metadata of a stream of REST polls: `proto` where its JSON has the names of the .proto files (row D-04).
    pub const JSON_NAMES: &str = "xdscope-json-names";
    /// Metadata of a file: the format of its content, and the one that its ending stands for (row C-03).
    pub const FORMAT: &str = "xdscope-file-format";
    pub const ENDING: &str = "xdscope-file-ending";
    /// Metadata of a stream of our own client: the authorities that some server of it answers for, separated by commas
    /// (row K-24); none where the one server answers for all.
    pub const AUTHORITIES: &str = "xdscope-authorities";
    /// The same: it asks for what resources refer to, too.
    pub const FOLLOWS: &str = "xdscope-follows";
    /// In place of the method: a connection on which there never was a stream. How it ended says why.
    pub const NOTHING: &str = "(connection)";

    /// The first value of that name in the metadata.
    pub fn fact(&self, name: &str) -> Option<&str> {
        self.metadata.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// Which edition of the protocol text a peer is judged by (group L).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Profile {
    Current,
    P003,
    P002,
}

/// How a stream ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// Who ended it, where that is known.
    pub by: Option<Side>,
    /// The gRPC status, if the server sent one.
    pub status: Option<(Code, String)>,
    /// The HTTP/2 error code of a reset.
    pub reset: Option<u32>,
    /// What else is known, in words: a connection error, a step that failed.
    pub note: Option<String>,
}
