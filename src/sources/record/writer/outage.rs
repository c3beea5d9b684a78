//! Frames that the output does not accept, and recordings of several files.

use std::io;

use super::super::header::Header;
use super::super::missing::LostStream;
use super::super::output::{Output, Rewritable, RewritableFile};
use super::{BlobNumbers, Writer};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{StreamId, Time};
use xdscope_wire::{Frame, FramePayload, GapCause, Open};

impl Writer {
    /// Counts a frame as lost, without an attempt to write it.
    pub fn skip(&mut self, frame: &Frame) {
        self.frames += 1;
        self.messages += u64::from(matches!(frame.what, FramePayload::Message(_)));
        if let FramePayload::Open(open) = &frame.what {
            self.open.insert(frame.stream, open.clone());
        }
        if self.missing.lose(frame) {
            self.open.remove(&frame.stream);
            self.nodes.remove(&frame.stream);
        }
    }

    /// Returns the number of messages that the output lacks, since the last call. Call it after a
    /// flush.
    pub fn take_missing(&mut self) -> u64 {
        self.missing.take_messages()
    }

    /// Writes gaps for lost frames.
    pub(super) fn catch_up(&mut self, at: Time) -> io::Result<()> {
        while let Some((stream, mut lost)) = self.missing.pop() {
            let result = self.put_missing(at, stream, &mut lost);
            if result.is_err() {
                self.missing.put_back(stream, lost);
                return result;
            }
        }
        Ok(())
    }

    /// Writes what stands for the lost frames of a stream, and takes it out of `lost`.
    fn put_missing(&mut self, at: Time, stream: StreamId, lost: &mut LostStream) -> io::Result<()> {
        if lost.messages > 0 {
            let (messages, bytes) = (lost.messages, lost.bytes);
            let what = FramePayload::Gap { dir: None, messages, bytes, cause: GapCause::Lost };
            self.put_frame(&Frame { at, stream, what }, None)?;
            self.missing.risk_gap(messages);
        } else if let Some(open) = self.open.get(&stream).filter(|_| lost.is_new).cloned() {
            self.put_frame(&Frame { at, stream, what: FramePayload::Open(open) }, None)?;
        }
        (lost.messages, lost.bytes, lost.is_new) = (0, 0, false);
        if let Some(end) = lost.end.clone() {
            self.put_frame(&Frame { at, stream, what: FramePayload::End(end) }, None)?;
        }
        Ok(())
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
        if self.put_finish().is_err() {
            self.abandon_segment();
        }
        self.out = out;
        (self.written, self.settled_end) = (head.len() as u64, head.len() as u64);
        (self.numbers, self.next_blob) = (BlobNumbers::default(), 0);
        (self.frames, self.messages, self.segment) = (0, 0, None);
        self.missing.announce();
        let mut streams: Vec<StreamId> = self.open.keys().copied().collect();
        streams.sort_unstable();
        for stream in streams {
            self.make_room()?;
            let node = self.nodes.get(&stream).and_then(|node| catalog.bytes(*node));
            if let Some(open) = self.open.get(&stream) {
                let open = Open { node_hint: node.map(|node| node.to_vec()), ..Open::clone(open) };
                self.put_again(stream, &open, true);
            }
        }
        Ok(())
    }
}
