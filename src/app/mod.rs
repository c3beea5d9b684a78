//! Wiring of live runs, replays and the demo: the only room where sockets, files, state and screens
//! meet.

pub mod analysis_thread;
pub mod applied;
pub mod attach;
pub mod check;
pub mod client;
pub mod demo;
mod feed_error;
pub mod files;
pub mod live;
pub mod live_copy;
pub mod live_state;
pub mod monitor;
pub mod ports;
pub mod process;
pub mod recording;
pub mod replay;
mod run_config;
pub mod screen;
pub mod tap;
