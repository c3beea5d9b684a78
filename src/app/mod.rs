//! Wiring of live runs, replays and the demo: the only room where sockets, files, state and screens
//! meet.

pub mod allocator;
pub mod applied;
pub mod client;
pub mod demo;
pub mod editor;
mod feed_error;
pub mod files;
mod handover;
mod late;
pub mod limits;
pub mod live;
mod named_recording;
pub mod output;
mod pending;
mod recorder;
pub mod recording;
pub mod recording_file;
pub mod replay;
mod run_config;
mod saved_copy;
pub mod screen;
mod search_limit;
pub mod session_dir;
pub mod signals;
pub mod spool;
pub mod tap;
