//! A recording, raw JSONL or script that is written while its source is read.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use xdscope_sources::record::{self, raw};
use xdscope_sources::{SchemaCodec, script};
use xdscope_wire::Frame;
use xdscope_wire::content::{Catalog, UsedContent};
use xdscope_wire::event::{Clock, Time};

use crate::cli::args::ExportTo;

/// The facts of a session that its copy repeats.
pub(crate) struct CopyHeader {
    pub(crate) name: String,
    pub(crate) keep_secrets: bool,
}

/// A writer of frames. After an error it writes nothing.
pub(crate) struct FrameWriter<'a> {
    form: FrameOutput<'a>,
    error: Option<io::Error>,
    /// The time of the last frame.
    last: Time,
}

/// The result of a copy.
#[derive(Default)]
pub(crate) struct Copied {
    /// Messages whose content was lost.
    pub(crate) lost: u64,
    /// Descriptions of what was left out.
    pub(crate) notices: Vec<String>,
}

enum FrameOutput<'a> {
    Raw(raw::Writer<'a, &'a mut dyn Write>),
    Script(Box<script::ScriptWriter<'a>>, &'a mut dyn Write),
    /// The writer of recordings owns its output, so it writes to a buffer that is emptied here.
    Recording {
        writer: Option<Box<record::Writer>>,
        spool: Spool,
        out: &'a mut dyn Write,
    },
}

impl<'a> FrameWriter<'a> {
    /// Begins a copy of a session with this catalog and clock.
    pub(crate) fn new(
        to: ExportTo,
        out: &'a mut dyn Write,
        json: &'a SchemaCodec,
        (catalog, clock): (&Catalog, Clock),
        header: CopyHeader,
    ) -> FrameWriter<'a> {
        let (form, error) = match to {
            ExportTo::Raw => (FrameOutput::Raw(raw::Writer::new(out, clock, Some(json))), None),
            ExportTo::Script => {
                (FrameOutput::Script(Box::new(script::ScriptWriter::new(clock, json)), out), None)
            }
            _ => FrameOutput::recording(out, (catalog, clock), header),
        };
        FrameWriter { form, error, last: Time::ZERO }
    }

    /// Writes a frame.
    pub(crate) fn write(&mut self, frame: &Frame, catalog: &Catalog) {
        if self.error.is_some() {
            return;
        }
        self.last = frame.at;
        let written = match &mut self.form {
            FrameOutput::Raw(writer) => writer.write(frame, catalog),
            FrameOutput::Script(writer, out) => out.write_all(writer.write(frame, catalog).as_bytes()),
            FrameOutput::Recording { writer, spool, out } => {
                let written = writer.as_mut().map_or(Ok(()), |writer| writer.write(frame, catalog));
                written.and_then(|()| spool.empty_into(*out))
            }
        };
        self.error = written.err();
    }

    /// Returns the time of the last frame.
    pub(crate) fn last(&self) -> Time {
        self.last
    }

    /// Whether the output cannot be written.
    pub(crate) fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    /// Marks the contents as used to which the next frames are likely to refer.
    pub(crate) fn mark(&self, used: &mut UsedContent) {
        match &self.form {
            FrameOutput::Recording { writer: Some(writer), .. } => writer.mark(used),
            FrameOutput::Script(writer, _) => writer.mark(used),
            _ => {}
        }
    }

    /// Forgets contents that the catalog has dropped.
    pub(crate) fn forget(&mut self, used: &UsedContent) {
        if let FrameOutput::Recording { writer: Some(writer), .. } = &mut self.form {
            writer.forget(used);
        }
    }

    /// Completes the copy, which ends at `end`. `catalog` has the contents of the frames.
    pub(crate) fn finish(self, end: Time, catalog: &Catalog) -> io::Result<Copied> {
        if let Some(error) = self.error {
            return Err(error);
        }
        match self.form {
            FrameOutput::Raw(writer) => {
                let lost = writer.lost();
                writer.finish().map(|_| Copied { lost, ..Copied::default() })
            }
            FrameOutput::Script(writer, out) => {
                let (text, notices) = writer.finish(end, catalog);
                out.write_all(text.as_bytes()).map(|()| Copied { notices, ..Copied::default() })
            }
            FrameOutput::Recording { writer, spool, out } => {
                if let Some(mut writer) = writer {
                    writer.advance(end);
                    writer.finish()?;
                }
                spool.empty_into(out).map(|()| Copied::default())
            }
        }
    }
}

impl<'a> FrameOutput<'a> {
    /// Begins a recording. An error is that of its header.
    fn recording(
        out: &'a mut dyn Write,
        (catalog, clock): (&Catalog, Clock),
        header: CopyHeader,
    ) -> (FrameOutput<'a>, Option<io::Error>) {
        let header = record::Header {
            created: clock.epoch.and_then(|epoch| u64::try_from(epoch).ok()).unwrap_or(0),
            seed: catalog.seed(),
            keep_secrets: header.keep_secrets,
            tool: concat!("xdscope ", env!("CARGO_PKG_VERSION")).to_owned(),
            source: header.name,
            clock,
        };
        let spool = Spool::default();
        let (writer, error) = match record::Writer::new(spool.clone(), header) {
            Ok(writer) => (Some(Box::new(writer)), None),
            Err(error) => (None, Some(error)),
        };
        (FrameOutput::Recording { writer, spool, out }, error)
    }
}

/// A buffer between the writer of recordings and an output that is only borrowed.
#[derive(Clone, Default)]
struct Spool(Arc<Mutex<Vec<u8>>>);

impl Spool {
    fn empty_into(&self, out: &mut dyn Write) -> io::Result<()> {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        out.write_all(&bytes)
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
