//! Sources elsewhere that are copied to files before a verb reads them: runs, and admin ports.

use xdscope_engine::store::Options;
use xdscope_present::text::shell_word;

use crate::cli::args::{ConnectFlags, Global, Verb};
use crate::cli::command::effect;
use crate::cli::error::{CliError, Exit};
use crate::cli::live::replay;
use crate::cli::terminal::io::Io;
use crate::cli::terminal::progress::Busy;

use super::prefixes::{self, PrefixKind};
use super::wanted_copy::{CopyUse, WantedCopy};
use super::{attached, kubernetes, offline, ports};

/// Copies the sources of a verb that are elsewhere, and the port of `--applied`. A verb that goes
/// on reading gets what comes later, too.
///
/// # Errors
/// A source cannot be reached, refuses to be read, or has nothing to read.
pub(crate) fn begin(verb: &Verb, global: &Global, io: &mut Io<'_>) -> Result<(), CliError> {
    if let Some(name) = server_of(verb)
        && prefixes::pods_of(name).is_some()
        && !matches!(verb, Verb::Watch(_))
    {
        let error = CliError::usage(format!("{} is not an address, which this verb needs", shell_word(name)));
        return Err(error.next("kubectl port-forward, and the local address that it prints"));
    }
    if let Some(name) = server_of(verb)
        && prefixes::is_port(name)
    {
        return Err(CliError::usage(format!(
            "{} is an admin port, and not a control plane",
            shell_word(name)
        ))
        .next(format!("xdscope log {} -f", shell_word(name))));
    }
    let memory = memory_of(verb);
    if let Some(sources) = effect::sources_of(verb)
        && let Some(descriptors) = sources.descriptors
    {
        let use_of = use_of(verb, io);
        for name in sources.names {
            let connect = &descriptors.connect;
            copy(&WantedCopy { name, connect, descriptors, use_of, memory }, verb, global, io)?;
        }
    }
    if let Some((name, descriptors)) = effect::applied_of(verb)
        && prefixes::is_port(name)
    {
        // Tokens and certificates are for the server.
        let kubernetes = descriptors.connect.kubernetes.clone();
        let connect = &ConnectFlags { kubernetes, ..ConnectFlags::default() };
        let use_of = if matches!(verb, Verb::Status(_)) { CopyUse::Once } else { CopyUse::Newest };
        copy(&WantedCopy { name, connect, descriptors, use_of, memory }, verb, global, io)?;
    }
    Ok(())
}

/// Returns the control plane that a verb needs.
fn server_of(verb: &Verb) -> Option<&str> {
    match verb {
        Verb::Tap(args) => args.server.as_deref(),
        Verb::Watch(args) => args.server.as_deref(),
        Verb::Doctor(args) => args.server.as_deref(),
        Verb::Check(args) => args.server.as_deref(),
        _ => None,
    }
}

fn copy(wanted: &WantedCopy<'_>, verb: &Verb, global: &Global, io: &mut Io<'_>) -> Result<(), CliError> {
    let Some((prefix, address)) = prefixes::split(wanted.name) else { return Ok(()) };
    if io.copy_of(wanted.name).is_some() {
        return Ok(());
    }
    let parent = io.state_dir();
    let begun = match prefix.kind {
        PrefixKind::File | PrefixKind::Server => return Ok(()),
        PrefixKind::Attached => {
            let _busy = Busy::start(&format!("copying {}", wanted.name), global, io);
            attached::copy(wanted, address, parent.as_deref())?
        }
        PrefixKind::Port(_) | PrefixKind::Pods => {
            let _busy = Busy::start(&format!("reading {}", wanted.name), global, io);
            match (kubernetes::PodQuery::read(wanted.name)?, prefix.kind) {
                (Some(query), _) => kubernetes::copy(wanted, query, parent, global)?,
                (None, PrefixKind::Port(kind)) => ports::copy(wanted, kind, address, parent, global)?,
                (None, _) => return Ok(()),
            }
        }
    };
    if !catches_signals(verb, io) {
        let caught = begun.remove_on_signal();
        caught.map_err(|error| CliError::new(Exit::Defect, "cannot handle signals").because(error))?;
    }
    // One of several pods is missing.
    io.is_unanswered |= wanted.use_of == CopyUse::Once && begun.trouble()().is_some();
    io.copies.push(begun);
    Ok(())
}

/// Whether a verb ends by itself after a signal.
fn catches_signals(verb: &Verb, io: &Io<'_>) -> bool {
    match verb {
        Verb::Replay(args) => replay::opens_screens(args, io),
        Verb::Tap(_) | Verb::Watch(_) | Verb::Serve(_) | Verb::Demo(_) => true,
        _ => false,
    }
}

fn use_of(verb: &Verb, io: &Io<'_>) -> CopyUse {
    let goes_on = match verb {
        Verb::Replay(args) if args.follow && !replay::opens_screens(args, io) => {
            return CopyUse::Rows { keep_secrets: args.source.keep_secrets };
        }
        Verb::Log(args) if args.follow => {
            return CopyUse::Rows { keep_secrets: args.source.keep_secrets };
        }
        Verb::Replay(args) => args.follow,
        Verb::Status(args) => args.watch || args.wait.is_some(),
        Verb::Get(args) => args.watch,
        Verb::Wait(_) => true,
        _ => false,
    };
    if goes_on { CopyUse::Newest } else { CopyUse::Once }
}

/// Returns the bytes of `--memory`.
fn memory_of(verb: &Verb) -> usize {
    let timers = match verb {
        Verb::Tap(args) => args.live.timers,
        Verb::Watch(args) => args.live.timers,
        Verb::Serve(args) => args.live.timers,
        Verb::Demo(args) => args.live.timers,
        Verb::Get(args) => args.source.timers,
        Verb::Blame(args) => args.source.timers,
        Verb::Status(args) => args.source.timers,
        Verb::Log(args) => args.source.timers,
        Verb::Wait(args) => args.source.timers,
        Verb::Diff(args) => args.source.timers,
        Verb::Report(args) => args.source.timers,
        Verb::Picture(args) => args.source.timers,
        Verb::Export(args) => args.source.timers,
        Verb::Info(args) => args.source.timers,
        Verb::Replay(args) => args.source.timers,
        Verb::Lint(args) => args.limits,
        _ => return Options::default().history,
    };
    offline::options(&timers).history
}
