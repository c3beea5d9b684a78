//! SOURCE `attach:ADDRESS`: the session of a run elsewhere.

use std::path::Path;
use std::time::Duration;

use crate::app::attach::{ViewerError, attach};
use crate::app::live_copy::LiveCopy;
use crate::cli::args::ConnectFlags;
use crate::cli::error::{CliError, Exit};
use crate::cli::peer::connect;
use crate::net::attach::{AttachError, AttachOptions};

use super::wanted_copy::{CopyUse, WantedCopy};

/// The timeout of each step of connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Copies the session of a run, as far as it is written, and what is written later if the verb goes
/// on reading.
///
/// # Errors
/// The run cannot be reached, refuses this viewer, or has recorded nothing.
pub(super) fn copy(
    wanted: &WantedCopy<'_>,
    address: &str,
    parent: Option<&Path>,
) -> Result<LiveCopy, CliError> {
    let options = options(address, wanted.connect)?;
    let goes_on = wanted.use_of != CopyUse::Once;
    let begun = attach(wanted.name.to_owned(), options, parent, goes_on);
    begun.map_err(|error| failed(error, wanted.name, wanted.connect))
}

fn options(address: &str, flags: &ConnectFlags) -> Result<AttachOptions, CliError> {
    let (address, tls) = connect::reach(address, flags)?;
    Ok(AttachOptions {
        address,
        tls: tls.map(Into::into),
        authority: flags.authority.clone(),
        headers: flags.headers()?,
        token: flags.token()?,
        timeout: CONNECT_TIMEOUT,
    })
}

fn failed(error: ViewerError, source: &str, flags: &ConnectFlags) -> CliError {
    let mut shown = CliError::new(Exit::Connection, format!("{source}: {error}"));
    match &error {
        ViewerError::Folder(_) => CliError { exit: Exit::Unreadable, ..shown.because(error) },
        ViewerError::Nothing => shown.next(format!("xdscope wait {source} synced")),
        ViewerError::Run(AttachError::Dial(dial)) => {
            shown.tried.clone_from(&dial.tried);
            match &dial.next {
                Some(next) => shown.next(next.clone()),
                None => shown.next("a run with --attach on this address"),
            }
        }
        ViewerError::Stopped(_) => shown,
        ViewerError::Run(refused) if refused.is_denied() => shown.next(match &flags.token_file {
            Some(file) => format!("another token in {}", file.display()),
            None => "--token-file FILE, with the token of the run's --attach-token-file".to_owned(),
        }),
        ViewerError::Run(_) => shown.next("the address of a run with --attach, as it printed it"),
    }
}
