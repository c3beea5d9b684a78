//! An xDS client and an xDS server as state machines without sockets.

#![warn(missing_docs)]

pub mod bootstrap;
pub mod client;
pub mod server;
