//! Verbs without SOURCE: the server is that of `--bootstrap` or `GRPC_XDS_BOOTSTRAP`.

use std::ffi::OsString;
use std::path::Path;

use clap::FromArgMatches as _;
use clap::error::ErrorKind;

use super::command_line;
use crate::cli::args::{Cli, ClientFlags, ReplayArgs, SessionsVerb, Verb};
use crate::cli::error::CliError;
use crate::cli::peer::identity;
use crate::cli::sessions;
use crate::cli::source::offline;
use crate::cli::source::prefixes::{self, PrefixKind};
use crate::cli::terminal::io::Io;

/// Environment variable that names the bootstrap of gRPC clients.
const BOOTSTRAP_VARIABLE: &str = "GRPC_XDS_BOOTSTRAP";

/// Verbs that accept a server as SOURCE.
const VERBS: [&str; 12] = [
    "watch", "client", "wait", "get", "blame", "status", "log", "lint", "report", "picture", "export", "info",
];

/// Adds the bootstrap of the environment to a command line without SOURCE, and returns a note about
/// that.
pub(crate) fn with_bootstrap(
    error: &clap::Error,
    args: &[OsString],
    io: &Io<'_>,
) -> Option<(Vec<OsString>, String)> {
    if error.kind() != ErrorKind::MissingRequiredArgument {
        return None;
    }
    let file = (io.env)(BOOTSTRAP_VARIABLE)?;
    args.iter().skip(1).find(|arg| VERBS.iter().any(|verb| *arg == verb))?;
    let note = format!("no SOURCE: using the bootstrap {file} of {BOOTSTRAP_VARIABLE}");
    let flag = ["--bootstrap".into(), file.into()];
    Some((args.iter().cloned().chain(flag).collect(), note))
}

/// Completes the SOURCE of a verb, and returns a note about one that was not typed.
///
/// With a bootstrap, a first word that is not a SOURCE is the next argument, and the server is that
/// of the bootstrap. `replay` without SOURCE opens the last session.
pub(crate) fn settle(verb: &mut Verb, io: &Io<'_>) -> Result<Option<String>, CliError> {
    if let Verb::Sessions(args) = verb
        && let Some(SessionsVerb::Open { session, screens }) = &args.verb
    {
        let path = sessions::path_of(session, io)?;
        let typed = ["xdscope".into(), "replay".into(), path.clone().into_os_string()];
        let matches = command_line::command().try_get_matches_from::<[OsString; 3], _>(typed);
        let parsed = matches.and_then(|matches| Cli::from_arg_matches(&matches));
        let note = format!("opening {}", sessions::shown(&path, io));
        if let Ok(Cli { verb: Some(Verb::Replay(replay)), .. }) = parsed {
            let screens = screens.clone();
            *verb = Verb::Replay(ReplayArgs { screens, ..replay });
        }
        return Ok(Some(note));
    }
    if let Verb::Attach(args) = verb {
        let mut replay = args.replay.clone();
        if prefixes::kind_of(&replay.source.source) != Some(PrefixKind::Attached) {
            replay.source.source.insert_str(0, prefixes::ATTACHED);
        }
        *verb = Verb::Replay(replay);
    }
    if let Verb::Replay(args) = verb {
        // The session has what is written later, too.
        args.follow |= prefixes::is_copied(&args.source.source);
    }
    if let Verb::Replay(args) = verb
        && args.source.source.is_empty()
    {
        let Some(path) = sessions::last(io) else {
            return Err(CliError::usage("SOURCE is missing, and no session is kept")
                .next("xdscope replay FILE")
                .next("xdscope demo   records a session to look at"));
        };
        args.source.source = path.display().to_string();
        return Ok(Some(format!("opening the last session, {}", sessions::shown(&path, io))));
    }
    settle_words(verb, io).map(|()| None)
}

fn settle_words(verb: &mut Verb, io: &Io<'_>) -> Result<(), CliError> {
    settle_node(verb);
    let words =
        match verb {
            Verb::Get(args) => {
                let word = take_word(&mut args.source.source, &mut args.source.client, io)?;
                args.what.splice(0..0, word);
                return Ok(());
            }
            Verb::Blame(args) => {
                let word = take_word(&mut args.source.source, &mut args.source.client, io)?;
                args.owners.splice(0..0, word);
                return Ok(());
            }
            Verb::Watch(args) => {
                let bootstrap = args.client.bootstrap.is_some();
                let server = args.server.take_if(|word| bootstrap && !is_source(word, io));
                args.what.splice(0..0, server);
                return Ok(());
            }
            Verb::Wait(args) => {
                if let Some(word) = take_word(&mut args.source.source, &mut args.source.client, io)? {
                    if !args.condition.is_empty() {
                        return Err(no_source(&word));
                    }
                    args.condition = word;
                }
                return match args.condition.is_empty() {
                    true => Err(CliError::usage("a condition is missing")
                        .next("xdscope wait --bootstrap FILE synced")),
                    false => Ok(()),
                };
            }
            Verb::Lint(args) if !args.list_rules => {
                let source = args.source.get_or_insert_default();
                take_word(source, &mut args.client, io)?
            }
            Verb::Status(args) => take_word(&mut args.source.source, &mut args.source.client, io)?,
            Verb::Log(args) => take_word(&mut args.source.source, &mut args.source.client, io)?,
            Verb::Report(args) => take_word(&mut args.source.source, &mut args.source.client, io)?,
            Verb::Export(args) => take_word(&mut args.source.source, &mut args.source.client, io)?,
            Verb::Picture(args) => take_word(&mut args.source.source, &mut args.source.client, io)?,
            Verb::Info(args) => take_word(&mut args.source.source, &mut args.source.client, io)?,
            Verb::Redact(args) if args.source.source.is_empty() => return Err(no_source("")),
            Verb::Diff(args) if args.source.source.is_empty() => return Err(no_source("")),
            _ => None,
        };
    words.map_or(Ok(()), |word| Err(no_source(&word)))
}

/// Reads `--node FILE` as `--node-file FILE` where xdscope is the client of a server.
///
/// On other sources `--node` selects streams.
fn settle_node(verb: &mut Verb) {
    let (source, client, streams) = match verb {
        Verb::Get(args) => (&args.source.source, &mut args.source.client, &mut args.rows.streams),
        Verb::Blame(args) => (&args.source.source, &mut args.source.client, &mut args.rows.streams),
        Verb::Status(args) => (&args.source.source, &mut args.source.client, &mut args.rows.streams),
        Verb::Log(args) => (&args.source.source, &mut args.source.client, &mut args.rows.streams),
        Verb::Export(args) => (&args.source.source, &mut args.source.client, &mut args.streams),
        Verb::Report(args) => (&args.source.source, &mut args.source.client, &mut args.streams),
        Verb::Diff(args) => (&args.source.source, &mut args.source.client, &mut args.streams),
        Verb::Lint(args) => {
            (args.source.get_or_insert_default() as &String, &mut args.client, &mut args.streams)
        }
        _ => return,
    };
    let is_client = client.bootstrap.is_some() || offline::is_server(source);
    if let Some(file) = streams.node.take_if(|name| is_client && Path::new(name).is_file()) {
        client.node_file.get_or_insert(file.into());
    }
}

fn no_source(word: &str) -> CliError {
    let next = "a server (host:port), a recording, or a file";
    match word {
        "" => CliError::usage("SOURCE is missing").next(next),
        _ => CliError::usage(format!("not a SOURCE: `{word}`")).next(next),
    }
}

/// Returns the word in the take_word of SOURCE if it is not one. The server of the bootstrap then
/// becomes SOURCE.
fn take_word(source: &mut String, client: &mut ClientFlags, io: &Io<'_>) -> Result<Option<String>, CliError> {
    let Some(file) = client.bootstrap.as_deref().filter(|_| !is_source(source, io)) else { return Ok(None) };
    let bootstrap = identity::read_bootstrap(file)?;
    let Some(server) = bootstrap.servers().first() else {
        let error = CliError::unreadable(format!("the bootstrap {} names no xDS server", file.display()));
        return Err(error.next("xdscope get HOST:PORT --bootstrap FILE"));
    };
    client.server_of_bootstrap = true;
    let word = std::mem::replace(source, server.to_string());
    Ok((!word.is_empty()).then_some(word))
}

fn is_source(word: &str, io: &Io<'_>) -> bool {
    let file = |word: &str| Path::new(word).exists() || offline::find(word, io).is_ok();
    word == "-"
        || prefixes::split(word).is_some()
        || offline::is_server(word)
        || (!word.is_empty() && file(word))
}
