use std::sync::Arc;

use crate::event::{Code, Dir, Side, StreamId, Time};

use super::{Intervention, Message, Tls};

/// An event of one stream, as every source yields it, live or recorded.
///
/// Consumers cannot tell whether a frame came from a tap, a client, a recording or a script.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Time of the event.
    pub at: Time,
    /// Stream of the event.
    pub stream: StreamId,
    /// The event.
    pub what: FramePayload,
}

/// The most messages or bytes that one frame of a file counts: sums of them must not overflow.
pub const MAX_COUNT: u64 = 1 << 40;

/// The kinds of events, with their content.
#[derive(Clone, Debug)]
pub enum FramePayload {
    /// A stream was opened. Always the first frame of its stream.
    Open(Box<Open>),
    /// A discovery message in either direction.
    Message(Arc<Message>),
    /// Traffic of an opaque stream since the previous frame of this kind, counted and not stored
    /// (docs/protocol.md#a-19).
    ///
    /// On a stream of REST polls: a response without a message (304), or a request that got no
    /// response. On any other xDS stream: a PING on its connection, with zero counts
    /// (docs/protocol.md#i-12).
    Opaque {
        /// Direction.
        dir: Dir,
        /// Number of messages.
        messages: u64,
        /// Number of bytes.
        bytes: u64,
    },
    /// Part of the copy was lost. The traffic itself was not affected.
    Gap {
        /// Direction of the missing messages, if known.
        dir: Option<Dir>,
        /// Number of messages, if known.
        messages: u64,
        /// Number of bytes, if known.
        bytes: u64,
        /// Why the part is missing.
        cause: GapCause,
    },
    /// xdscope did something to a message. The other frames are what the client sent and received.
    Intercepted(Box<Intervention>),
    /// The stream ended. Always the last frame of its stream.
    End(Box<End>),
}

/// Why a part of the copy is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum GapCause {
    /// The copy was lost, cut short or not readable.
    #[default]
    Lost,
    /// A message has more names than xdscope keeps.
    Names,
    /// A message has more resources than xdscope keeps.
    Resources,
    /// A message has more bytes than xdscope keeps or decompresses.
    Size,
    /// A header block has more fields than xdscope keeps. No message is missing.
    Headers,
    /// A connection has more open streams than xdscope follows. `messages` is their number.
    Streams,
    /// A message is compressed with an encoding that is not supported or not announced.
    Encoding,
    /// A message cannot be decompressed.
    Compression,
    /// The stream ended in the middle of a response, which the client cannot have read. `bytes` is
    /// the length that the response was to have.
    Cut,
    /// A message is of a further type, on a stream with more types than xdscope keeps.
    Types,
}

impl GapCause {
    /// All causes.
    pub const ALL: [GapCause; 10] = [
        GapCause::Lost,
        GapCause::Names,
        GapCause::Resources,
        GapCause::Size,
        GapCause::Headers,
        GapCause::Streams,
        GapCause::Encoding,
        GapCause::Compression,
        GapCause::Cut,
        GapCause::Types,
    ];

    /// Whether messages of the stream are missing.
    pub fn lacks_messages(self) -> bool {
        !matches!(self, GapCause::Headers | GapCause::Streams | GapCause::Cut)
    }

    /// Returns the word of the cause in machine formats.
    pub fn word(self) -> &'static str {
        match self {
            GapCause::Lost => "lost",
            GapCause::Names => "names",
            GapCause::Resources => "resources",
            GapCause::Size => "size",
            GapCause::Headers => "headers",
            GapCause::Streams => "streams",
            GapCause::Encoding => "encoding",
            GapCause::Compression => "compression",
            GapCause::Cut => "cut",
            GapCause::Types => "types",
        }
    }
}

/// The facts that are known when a stream is opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Open {
    /// The gRPC path, or the protocol of a connection that is not gRPC, such as `HTTP/1.1`.
    pub method: String,
    /// Address of the client, as seen by the tap.
    pub peer: Option<String>,
    /// Address of the server.
    pub server: Option<String>,
    /// Initial metadata, redacted, in order.
    pub metadata: Vec<(String, String)>,
    /// An encoded `Node`, if the client sent it before the source began.
    pub node_hint: Option<Vec<u8>>,
    /// The stream began before the source did.
    pub partial: bool,
    /// Edition of the protocol that the peer follows; `None` for the current one.
    pub profile: Option<Profile>,
    /// TLS facts of the connection.
    pub tls: Tls,
}

/// Memory of a metadata entry besides its name and value, in bytes.
const METADATA_OVERHEAD: usize = 64;

/// Longest path that is kept whole when memory is short, in bytes. Paths of xDS are shorter.
pub const MAX_LIMITED_METHOD_BYTES: usize = 200;

impl Open {
    /// Estimates the memory of the texts, in bytes.
    pub fn memory(&self) -> usize {
        let metadata = self.metadata.iter().map(|(name, value)| name.len() + value.len() + METADATA_OVERHEAD);
        self.method.len() + metadata.sum::<usize>()
    }

    /// Keeps the metadata that fit into `bytes` of memory, and the start of a long path. Returns
    /// the bytes of the rest.
    pub fn limit_metadata(&mut self, bytes: usize) -> u64 {
        let (mut left, mut omitted) = (bytes, 0);
        if self.method.len() > MAX_LIMITED_METHOD_BYTES {
            let kept = self.method.floor_char_boundary(MAX_LIMITED_METHOD_BYTES);
            omitted += (self.method.len() - kept) as u64;
            self.method = format!("{}…", &self.method[..kept]);
        }
        self.metadata.retain(|(name, value)| {
            let size = name.len() + value.len();
            let rest = left.checked_sub(size + METADATA_OVERHEAD);
            match rest {
                Some(rest) => left = rest,
                None => omitted += size as u64,
            }
            rest.is_some()
        });
        omitted
    }

    /// Metadata key of a stream of REST polls: `proto` if its JSON uses the field names of the
    /// .proto files (docs/protocol.md#d-04).
    pub const JSON_NAMES: &str = "xdscope-json-names";
    /// Metadata key of a file: the format of its content (docs/protocol.md#c-03).
    pub const FORMAT: &str = "xdscope-file-format";
    /// Metadata key of a file: the format that its name implies.
    pub const ENDING: &str = "xdscope-file-ending";
    /// Metadata key of a client's stream: the authorities that its servers answer for, separated by
    /// commas (docs/protocol.md#k-24). Absent if one server answers for all.
    pub const AUTHORITIES: &str = "xdscope-authorities";
    /// Metadata key of a client's stream: the client subscribes to referenced resources too.
    pub const FOLLOWS: &str = "xdscope-follows";
    /// Metadata key of a dump with all clusters of its client: the names of those that are no
    /// resources of the dump, as a JSON list. Static clusters are such clusters.
    pub const OTHER_CLUSTERS: &str = "xdscope-other-clusters";
    /// Metadata key of a dump: the references of resources in use to resources that the client
    /// lacks, as a JSON list of lists.
    pub const MISSING_REFERENCES: &str = "xdscope-missing-references";
    /// Metadata key of a dump that was read from an admin port: what the other pages of the port
    /// say about the client, as a JSON object.
    pub const ADMIN: &str = "xdscope-admin";
    /// Method of a connection that never had a stream. The [`End`] says why.
    pub const NOTHING: &str = "(connection)";

    /// Returns the first metadata value with this key.
    pub fn fact(&self, name: &str) -> Option<&str> {
        self.metadata.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// Edition of the xDS protocol text that a peer is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Profile {
    /// The current edition.
    Current,
    /// The edition of document 003.
    P003,
    /// The edition of document 002.
    P002,
}

/// How a stream ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// The side that ended the stream, if known.
    pub by: Option<Side>,
    /// The gRPC status, if the server sent one.
    pub status: Option<(Code, String)>,
    /// The HTTP/2 error code of a reset.
    pub reset: Option<u32>,
    /// Other facts as text: a connection error, a failed step.
    pub note: Option<String>,
}
