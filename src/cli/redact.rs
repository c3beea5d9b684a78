//! `redact`: copies a recording without its secrets.

use crate::wire::GapCause;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::schema::redact::Redactor;
use crate::sources::{self, SourceFormat, record::Loaded};
use crate::wire::content::{self, Blob, Catalog, MemoryBodies, Redact};
use crate::wire::event::Seq;
use crate::wire::text::plural;
use crate::wire::{End, Frame, FramePayload, Message, Open, clean_open};

use super::args::{ExportTo, Global, RedactArgs, SourceArgs};
use super::error::{CliError, Exit};
use super::export::{self, Session};
use super::io::Io;
use super::{offline, schema_flags};

pub(super) fn run(args: &RedactArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let output = &args.output;
    if args.source.keep_secrets {
        return Err(CliError::usage("--keep-secrets contradicts `redact`").next("remove the flag"));
    }
    // Leave secrets in while reading, to count them below.
    let whole = SourceArgs { keep_secrets: true, ..args.source.clone() };
    let opened = offline::open(&whole, schema_flags::seed()?, global, io)?;
    let to = match opened.format {
        SourceFormat::Recording | SourceFormat::Capture => ExportTo::Xdsrec,
        SourceFormat::Raw => ExportTo::Raw,
        form => {
            let error = CliError::usage(format!("{} is a {}", args.source.source, form.word()));
            return Err(error.next("a recording, raw JSONL or a packet capture"));
        }
    };
    let mut clean = Redaction::new(
        Arc::new(Redactor::new(opened.schema.clone(), opened.loaded.catalog.seed())),
        opened.loaded.catalog.seed(),
    );
    let frames: Vec<Frame> =
        opened.loaded.frames.iter().map(|frame| clean.frame(frame, &opened.loaded.catalog)).collect();
    let Redaction { catalog, taken, lost, .. } = clean;
    let numbers: BTreeSet<Seq> = BTreeSet::new();
    let session = Session {
        name: opened.name.clone(),
        frames: &frames,
        numbers: &numbers,
        catalog: &catalog,
        clock: opened.loaded.clock,
        end: opened.loaded.end,
        schema: &opened.schema,
        keep_secrets: false,
    };
    export::to_file(output, to, &args.source.source, args.force, io, |out| match to {
        ExportTo::Raw => session.raw(out).map(drop),
        _ => session.recording(out),
    })?;
    if !global.quiet {
        let loaded = Loaded { catalog, frames, ..opened.loaded };
        let unread = sources::decoding_gaps(&sources::Source { loaded, ..opened });
        let lost = (lost > 0).then(|| format!("the content of {} was lost", plural(lost, "message")));
        lost.into_iter().chain(unread).for_each(|notice| io.say(&notice));
        io.say(&format!("{taken}; written to {}", output.display()));
    }
    Ok(Exit::Yes)
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
    /// Messages whose bytes were lost.
    lost: u64,
}

impl Redaction {
    fn new(redactor: Arc<dyn Redact>, seed: u64) -> Redaction {
        let catalog = Catalog::new(seed, Some(redactor.clone()), Box::new(MemoryBodies::default()));
        Redaction { redactor, catalog, taken: RedactionCounts::default(), lost: 0 }
    }

    fn frame(&mut self, frame: &Frame, from: &Catalog) -> Frame {
        let what = match &frame.what {
            FramePayload::Open(open) => FramePayload::Open(Box::new(self.open(open))),
            FramePayload::Message(message) => self.message(message, from),
            FramePayload::End(end) => FramePayload::End(Box::new(self.end(end))),
            other => other.clone(),
        };
        Frame { what, ..*frame }
    }

    fn message(&mut self, message: &Message, from: &Catalog) -> FramePayload {
        let Some(bytes) = message.bytes(from) else {
            self.lost += 1;
            return FramePayload::Gap { messages: 1, bytes: message.size, cause: GapCause::Lost };
        };
        let known = self.catalog.blob_count();
        let mut clean = Message::parse(message.shape, &bytes, &mut self.catalog);
        let new = self.catalog.blobs_after(known).iter();
        // Count payloads only: the wrapper of a resource is a separate blob.
        let resource = |blob: &&Blob| blob.redacted && matches!(blob.form, content::BlobForm::Any { .. });
        self.taken.resources += new.filter(resource).count() as u64;
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
