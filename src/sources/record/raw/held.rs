//! Frames that later lines may still complete.

use std::collections::VecDeque;

use xdscope_wire::content::UsedContent;
use xdscope_wire::event::{StreamId, Time};
use xdscope_wire::{Frame, FramePayload};

/// How many frames to hold, and how many bytes of their lines.
#[derive(Clone, Copy)]
pub(super) struct HoldLimits {
    pub(super) frames: usize,
    pub(super) bytes: usize,
}

/// Frames in order. The first ones were passed on.
#[derive(Default)]
pub(super) struct HeldFrames {
    /// Frames and the bytes of their lines.
    frames: VecDeque<(Frame, usize)>,
    bytes: usize,
    /// Bytes of the line that is being read.
    line_bytes: usize,
    passed: u64,
}

impl HeldFrames {
    /// Sets the size of the line whose frames follow.
    pub(super) fn begin_line(&mut self, bytes: usize) {
        self.line_bytes = bytes;
    }

    pub(super) fn put(&mut self, at: Time, stream: StreamId, what: FramePayload) {
        let bytes = std::mem::take(&mut self.line_bytes);
        self.bytes += bytes;
        self.frames.push_back((Frame { at, stream, what }, bytes));
    }

    /// Returns the number of the next frame.
    pub(super) fn next_number(&self) -> u64 {
        self.passed + self.frames.len() as u64
    }

    /// Returns a frame that was not passed on.
    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut FramePayload> {
        let index = usize::try_from(number.checked_sub(self.passed)?).ok()?;
        self.frames.get_mut(index).map(|(frame, _)| &mut frame.what)
    }

    /// Passes on the first frames, down to the limits.
    pub(super) fn pass(&mut self, limits: HoldLimits, out: &mut Vec<Frame>) {
        while self.frames.len() > limits.frames || self.bytes > limits.bytes {
            let Some((frame, bytes)) = self.frames.pop_front() else { return };
            self.bytes -= bytes;
            self.passed += 1;
            out.push(frame);
        }
    }

    /// Marks the contents of the frames as used.
    pub(super) fn mark(&self, used: &mut UsedContent) {
        for (frame, _) in &self.frames {
            if let FramePayload::Message(message) = &frame.what {
                message.mark(used);
            }
        }
    }
}
