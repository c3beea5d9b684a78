//! The process: signals, threads, limits, memory, files that may be anything, and the editor.

pub mod allocator;
pub mod editor;
pub mod limits;
pub mod notify;
pub mod open;
pub(super) mod running_thread;
pub(super) mod saved_copy;
pub mod signals;
