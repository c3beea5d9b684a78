//! Frames that did not reach the output, counted until they can be written as gaps.

use std::collections::BTreeMap;

use xdscope_wire::event::StreamId;
use xdscope_wire::{End, Frame, FramePayload};

/// The part of a frame that counts when the frame is lost.
enum LostFrame {
    Open,
    Messages { messages: u64, bytes: u64 },
    End(Box<End>),
}

/// The frames of a stream that are lost.
#[derive(Default)]
pub(super) struct LostStream {
    /// Whether the beginning of the stream is lost.
    pub is_new: bool,
    pub messages: u64,
    pub bytes: u64,
    pub end: Option<Box<End>>,
}

/// Lost frames, and those that the next write error would lose.
#[derive(Default)]
pub(super) struct Missing {
    at_risk: Vec<(StreamId, LostFrame)>,
    streams: BTreeMap<StreamId, LostStream>,
    /// Messages of streams that began and ended while frames were lost.
    forgotten: u64,
    /// Lost messages whose gaps are encoded but not written.
    gaps_at_risk: u64,
    /// Lost messages whose gaps are written.
    gaps_written: u64,
}

impl LostFrame {
    /// Returns what is lost with a frame, if that is told.
    fn of_frame(frame: &Frame) -> Option<LostFrame> {
        Some(match &frame.what {
            FramePayload::Open(_) => LostFrame::Open,
            FramePayload::Message(message) => LostFrame::Messages { messages: 1, bytes: message.size },
            FramePayload::Gap { messages, bytes, .. } => {
                LostFrame::Messages { messages: *messages, bytes: *bytes }
            }
            FramePayload::End(end) => LostFrame::End(end.clone()),
            FramePayload::Opaque { .. } | FramePayload::Intercepted(_) => return None,
        })
    }
}

impl Missing {
    /// Notes a frame that is encoded but not written.
    pub(super) fn risk(&mut self, frame: &Frame) {
        self.at_risk.extend(LostFrame::of_frame(frame).map(|lost| (frame.stream, lost)));
    }

    /// Notes that a gap for lost messages is encoded but not written.
    pub(super) fn risk_gap(&mut self, messages: u64) {
        self.gaps_at_risk += messages;
    }

    /// Everything encoded is written.
    pub(super) fn settle(&mut self) {
        self.at_risk.clear();
        self.gaps_written += std::mem::take(&mut self.gaps_at_risk);
    }

    /// The frames at risk are lost.
    pub(super) fn lose_all(&mut self) {
        self.gaps_at_risk = 0;
        for (stream, lost) in std::mem::take(&mut self.at_risk) {
            self.count(stream, lost);
        }
    }

    /// Counts a frame that is not written. Returns whether its stream is gone without a trace.
    pub(super) fn lose(&mut self, frame: &Frame) -> bool {
        LostFrame::of_frame(frame).is_some_and(|lost| self.count(frame.stream, lost))
    }

    fn count(&mut self, stream: StreamId, lost: LostFrame) -> bool {
        let entry = self.streams.entry(stream).or_default();
        match lost {
            LostFrame::Open => entry.is_new = true,
            LostFrame::Messages { messages, bytes } => {
                entry.messages += messages;
                entry.bytes += bytes;
            }
            // Streams that come and go while the disk is full must not fill the memory.
            LostFrame::End(_) if entry.is_new => {
                self.forgotten += entry.messages;
                self.streams.remove(&stream);
                return true;
            }
            LostFrame::End(end) => entry.end = Some(end),
        }
        false
    }

    /// Returns the number of messages that were lost since the last call.
    pub(super) fn take_messages(&mut self) -> u64 {
        let waiting: u64 = self.streams.values().map(|lost| lost.messages).sum();
        waiting + std::mem::take(&mut self.forgotten) + std::mem::take(&mut self.gaps_written)
    }

    /// The output names all open streams by itself.
    pub(super) fn announce(&mut self) {
        self.streams.values_mut().for_each(|lost| lost.is_new = false);
    }

    /// Takes the losses of the next stream.
    pub(super) fn pop(&mut self) -> Option<(StreamId, LostStream)> {
        self.streams.pop_first()
    }

    /// Puts back losses that could not be written.
    pub(super) fn put_back(&mut self, stream: StreamId, lost: LostStream) {
        let entry = self.streams.entry(stream).or_default();
        entry.is_new |= lost.is_new;
        entry.messages += lost.messages;
        entry.bytes += lost.bytes;
        entry.end = lost.end.or(entry.end.take());
    }
}
