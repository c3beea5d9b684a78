//! Messages of `proto/attach.proto`.

use prost::{Message, Oneof};

/// The request of a viewer.
#[derive(Clone, PartialEq, Message)]
pub struct FollowRequest {
    /// The version of the protocol.
    #[prost(uint32, tag = "1")]
    pub version: u32,
    /// The session that the viewer has files of.
    #[prost(fixed64, optional, tag = "2")]
    pub session: Option<u64>,
    #[prost(message, repeated, tag = "3")]
    pub have: Vec<FilePart>,
}

/// The part of a file that a viewer has for good.
#[derive(Clone, PartialEq, Message)]
pub struct FilePart {
    #[prost(string, tag = "1")]
    pub file: String,
    /// Bytes from the start of the file.
    #[prost(uint64, tag = "2")]
    pub bytes: u64,
}

/// A message of a run.
#[derive(Clone, PartialEq, Message)]
pub(super) struct FollowResponse {
    #[prost(oneof = "Event", tags = "1, 2, 3, 4")]
    pub(super) event: Option<Event>,
}

/// One response of a run.
#[derive(Clone, PartialEq, Oneof)]
pub enum Event {
    #[prost(message, tag = "1")]
    Session(Session),
    #[prost(message, tag = "2")]
    Content(FileBytes),
    /// All that is written at present was sent.
    #[prost(message, tag = "3")]
    Current(Current),
    /// The run has ended, and all of its session was sent.
    #[prost(message, tag = "4")]
    Ended(Ended),
}

/// The identity of a session.
#[derive(Clone, PartialEq, Message)]
pub struct Session {
    /// The seed in the headers of its files.
    #[prost(fixed64, tag = "1")]
    pub session: u64,
    /// The program of the run.
    #[prost(string, tag = "2")]
    pub tool: String,
}

/// Bytes of a file, which replace the file from `offset` on.
#[derive(Clone, PartialEq, Message)]
pub struct FileBytes {
    /// The name of the file, without a folder.
    #[prost(string, tag = "1")]
    pub file: String,
    #[prost(uint64, tag = "2")]
    pub offset: u64,
    #[prost(bytes = "vec", tag = "3")]
    pub bytes: Vec<u8>,
    /// Whether the file keeps the bytes.
    #[prost(bool, tag = "4")]
    pub is_final: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct Current {}

#[derive(Clone, PartialEq, Message)]
pub struct Ended {}
