//! The door to offline sources: recognises a file, reads it, and takes secrets out.

mod error;
mod files;
mod format;
mod gaps;
mod resources;
mod whole;

pub use error::SourceError;
pub use files::{
    files_of, first_of_session, list_files, open_recording, open_session, size_of, start_recording,
};
pub use format::{SourceFormat, format_of, format_of_start};
pub use gaps::{DecodingGaps, decoding_gaps};
pub use resources::{MAX_FOLDER_ENTRIES, VersionedResource, collect_resources, parse_documents};
pub use whole::{MIN_SCRIPT_MEMORY, RESPONSE_MEMORY_PER_BYTE, max_response_bytes, read_resources};

use whole::{WholeSource, check_encoding};

pub(super) use files::{capture_file, raw_file, start_session};

use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::PathBuf;
use std::sync::Arc;

use crate::evidence::Evidence;
use crate::pcap::{self, CaptureError};
use crate::record::{self, Loaded};
use crate::schema_codec::SchemaCodec;
use crate::script::{self, Script};
use xdscope_engine::applied::{self, Dump, DumpError, DumpTimes};
use xdscope_engine::lint;
use xdscope_present::applied::dump_notice;
use xdscope_schema::Schema;
use xdscope_schema::redact::Redactor;
use xdscope_wire::Frame;
use xdscope_wire::content::{Catalog, MemoryBodies, Redact};
use xdscope_wire::event::{Clock, Time, TypeUrl};

/// Bytes at the start of a file that are enough to recognise its format.
const HEAD_BYTES: usize = 4096;

/// Size limit of a file that holds one response or dump, in bytes.
pub const MAX_RESPONSE_BYTES: u64 = 512 << 20;

/// Which source to open, and what to do with its secrets.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Name for messages, as the user typed it.
    pub name: String,
    /// A file or a folder; not used by [`read`].
    pub path: PathBuf,
    /// Key of content hashes and of the ids that replace secrets. A recording brings a key of its
    /// own.
    pub seed: u64,
    /// Leaves secrets in place.
    pub keep_secrets: bool,
    /// Accepts a file from which no resource can be read; the reason is in the notices.
    pub accept_broken: bool,
    /// Bytes that a reader may take for a part of the source; `None` for the limit of the format.
    pub memory: Option<usize>,
    /// The current Unix time in nanoseconds if a process writes the recording now: silence since
    /// its last event is a part of it.
    pub written_at: Option<i128>,
}

impl Spec {
    /// Describes a file or folder whose secrets are replaced by ids with key 0.
    pub fn new(path: impl Into<PathBuf>) -> Spec {
        let path = path.into();
        let name = path.display().to_string();
        Spec {
            name,
            path,
            seed: 0,
            keep_secrets: false,
            accept_broken: false,
            memory: None,
            written_at: None,
        }
    }

    /// Returns the end of a recording whose last event is at `last`.
    pub(super) fn end(&self, clock: Clock, last: Time) -> Time {
        match (self.written_at, clock.epoch) {
            (Some(now), Some(epoch)) if !clock.untimed => {
                u64::try_from(now - epoch).map_or(last, |now| Time(now).max(last))
            }
            _ => last,
        }
    }

    pub(super) fn redactor(&self, schema: &Arc<Schema>) -> Option<Arc<dyn Redact>> {
        (!self.keep_secrets).then(|| Arc::new(Redactor::new(schema.clone(), self.seed)) as Arc<dyn Redact>)
    }

    fn catalog(&self, schema: &Arc<Schema>) -> Catalog {
        Catalog::new(self.seed, self.redactor(schema), Box::new(MemoryBodies::default()))
    }

    /// The options of a reader of raw JSONL.
    pub(super) fn raw_options<'a>(&self, codec: &'a SchemaCodec) -> record::raw::Options<'a> {
        let (redact, json) = (self.redactor(&codec.0), Some(codec as &dyn record::raw::JsonCodec));
        record::raw::Options { redact, json, seed: self.seed, memory: self.memory }
    }

    pub(super) fn capture_options(&self, schema: &Arc<Schema>) -> pcap::Options {
        pcap::Options { redact: self.redactor(schema), seed: self.seed, schema: schema.clone() }
    }
}

/// A source in memory, ready for [`replay`](super::replay).
pub struct Source {
    /// Name for messages, as the user typed it.
    pub name: String,
    /// The recognised format.
    pub format: SourceFormat,
    /// Size of the file in bytes; `None` for folders, pipes and servers.
    pub size: Option<u64>,
    /// The frames, and the content that they refer to.
    pub loaded: Loaded,
    /// The descriptors that the source was read with.
    pub schema: Arc<Schema>,
    /// Types, or single names of a type, that a live server did not answer; empty for offline
    /// sources.
    pub unanswered: Vec<(TypeUrl, Option<String>)>,
}

impl Source {
    /// Refuses a source that holds nothing of xDS.
    ///
    /// # Errors
    /// [`SourceError::Empty`] for an empty file, or a session of other protocols only.
    pub fn check_content(&self) -> Result<(), SourceError> {
        check_frames(&self.name, self.format, &self.loaded.frames)
    }

    /// Passes the source on if it has messages.
    ///
    /// # Errors
    /// [`SourceError::NoMessages`] for the dump of a client, which lists applied resources only.
    pub fn with_messages(self) -> Result<Source, SourceError> {
        self.format.check_messages(&self.name)?;
        Ok(self)
    }
}

/// Refuses frames that hold nothing of xDS; `name` is that of their source.
///
/// # Errors
/// [`SourceError::Empty`].
pub fn check_frames<'a>(
    name: &str,
    format: SourceFormat,
    frames: impl IntoIterator<Item = &'a Frame>,
) -> Result<(), SourceError> {
    let mut evidence = Evidence::default();
    for frame in frames {
        evidence.note(frame);
    }
    evidence.check(name, format)
}

/// Opens a file or folder of any format.
///
/// Secrets are taken out on the way, except from recordings: their writer has done so.
///
/// ```
/// use xdscope_schema::Schema;
/// use xdscope_sources::{Limit, Spec};
///
/// let schema = Schema::builtin();
/// let source = xdscope_sources::open(&Spec::new("../../examples/nack.xds"), &schema)?;
/// let (store, _) = xdscope_sources::replay(source, Default::default(), &Limit::All);
/// let states = store.states();
/// let mut summaries = states.iter().map(|state| &state.summary);
/// let clusters = summaries.find(|summary| summary.type_url.as_str().ends_with(".Cluster"));
/// let clusters = clusters.expect("the example subscribes to clusters");
/// println!("clusters: {:?}, {} resources", clusters.state, clusters.resources);
/// # Ok::<(), xdscope_sources::SourceError>(())
/// ```
///
/// # Errors
/// The file cannot be read, or holds something that is not a source. Damage behind a readable start
/// is not an error: the notices of the source describe it.
pub fn open(spec: &Spec, schema: &Arc<Schema>) -> Result<Source, SourceError> {
    let reader = SourceReader { name: &spec.name, spec, schema };
    let is_session = files::first_of_session(&spec.path).is_some();
    if is_session || (spec.path.is_dir() && files::has_recordings(&spec.path)) {
        let loaded = reader.recorded()?;
        return Ok(reader.source(SourceFormat::Recording, None, loaded));
    }
    if spec.path.is_dir() {
        return Ok(reader.source(SourceFormat::Folder, None, resources::read_folder(spec, schema)?));
    }
    let path = &spec.path;
    let head = files::head(path).map_err(reader.io())?;
    check_encoding(&spec.name, &head.bytes)?;
    let mut format = format::detect(&spec.name, &head.bytes);
    let file = || files::open(path).map_err(reader.io());
    let loaded = match format {
        SourceFormat::Script => reader.script(file()?, head.size)?,
        SourceFormat::Recording => reader.recorded()?,
        SourceFormat::Capture => reader.capture(file()?)?,
        SourceFormat::Response => {
            let content = WholeSource::new(&spec.name, spec).response(file()?, head.size)?;
            reader.response_or_dump(&content, &mut format)?
        }
        _ => reader.raw(BufReader::new(file()?))?,
    };
    Ok(reader.source(format, Some(head.size), loaded))
}

/// Reads a source from a pipe, such as standard input.
///
/// # Errors
/// As for [`open`].
pub fn read(mut input: &mut dyn Read, spec: &Spec, schema: &Arc<Schema>) -> Result<Source, SourceError> {
    let reader = SourceReader { name: "stdin", spec, schema };
    let mut head = Vec::new();
    (&mut input).take(HEAD_BYTES as u64).read_to_end(&mut head).map_err(reader.io())?;
    check_encoding(reader.name, &head)?;
    let mut format = format::detect("", &head);
    let input = Cursor::new(head).chain(input);
    let loaded = match format {
        SourceFormat::Script => reader.script(input, 0)?,
        SourceFormat::Recording => record::read(input).map_err(reader.recording())?,
        SourceFormat::Capture => reader.capture(input)?,
        SourceFormat::Response => {
            let content = WholeSource::new(reader.name, spec).response(input, 0)?;
            reader.response_or_dump(&content, &mut format)?
        }
        _ => reader.raw(BufReader::new(input))?,
    };
    Ok(reader.source(format, None, loaded))
}

/// Parses an arrow script, for its `expect` lines.
///
/// # Errors
/// The file cannot be read, or is not an arrow script.
pub fn open_script(spec: &Spec) -> Result<Script, SourceError> {
    let io = |source| SourceError::Io { name: spec.name.clone(), source };
    let head = files::head(&spec.path).map_err(io)?;
    if format::detect(&spec.name, &head.bytes) != SourceFormat::Script {
        return Err(SourceError::NotScript { name: spec.name.clone() });
    }
    WholeSource::new(&spec.name, spec).script(files::open(&spec.path).map_err(io)?, head.size)
}

/// Reads what a client has applied: a config dump of Envoy, or a CSDS response.
///
/// Returns `None` for content of another kind.
///
/// # Errors
/// The content begins like a dump but is cut, or it is a CSDS response without a client.
pub fn read_dump(name: &str, content: &[u8], schema: &Arc<Schema>) -> Result<Option<Dump>, SourceError> {
    match applied::read(name, content, schema) {
        Ok(dump) if dump.clients.is_empty() => Err(SourceError::NoClient { name: name.to_owned() }),
        Ok(dump) => Ok(Some(dump)),
        Err(source @ DumpError::Syntax(_)) => {
            let head = content.get(..HEAD_BYTES).unwrap_or(content);
            if applied::looks_like(&String::from_utf8_lossy(head)) {
                return Err(SourceError::Dump { name: name.to_owned(), source });
            }
            Ok(None)
        }
        Err(DumpError::NotADump) => Ok(None),
    }
}

/// Reads one source; `name` is what its errors call it.
struct SourceReader<'a> {
    name: &'a str,
    spec: &'a Spec,
    schema: &'a Arc<Schema>,
}

impl SourceReader<'_> {
    fn source(&self, format: SourceFormat, size: Option<u64>, loaded: Loaded) -> Source {
        let (name, schema) = (self.spec.name.clone(), self.schema.clone());
        Source { name, format, size, loaded, schema, unanswered: Vec::new() }
    }

    fn recorded(&self) -> Result<Loaded, SourceError> {
        let loaded = files::open_recording(&self.spec.path).map_err(self.recording())?;
        Ok(Loaded { end: self.spec.end(loaded.clock, loaded.end), ..loaded })
    }

    fn io(&self) -> impl Fn(std::io::Error) -> SourceError {
        move |source| SourceError::Io { name: self.name.to_owned(), source }
    }

    fn recording(&self) -> impl Fn(record::RecordReadError) -> SourceError {
        move |source| SourceError::recording(self.name, source)
    }

    /// Reads an arrow script.
    fn script(&self, input: impl Read, size: u64) -> Result<Loaded, SourceError> {
        let script = WholeSource::new(self.name, self.spec).script(input, size)?;
        let load = |seed| {
            let catalog = Spec { seed, ..self.spec.clone() }.catalog(self.schema);
            let loaded = script::load_into(&script, &SchemaCodec(self.schema.clone()), catalog);
            loaded.map_err(|source| SourceError::Load { name: self.name.to_owned(), source })
        };
        // Without secrets a script has the same hashes on each run. With secrets its hashes are
        // keyed, since they would otherwise tell what the secret was.
        let loaded = load(0)?;
        if !gaps::is_redacted(&loaded) {
            return Ok(loaded);
        }
        drop(loaded);
        load(self.spec.seed)
    }

    fn capture(&self, input: impl Read) -> Result<Loaded, SourceError> {
        let failed = |source: CaptureError| SourceError::Capture { name: self.name.to_owned(), source };
        pcap::read(input, &self.spec.capture_options(self.schema)).map_err(failed)
    }

    fn raw(&self, input: impl BufRead) -> Result<Loaded, SourceError> {
        let json = SchemaCodec(self.schema.clone());
        record::raw::read_with(input, &self.spec.raw_options(&json)).map_err(self.io())
    }

    /// Reads a file that holds a single response, some resources, or the dump of a client.
    fn response_or_dump(&self, content: &[u8], format: &mut SourceFormat) -> Result<Loaded, SourceError> {
        if let Some(dump) = read_dump(self.name, content, self.schema)? {
            *format = SourceFormat::Dump(dump.origin);
            let mut catalog = self.spec.catalog(self.schema);
            let frames = dump.frames(self.name, &mut catalog);
            let clock = Clock { epoch: dump.times.map(|times| times.epoch), untimed: dump.times.is_none() };
            let end = dump.times.map_or(Time::ZERO, DumpTimes::session_end);
            let notices = dump.notices.iter().map(dump_notice);
            let notices = notices.map(|notice| format!("{}: {notice}", self.name)).collect();
            return Ok(Loaded { catalog, clock, frames, end, notices, secrets: false });
        }
        if std::str::from_utf8(content).is_ok_and(|text| lint::Bootstrap::read(text).is_some()) {
            return Err(SourceError::Bootstrap { name: self.name.to_owned() });
        }
        let read = resources::read_content(self.name, content, self.spec, self.schema);
        if !read.has_resources && !self.spec.accept_broken {
            let reasons = read.loaded.notices.join("; ");
            return Err(SourceError::NoResources { name: self.name.to_owned(), reasons });
        }
        Ok(read.loaded)
    }
}
