//! A recorded source with a time cursor: every fact is as of the cursor, nothing comes from later messages.

mod cursor;
mod feed;
mod marks;
pub mod saved;
#[cfg(test)]
mod tests;

pub use cursor::Cursor;
pub use feed::{Options, Reload, ReplayFeed, cut};
