//! The process: signals, limits, memory, output and the editor of the user.

pub mod allocator;
pub mod editor;
pub mod limits;
pub mod output;
pub(super) mod saved_copy;
pub mod signals;
