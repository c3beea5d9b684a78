//! The process: signals, limits, memory, files that may be anything, and the editor of the user.

pub mod allocator;
pub mod editor;
pub mod limits;
pub mod notify;
pub mod open;
pub(super) mod saved_copy;
pub mod signals;
