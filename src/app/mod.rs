//! Wiring: sources to store to sinks. The only place where sockets, files, state and screens meet.

#[cfg(all(feature = "net", feature = "tui"))]
pub mod applied;
pub mod body;
#[cfg(feature = "net")]
pub mod client;
#[cfg(feature = "net")]
pub mod demo;
#[cfg(feature = "net")]
pub mod files;
#[cfg(feature = "net")]
mod kept;
#[cfg(feature = "net")]
pub mod live;
#[cfg(all(feature = "net", feature = "tui"))]
mod named;
#[cfg(feature = "net")]
mod recorder;
#[cfg(all(feature = "net", feature = "tui"))]
pub mod replay;
#[cfg(all(feature = "net", feature = "tui"))]
pub mod screen;
#[cfg(feature = "net")]
pub mod signals;
#[cfg(feature = "net")]
pub mod tap;
pub mod watched;
