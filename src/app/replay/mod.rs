//! A recorded source with a time cursor: each fact is as of the cursor.

mod cursor;
mod error;
mod feed;
mod marks;
mod opening;
mod reading;
pub mod saved;
#[cfg(test)]
mod tests;

pub use cursor::{Cursor, Until};
pub use feed::{Opened, Options, Reload, ReplayFeed};
pub use opening::{Opening, OpeningFeed};
pub use reading::Reading;
