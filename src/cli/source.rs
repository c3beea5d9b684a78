//! SOURCE to facts: finds it, tells its form, reads it, replays it.

mod fold;
mod replay_until;

pub(super) use fold::{fold, states, store};
pub(super) use replay_until::{Limit, Replay, is_message, replay, replay_loaded};

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Cursor, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::engine::applied::{self, Dump, DumpError};
use crate::engine::lint;
use crate::engine::store::{Options, SharedSemantics};
use crate::schema::{Format, Schema};
use crate::sources::pcap;
use crate::sources::record::{self, Loaded};
use crate::sources::script::{self, Script};
use crate::wire::content::{self, BlobId, Catalog, MemoryBodies};
use crate::wire::event::{Clock, Sym, Time, TypeUrl};
use crate::wire::text::plural;
use crate::wire::{Body, Frame, FramePayload};

use super::args::{Global, SourceArgs, TimerFlags};
use super::codec::SchemaCodec;
use super::error::CliError;
use super::io::Io;

/// What a source was written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Recording,
    Raw,
    Script,
    /// Packets, in pcap or pcapng.
    Capture,
    /// One DiscoveryResponse (group C), or resources.
    Response,
    /// A directory of such files.
    Folder,
    /// What a client says that it has applied.
    Dump(applied::Origin),
    /// A server, asked now.
    Live,
}

impl Source {
    /// For verbs about messages.
    ///
    /// # Errors
    /// The source is what a client has applied: there are none in it.
    pub(super) fn with_messages(self) -> Result<Source, CliError> {
        match self.form {
            Form::Dump(_) => Err(no_session(&self.name, self.form)),
            _ => Ok(self),
        }
    }
}

/// Of a dump, where a session is wanted.
fn no_session(name: &str, form: Form) -> CliError {
    CliError::usage(format!("{name} is a {}: what a client has, and no session", form.word()))
        .next(format!("xdscope get {name}"))
        .next(format!("xdscope diff SESSION {name}"))
        .next(format!("xdscope status SESSION --applied {name} -o wide"))
}

impl Form {
    pub(super) fn word(self) -> &'static str {
        match self {
            Form::Recording => "recording (.xdsrec)",
            Form::Raw => "raw JSONL",
            Form::Script => "arrow script",
            Form::Capture => "packet capture",
            Form::Response => "file with a DiscoveryResponse",
            Form::Folder => "directory of files with resources",
            Form::Dump(applied::Origin::ConfigDump) => "config dump of an Envoy",
            Form::Dump(applied::Origin::Csds) => "CSDS answer",
            Form::Live => "live server",
        }
    }
}

/// A source, read.
pub(super) struct Source {
    /// As typed.
    pub name: String,
    pub form: Form,
    /// Bytes of the file; `None` for stdin.
    pub size: Option<u64>,
    pub loaded: Loaded,
    pub schema: Arc<Schema>,
    /// What a server was asked for and did not answer: a type, or one name of it.
    pub unanswered: Vec<(TypeUrl, Option<String>)>,
}

/// How much of a file tells its form.
const HEAD: usize = 4096;

/// Bytes of a file that holds one response, at most.
const LARGEST: u64 = 512 << 20;

/// Reads the source that `args` name, and says on stderr what a person must know of it.
pub(super) fn open(args: &SourceArgs, global: &Global, io: &mut Io<'_>) -> Result<Source, CliError> {
    open_any(args, super::descriptors::seed()?, global, io)
}

/// A server too, with ids of secrets keyed by `seed`, where they are not keyed yet: all but recordings.
pub(super) fn open_any(
    args: &SourceArgs,
    seed: u64,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<Source, CliError> {
    if is_server(&args.source) {
        return super::client::fetch(args, seed, global, io);
    }
    open_keyed(args, seed, global, io)
}

/// The same of what was recorded.
pub(super) fn open_keyed(
    args: &SourceArgs,
    seed: u64,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<Source, CliError> {
    let schema = super::descriptors::schema(&args.descriptors)?;
    let path = locate(args, global, io)?;
    let source = read(args, seed, path.as_deref(), schema, io)?;
    say(&source.loaded.notices, global, io);
    Ok(source)
}

fn say(notices: &[String], global: &Global, io: &mut Io<'_>) {
    for notice in notices.iter().filter(|_| !global.quiet) {
        io.say(&crate::wire::text::display_safe(notice));
    }
}

/// Where the source lies; `None` is stdin.
fn locate(args: &SourceArgs, global: &Global, io: &mut Io<'_>) -> Result<Option<PathBuf>, CliError> {
    if args.source == "-" {
        if io.stdin_is_terminal {
            let error = CliError::usage("SOURCE is `-` and stdin is a terminal");
            return Err(error.next("xdscope status - < session.xdsrec"));
        }
        return Ok(None);
    }
    let path = find(&args.source, io)?;
    if !args.source.starts_with("file:") && looks_like_server(&args.source) && !global.quiet {
        io.say(&format!(
            "`{}` is read as a file: it exists; `grpc:` before a server's name forces that",
            args.source
        ));
    }
    Ok(Some(path))
}

fn read(
    args: &SourceArgs,
    seed: u64,
    path: Option<&Path>,
    schema: Arc<Schema>,
    io: &mut Io<'_>,
) -> Result<Source, CliError> {
    match path {
        None => read_stdin(args, seed, &mut io.stdin, schema),
        Some(path) => read_file(args, seed, path, schema),
    }
}

/// The path that a SOURCE names.
pub(super) fn find(source: &str, io: &Io<'_>) -> Result<PathBuf, CliError> {
    if let Some(path) = source.strip_prefix("file:") {
        return Ok(PathBuf::from(path));
    }
    let path = PathBuf::from(source);
    if path.exists() && !source.starts_with("grpc:") {
        return Ok(path);
    }
    let mut tried = vec![format!("file {source}")];
    if let Some(dir) = io.state_dir() {
        if let Some(kept) = record::state_dir::find(&dir, &path) {
            return Ok(kept);
        }
        if path.components().count() == 1 {
            tried.push(format!("sessions in {}", dir.display()));
        }
    }
    if looks_like_server(source) {
        let server = source.strip_prefix("grpc:").unwrap_or(source);
        return Err(CliError::usage(format!("{source} is a server: this verb reads what was recorded"))
            .next(format!("xdscope tap {server} --record session.xdsrec")));
    }
    let mut error = CliError::unreadable(format!("cannot read {source}: there is no such file or session"));
    error.tried = tried;
    if source.parse::<std::net::IpAddr>().is_ok() || source == "localhost" {
        return Err(error.next(format!("{source}:PORT, if it is a server")));
    }
    Err(error.next("xdscope demo   records a session to look at"))
}

/// A server's address, and no file of that name.
pub(super) fn is_server(source: &str) -> bool {
    let forced = ["grpc:", "http://", "https://", "unix:"].iter().any(|scheme| source.starts_with(scheme));
    forced || (!source.starts_with("file:") && looks_like_server(source) && !Path::new(source).exists())
}

fn looks_like_server(source: &str) -> bool {
    if source.starts_with("unix:") || source.starts_with("grpc:") {
        return true;
    }
    matches!(source.rsplit_once(':'), Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok())
}

fn read_stdin(
    args: &SourceArgs,
    seed: u64,
    stdin: &mut dyn Read,
    schema: Arc<Schema>,
) -> Result<Source, CliError> {
    let failed = |error: io::Error| CliError::unreadable("cannot read stdin").because(error);
    let mut head = Vec::new();
    stdin.take(HEAD as u64).read_to_end(&mut head).map_err(failed)?;
    let mut input = Cursor::new(head.clone()).chain(stdin);
    let mut form = form("", &head);
    let loaded = match form {
        Form::Script => {
            let mut text = Vec::new();
            input.read_to_end(&mut text).map_err(failed)?;
            read_script("stdin", &text, args, seed, &schema)?
        }
        Form::Recording => record::read(input).map_err(|error| unreadable(args, error))?,
        Form::Capture => read_capture(input, args, seed, &schema)?,
        Form::Response => {
            let mut content = Vec::new();
            input.take(LARGEST).read_to_end(&mut content).map_err(failed)?;
            read_one("stdin", &content, &mut form, args, seed, &schema)?
        }
        _ => read_raw(io::BufReader::new(input), args, seed, &schema)?,
    };
    Ok(Source { name: args.source.clone(), form, size: None, loaded, schema, unanswered: Vec::new() })
}

pub(super) fn read_file(
    args: &SourceArgs,
    seed: u64,
    path: &Path,
    schema: Arc<Schema>,
) -> Result<Source, CliError> {
    if path.is_dir() {
        let (name, loaded) = (args.source.clone(), super::folder::read(path, args, seed, &schema)?);
        return Ok(Source { name, form: Form::Folder, size: None, loaded, schema, unanswered: Vec::new() });
    }
    let failed =
        |error: io::Error| CliError::unreadable(format!("cannot read {}", args.source)).because(error);
    let mut file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let mut head = Vec::new();
    (&mut file).take(HEAD as u64).read_to_end(&mut head).map_err(failed)?;
    let mut form = form(&args.source, &head);
    let loaded = match form {
        Form::Script => {
            read_script(&args.source, &std::fs::read(path).map_err(failed)?, args, seed, &schema)?
        }
        Form::Recording => record::open(path).map_err(|error| unreadable(args, error))?,
        Form::Capture => read_capture(File::open(path).map_err(failed)?, args, seed, &schema)?,
        Form::Response => {
            let mut content = Vec::new();
            File::open(path).and_then(|file| file.take(LARGEST).read_to_end(&mut content)).map_err(failed)?;
            read_one(&args.source, &content, &mut form, args, seed, &schema)?
        }
        _ => read_raw(io::BufReader::new(File::open(path).map_err(failed)?), args, seed, &schema)?,
    };
    Ok(Source { name: args.source.clone(), form, size: Some(size), loaded, schema, unanswered: Vec::new() })
}

/// A file that holds one thing: what a client has applied, or a response.
fn read_one(
    name: &str,
    content: &[u8],
    form: &mut Form,
    args: &SourceArgs,
    seed: u64,
    schema: &Arc<Schema>,
) -> Result<Loaded, CliError> {
    match read_dump(name, content, schema)? {
        Some(dump) => {
            *form = Form::Dump(dump.origin);
            let redact = (!args.keep_secrets).then(|| super::descriptors::redactor(schema, seed));
            let mut catalog = Catalog::new(seed, redact, Box::new(MemoryBodies::default()));
            let frames = dump.frames(name, &mut catalog);
            let clock = Clock { epoch: None, untimed: true };
            let notices = dump.notices.iter().map(|notice| format!("{name}: {notice}")).collect();
            Ok(Loaded { catalog, clock, frames, end: Time::ZERO, notices, secrets: false })
        }
        None => read_response(name, content, args, seed, schema),
    }
}

/// What a client has applied; `None`: something else. A dump that is cut is an error.
pub(super) fn read_dump(name: &str, content: &[u8], schema: &Arc<Schema>) -> Result<Option<Dump>, CliError> {
    match applied::read(name, content, schema) {
        Ok(dump) if dump.clients.is_empty() => {
            Err(CliError::unreadable(format!("{name} is a CSDS answer without a client")))
        }
        Ok(dump) => Ok(Some(dump)),
        Err(error @ DumpError::Syntax(_)) => {
            let head = String::from_utf8_lossy(content.get(..HEAD.min(content.len())).unwrap_or_default());
            match applied::looks_like(&head) {
                true => Err(CliError::unreadable(format!(
                    "cannot read {name}, which looks like a dump of a client"
                ))
                .because(error)
                .next("curl -s http://ADMIN/config_dump?include_eds > config_dump.json")),
                false => Ok(None),
            }
        }
        Err(DumpError::NoDump) => Ok(None),
    }
}

/// A file of one DiscoveryResponse or of resources: streams without requests, with one message each.
fn read_response(
    name: &str,
    content: &[u8],
    args: &SourceArgs,
    seed: u64,
    schema: &Arc<Schema>,
) -> Result<Loaded, CliError> {
    if std::str::from_utf8(content).is_ok_and(|text| lint::Bootstrap::read(text).is_some()) {
        let error =
            CliError::usage(format!("{name} is a bootstrap: this verb reads a session or a response"));
        return Err(error.next(format!("xdscope lint {name}")));
    }
    let (loaded, is_read) = super::folder::read_file(name, content, args, seed, schema);
    if !is_read && !args.broken {
        let error = CliError::unreadable(format!("{name} is no recording, and no file with resources"));
        return Err(error
            .because(crate::wire::text::display_safe(&loaded.notices.join("; ")).into_owned())
            .next(format!("xdscope lint {name}")));
    }
    Ok(loaded)
}

fn read_raw(
    input: impl io::BufRead,
    args: &SourceArgs,
    seed: u64,
    schema: &Arc<Schema>,
) -> Result<Loaded, CliError> {
    let redact = (!args.keep_secrets).then(|| super::descriptors::redactor(schema, seed));
    let json = SchemaCodec(schema.clone());
    let options = record::raw::Options { redact, json: Some(&json), seed };
    record::raw::read_with(input, &options).map_err(|error| unreadable(args, error))
}

fn read_capture(
    input: impl Read,
    args: &SourceArgs,
    seed: u64,
    schema: &Arc<Schema>,
) -> Result<Loaded, CliError> {
    pcap::read(input, &capture_options(args, seed, schema)).map_err(|error| unreadable(args, error))
}

fn capture_options(args: &SourceArgs, seed: u64, schema: &Arc<Schema>) -> pcap::Options {
    let redact = (!args.keep_secrets).then(|| super::descriptors::redactor(schema, seed));
    pcap::Options { redact, seed, schema: schema.clone() }
}

/// The file, if it is a packet capture.
fn capture(path: &Path) -> Option<File> {
    let mut file = File::open(path).ok().filter(|_| path.is_file())?;
    let mut head = [0; 16];
    file.read_exact(&mut head).ok()?;
    file.rewind().ok()?;
    pcap::is_capture(&head).then_some(file)
}

fn unreadable(args: &SourceArgs, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> CliError {
    CliError::unreadable(format!("cannot read {}", args.source)).because(error)
}

fn read_script(
    name: &str,
    text: &[u8],
    args: &SourceArgs,
    seed: u64,
    schema: &Arc<Schema>,
) -> Result<Loaded, CliError> {
    let failed = || CliError::unreadable(format!("cannot read {name}"));
    let text = std::str::from_utf8(text).map_err(|error| failed().because(error))?;
    let script = script::parse(text, name).map_err(|error| failed().because(error))?;
    let load = |seed| {
        let redact = (!args.keep_secrets).then(|| super::descriptors::redactor(schema, seed));
        let catalog = Catalog::new(seed, redact, Box::new(MemoryBodies::default()));
        let loaded = script::load_into(&script, &SchemaCodec(schema.clone()), catalog);
        loaded.map_err(|error| failed().because(error))
    };
    // A script that holds no secret is the same each time, down to its hashes; one that does must not tell by them
    // what the secret was.
    let loaded = load(0)?;
    if is_redacted(&loaded) { load(seed) } else { Ok(loaded) }
}

/// What could not be decoded, and so not be redacted field by field: in words, if there is any.
pub(super) fn may_contain_secrets(source: &Source) -> Option<String> {
    let catalog = &source.loaded.catalog;
    let mut unknown = BTreeMap::new();
    let mut is_unknown = |type_url: Sym| {
        *unknown.entry(type_url).or_insert_with(|| source.schema.message(catalog.text(type_url)).is_none())
    };
    let mut resources = BTreeSet::new();
    for (blob, id) in catalog.blobs().iter().zip(0..) {
        if matches!(blob.form, content::Form::Any { type_url, .. } if blob.kept > 0 && is_unknown(type_url)) {
            resources.insert(BlobId(id));
        }
    }
    let (mut messages, mut lists) = (0, BTreeSet::new());
    for frame in &source.loaded.frames {
        let FramePayload::Message(message) = &frame.what else { continue };
        messages += u64::from(matches!(message.body, Body::Undecodable { .. }));
        if let Some(list) = message.resources().filter(|list| lists.insert(list.fingerprint())) {
            let damaged = |id: &&BlobId| matches!(catalog.blob(**id).form, content::Form::Other);
            resources.extend(list.blobs().iter().filter(damaged));
        }
    }
    let counts = [(messages, "message"), (resources.len() as u64, "resource")];
    let counts = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| plural(*n, what));
    let counts = counts.collect::<Vec<_>>().join(" and ");
    (!counts.is_empty()).then(|| format!("may contain secrets: {counts} could not be decoded"))
}

fn is_redacted(loaded: &Loaded) -> bool {
    let message = |frame: &Frame| matches!(&frame.what, FramePayload::Message(message) if message.redacted);
    loaded.catalog.blobs().iter().any(|blob| blob.redacted) || loaded.frames.iter().any(message)
}

/// What the readers of recordings do not know is a script by its ending, or by words of its own.
fn form(name: &str, head: &[u8]) -> Form {
    if pcap::is_capture(head) {
        return Form::Capture;
    }
    match record::detect(head) {
        record::Format::Recording => return Form::Recording,
        record::Format::Raw => return Form::Raw,
        record::Format::Other => {}
    }
    let text = String::from_utf8_lossy(head);
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    let word = first.and_then(|line| line.split_whitespace().next()).unwrap_or("");
    let own = ["node", "server", "stream", "partial", "notime", "advance"];
    if name.ends_with(".xds") || own.contains(&word) {
        return Form::Script;
    }
    if Format::of_name(name).is_some() || text.trim_start().starts_with('{') {
        Form::Response
    } else {
        Form::Recording
    }
}

/// What a file is, by its ending and how it begins; `None`: it can't be read.
pub(super) fn form_of(path: &Path) -> Option<Form> {
    let mut head = Vec::new();
    File::open(path).and_then(|file| file.take(HEAD as u64).read_to_end(&mut head)).ok()?;
    Some(form(&path.to_string_lossy(), &head))
}

/// Store options out of flags.
pub(super) fn options(timers: &TimerFlags) -> Options {
    Options {
        resource_timeout: timers.resource_timeout,
        stale_after: timers.stale_after,
        history: usize::try_from(timers.memory).unwrap_or(usize::MAX),
    }
}

/// An arrow script as it is written, for its expectations.
pub(super) fn open_script(args: &SourceArgs, io: &Io<'_>) -> Result<(Script, Arc<Schema>), CliError> {
    let schema = super::descriptors::schema(&args.descriptors)?;
    let path = find(&args.source, io)?;
    let failed = || CliError::unreadable(format!("cannot read {}", args.source));
    let text = std::fs::read_to_string(&path).map_err(|error| failed().because(error))?;
    if form(&args.source, text.as_bytes()) != Form::Script {
        let error = CliError::usage(format!("{} is no arrow script: it has no `expect` lines", args.source));
        return Err(error.next(format!("xdscope lint {}", args.source)));
    }
    let script = script::parse(&text, &args.source).map_err(|error| failed().because(error))?;
    Ok((script, schema))
}

/// Compares resources by what they mean, where their bytes differ; and holds those of files against their types.
pub(super) fn meaning(schema: Arc<Schema>) -> SharedSemantics {
    schema
}
