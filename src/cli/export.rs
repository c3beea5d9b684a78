//! `export`: converts a source to another format.

pub(super) mod export_graph;
pub(super) mod export_md;
#[cfg(feature = "fleet")]
pub(super) mod export_parquet;
pub(super) mod export_resources;
pub(super) mod picture;
pub(super) mod redact;
pub(super) mod report;
pub(super) mod reproduction;
use std::cell::RefCell;
use std::io::{self, Write};
use std::ops::Range;

use xdscope_engine::filter::{Filter, RowKind};
use xdscope_engine::store::{self, Store};
use xdscope_present::bodies::Contents;
use xdscope_present::text::shell_word;
use xdscope_sources::{
    BoundedCatalog, DecodingGaps, Folded, FrameSink, Limit, Passes, ReplayPosition, RowSink, SchemaCodec,
    record,
};
use xdscope_wire::Frame;
use xdscope_wire::content::{Catalog, UsedContent};
use xdscope_wire::event::{Seq, Time};
use xdscope_wire::text::plural;

use super::args::{ExportArgs, ExportTo, Global};
use super::error::{CliError, Exit};
use super::source;
use crate::cli::output::frame_writer::{Copied, CopyHeader, FrameWriter};
use crate::cli::output::json_out::{Objects, add_body};
use crate::cli::output::output_file;
use crate::cli::output::output_file::OutputFile;
use crate::cli::read::refusals;
use crate::cli::source::offline;
use crate::cli::source::select;
use crate::cli::source::select::Picked;
use crate::cli::terminal::io::Io;
use crate::cli::terminal::progress::Progress;

pub(super) fn run(args: &ExportArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    if args.to != ExportTo::Parquet {
        check_parquet_flags(args)?;
    }
    if args.to == ExportTo::Md {
        return crate::cli::export::export_md::run(args, global, io);
    }
    if args.problem.is_some() {
        return Err(CliError::usage("--problem has no effect: only --to md is about a problem"));
    }
    if args.to == ExportTo::Parquet {
        #[cfg(feature = "fleet")]
        return crate::cli::export::export_parquet::run(args, global, io);
        #[cfg(not(feature = "fleet"))]
        return Err(super::without_fleet::error());
    }
    if matches!(args.to, ExportTo::Dot | ExportTo::Mermaid) {
        return crate::cli::export::export_graph::run(args, global, io);
    }
    if matches!(args.to, ExportTo::Dir | ExportTo::Bootstrap) {
        return crate::cli::export::export_resources::run(args, global, io);
    }
    let file = output_file::named(args.output.as_deref());
    if file.is_none() && args.to == ExportTo::Xdsrec && io.stdout_is_terminal {
        let error = CliError::usage("a recording is binary, and stdout is a terminal");
        return Err(error.next(format!(
            "xdscope export {} --to xdsrec --output session.xdsrec",
            shell_word(&args.source.source)
        )));
    }
    let filter = select::filter(args.filter.as_deref(), RowKind::Messages, &io.zone)?;
    let (mut passes, seen) = source::passes(&args.source, global, io)?;
    let has_secrets = seen.with_messages()?.has_secrets;
    let from = source::limit(&mut passes, &args.from, global, io)?;
    let until = source::limit(&mut passes, &args.until, global, io)?;
    let is_whole = filter.is_empty()
        && args.streams.pick().is_none()
        && args.from == ReplayPosition::Start
        && until == Limit::All;
    let mut export = Export { args, filter, from, until, part: None, picked: None };
    if !is_whole {
        export.select(&mut passes, global, io)?;
    }
    let header =
        CopyHeader { name: passes.name().to_owned(), keep_secrets: args.source.keep_secrets || has_secrets };
    let written = match file {
        None => {
            let mut out = std::mem::replace(&mut io.stdout, Box::new(io::sink()));
            let written = export.write(&mut passes, header, &mut *out, global, io);
            io.stdout = out;
            written?
        }
        Some(path) => {
            let mut file = OutputFile::create(path, args.to, &args.source.source, args.force, io)?;
            let written = export.write(&mut passes, header, &mut file, global, io)?;
            file.finish()?;
            written
        }
    };
    io.flush()?;
    if !global.quiet {
        for notice in &written.notices {
            io.say(&xdscope_wire::text::display_safe(notice));
        }
        if let Some(path) = file {
            let Written { messages, of, .. } = written;
            io.say(&format!("{messages} of {} written to {}", plural(of, "message"), path.display()));
        }
    }
    Ok(Exit::Yes)
}

/// Refuses flags of `--to parquet` with another format.
fn check_parquet_flags(args: &ExportArgs) -> Result<(), CliError> {
    if args.tap.is_some() {
        return Err(CliError::usage("--tap has no effect: only --to parquet names a tap"));
    }
    match args.more.first() {
        Some(more) => {
            Err(CliError::usage(format!("unexpected argument `{more}`: this format has one SOURCE")))
        }
        None => Ok(()),
    }
}

/// The size of the written part.
struct Written {
    /// Messages that were written.
    messages: u64,
    /// Messages of the source.
    of: u64,
    /// Messages to the user.
    notices: Vec<String>,
}

/// The export of the messages that the flags select.
struct Export<'a> {
    args: &'a ExportArgs,
    filter: Filter,
    from: Limit,
    until: Limit,
    /// The selected part; `None` for all of the source.
    part: Option<record::Part>,
    /// The selected streams; `None` for all.
    picked: Option<Picked>,
}

impl Export<'_> {
    /// Reads the source once to select messages.
    fn select(&mut self, passes: &mut Passes, global: &Global, io: &mut Io<'_>) -> Result<(), CliError> {
        let Export { args, filter, from, until, .. } = &*self;
        let (timers, schema) = (&args.source.timers, passes.schema().clone());
        let mut part = record::Part::default();
        let select = |store: &Store, rows: Range<usize>| {
            let contents = Contents { store, schema: &schema };
            for row in rows {
                let Some((Some(n), _)) = store.kind_of(row) else { continue };
                let Some((stream, at)) = store.place_of(row).map(|(stream, _)| stream).zip(store.time_of(n))
                else {
                    continue;
                };
                let matches = || {
                    let fact = || store.row(row);
                    filter.is_empty()
                        || fact().is_some_and(|fact| filter.message_with(&fact, store, &contents))
                };
                let node = || {
                    let node = store.stream(stream)?.node?;
                    Some(store.catalog().bytes(node.blob?)?.to_vec())
                };
                let is_retained = !after(until, at, n) && !before(from, at, n) && matches();
                part.note(n, (stream, at), is_retained, node);
            }
        };
        let mut progress = Progress::new(&args.source.source, global, io);
        let folded = passes.fold(&mut progress, |catalog, clock| {
            let store = xdscope_sources::store(offline::options(timers), catalog, clock, &schema);
            RowSink::new(store, select)
        })?;
        drop(progress);
        let store = folded.facts.finish();
        let picked = Picked::of(args.streams.pick().as_ref(), &store)?;
        select::say_unknown(filter, &store, global.quiet, io);
        passes.give_back(store.into_catalog());
        self.part = Some(part.finish(|stream| picked.has(stream)));
        self.picked = Some(picked);
        Ok(())
    }

    fn write(
        self,
        passes: &mut Passes,
        header: CopyHeader,
        out: &mut dyn Write,
        global: &Global,
        io: &mut Io<'_>,
    ) -> Result<Written, CliError> {
        let schema = passes.schema().clone();
        let keep_secrets = self.args.source.keep_secrets;
        let (to, timers) = (self.args.to, &self.args.source.timers);
        let options = offline::options(timers);
        let mut progress = Progress::new(&self.args.source.source, global, io);
        let mut gaps = DecodingGaps::new(&schema);
        let (folded, mut written) = match to {
            ExportTo::Jsonl => write_jsonl(self.part, passes, (&mut progress, &mut gaps), out, options)?,
            _ => {
                let json = SchemaCodec(schema.clone());
                let limit = self.until;
                let folded = passes.fold(&mut progress, |catalog, clock| {
                    let writer = FrameWriter::new(to, out, &json, (&catalog, clock), header);
                    CopySink {
                        contents: BoundedCatalog::new(catalog, options.history),
                        part: self.part,
                        picked: self.picked,
                        until: limit,
                        writer,
                        gaps: &mut gaps,
                        passed: Vec::new(),
                        n: Seq(0),
                        end: Time::ZERO,
                    }
                })?;
                let mut written = Ok(Written { messages: 0, of: 0, notices: Vec::new() });
                let folded = folded.map(|sink| written = sink.finish());
                (folded, written?)
            }
        };
        drop(progress);
        offline::say(&folded.notices, global, io);
        written.notices.extend(gaps.text().filter(|_| !keep_secrets));
        Ok(written)
    }
}

/// Writes the messages of a part, or of all of the source, as JSON objects.
fn write_jsonl(
    part: Option<record::Part>,
    passes: &mut Passes,
    (progress, gaps): (&mut Progress, &mut DecodingGaps),
    out: &mut dyn Write,
    options: store::Options,
) -> Result<(Folded<()>, Written), CliError> {
    let schema = passes.schema().clone();
    let objects = RefCell::new((Objects::lines(out), Ok(())));
    let mut messages = 0;
    let show = |store: &Store, rows: Range<usize>| {
        let (objects, result) = &mut *objects.borrow_mut();
        for fact in rows.filter_map(|row| store.row(row)) {
            let is_part = |part: &record::Part| match fact.n {
                Some(n) => part.has_message(fact.stream, n),
                None => part.has_stream(fact.stream),
            };
            if result.is_err() || !part.as_ref().is_none_or(is_part) {
                continue;
            }
            messages += u64::from(fact.n.is_some());
            let mut object = xdscope_present::json::complete_message(&fact, store);
            add_body(&mut object, store, &schema, fact.n);
            refusals::add_to(&mut object, store, &schema, &fact);
            *result = objects.put(&object);
        }
    };
    let folded = passes.fold(progress, |catalog, clock| GapSink {
        facts: RowSink::new(xdscope_sources::store(options, catalog, clock, &schema), show),
        gaps: &mut *gaps,
    })?;
    let mut of = 0;
    let folded = folded.map(|sink| of = sink.facts.finish().messages());
    let (objects, result) = objects.into_inner();
    result?;
    objects.finish()?;
    Ok((folded, Written { messages, of, notices: Vec::new() }))
}

/// Counts what cannot be decoded, beside other facts.
pub(super) struct GapSink<'a, T> {
    pub(super) facts: T,
    pub(super) gaps: &'a mut DecodingGaps,
}

impl<T: FrameSink> FrameSink for GapSink<'_, T> {
    fn catalog_mut(&mut self) -> &mut Catalog {
        self.facts.catalog_mut()
    }

    fn handle(&mut self, frame: Frame) {
        self.gaps.note(&frame, self.facts.catalog_mut());
        self.facts.handle(frame);
    }

    fn advance(&mut self, now: Time) {
        self.facts.advance(now);
    }

    fn drop_old(&mut self, mark: &mut dyn FnMut(&mut UsedContent)) -> Option<UsedContent> {
        let used = self.facts.drop_old(mark)?;
        self.gaps.forget(&used);
        Some(used)
    }
}

/// Copies the frames of a part.
struct CopySink<'a> {
    contents: BoundedCatalog,
    part: Option<record::Part>,
    picked: Option<Picked>,
    until: Limit,
    writer: FrameWriter<'a>,
    gaps: &'a mut DecodingGaps,
    passed: Vec<Frame>,
    /// Number of the last message of the source.
    n: Seq,
    end: Time,
}

impl CopySink<'_> {
    fn put(&mut self, frame: Frame) {
        self.writer.write(&frame, self.contents.catalog());
    }

    /// Completes the copy.
    fn finish(self) -> Result<Written, CliError> {
        let of = self.n.0;
        let messages = self.part.as_ref().map_or(of, record::Part::passed);
        let end = match self.until {
            Limit::All => self.end,
            Limit::Time(at) => at.min(self.end),
            Limit::Message(_) => self.writer.last(),
        };
        let Copied { lost, mut notices } = self.writer.finish(end, self.contents.catalog())?;
        if lost > 0 {
            notices.push(format!("the content of {} was lost", plural(lost, "message")));
        }
        Ok(Written { messages, of, notices })
    }
}

impl FrameSink for CopySink<'_> {
    fn catalog_mut(&mut self) -> &mut Catalog {
        self.contents.catalog_mut()
    }

    fn handle(&mut self, frame: Frame) {
        self.gaps.note(&frame, self.contents.catalog());
        self.n.0 += u64::from(xdscope_sources::is_message(&frame));
        let Some(part) = &mut self.part else { return self.put(frame) };
        let (picked, until) = (&self.picked, &self.until);
        let keep = |frame: &Frame, n| {
            picked.as_ref().is_none_or(|picked| picked.has(frame.stream)) && !after(until, frame.at, n)
        };
        let mut passed = std::mem::take(&mut self.passed);
        part.pass(frame, keep, &mut passed);
        passed.drain(..).for_each(|frame| self.put(frame));
        self.passed = passed;
    }

    fn advance(&mut self, now: Time) {
        self.end = self.end.max(now);
    }

    fn drop_old(&mut self, mark: &mut dyn FnMut(&mut UsedContent)) -> Option<UsedContent> {
        let writer = &self.writer;
        let used = self.contents.drop_old(|used| {
            mark(used);
            writer.mark(used);
        })?;
        self.writer.forget(&used);
        self.gaps.forget(&used);
        Some(used)
    }

    fn is_done(&self) -> bool {
        self.writer.has_failed()
    }
}

fn before(from: &Limit, at: Time, n: Seq) -> bool {
    match from {
        Limit::All => true,
        Limit::Message(first) => n < *first,
        Limit::Time(first) => at < *first,
    }
}

fn after(until: &Limit, at: Time, n: Seq) -> bool {
    match until {
        Limit::All => false,
        Limit::Message(last) => n > *last,
        Limit::Time(last) => at > *last,
    }
}
