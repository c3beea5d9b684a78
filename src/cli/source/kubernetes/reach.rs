//! kubectl as the flags of a verb choose it, and its errors.

use crate::app::process::signals;
use crate::cli::args::KubernetesFlags;
use crate::cli::error::{CliError, Exit};
use crate::net::kubectl::{Failure, Kubectl};
use xdscope_wire::text::display_safe;

/// Returns kubectl with the flags of a verb.
pub(super) fn kubectl(flags: &KubernetesFlags) -> Kubectl {
    Kubectl { context: flags.context.clone(), user: flags.as_user.clone() }
}

/// Ends kubectl with the program from now on, also if a signal ends the program.
pub(super) fn guard() -> Result<(), CliError> {
    let caught = signals::end_kubectl();
    caught.map_err(|error| CliError::new(Exit::Defect, "cannot handle signals").because(error))
}

/// The error of a command of kubectl, in its own words.
pub(super) fn kubectl_failed(failure: &Failure, source: &str) -> CliError {
    let lacking =
        failure.right.as_ref().map(|right| format!("; this user lacks {right}")).unwrap_or_default();
    let text = format!("{}: {failure}{lacking}", display_safe(source));
    let error = CliError::new(Exit::Connection, text);
    match failure.next() {
        Some(next) => error.next(next),
        None => error,
    }
}
