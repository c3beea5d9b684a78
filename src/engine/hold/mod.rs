//! Messages that an armed tap holds, and how each differs from what its client has.

#![warn(missing_docs)]

mod command;
mod compare;
pub mod edit;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use xdscope_wire::MessageShape;
use xdscope_wire::event::{Dir, TypeUrl};

pub use command::{HeldRow, HoldCommand, HoldStatus, parse_filter};
pub use compare::{HeldDiff, HeldResource, PassedResponse, compare_held, passed_meanwhile, without_secrets};

/// The number of a held message in a run, shown as `h1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeldId(pub u64);

impl fmt::Display for HeldId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "h{}", self.0)
    }
}

impl HeldId {
    /// Returns the author of what is done to the message: `hand: h1`.
    pub fn by(self) -> String {
        format!("hand: {self}")
    }
}

/// A message that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldFact {
    /// The number of the message.
    pub id: HeldId,
    /// The form of the message.
    pub shape: MessageShape,
    /// Whether the message is of the v2 API.
    pub is_v2: bool,
    /// The type of its resources.
    pub type_url: TypeUrl,
    /// The version in the message.
    pub version: Arc<str>,
    /// The nonce in the message.
    pub nonce: Arc<str>,
    /// The node id of the client, if known.
    pub node: Option<Arc<str>>,
    /// Resources of a push, or names of a request.
    pub count: u64,
    /// The message as it came, decompressed, with its secrets.
    pub bytes: Bytes,
}

impl HeldFact {
    /// Returns the direction of the message.
    pub fn dir(&self) -> Dir {
        self.shape.dir()
    }

    /// Whether the message is a push.
    pub fn is_push(&self) -> bool {
        self.dir() == Dir::Resp
    }

    /// Returns the full name of the message in the API.
    pub fn message_name(&self) -> String {
        let package = if self.is_v2 { "envoy.api.v2" } else { "envoy.service.discovery.v3" };
        format!("{package}.{}", self.shape.message())
    }
}
