//! Wiring: sources to store to sinks. The only place where sockets, files, state and screens meet.

pub mod body;
#[cfg(feature = "net")]
pub mod demo;
#[cfg(feature = "net")]
pub mod pipeline;
#[cfg(feature = "net")]
pub mod signals;
