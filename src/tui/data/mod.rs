//! The facts that the screens read, and the source behind them.

mod client_action;
mod contents;
mod decoded;
mod feed;
mod format;
mod replay;
mod source;
#[cfg(test)]
mod tests;

pub use client_action::ClientAction;
pub use contents::{BodyRenderer, Contents};
pub use decoded::Decoded;
pub use feed::{EditedText, Feed, FeedError, HeldMessage, Info, Mode, TapFigures};
pub use format::{AppliedFilter, BodyFormat};
pub use replay::{Marked, ReachedProblem, ReplayBar, ReplayMark, Seek, Sign, Speed};
pub(super) use source::ViewTime;
pub use source::{Data, StoreData};
