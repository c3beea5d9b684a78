//! SOURCE `attach:ADDRESS`: the session of a run elsewhere.

use std::time::Duration;

use crate::app::attach::{ViewerError, attach};
use crate::cli::args::{ConnectFlags, Global, Verb};
use crate::cli::command::effect;
use crate::cli::error::{CliError, Exit};
use crate::cli::live::replay;
use crate::cli::peer::connect;
use crate::cli::terminal::io::Io;
use crate::cli::terminal::progress::Busy;
use crate::net::attach::{AttachError, AttachOptions};

use super::offline::ATTACHED;

/// The timeout of each step of connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Copies the sessions that the sources of a verb name, as far as they are written. A verb that
/// goes on reading gets what is written later, too.
///
/// # Errors
/// A run cannot be reached, refuses this viewer, or has recorded nothing.
pub(crate) fn begin(verb: &Verb, global: &Global, io: &mut Io<'_>) -> Result<(), CliError> {
    let Some(sources) = effect::sources_of(verb) else { return Ok(()) };
    let Some(descriptors) = sources.descriptors else { return Ok(()) };
    for source in sources.names {
        if let Some(address) = source.strip_prefix(ATTACHED)
            && io.attached.iter().all(|known| known.name != source)
        {
            let options = options(address, &descriptors.connect)?;
            let parent = io.state_dir();
            let busy = Busy::start(&format!("copying {source}"), global, io);
            let begun = attach(source.to_owned(), options, parent.as_deref(), goes_on(verb));
            drop(busy);
            let begun = begun.map_err(|error| failed(error, source, &descriptors.connect))?;
            if !matches!(verb, Verb::Replay(args) if replay::opens_screens(args, io)) {
                let caught = begun.remove_on_signal();
                caught
                    .map_err(|error| CliError::new(Exit::Defect, "cannot handle signals").because(error))?;
            }
            io.attached.push(begun);
        }
    }
    Ok(())
}

/// Whether a verb reads what is written while it runs.
fn goes_on(verb: &Verb) -> bool {
    match verb {
        Verb::Replay(args) => args.follow,
        Verb::Log(args) => args.follow,
        Verb::Status(args) => args.watch,
        Verb::Wait(_) => true,
        _ => false,
    }
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
