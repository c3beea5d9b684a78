use std::collections::VecDeque;

use bytes::Bytes;

use super::super::frames::FrameHead;
use super::super::literal::{MAX_FRAME_BYTES, put_head};
use super::super::{DATA, END_STREAM, PADDED};
use super::blocks::Blocks;
use super::stream::HELD_FRAME_BYTES;
use super::windows::StreamWindows;

/// Window of a connection or stream before any frame changes it, in bytes (RFC 9113, "Initial
/// Flow-Control Window Size").
pub(super) const DEFAULT_WINDOW: i64 = 65_535;

/// One direction of a connection: the input from its sender, and the output to its receiver.
///
/// Bytes of the input between `from` and `at` pass unchanged and are not in the output yet.
pub(super) struct Half {
    pub(super) input: Bytes,
    from: usize,
    pub(super) at: usize,
    pub(super) state: ParseState,
    /// The head of the next frame, up to what has arrived.
    pub(super) start: [u8; 9],
    pub(super) have: usize,
    pub(super) blocks: Blocks,
    output: Vec<Bytes>,
    output_bytes: usize,
    /// The first frame, SETTINGS, has passed.
    has_begun: bool,
    /// Frames that wait for the end of the frame that is passing, or for the first frame.
    waiting: Vec<Bytes>,
    waiting_bytes: usize,
    /// Bytes of DATA that the receiver accepts on the connection.
    window: i64,
    /// Bytes sent to the receiver for which the sender has its window back already.
    ///
    /// The receiver returns this much window too, which must not reach the sender.
    debt: i64,
    /// Frames of streams that are not armed, while the window of the connection is used up.
    ///
    /// The sender may have more window than the receiver, by `debt`.
    stalled: VecDeque<Stalled>,
    /// Memory of these frames.
    stalled_bytes: usize,
    /// Window of the connection to return to the sender, in bytes.
    pub(super) credit: u32,
    /// Window of a new stream in bytes, by the receiver's settings.
    pub(super) initial_window: i64,
    /// The settings from which that window follows.
    pub(super) windows: StreamWindows,
}

pub(super) enum ParseState {
    /// In the preface, after this many bytes.
    Preface(usize),
    Head,
    /// This many bytes of a frame still pass unchanged.
    Passing(usize),
    /// In a DATA frame of an armed stream.
    Data(DataFrame),
    /// In a frame that is read completely before anything else happens.
    Whole {
        head: FrameHead,
        raw: Vec<u8>,
    },
}

/// A DATA frame whose payload is read.
#[derive(Clone, Copy)]
pub(super) struct DataFrame {
    pub(super) head: FrameHead,
    /// Bytes of the frame that have not arrived.
    pub(super) left: usize,
    /// Bytes of padding at the end; `None` before the length of the padding.
    pub(super) pad: Option<usize>,
}

enum Stalled {
    Data { head: FrameHead, payload: Bytes },
    Other { stream: u32, is_block: bool, frame: Bytes },
}

impl Stalled {
    fn memory(&self) -> usize {
        let (Stalled::Data { payload: bytes, .. } | Stalled::Other { frame: bytes, .. }) = self;
        bytes.len() + HELD_FRAME_BYTES
    }
}

impl Half {
    pub(super) fn new(state: ParseState, blocks: Blocks) -> Half {
        Half {
            input: Bytes::new(),
            from: 0,
            at: 0,
            state,
            start: [0; 9],
            have: 0,
            blocks,
            output: Vec::new(),
            output_bytes: 0,
            has_begun: false,
            waiting: Vec::new(),
            waiting_bytes: 0,
            window: DEFAULT_WINDOW,
            debt: 0,
            stalled: VecDeque::new(),
            stalled_bytes: 0,
            credit: 0,
            initial_window: DEFAULT_WINDOW,
            windows: StreamWindows::default(),
        }
    }

    /// Bytes of the input that were not read yet.
    pub(super) fn rest(&self) -> &[u8] {
        &self.input[self.at..]
    }

    /// Lets the next bytes of the input pass.
    pub(super) fn pass(&mut self, len: usize) {
        self.at += len;
    }

    /// Reads the next bytes of the input, which do not pass.
    pub(super) fn take(&mut self, len: usize) -> Bytes {
        self.flush();
        let taken = self.input.slice(self.at..self.at + len);
        self.at += len;
        self.from = self.at;
        taken
    }

    /// Moves passing bytes to the output.
    pub(super) fn flush(&mut self) {
        if self.from < self.at {
            self.output_bytes += self.at - self.from;
            self.output.push(self.input.slice(self.from..self.at));
            self.from = self.at;
        }
    }

    /// Forgets the input, which was read completely.
    pub(super) fn finish_input(&mut self) {
        self.flush();
        self.input = Bytes::new();
        (self.from, self.at) = (0, 0);
    }

    pub(super) fn begin_input(&mut self, bytes: Bytes) {
        debug_assert!(self.from == self.input.len(), "the input before is not read completely");
        self.input = bytes;
        (self.from, self.at) = (0, 0);
    }

    /// Appends bytes of the frame that is passing.
    pub(super) fn push_part(&mut self, bytes: Bytes) {
        self.flush();
        if !bytes.is_empty() {
            self.output_bytes += bytes.len();
            self.output.push(bytes);
        }
    }

    /// Appends a complete frame, after the end of the frame that is passing.
    pub(super) fn push_frame(&mut self, frame: Bytes) {
        if !self.has_begun || matches!(self.state, ParseState::Passing(_)) {
            self.waiting_bytes += frame.len() + HELD_FRAME_BYTES;
            self.waiting.push(frame);
        } else {
            self.push_part(frame);
        }
    }

    /// Notes that a frame of the sender has passed completely.
    pub(super) fn frame_passed(&mut self) {
        self.state = ParseState::Head;
        self.has_begun = true;
        if !self.waiting.is_empty() {
            self.flush();
            self.output_bytes += self.waiting.iter().map(Bytes::len).sum::<usize>();
            self.output.append(&mut self.waiting);
            self.waiting_bytes = 0;
        }
    }

    pub(super) fn take_output(&mut self) -> Vec<Bytes> {
        self.output_bytes = 0;
        std::mem::take(&mut self.output)
    }

    /// Returns the bytes to write to the receiver, which are not taken yet.
    pub(super) fn output_bytes(&self) -> usize {
        self.output_bytes + (self.at - self.from)
    }

    /// Returns the memory of frames that are read or wait, in bytes.
    pub(super) fn memory(&self) -> usize {
        let frame = match &self.state {
            ParseState::Whole { raw, .. } => raw.capacity(),
            _ => 0,
        };
        frame + self.waiting_bytes + self.stalled_bytes + self.blocks.memory()
    }

    fn stall(&mut self, item: Stalled) {
        self.stalled_bytes += item.memory();
        self.stalled.push_back(item);
    }

    /// Returns how many bytes the receiver accepts on the connection.
    pub(super) fn window(&self) -> i64 {
        // Stalled frames are older than whatever asks.
        if self.stalled.is_empty() { self.window } else { 0 }
    }

    /// Whether a DATA frame of this length may pass. Charges the receiver's window if so.
    pub(super) fn can_pass(&mut self, len: usize) -> bool {
        let len = len as i64;
        let fits = self.stalled.is_empty() && self.window >= len;
        if fits {
            self.window -= len;
        }
        fits
    }

    /// Charges the receiver's window for bytes whose sender has its window back.
    pub(super) fn charge(&mut self, bytes: i64) {
        self.window -= bytes;
        self.debt += bytes;
    }

    /// Adds to the receiver's window. Returns how much of it the sender may have.
    pub(super) fn grant(&mut self, bytes: u32) -> u32 {
        let bytes = i64::from(bytes);
        self.window += bytes;
        let swallowed = bytes.min(self.debt);
        self.debt -= swallowed;
        (bytes - swallowed) as u32
    }

    /// Sends a DATA frame of a stream that is not armed, or keeps it until there is window.
    pub(super) fn send_data(&mut self, head: FrameHead, raw: &Bytes) {
        if self.can_pass(head.len) {
            self.push_frame(raw.clone());
        } else {
            // A slice would keep the buffer of a whole read.
            let payload = Bytes::copy_from_slice(&raw[9..]);
            self.stall(Stalled::Data { head, payload });
        }
    }

    /// Sends a header block or reset of a stream, after its stalled DATA.
    pub(super) fn send_in_order(&mut self, stream: u32, is_block: bool, frame: Bytes) {
        if self.stalled.is_empty() {
            self.push_frame(frame);
        } else {
            let frame = Bytes::copy_from_slice(&frame);
            self.stall(Stalled::Other { stream, is_block, frame });
        }
    }

    /// Whether frames are waiting for window.
    pub(super) fn is_stalled(&self) -> bool {
        !self.stalled.is_empty()
    }

    /// Sends the reset of a stream by the sender of its DATA, in place of the stalled DATA.
    ///
    /// Trailers must not follow a reset, and a server may send both.
    pub(super) fn send_reset(&mut self, stream: u32, frame: Bytes) {
        let is_trailers = |item: &Stalled| matches!(item, Stalled::Other { stream: of, is_block: true, .. } if *of == stream);
        if self.stalled.iter().any(is_trailers) {
            let frame = Bytes::copy_from_slice(&frame);
            self.stall(Stalled::Other { stream, is_block: false, frame });
            return;
        }
        let (credit, bytes) = (&mut self.credit, &mut self.stalled_bytes);
        self.stalled.retain(|item| match item {
            Stalled::Data { head, .. } if head.stream == stream => {
                *credit += head.len as u32;
                *bytes -= item.memory();
                false
            }
            _ => true,
        });
        self.push_frame(frame);
        self.send_stalled();
    }

    fn stall_first(&mut self, item: Stalled) {
        self.stalled_bytes += item.memory();
        self.stalled.push_front(item);
    }

    /// Sends stalled frames as far as the window allows.
    pub(super) fn send_stalled(&mut self) {
        while let Some(item) = self.stalled.pop_front() {
            self.stalled_bytes -= item.memory();
            match item {
                Stalled::Other { frame, .. } => self.push_frame(frame),
                Stalled::Data { head, payload } => {
                    // Padding counts too: a padded frame cannot be split without returning window.
                    let is_whole = head.flags & PADDED != 0 || head.len == 0;
                    let room = usize::try_from(self.window).unwrap_or(0);
                    let len = if is_whole { head.len } else { head.len.min(room).min(MAX_FRAME_BYTES) };
                    if len > room || len == 0 && head.len > 0 {
                        self.stall_first(Stalled::Data { head, payload });
                        return;
                    }
                    self.window -= len as i64;
                    let is_last = len == head.len;
                    let flags = if is_last { head.flags } else { head.flags & !END_STREAM };
                    self.push_data(head.stream, flags, payload.slice(..len));
                    if !is_last {
                        let head = FrameHead { len: head.len - len, ..head };
                        self.stall_first(Stalled::Data { head, payload: payload.slice(len..) });
                    }
                }
            }
        }
    }

    /// Appends a DATA frame.
    pub(super) fn push_data(&mut self, stream: u32, flags: u8, payload: Bytes) {
        let mut head = Vec::with_capacity(9);
        put_head(&mut head, payload.len(), DATA, flags, stream);
        self.push_frame(head.into());
        if !payload.is_empty() {
            self.push_frame(payload);
        }
    }
}
