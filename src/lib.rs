//! xdscope: an interactive debugger for xDS, the protocol that configures Envoy, gRPC and service
//! meshes.
//!
//! Data flows one way, from bytes to views:
//!
//! ```text
//! net, sources ──▶ wire ──▶ engine ──▶ present ──▶ tui, cli
//!    bytes        frames     facts      words      screens, text, JSON
//! ```
//!
//! `docs/architecture.md` describes the ten rooms (top-level modules), the imports that each room
//! may have, and the invariants that hold everywhere. The most important ones:
//!
//! - A [`wire::Frame`] is created once. A tap, a recording, a packet capture, raw JSONL and an
//!   arrow script yield frames; nothing after them depends on the origin.
//! - [`wire::content::Catalog`] stores each content once. Everything else holds ids; equal ids mean
//!   equal bytes.
//! - Original bytes are kept. Redacted secrets are the only exception, and leave a mark.
//! - A misbehaving peer is a fact with evidence. `Err` is for xdscope's own inability, such as an
//!   unreadable file.
//! - The tap writes bytes to the other side before it looks at the copy.
//!
//! # What is absent, and stays so
//!
//! - `wire`, `schema`, `engine`, `present`, `peers` and `sources` have no clock, threads or async
//!   code, and no I/O except `std::io::{Read, Write, Seek}` that the caller hands in.
//!   `sources::open` opens files for the caller.
//! - `net` takes no protocol decisions. `tui` and `net` do not import each other. `tui` opens no
//!   files.
//! - No third-party `.proto` file or descriptor is in the tree. `build.rs` reads them from locked
//!   dependencies.

#![cfg_attr(not(test), warn(unreachable_pub, clippy::type_complexity))]

#[cfg(all(feature = "net", feature = "tui"))]
pub mod app;
#[cfg(all(feature = "net", feature = "tui"))]
pub mod cli;
pub mod engine;
#[cfg(feature = "net")]
pub mod net;
pub mod peers;
pub mod present;
pub mod schema;
pub mod sources;
#[cfg(feature = "tui")]
pub mod tui;
pub mod wire;
