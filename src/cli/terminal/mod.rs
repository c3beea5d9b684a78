//! The environment of a verb: pipes, the log, progress, and reports of panics.

pub(super) mod defect;
pub(super) mod diagnostics;
pub mod io;
pub(crate) mod log_format;
pub(super) mod progress;
