//! The error of a build without the cargo feature `fleet`.

use super::error::CliError;

/// Says that a build lacks the feature, and how to get a build with it.
pub(super) fn error() -> CliError {
    let error = CliError::usage("this build of xdscope lacks the feature `fleet`");
    error.next("cargo install xdscope --features fleet")
}
