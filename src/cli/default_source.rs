//! A verb without SOURCE: the server is that of a bootstrap, `--bootstrap` or `GRPC_XDS_BOOTSTRAP`.

use std::ffi::OsString;
use std::path::Path;

use clap::error::ErrorKind;

use super::args::{ClientFlags, Verb};
use super::error::CliError;
use super::io::Io;
use super::{identity, offline};

/// Where gRPC clients are told of their bootstrap.
const VARIABLE: &str = "GRPC_XDS_BOOTSTRAP";

/// Verbs that read a server.
const VERBS: [&str; 9] = ["watch", "client", "wait", "get", "status", "log", "lint", "export", "info"];

/// The command line with the bootstrap of the environment, where it lacks its SOURCE; and what to say of that.
pub(super) fn with_bootstrap(
    error: &clap::Error,
    args: &[OsString],
    io: &Io<'_>,
) -> Option<(Vec<OsString>, String)> {
    if error.kind() != ErrorKind::MissingRequiredArgument {
        return None;
    }
    let file = (io.env)(VARIABLE)?;
    args.iter().skip(1).find(|arg| VERBS.iter().any(|verb| *arg == verb))?;
    let note = format!("no SOURCE: the bootstrap {file} is read, as {VARIABLE} says");
    let flag = ["--bootstrap".into(), file.into()];
    Some((args.iter().cloned().chain(flag).collect(), note))
}

/// With a bootstrap the first word need not be a SOURCE: then it is what comes next, and the server is the
/// bootstrap's.
pub(super) fn settle(verb: &mut Verb, io: &Io<'_>) -> Result<(), CliError> {
    settle_node(verb);
    let words = match verb {
        Verb::Get(args) => {
            let word = place(&mut args.source.source, &mut args.source.client, io)?;
            args.what.splice(0..0, word);
            return Ok(());
        }
        Verb::Watch(args) => {
            let bootstrap = args.client.bootstrap.is_some();
            let server = args.server.take_if(|word| bootstrap && !is_source(word, io));
            args.what.splice(0..0, server);
            return Ok(());
        }
        Verb::Wait(args) => {
            if let Some(word) = place(&mut args.source.source, &mut args.source.client, io)? {
                if !args.condition.is_empty() {
                    return Err(no_source(&word));
                }
                args.condition = word;
            }
            return match args.condition.is_empty() {
                true => Err(CliError::usage("wait for what?").next("xdscope wait --bootstrap FILE synced")),
                false => Ok(()),
            };
        }
        Verb::Lint(args) if !args.list_rules => {
            let source = args.source.get_or_insert_default();
            place(source, &mut args.client, io)?
        }
        Verb::Status(args) => place(&mut args.source.source, &mut args.source.client, io)?,
        Verb::Log(args) => place(&mut args.source.source, &mut args.source.client, io)?,
        Verb::Export(args) => place(&mut args.source.source, &mut args.source.client, io)?,
        Verb::Info(args) => place(&mut args.source.source, &mut args.source.client, io)?,
        Verb::Replay(args) if args.source.source.is_empty() => return Err(no_source("")),
        Verb::Redact(args) if args.source.source.is_empty() => return Err(no_source("")),
        Verb::Diff(args) if args.source.source.is_empty() => return Err(no_source("")),
        _ => None,
    };
    words.map_or(Ok(()), |word| Err(no_source(&word)))
}

/// Reads `--node FILE` as `--node-file FILE` where xdscope is the client of a server.
///
/// `--node` selects streams otherwise, and had only the first meaning once.
fn settle_node(verb: &mut Verb) {
    let (source, client, streams) = match verb {
        Verb::Get(args) => (&args.source.source, &mut args.source.client, &mut args.rows.streams),
        Verb::Status(args) => (&args.source.source, &mut args.source.client, &mut args.rows.streams),
        Verb::Log(args) => (&args.source.source, &mut args.source.client, &mut args.rows.streams),
        Verb::Export(args) => (&args.source.source, &mut args.source.client, &mut args.streams),
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
        "" => CliError::usage("there is no SOURCE").next(next),
        _ => CliError::usage(format!("`{word}` is no SOURCE")).next(next),
    }
}

/// The word in the place of SOURCE, if it is none: SOURCE is the bootstrap's server then.
fn place(source: &mut String, client: &mut ClientFlags, io: &Io<'_>) -> Result<Option<String>, CliError> {
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
    word == "-" || offline::is_server(word) || (!word.is_empty() && (word.starts_with("file:") || file(word)))
}
