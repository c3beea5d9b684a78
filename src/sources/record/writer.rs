use std::io::{self, Write};

use super::block_sink::BlockSink;
use super::encoder::Encoder;
use super::header::Header;
use super::output::{Growing, Output, Rewritable, RewritableFile};
use xdscope_wire::Frame;
use xdscope_wire::content::{Catalog, UsedContent};
use xdscope_wire::event::Time;

/// A writer of recordings. Frames written before a [`flush`](Writer::flush) survive a crash.
///
/// Frames that the output does not accept are counted. Gaps stand for them once the output accepts
/// frames again.
pub struct Writer {
    encoder: Encoder,
    sink: BlockSink,
}

impl Writer {
    /// Writes the header to an output that can only grow.
    ///
    /// Every flush ends a block, so that frequent flushes make a larger file than
    /// [`in_file`](Writer::in_file).
    ///
    /// # Errors
    ///
    /// The output can't be written.
    pub fn new(out: impl Write + Send + 'static, header: Header) -> io::Result<Writer> {
        Writer::over(Box::new(Growing(out)), header)
    }

    /// Writes the header to an empty regular file.
    ///
    /// # Errors
    ///
    /// The file can't be written.
    pub fn in_file(file: impl RewritableFile + 'static, header: Header) -> io::Result<Writer> {
        Writer::over(Box::new(Rewritable(file)), header)
    }

    pub(super) fn over(out: Box<dyn Output>, header: Header) -> io::Result<Writer> {
        Ok(Writer { encoder: Encoder::default(), sink: BlockSink::new(out, &header.encode())? })
    }

    /// Writes a frame, and in front of it the content that the file does not hold yet.
    ///
    /// # Errors
    ///
    /// The output can't be written. The frame is then lost; later frames are written as soon as the
    /// output accepts them again.
    pub fn write(&mut self, frame: &Frame, catalog: &Catalog) -> io::Result<()> {
        self.encoder.write(frame, catalog, &mut self.sink)
    }

    /// Counts a frame as lost, without an attempt to write it.
    pub fn skip(&mut self, frame: &Frame) {
        self.encoder.skip(frame);
    }

    /// Returns the number of messages that the output lacks, since the last call. Call it after a
    /// flush.
    pub fn take_missing(&mut self) -> u64 {
        self.encoder.take_missing()
    }

    /// Marks the contents of the newest response of each stream and type, and the nodes, as used.
    pub fn mark(&self, used: &mut UsedContent) {
        self.encoder.mark(used);
    }

    /// Forgets the numbers of contents that the catalog has dropped.
    pub fn forget(&mut self, used: &UsedContent) {
        self.encoder.forget(used);
    }

    /// Writes everything to the output. Call it at least once a second while frames arrive.
    ///
    /// # Errors
    ///
    /// The output can't be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.encoder.catch_up_to_end(&mut self.sink)?;
        let result = self.sink.flush(&mut self.encoder.records);
        self.encoder.note(result)?;
        self.encoder.settle();
        Ok(())
    }

    /// Returns the length of the output.
    pub fn bytes_written(&self) -> u64 {
        self.sink.written()
    }

    /// Moves the end of the recording to `now`. Timers run until there.
    pub fn advance(&mut self, now: Time) {
        self.encoder.advance(now);
    }

    /// Marks the recording as complete.
    ///
    /// # Errors
    ///
    /// The output can't be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.put_finish()
    }

    fn put_finish(&mut self) -> io::Result<()> {
        self.encoder.finish(&mut self.sink)?;
        let result = self.sink.finish(&mut self.encoder.records);
        self.encoder.note(result)
    }

    /// Ends the recording in this output, and goes on in another, which is readable alone.
    ///
    /// The other recording begins with the open streams and their nodes, and repeats content when a
    /// frame refers to it.
    ///
    /// # Errors
    ///
    /// The header can't be written. The writer then goes on in this output.
    pub fn rotate(
        &mut self,
        out: impl RewritableFile + 'static,
        header: &Header,
        catalog: &Catalog,
    ) -> io::Result<()> {
        let mut out: Box<dyn Output> = Box::new(Rewritable(out));
        let head = header.encode();
        out.write_at(0, &head)?;
        // Frames that this output does not accept become gaps in the other one.
        let _ = self.put_finish();
        self.sink.go_on(out, head.len() as u64);
        self.encoder.restart(catalog, &mut self.sink)
    }
}

impl Drop for Writer {
    /// Leaves an unfinished but undamaged recording if [`Writer::finish`] was not called.
    fn drop(&mut self) {
        // An error can't be reported here.
        let _ = self.sink.close(&mut self.encoder.records);
    }
}
