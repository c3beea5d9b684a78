//! An xDS client, an xDS server, the faults of a tap and readers of admin ports, as state machines
//! without sockets.

#![warn(missing_docs)]

pub mod admin;
pub mod client;
pub mod intercept;
pub mod server;
