//! A source elsewhere that a verb reads from a copy.

use crate::cli::args::{ConnectFlags, DescriptorFlags};

/// A source to copy, and what for.
pub(super) struct WantedCopy<'a> {
    /// SOURCE as typed.
    pub(super) name: &'a str,
    pub(super) connect: &'a ConnectFlags,
    pub(super) descriptors: &'a DescriptorFlags,
    pub(super) use_of: CopyUse,
    /// Bytes of `--memory`.
    pub(super) memory: usize,
}

/// The use that a verb makes of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyUse {
    /// Reads the copy once.
    Once,
    /// Reads the copy again when it changes.
    Newest,
    /// Prints a row for each change.
    Rows { keep_secrets: bool },
}
