//! Wiring: sources to store to sinks. The only place where sockets, files, state and screens meet.

#[cfg(feature = "net")]
pub mod pipeline;
