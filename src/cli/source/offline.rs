//! SOURCE as typed: server or file, where the file is, and how to open it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::app::recording::{recording_file, session_dir};
use xdscope_engine::store::Options;
use xdscope_present::text::shell_word;
use xdscope_schema::Schema;
use xdscope_sources::record::UNFINISHED;
use xdscope_sources::{Source, SourceError, Spec};
use xdscope_wire::event::Kind;

use super::prefixes::{self, PrefixKind};
use super::{schema_flags, stdin_file};
use crate::cli::args::{Global, SourceArgs, TimerFlags};
use crate::cli::command::suggest;
use crate::cli::error::CliError;
use crate::cli::sessions;
use crate::cli::terminal::io::Io;

/// Opens a source that is not a server, and refuses one that holds nothing of xDS. `seed` keys the
/// ids of secrets, except in recordings.
pub(crate) fn open(
    args: &SourceArgs,
    seed: u64,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<Source, CliError> {
    let source = read_quietly(args, seed, global, io)?;
    check_content(&source)?;
    say(&source.loaded.notices, global, io);
    Ok(source)
}

/// Refuses a source that holds nothing of xDS.
pub(crate) fn check_content(source: &Source) -> Result<(), CliError> {
    source.check_content().map_err(|error| damaged(error, &source.loaded.notices))
}

/// The error of a source without content. Damage explains it better than its lack of streams.
pub(crate) fn damaged(error: SourceError, notices: &[String]) -> CliError {
    match error {
        SourceError::Empty { name, .. } if !notices.is_empty() => {
            SourceError::Empty { name, found: notices.join("; ") }.into()
        }
        error => error.into(),
    }
}

/// Opens a source that is not a server, and leaves its notices to the caller.
pub(crate) fn read_quietly(
    args: &SourceArgs,
    seed: u64,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<Source, CliError> {
    let schema = schema_flags::schema(&args.descriptors, global)?;
    let location = locate(args, global, io)?;
    read(args, seed, &location, &schema, io)
}

/// Reads a source at a known location, and prints nothing.
pub(crate) fn read(
    args: &SourceArgs,
    seed: u64,
    location: &Location,
    schema: &Arc<Schema>,
    io: &mut Io<'_>,
) -> Result<Source, CliError> {
    Ok(match location {
        Location::Stdin => xdscope_sources::read(&mut io.stdin, &spec(args, seed, Path::new("")), schema)?,
        Location::Path(path) => xdscope_sources::open(&spec(args, seed, path), schema)?,
    })
}

/// The source to open, as the flags describe it.
pub(crate) fn spec(args: &SourceArgs, seed: u64, path: &Path) -> Spec {
    Spec {
        name: args.source.clone(),
        path: path.to_owned(),
        seed,
        keep_secrets: args.keep_secrets,
        accept_broken: args.accept_broken,
        memory: Some(options(&args.timers).history),
        written_at: recording_file::written_at(path),
    }
}

/// Prints what a person must know of a source.
pub(crate) fn say(notices: &[String], global: &Global, io: &mut Io<'_>) {
    // The run elsewhere goes on: that its file is not closed is no news.
    let is_news = |notice: &&String| io.copies.is_empty() || !is_unfinished(notice);
    let notices: Vec<&String> = notices.iter().filter(is_news).collect();
    if !global.quiet {
        notices.into_iter().for_each(|notice| io.say(notice));
    }
}

/// Whether a notice says that the writer of a recording did not close it.
pub(crate) fn is_unfinished(notice: &str) -> bool {
    UNFINISHED.iter().any(|words| notice.contains(words))
}

/// The place of a source.
pub(crate) enum Location {
    /// Standard input, in a short form.
    Stdin,
    Path(PathBuf),
}

/// Finds the file of a source, and warns if its name looks like that of a server.
pub(crate) fn locate(args: &SourceArgs, global: &Global, io: &mut Io<'_>) -> Result<Location, CliError> {
    if args.source == "-" {
        if io.stdin_is_terminal {
            let error = CliError::usage("SOURCE is `-`, and stdin is a terminal");
            return Err(error.next("xdscope status - < session.xdsrec"));
        }
        let kept = stdin_file::keep(io)
            .map_err(|error| CliError::unreadable("cannot keep stdin in a file").because(error))?;
        return Ok(kept.map_or(Location::Stdin, Location::Path));
    }
    let path = find(&args.source, io)?;
    if !args.source.starts_with("file:") && looks_like_server(&args.source) && !global.quiet {
        let name = &args.source;
        io.say(&format!("reading the file `{name}`; for the server of that name, type `grpc:{name}`"));
    }
    Ok(Location::Path(path))
}

/// Finds the path that SOURCE names: a file, a folder, a kept session, or a run elsewhere.
pub(crate) fn find(source: &str, io: &Io<'_>) -> Result<PathBuf, CliError> {
    if let Some(copy) = io.copy_of(source) {
        return Ok(copy.path.clone());
    }
    let path = PathBuf::from(source);
    match prefixes::split(source).map(|(prefix, rest)| (prefix.kind, rest)) {
        Some((PrefixKind::Attached, _)) => {
            return Err(CliError::usage("this verb does not read runs elsewhere")
                .next(format!("xdscope log {} -f", shell_word(source))));
        }
        Some((PrefixKind::Port(_) | PrefixKind::Pods, _)) => {
            return Err(CliError::usage("this verb does not read admin ports")
                .next(format!("xdscope status {}", shell_word(source))));
        }
        Some((PrefixKind::File, rest)) => return Ok(PathBuf::from(rest)),
        Some((PrefixKind::Server, _)) if source.starts_with("grpc:") => {}
        _ if path.exists() => return Ok(path),
        _ => {}
    }
    if source.is_empty() {
        return Err(CliError::usage("SOURCE is empty").next("xdscope sessions   lists what is kept"));
    }
    if xdscope_sources::first_of_session(&path).is_some() {
        return Ok(path);
    }
    let mut tried = vec![format!("file {source}")];
    if let Some(dir) = io.state_dir() {
        if let Some(session) = session_dir::find(&dir, &path) {
            return Ok(session);
        }
        if source == sessions::LAST
            && let Some(session) = sessions::last(io)
        {
            return Ok(session);
        }
        if path.components().count() == 1 {
            tried.push(format!("sessions in {}", dir.display()));
        }
    }
    if looks_like_server(source) {
        let server = source.strip_prefix("grpc:").unwrap_or(source);
        return Err(CliError::usage(format!("{source} is a server: this verb reads recorded sources"))
            .next(format!("xdscope tap {} --record session.xdsrec", shell_word(server))));
    }
    let mut error = CliError::unreadable(format!("cannot read {source}: no such file or session"));
    error.tried = tried;
    let has_last = io.state_dir().is_some_and(|dir| !session_dir::names(&dir).is_empty());
    if Kind::parse(source).is_some() && has_last {
        return Err(error.next(format!("a SOURCE before {source}: last is the newest session")));
    }
    if source.parse::<std::net::IpAddr>().is_ok() || source == "localhost" {
        return Err(error.next(format!("{source}:PORT, if it is a server")));
    }
    let names = io.state_dir().map(|dir| session_dir::names(&dir)).unwrap_or_default();
    let near = suggest::near(source, names.iter().map(String::as_str));
    match near.is_empty() {
        true => Err(error.next("xdscope demo   records a session to look at")),
        false => {
            error.next = near.into_iter().map(shell_word).collect();
            Err(error)
        }
    }
}

/// Whether SOURCE is the address of a server, and not an existing file.
pub(crate) fn is_server(source: &str) -> bool {
    match prefixes::kind_of(source) {
        Some(kind) => kind == PrefixKind::Server,
        None => looks_like_server(source) && !Path::new(source).exists(),
    }
}

fn looks_like_server(source: &str) -> bool {
    if let Some(kind) = prefixes::kind_of(source) {
        return kind == PrefixKind::Server;
    }
    matches!(source.rsplit_once(':'), Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok())
}

/// The store options that the flags ask for.
pub(crate) fn options(timers: &TimerFlags) -> Options {
    Options {
        resource_timeout: timers.resource_timeout,
        stale_after: timers.stale_after,
        history: usize::try_from(timers.memory).unwrap_or(usize::MAX),
    }
}
