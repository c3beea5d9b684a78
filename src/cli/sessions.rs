//! `sessions`: lists, names, opens and removes the recordings of the state folder.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::app::recording::session_dir;
use crate::app::recording::session_dir::KeptSession;
use xdscope_present::json::SCHEMA;
use xdscope_present::report::Role;
use xdscope_present::table::{Columns, TableLooks};
use xdscope_present::text::shell_word;
use xdscope_sources::record::Header;
use xdscope_wire::text::{display_safe, plural, size};

use super::args::{Format, Global, SessionsArgs, SessionsVerb};
use super::error::{CliError, Exit};
use crate::cli::command::suggest;
use crate::cli::output::json_out::{ObjectLooks, Objects};
use crate::cli::terminal::io::Io;

/// The word for the session that was written last.
pub(super) const LAST: &str = "last";

/// The character of a word that stands for several sessions.
const GLOB: char = '*';

/// Number of sessions that a question names.
const MAX_NAMED: usize = 10;

pub(super) fn run(args: &SessionsArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    match &args.verb {
        None => list(args, global, io),
        Some(SessionsVerb::Name { session, name }) => name_session(session, name, global, io),
        Some(SessionsVerb::Remove { sessions, yes }) => remove(sessions, *yes, global, io),
        // The caller has made it a `replay`.
        Some(SessionsVerb::Open { .. }) => Ok(Exit::Yes),
    }
}

/// Returns the path of a session of the state folder.
pub(super) fn path_of(session: &str, io: &Io<'_>) -> Result<PathBuf, CliError> {
    Ok(find(session, &kept(io)?)?.path.clone())
}

/// Returns the session that was written last; `None` without one.
pub(super) fn last(io: &Io<'_>) -> Option<PathBuf> {
    let sessions = session_dir::list(&io.state_dir()?).ok()?;
    let first_with_content = sessions.iter().find(|session| !is_empty(session));
    first_with_content.or(sessions.first()).map(|session| session.path.clone())
}

/// Removes a session of the state folder that has no message. Returns whether it did.
pub(super) fn remove_if_empty(path: &Path, io: &Io<'_>) -> bool {
    let Some(dir) = io.state_dir().filter(|dir| path.parent() == Some(dir)) else { return false };
    let session = session_dir::list(&dir).ok().and_then(|sessions| {
        sessions.into_iter().find(|session| session.path == path && !session.is_named())
    });
    session.is_some_and(|session| is_empty(&session) && session_dir::remove(&session).is_ok())
}

/// Most bytes after the header of a session without a message.
const MAX_EMPTY_BYTES: u64 = 64;

/// Whether a session has no message, and nothing writes to it.
fn is_empty(session: &KeptSession) -> bool {
    let header = std::fs::File::open(&session.path).ok();
    let header = header.and_then(|file| Header::read(&mut BufReader::new(file)).ok());
    header.is_some_and(|(_, end)| session.bytes <= end + MAX_EMPTY_BYTES) && !session.is_in_use()
}

/// Lists the sessions of the state folder, the last one first.
fn kept(io: &Io<'_>) -> Result<Vec<KeptSession>, CliError> {
    let Some(dir) = io.state_dir() else {
        return Err(CliError::unreadable("no home directory: sessions are not kept").next("XDG_STATE_HOME"));
    };
    session_dir::list(&dir)
        .map_err(|error| CliError::unreadable(format!("cannot list {}", dir.display())).because(error))
}

/// Finds a session by its name, with or without its extension, or `last`.
fn find<'a>(wanted: &str, sessions: &'a [KeptSession]) -> Result<&'a KeptSession, CliError> {
    let bare = wanted.strip_suffix(".xdsrec").unwrap_or(wanted);
    let found = match wanted {
        LAST => sessions.iter().find(|session| !is_empty(session)).or(sessions.first()),
        _ => sessions.iter().find(|session| session.name == bare || session.path == Path::new(wanted)),
    };
    found.ok_or_else(|| {
        if sessions.is_empty() {
            return CliError::unreadable("no session is kept").next("xdscope demo   records a session");
        }
        let error = CliError::unreadable(format!("unknown session `{wanted}`"));
        let near = suggest::near(bare, sessions.iter().map(|session| session.name.as_str()));
        let next = near.into_iter().map(str::to_owned).chain(["xdscope sessions".to_owned()]);
        CliError { next: next.collect(), ..error }
    })
}

/// A row of the list of sessions.
struct SessionRow<'a> {
    session: &'a KeptSession,
    header: Option<Header>,
    is_written: bool,
}

impl<'a> SessionRow<'a> {
    fn new(session: &'a KeptSession) -> SessionRow<'a> {
        let header = std::fs::File::open(&session.path).ok();
        let header = header.and_then(|file| Header::read(&mut BufReader::new(file)).ok());
        SessionRow { session, header: header.map(|(header, _)| header), is_written: session.is_in_use() }
    }

    fn begun(&self) -> Option<Timestamp> {
        let header = self.header.as_ref()?;
        let created = Some(i128::from(header.created)).filter(|created| *created > 0);
        Timestamp::from_nanosecond(created.or(header.clock.epoch)?).ok()
    }

    fn source(&self) -> &str {
        self.header.as_ref().map_or("", |header| &header.source)
    }

    fn note(&self) -> (String, Role) {
        let mut notes = Vec::new();
        if self.is_written {
            notes.push("being written");
        }
        match &self.header {
            None => notes.push("not readable"),
            Some(header) if header.keep_secrets => notes.push("contains secrets"),
            Some(_) => {}
        }
        (notes.join(", "), if self.is_written { Role::Pending } else { Role::Warn })
    }

    fn json(&self) -> Value {
        json!({
            "schema": SCHEMA,
            "object": "session",
            "name": self.session.name,
            "path": self.session.path.display().to_string(),
            "bytes": self.session.bytes,
            "begun": self.begun().map(|at| at.to_string()),
            "source": self.source(),
            "named": self.session.is_named(),
            "being_written": self.is_written,
        })
    }
}

fn list(args: &SessionsArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let mut sessions = kept(io)?;
    // The newest first: a session that was written to last may have begun before others.
    sessions.sort_by_cached_key(|session| {
        let begun = SessionRow::new(session).begun();
        std::cmp::Reverse((begun, session.modified, session.name.clone()))
    });
    let most = if args.tail == 0 { sessions.len() } else { args.tail.min(sessions.len()) };
    let shown = sessions.get(..most).unwrap_or_default();
    let (style, zone) = (io.style(global), io.zone.clone());
    let looks = TableLooks { style, has_titles: !args.no_headers, form: args.format.table_form() };
    let out = &mut *io.stdout;
    match args.format {
        Format::Name => {
            shown.iter().try_for_each(|session| writeln!(out, "{}", display_safe(&session.name)))?;
        }
        format if format.is_of_objects() => {
            let looks = ObjectLooks { table: looks, terminal: io.stdout_is_terminal };
            let mut objects = Objects::new(out, format, looks);
            shown.iter().try_for_each(|session| objects.put(&SessionRow::new(session).json()))?;
            objects.finish()?;
        }
        _ => {
            let columns = Columns::new()
                .text("SESSION", |row: &SessionRow<'_>| row.session.name.clone())
                .text("BEGUN", |row| match row.begun() {
                    Some(begun) => begun.to_zoned(zone.clone()).strftime("%F %T").to_string(),
                    None => "-".to_owned(),
                })
                .role(Role::Muted)
                .number("SIZE", |row| size(row.session.bytes))
                .text("SOURCE", |row| row.source().to_owned())
                .text("NOTE", SessionRow::note);
            let rows: Vec<SessionRow<'_>> = shown.iter().map(SessionRow::new).collect();
            columns.write(&rows, looks, out)?;
        }
    }
    io.flush()?;
    if !global.quiet && args.format == Format::Table {
        let left = sessions.len() - shown.len();
        if sessions.is_empty() {
            io.say("no session is kept; xdscope demo records one");
        } else if left > 0 {
            io.say(&format!("{left} earlier ones; -n 0 lists all"));
        }
    }
    Ok(Exit::Yes)
}

fn name_session(session: &str, name: &str, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let sessions = kept(io)?;
    let session = find(session, &sessions)?;
    let bare = name.strip_suffix(".xdsrec").unwrap_or(name);
    let mut parts = Path::new(bare).components();
    let is_name = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
    // A name with `*` would be a glob for `remove`.
    let has_other = bare.contains(['/', GLOB]) || bare.contains(char::is_control);
    if !is_name || bare.starts_with(['-', '.']) || has_other || bare == LAST {
        let error = CliError::usage(format!("not a name of a session: `{name}`"));
        return Err(error.next(format!("xdscope sessions name {} before-upgrade", shell_word(&session.name))));
    }
    refuse_written(session)?;
    let path = session_dir::rename(session, bare).map_err(|error| {
        CliError::unreadable(format!("cannot name {} `{bare}`", session.name)).because(error)
    })?;
    if !global.quiet {
        io.say(&display_safe(&format!("{} is now {}", session.name, path.display())));
    }
    Ok(Exit::Yes)
}

fn refuse_written(session: &KeptSession) -> Result<(), CliError> {
    if !session.is_in_use() {
        return Ok(());
    }
    let error = CliError::new(Exit::No, format!("{} is being written", session.name));
    Err(error.next("stop the xdscope that writes it"))
}

fn remove(wanted: &[String], yes: bool, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let sessions = kept(io)?;
    let mut chosen: Vec<&KeptSession> = Vec::new();
    for word in wanted {
        let found: Vec<&KeptSession> = match word.contains(GLOB) {
            true => matching(word, yes, &sessions)?,
            false => vec![find(word, &sessions)?],
        };
        if found.is_empty() {
            return Err(CliError::unreadable(format!("no session matches `{word}`")).next("xdscope sessions"));
        }
        for session in found {
            if !chosen.iter().any(|known| known.path == session.path) {
                chosen.push(session);
            }
        }
    }
    // A glob leaves out sessions that are being written; a name refuses them.
    for session in wanted.iter().filter_map(|word| find(word, &sessions).ok()) {
        refuse_written(session)?;
    }
    chosen.retain(|session| !session.is_in_use());
    if chosen.is_empty() || (!yes && !is_confirmed(&chosen, io)?) {
        io.say("nothing was removed");
        return Ok(Exit::No);
    }
    for session in &chosen {
        session_dir::remove(session).map_err(|error| {
            CliError::unreadable(format!("cannot remove {}", session.path.display())).because(error)
        })?;
    }
    if !global.quiet {
        let bytes = chosen.iter().map(|session| session.bytes).sum();
        io.say(&format!("{} removed, {}", plural(chosen.len() as u64, "session"), size(bytes)));
    }
    Ok(Exit::Yes)
}

/// Returns the session with the name `word`, or those that match it as a glob.
///
/// A shell leaves an unquoted `*` as it is where no file matches. Without a question such a word
/// must not stand for every session.
fn matching<'a>(
    word: &str,
    yes: bool,
    sessions: &'a [KeptSession],
) -> Result<Vec<&'a KeptSession>, CliError> {
    let named: Vec<_> = sessions.iter().filter(|session| session.name == word).collect();
    if !named.is_empty() {
        return Ok(named);
    }
    if yes && word.chars().all(|letter| letter == GLOB) {
        let error = CliError::usage(format!("`{word}` stands for every session, also for named ones"));
        return Err(error.next("xdscope sessions remove 'session-*' --yes"));
    }
    Ok(sessions.iter().filter(|session| suggest::is_match(word, &session.name)).collect())
}

/// Asks on the terminal whether to remove sessions.
fn is_confirmed(chosen: &[&KeptSession], io: &mut Io<'_>) -> Result<bool, CliError> {
    if !io.stdin_is_terminal {
        let error = CliError::usage("removing sessions needs --yes, since stdin is not a terminal");
        return Err(error.next("xdscope sessions remove SESSION --yes"));
    }
    let bytes: u64 = chosen.iter().map(|session| session.bytes).sum();
    let names: Vec<&str> = chosen.iter().take(MAX_NAMED).map(|session| session.name.as_str()).collect();
    let more = if chosen.len() > names.len() { ", …" } else { "" };
    let question = format!(
        "remove {} ({}): {}{more}? [y/N] ",
        plural(chosen.len() as u64, "session"),
        size(bytes),
        names.join(", ")
    );
    write!(io.stderr, "xdscope: {}", display_safe(&question))?;
    io.stderr.flush()?;
    let mut answer = String::new();
    BufReader::new(&mut io.stdin).read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Names a file for messages: a session of the state folder by its bare name.
pub(super) fn shown(path: &Path, io: &Io<'_>) -> String {
    let is_kept = io.state_dir().is_some_and(|dir| path.parent() == Some(&dir));
    let name = path.file_stem().and_then(|name| name.to_str()).filter(|_| is_kept);
    let age = std::fs::metadata(path).and_then(|file| file.modified()).ok();
    let age = age.and_then(|at| SystemTime::now().duration_since(at).ok());
    let age = age.map(|age| format!(", written {} ago", xdscope_wire::text::age(age))).unwrap_or_default();
    format!("{}{age}", name.map_or_else(|| path.display().to_string(), str::to_owned))
}
