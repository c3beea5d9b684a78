//! `redact`: copies a recording without its secrets.

use std::collections::HashSet;
use std::sync::Arc;

use xdscope_schema::redact::Redactor;
use xdscope_sources::{BoundedCatalog, DecodingGaps, FrameSink, SchemaCodec, SourceFormat};
use xdscope_wire::content::{self, Blob, Catalog, MemoryBodies, Redact, UsedContent, next_drop};
use xdscope_wire::event::Time;
use xdscope_wire::text::plural;
use xdscope_wire::{End, Frame, FramePayload, GapCause, Intervention, Message, Open, clean_open};

use crate::cli::args::{ExportTo, Global, RedactArgs, SourceArgs};
use crate::cli::error::{CliError, Exit};
use crate::cli::output::frame_writer::{CopyHeader, FrameWriter};
use crate::cli::output::output_file::OutputFile;
use crate::cli::source;
use crate::cli::source::offline;
use crate::cli::terminal::io::Io;
use crate::cli::terminal::progress::Progress;

pub(crate) fn run(args: &RedactArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let output = &args.output;
    if args.source.keep_secrets {
        return Err(CliError::usage("--keep-secrets contradicts `redact`").next("remove the flag"));
    }
    // Leave secrets in while reading, to count them below.
    let whole = SourceArgs { keep_secrets: true, ..args.source.clone() };
    let (mut passes, seen) = source::offline_passes(&whole, global, io)?;
    let to = match seen.format {
        SourceFormat::Recording | SourceFormat::Capture => ExportTo::Xdsrec,
        SourceFormat::Raw => ExportTo::Raw,
        form => {
            let error = CliError::usage(format!("{} is a {}", args.source.source, form.word()));
            return Err(error.next("a recording, raw JSONL or a packet capture"));
        }
    };
    let schema = passes.schema().clone();
    let json = SchemaCodec(schema.clone());
    let budget = offline::options(&args.source.timers).history;
    let header = CopyHeader { name: passes.name().to_owned(), keep_secrets: false };
    let mut file = OutputFile::create(output, to, &args.source.source, args.force, io)?;
    let mut progress = Progress::new(&args.source.source, global, io);
    let folded = passes.fold(&mut progress, |catalog, clock| {
        let clean = Redaction::new(Arc::new(Redactor::new(schema.clone(), catalog.seed())), catalog.seed());
        let writer = FrameWriter::new(to, &mut file, &json, (&catalog, clock), header);
        RedactSink {
            from: BoundedCatalog::new(catalog, budget / 2),
            budget,
            clean,
            writer,
            gaps: DecodingGaps::new(&schema),
            end: Time::ZERO,
        }
    })?;
    drop(progress);
    let mut facts = None;
    let folded = folded.map(|sink| {
        facts = Some((
            sink.clean.taken,
            sink.clean.lost,
            sink.gaps,
            sink.writer.finish(sink.end, &sink.clean.catalog),
        ))
    });
    let (taken, lost, gaps, written) = facts.expect("the fold has a result");
    written?;
    file.finish()?;
    offline::say(&folded.notices, global, io);
    if !global.quiet {
        let lost = (lost > 0).then(|| format!("the content of {} was lost", plural(lost, "message")));
        lost.into_iter().chain(gaps.text()).for_each(|notice| io.say(&notice));
        io.say(&format!("{taken}; written to {}", output.display()));
    }
    Ok(Exit::Yes)
}

/// Copies a session without its secrets.
struct RedactSink<'a> {
    from: BoundedCatalog,
    /// Bytes that the contents of session and copy may take, each half of them.
    budget: usize,
    clean: Redaction,
    writer: FrameWriter<'a>,
    gaps: DecodingGaps,
    end: Time,
}

impl FrameSink for RedactSink<'_> {
    fn catalog_mut(&mut self) -> &mut Catalog {
        self.from.catalog_mut()
    }

    fn handle(&mut self, frame: Frame) {
        let frame = self.clean.frame(&frame, self.from.catalog());
        self.gaps.note(&frame, &self.clean.catalog);
        self.writer.write(&frame, &self.clean.catalog);
    }

    fn advance(&mut self, now: Time) {
        self.end = self.end.max(now);
    }

    fn drop_old(&mut self, mark: &mut dyn FnMut(&mut UsedContent)) -> Option<UsedContent> {
        if self.clean.catalog.memory() > self.clean.drop_at.max(self.budget / 2) {
            let mut used = UsedContent::default();
            self.writer.mark(&mut used);
            let used = self.clean.catalog.retain(used);
            self.writer.forget(&used);
            self.gaps.forget(&used);
            self.clean.drop_at = next_drop(self.budget / 2, self.clean.catalog.memory());
        }
        self.from.drop_old(mark)
    }

    fn is_done(&self) -> bool {
        self.writer.has_failed()
    }
}

/// Number of places where secrets were taken out.
#[derive(Clone, Copy, Default)]
struct RedactionCounts {
    resources: u64,
    messages: u64,
    /// Metadata values, and texts.
    values: u64,
}

impl std::fmt::Display for RedactionCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let RedactionCounts { resources, messages, values } = *self;
        if resources + messages + values == 0 {
            return f.write_str("no secrets found");
        }
        let (resources, messages) = (plural(resources, "resource"), plural(messages, "message"));
        write!(f, "secrets taken out of {resources} in {messages}, and of {}", plural(values, "other value"))
    }
}

/// Copies frames without secrets.
struct Redaction {
    redactor: Arc<dyn Redact>,
    catalog: Catalog,
    taken: RedactionCounts,
    /// Hashes of contents from which secrets were taken out, which may be dropped and sent again.
    counted: HashSet<u128>,
    /// Bytes of the catalog from which contents are dropped.
    drop_at: usize,
    /// Messages whose bytes were lost.
    lost: u64,
}

/// Contents with secrets that are counted once, however often they are dropped and sent again.
const MAX_COUNTED: usize = 1 << 20;

impl Redaction {
    fn new(redactor: Arc<dyn Redact>, seed: u64) -> Redaction {
        let catalog = Catalog::new(seed, Some(redactor.clone()), Box::new(MemoryBodies::default()));
        Redaction {
            redactor,
            catalog,
            taken: RedactionCounts::default(),
            counted: HashSet::new(),
            drop_at: 0,
            lost: 0,
        }
    }

    fn frame(&mut self, frame: &Frame, from: &Catalog) -> Frame {
        let what = match &frame.what {
            FramePayload::Open(open) => FramePayload::Open(Box::new(self.open(open))),
            FramePayload::Intercepted(what) => {
                let what = Intervention::clone(what).kept(&mut self.catalog);
                FramePayload::Intercepted(Box::new(what))
            }
            FramePayload::Message(message) => self.message(message, from),
            FramePayload::End(end) => FramePayload::End(Box::new(self.end(end))),
            other => other.clone(),
        };
        Frame { what, ..*frame }
    }

    fn message(&mut self, message: &Message, from: &Catalog) -> FramePayload {
        let Some(bytes) = message.bytes(from) else {
            self.lost += 1;
            let (dir, bytes) = (Some(message.dir()), message.size);
            return FramePayload::Gap { dir, messages: 1, bytes, cause: GapCause::Lost };
        };
        let known = self.catalog.blob_count();
        let mut clean = Message::parse(message.shape, &bytes, &mut self.catalog);
        let new = self.catalog.blobs_after(known).iter();
        // Count payloads only: the wrapper of a resource is a separate blob.
        let resource = |blob: &&Blob| blob.redacted && matches!(blob.form, content::BlobForm::Any { .. });
        for blob in new.filter(resource) {
            let is_new = self.counted.len() >= MAX_COUNTED || self.counted.insert(blob.hash);
            self.taken.resources += u64::from(is_new);
        }
        self.taken.messages += u64::from(clean.redacted);
        if message.redacted {
            // Keep the original size of a message that was redacted before.
            (clean.redacted, clean.size) = (true, message.size);
        }
        FramePayload::Message(Arc::new(clean))
    }

    fn open(&mut self, open: &Open) -> Open {
        let mut clean = open.clone();
        self.taken.values += clean_open(&mut clean, &*self.redactor);
        clean
    }

    fn end(&mut self, end: &End) -> End {
        let mut clean = end.clone();
        let texts = clean.status.as_mut().map(|(_, text)| text).into_iter().chain(&mut clean.note);
        for text in texts {
            if let Some(without) = self.redactor.text(text) {
                *text = without;
                self.taken.values += 1;
            }
        }
        clean
    }
}
