//! The environment of a verb: pipes, the log, progress, and reports of panics.

pub(super) mod defect;
pub(super) mod diagnostics;
pub mod io;
pub(super) mod progress;
