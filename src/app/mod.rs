//! Wiring: sources to store to sinks. The only place where sockets, files, state and screens meet.

pub mod applied;
pub mod body;
pub mod client;
pub mod demo;
pub mod files;
mod kept;
pub mod live;
mod named;
mod recorder;
pub mod replay;
pub mod screen;
pub mod signals;
pub mod tap;
pub mod watched;
