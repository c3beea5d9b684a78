//! The session of a run for viewers on other machines, and such a viewer (`proto/attach.proto`).
//!
//! A viewer gets the bytes of the session files. A run with viewers does nothing for them but read
//! its own files, in a thread of its own.

mod client;
mod messages;
mod server;
mod session_cursor;

pub use client::{AttachError, AttachOptions, follow};
pub use messages::{Event, FileBytes, FilePart, FollowRequest, Session};
pub use server::{AttachAccess, AttachServer, Attachable, MAX_VIEWERS};

use std::time::Duration;

/// The version of the protocol.
pub const PROTOCOL_VERSION: u32 = 1;

/// The path of the method.
const PATH: &str = "/xdscope.attach.v1.Attach/Follow";

/// The longest time between two responses.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(5);

/// The most bytes of a file in one response.
const MAX_CONTENT_BYTES: usize = 128 << 10;
