//! The `xdscope` program: sockets, live runs, and the command line.
//!
//! Data flows one way, from bytes to views; each part is a crate:
//!
//! ```text
//! net, sources ──▶ wire ──▶ engine ──▶ present ──▶ tui, cli
//!    bytes        frames     facts      words      screens, text, JSON
//! ```
//!
//! `docs/architecture.md` describes the crates, the imports that each may have, and the
//! invariants that hold everywhere. This package owns what touches the world: [`net`] has the
//! sockets, [`app`] wires live runs and replays, and [`cli`] turns arguments into actions. Begin
//! reading at [`cli::run`].
//!
//! `net` takes no decisions about the protocol, and does not import `xdscope-tui`.

#![cfg_attr(not(test), warn(unreachable_pub, clippy::type_complexity))]

pub mod app;
pub mod cli;
pub mod net;
