//! An xDS client, an xDS server and the faults of a tap as state machines without sockets.

#![warn(missing_docs)]

pub mod client;
pub mod intercept;
pub mod server;
