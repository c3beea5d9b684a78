//! `export`: converts a source to another format.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::app::recording_file;
use crate::engine::filter::RowKind;
use crate::engine::store::Store;
use crate::schema::Schema;
use crate::sources::{self, Limit, SchemaCodec, bodies::Contents, record, script};
use crate::wire::Frame;
use crate::wire::content::Catalog;
use crate::wire::event::{Clock, Seq, StreamId, Time};
use crate::wire::text::plural;

use super::args::{ExportArgs, ExportTo, Global};
use super::error::{CliError, Exit};
use super::io::Io;
use super::json_out::{Objects, add_body};
use super::select::{self, Picked};
use super::{offline, refusals, source};

pub(super) fn run(args: &ExportArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    if matches!(args.to, ExportTo::Dot | ExportTo::Mermaid) {
        return super::export_graph::run(args, global, io);
    }
    if matches!(args.to, ExportTo::Dir | ExportTo::Bootstrap) {
        return super::export_resources::run(args, global, io);
    }
    if args.output.is_none() && args.to == ExportTo::Xdsrec && io.stdout_is_terminal {
        let error = CliError::usage("a recording is binary, and stdout is a terminal");
        return Err(
            error.next(format!("xdscope export {} --to xdsrec --output session.xdsrec", args.source.source))
        );
    }
    let filter = select::filter(args.filter.as_deref(), RowKind::Messages, &io.zone)?;
    let source = source::open(&args.source, global, io)?.with_messages()?;
    let unread = sources::decoding_gaps(&source).filter(|_| !args.source.keep_secrets);
    let from = Limit::of(&args.from, &source.loaded, &io.zone)?;
    let until = Limit::of(&args.until, &source.loaded, &io.zone)?;
    let mut frames = source.loaded.frames.clone();
    let keep_secrets = args.source.keep_secrets || source.loaded.secrets;
    let name = source.name.clone();
    let end = source.loaded.end;
    let (store, schema) = sources::replay(source, offline::options(&args.source.timers), &Limit::All);
    let picked = Picked::of(args.streams.pick().as_ref(), &store)?;
    let contents = Contents { store: &store, schema: &schema };
    let numbers = record::retain_part(&mut frames, store.catalog(), |frame, n| {
        let fact = || store.row(store.row_of(n)?);
        let matches =
            || filter.is_empty() || fact().is_some_and(|fact| filter.message_with(&fact, &store, &contents));
        picked.has(frame.stream)
            && !after(&until, frame, n)
            && (!sources::is_message(frame) || (!before(&from, frame, n) && matches()))
    });
    let end = match until {
        Limit::All => end,
        Limit::Time(at) => at.min(end),
        Limit::Message(_) => frames.last().map_or(end, |frame| frame.at),
    };
    let session = Session {
        name,
        frames: &frames,
        numbers: &numbers,
        catalog: store.catalog(),
        clock: store.clock(),
        end,
        schema: &schema,
        keep_secrets,
    };
    let notices = match &args.output {
        None => session.write(args.to, &store, &mut *io.stdout)?,
        Some(path) => to_file(path, args.to, &args.source.source, args.force, io, |out| {
            session.write(args.to, &store, out)
        })?,
    };
    io.flush()?;
    if !global.quiet {
        for notice in notices.into_iter().chain(unread) {
            io.say(&crate::wire::text::display_safe(&notice));
        }
        if let Some(path) = &args.output {
            let all = store.messages();
            io.say(&format!("{} of {} written to {}", numbers.len(), plural(all, "message"), path.display()));
        }
    }
    Ok(Exit::Yes)
}

/// Writes a file. Refuses to overwrite the source, which would be lost.
pub(super) fn to_file<T>(
    path: &Path,
    to: ExportTo,
    source: &str,
    force: bool,
    io: &Io<'_>,
    write: impl FnOnce(&mut dyn Write) -> Result<T, CliError>,
) -> Result<T, CliError> {
    if offline::find(source, io).is_ok_and(|read| is_same(&read, path)) {
        let error = CliError::usage(format!("{} is the source: it would be overwritten", path.display()));
        return Err(error.next("--output OTHER-FILE"));
    }
    let failed = |error: io::Error| {
        let exists = error.kind() == io::ErrorKind::AlreadyExists;
        let failed = CliError::unreadable(format!("cannot write {}", path.display())).because(error);
        if exists { failed.next("--output OTHER-FILE, or --force") } else { failed }
    };
    let mut file = BufWriter::new(create(path, to, force).map_err(failed)?);
    let written = write(&mut file)?;
    file.flush().map_err(failed)?;
    Ok(written)
}

/// Whether two paths name one file.
fn is_same(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    if let (Ok(one), Ok(other)) = (one.metadata(), other.metadata()) {
        use std::os::unix::fs::MetadataExt;
        return (one.dev(), one.ino()) == (other.dev(), other.ino());
    }
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Creates a file that only its owner can read: a session may hold secrets.
pub(super) fn create(path: &Path, to: ExportTo, force: bool) -> io::Result<File> {
    if to == ExportTo::Xdsrec {
        return if force { recording_file::replace(path) } else { recording_file::create(path) };
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn before(from: &Limit, frame: &Frame, n: Seq) -> bool {
    match from {
        Limit::All => true,
        Limit::Message(first) => n < *first,
        Limit::Time(first) => frame.at < *first,
    }
}

fn after(until: &Limit, frame: &Frame, n: Seq) -> bool {
    match until {
        Limit::All => false,
        Limit::Message(last) => n > *last,
        Limit::Time(last) => frame.at > *last,
    }
}

/// A session to write.
pub(super) struct Session<'a> {
    pub(super) name: String,
    pub(super) frames: &'a [Frame],
    /// Numbers of the messages among the frames.
    pub(super) numbers: &'a BTreeSet<Seq>,
    pub(super) catalog: &'a Catalog,
    pub(super) clock: Clock,
    pub(super) end: Time,
    pub(super) schema: &'a Arc<Schema>,
    pub(super) keep_secrets: bool,
}

impl Session<'_> {
    /// Writes the session, and describes what could not be written.
    fn write(&self, to: ExportTo, store: &Store, out: &mut dyn Write) -> Result<Vec<String>, CliError> {
        match to {
            ExportTo::Raw => {
                let lost = self.raw(out)?;
                if lost > 0 {
                    return Ok(vec![format!("the content of {} was lost", plural(lost, "message"))]);
                }
            }
            ExportTo::Xdsrec => self.recording(out)?,
            ExportTo::Script => {
                let codec = SchemaCodec(self.schema.clone());
                let exported = script::from_frames(self.frames.iter(), self.catalog, self.clock, &codec);
                out.write_all(script::write(&exported.script).as_bytes())?;
                return Ok(exported.notices);
            }
            ExportTo::Jsonl => self.objects(store, out)?,
            // Graphs and resources are written by their own modules.
            ExportTo::Dot | ExportTo::Mermaid | ExportTo::Dir | ExportTo::Bootstrap => {}
        }
        Ok(Vec::new())
    }

    /// Writes raw JSONL, and returns the number of messages whose content was lost.
    pub(super) fn raw(&self, out: &mut dyn Write) -> Result<u64, CliError> {
        let json = SchemaCodec(self.schema.clone());
        let mut writer = record::raw::Writer::new(out, self.clock, Some(&json));
        for frame in self.frames {
            writer.write(frame, self.catalog)?;
        }
        let lost = writer.lost();
        writer.finish()?;
        Ok(lost)
    }

    /// Writes a recording. The writer owns its output, so it writes to a buffer that is emptied
    /// here.
    pub(super) fn recording(&self, out: &mut dyn Write) -> Result<(), CliError> {
        let header = record::Header {
            created: self.clock.epoch.and_then(|epoch| u64::try_from(epoch).ok()).unwrap_or(0),
            seed: self.catalog.seed(),
            keep_secrets: self.keep_secrets,
            tool: concat!("xdscope ", env!("CARGO_PKG_VERSION")).to_owned(),
            source: self.name.clone(),
            clock: self.clock,
        };
        let spool = Spool::default();
        let mut writer = record::Writer::new(spool.clone(), header)?;
        for frame in self.frames {
            writer.write(frame, self.catalog)?;
            spool.empty_into(out)?;
        }
        writer.advance(self.end);
        writer.finish()?;
        Ok(spool.empty_into(out)?)
    }

    /// Writes the message objects of `log`, with their bodies.
    fn objects(&self, store: &Store, out: &mut dyn Write) -> Result<(), CliError> {
        let streams: BTreeSet<StreamId> = self.frames.iter().map(|frame| frame.stream).collect();
        let mut objects = Objects::new(out, false);
        for fact in (0..store.rows()).filter_map(|row| store.row(row)) {
            if !fact.n.map_or(streams.contains(&fact.stream), |n| self.numbers.contains(&n)) {
                continue;
            }
            let mut object = super::words::message(&fact, store);
            add_body(&mut object, store, self.schema, fact.n);
            refusals::add_to(&mut object, store, self.schema, &fact);
            objects.put(&object)?;
        }
        Ok(objects.finish()?)
    }
}

/// A buffer between the writer of recordings and an output that is only borrowed.
#[derive(Clone, Default)]
struct Spool(Arc<Mutex<Vec<u8>>>);

impl Spool {
    fn empty_into(&self, out: &mut dyn Write) -> io::Result<()> {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        out.write_all(&bytes)
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
