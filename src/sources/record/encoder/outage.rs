//! Frames that the sink does not accept, and sinks that begin anew.

use std::io;

use super::super::missing::LostStream;
use super::{BlobNumbers, Encoder, RecordSink};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{StreamId, Time};
use xdscope_wire::{Frame, FramePayload, GapCause, Open};

impl Encoder {
    /// Counts a frame as lost, without an attempt to write it.
    pub(in crate::record) fn skip(&mut self, frame: &Frame) {
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

    /// Returns the number of messages that the sink lacks, since the last call. Call it after a
    /// flush.
    pub(in crate::record) fn take_missing(&mut self) -> u64 {
        self.missing.take_messages()
    }

    /// Encodes gaps for lost frames at the time up to which the recording runs.
    pub(in crate::record) fn catch_up_to_end(&mut self, sink: &mut impl RecordSink) -> io::Result<()> {
        self.catch_up(self.end, sink)
    }

    /// Encodes gaps for lost frames.
    pub(super) fn catch_up(&mut self, at: Time, sink: &mut impl RecordSink) -> io::Result<()> {
        while let Some((stream, mut lost)) = self.missing.pop() {
            let result = self.put_missing(at, stream, &mut lost, sink);
            if result.is_err() {
                self.missing.put_back(stream, lost);
                return result;
            }
        }
        Ok(())
    }

    /// Writes what stands for the lost frames of a stream, and takes it out of `lost`.
    fn put_missing(
        &mut self,
        at: Time,
        stream: StreamId,
        lost: &mut LostStream,
        sink: &mut impl RecordSink,
    ) -> io::Result<()> {
        if lost.messages > 0 {
            let (messages, bytes) = (lost.messages, lost.bytes);
            let what = FramePayload::Gap { dir: None, messages, bytes, cause: GapCause::Lost };
            self.put_frame(&Frame { at, stream, what }, None, sink)?;
            self.missing.risk_gap(messages);
        } else if lost.is_new
            && let Some(open) = self.open.get(&stream)
        {
            let what = FramePayload::Open(open.clone());
            self.put_frame(&Frame { at, stream, what }, None, sink)?;
        }
        (lost.messages, lost.bytes, lost.is_new) = (0, 0, false);
        if let Some(end) = lost.end.clone() {
            self.put_frame(&Frame { at, stream, what: FramePayload::End(end) }, None, sink)?;
        }
        Ok(())
    }

    /// Begins a segment that refers to nothing before it.
    pub(in crate::record) fn forget_all(&mut self) {
        (self.numbers, self.next_blob, self.segment) = (BlobNumbers::default(), 0, None);
    }

    /// Goes on in a sink that holds none of the earlier records.
    ///
    /// Begins with the open streams and their nodes, and repeats content when a frame refers to it.
    pub(in crate::record) fn restart(
        &mut self,
        catalog: &Catalog,
        sink: &mut impl RecordSink,
    ) -> io::Result<()> {
        self.forget_all();
        (self.frames, self.messages) = (0, 0);
        self.missing.announce();
        let mut streams: Vec<StreamId> = self.open.keys().copied().collect();
        streams.sort_unstable();
        for stream in streams {
            self.make_room(sink)?;
            let node = self.nodes.get(&stream).and_then(|node| catalog.bytes(*node));
            if let Some(open) = self.open.get(&stream) {
                let open = Open { node_hint: node.map(|node| node.to_vec()), ..Open::clone(open) };
                self.put_again(stream, &open, true);
            }
        }
        Ok(())
    }
}
