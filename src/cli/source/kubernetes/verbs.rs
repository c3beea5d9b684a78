//! Verbs with pods as SOURCE: which of them are clients, and which read.

use std::time::Duration;

use crate::cli::args::{ClientFlags, ConnectFlags, ReplayArgs, SourceArgs, Verb, WatchArgs};
use crate::cli::error::CliError;
use crate::cli::source::prefixes::{self, PrefixKind, SERVER};
use xdscope_present::text::shell_word;
use xdscope_sources::ReplayPosition;

use super::query::PodQuery;

/// The SOURCE of a verb that may be a control plane, and the flags of the client.
pub(super) struct VerbServer<'a> {
    pub(super) source: &'a mut String,
    pub(super) client: &'a mut ClientFlags,
    pub(super) connect: &'a mut ConnectFlags,
}

/// Returns the SOURCE of a verb that may be a control plane.
pub(super) fn server_of(verb: &mut Verb) -> Option<VerbServer<'_>> {
    let args: &mut SourceArgs = match verb {
        Verb::Get(args) => &mut args.source,
        Verb::Blame(args) => &mut args.source,
        Verb::Status(args) => &mut args.source,
        Verb::Log(args) => &mut args.source,
        Verb::Wait(args) => &mut args.source,
        Verb::Report(args) => &mut args.source,
        Verb::Picture(args) => &mut args.source,
        Verb::Export(args) => &mut args.source,
        Verb::Info(args) => &mut args.source,
        Verb::Diff(args) => &mut args.source,
        Verb::Watch(args) => {
            let source = args.server.as_mut()?;
            let (client, connect) = (&mut args.client, &mut args.live.descriptors.connect);
            return Some(VerbServer { source, client, connect });
        }
        Verb::Lint(args) => {
            let source = args.source.as_mut()?;
            return Some(VerbServer {
                source,
                client: &mut args.client,
                connect: &mut args.descriptors.connect,
            });
        }
        _ => return None,
    };
    let SourceArgs { source, client, descriptors, .. } = args;
    Some(VerbServer { source, client, connect: &mut descriptors.connect })
}

/// Makes a control plane of pods with a port of xDS, or with `--istio`. `watch` of other pods shows
/// what they use, on the screens of `replay`.
///
/// # Errors
/// SOURCE is not the name of pods, or a flag has no effect.
pub(crate) fn settle(verb: &mut Verb) -> Result<(), CliError> {
    let Some(VerbServer { source, connect, .. }) = server_of(verb) else { return Ok(()) };
    if prefixes::kind_of(source) == Some(PrefixKind::Pods)
        && let Some(query) = PodQuery::read(source)?
        && (connect.kubernetes.istio.is_some() || query.is_xds())
    {
        source.insert_str(0, SERVER);
    }
    let is_watched = prefixes::is_port(source) && prefixes::pods_of(source).is_some();
    if is_watched && let Verb::Watch(args) = verb {
        *verb = Verb::Replay(as_replay(args)?);
    }
    Ok(())
}

/// Returns the replay that shows admin ports.
fn as_replay(args: &WatchArgs) -> Result<ReplayArgs, CliError> {
    let WatchArgs { server, what, until, live, .. } = args;
    let source = server.clone().unwrap_or_default();
    let shown = shell_word(&source);
    let idle = |flag: &str, next: String| {
        let why = format!("{flag} has no effect: {shown} is an admin port, and not a control plane");
        CliError::usage(why).next(next)
    };
    if let Some(what) = what.first() {
        return Err(idle("WHAT", format!("xdscope get {shown} {} --watch", shell_word(what))));
    }
    if until.is_some() {
        return Err(idle("--until", format!("xdscope wait {shown} synced")));
    }
    for (flag, is_set) in [
        ("--record", live.record.is_some()),
        ("--record-max", !live.record_max.is_empty()),
        ("--metrics", live.service.metrics.is_some()),
        ("--attach", live.service.attach.is_some()),
    ] {
        if is_set {
            return Err(idle(flag, format!("xdscope export {shown} --to xdsrec")));
        }
    }
    Ok(ReplayArgs {
        at: ReplayPosition::End,
        play: false,
        speed: 1.0,
        idle_limit: Duration::from_secs(2),
        follow: true,
        tail: None,
        format: live.format,
        no_tui: live.no_tui,
        view: live.view.clone(),
        filter: live.filter.clone(),
        time: live.time,
        applied: live.applied.clone(),
        screens: live.screens.clone(),
        source: SourceArgs {
            source,
            ask: Vec::new(),
            accept_broken: false,
            timeout: None,
            client: args.client.clone(),
            keep_secrets: live.keep_secrets,
            timers: live.timers,
            descriptors: live.descriptors.clone(),
        },
    })
}
