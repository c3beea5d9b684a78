use super::error::Http2Error;

/// The head of a frame, its first nine bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameHead {
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
    pub(super) len: usize,
}

impl FrameHead {
    pub(super) fn parse(start: [u8; 9]) -> FrameHead {
        let [a, b, c, kind, flags, stream @ ..] = start;
        let len = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        FrameHead { kind, flags, stream: u32::from_be_bytes(stream) & 0x7fff_ffff, len }
    }
}

/// A part of the output of [`Frames`].
#[derive(Debug)]
pub(super) enum FramePart<'a> {
    /// Payload of a DATA frame without padding, up to what has arrived.
    ///
    /// `first` starts the frame, `last` ends it.
    Data { head: FrameHead, bytes: &'a [u8], first: bool, last: bool },
    /// Any other frame, complete.
    Frame { head: FrameHead, payload: Vec<u8> },
}

/// Reads the frames of one direction. Holds no DATA.
pub(super) struct Frames {
    start: [u8; 9],
    have: usize,
    state: FrameState,
    max: usize,
}

enum FrameState {
    Head,
    /// Before the pad length of a padded DATA frame.
    PadLength {
        head: FrameHead,
        len: usize,
    },
    Data {
        head: FrameHead,
        left: usize,
        pad: usize,
    },
    Whole {
        head: FrameHead,
        len: usize,
        payload: Vec<u8>,
    },
    /// In a frame that is irrelevant to messages and too long to hold.
    Skip {
        left: usize,
    },
    /// The start of the next frame is unknown.
    Seek,
}

/// The kind of missing bytes, if known.
pub(super) enum Missed {
    /// Payload of a DATA frame; `ends` if the missing bytes end the frame.
    Data { head: FrameHead, ends: bool },
    /// Bytes that are irrelevant to messages.
    Nothing,
    /// Unknown frames.
    Frames,
}

impl Frames {
    /// Memory of the current frame, in bytes.
    pub(super) fn held_bytes(&self) -> usize {
        match &self.state {
            FrameState::Whole { payload, .. } => payload.capacity(),
            _ => 0,
        }
    }

    pub(super) fn new(max: usize) -> Self {
        Frames { start: [0; 9], have: 0, state: FrameState::Head, max }
    }

    /// Creates a reader that starts in the middle of a connection.
    pub(super) fn seeking(max: usize) -> Self {
        Frames { state: FrameState::Seek, ..Frames::new(max) }
    }

    /// Skips this many missing bytes.
    pub(super) fn miss(&mut self, bytes: u64) -> Missed {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        match &mut self.state {
            FrameState::Data { head, left, pad } if *left >= bytes => {
                *left -= bytes;
                let (head, ends) = (*head, *left == 0);
                if ends {
                    self.state = FrameState::Skip { left: *pad };
                }
                Missed::Data { head, ends }
            }
            FrameState::Skip { left } if *left >= bytes => {
                *left -= bytes;
                Missed::Nothing
            }
            _ => {
                (self.state, self.have) = (FrameState::Seek, 0);
                Missed::Frames
            }
        }
    }

    /// Returns the next part, and advances `bytes` past it; `None` if more bytes are needed.
    pub(super) fn next<'a>(&mut self, bytes: &mut &'a [u8]) -> Result<Option<FramePart<'a>>, Http2Error> {
        loop {
            match &mut self.state {
                FrameState::Head => {
                    if !self.take_head(bytes) {
                        return Ok(None);
                    }
                    self.state = self.begin()?;
                }
                FrameState::PadLength { head, len } => {
                    let Some((pad, rest)) = bytes.split_first() else { return Ok(None) };
                    *bytes = rest;
                    let pad = usize::from(*pad);
                    let left = (*len - 1).checked_sub(pad).ok_or(Http2Error::DataPadding)?;
                    self.state = FrameState::Data { head: *head, left, pad };
                }
                FrameState::Data { head, left, pad } => {
                    let first = *left + *pad + usize::from(head.flags & super::PADDED != 0) == head.len;
                    let take = (*left).min(bytes.len());
                    if take == 0 && *left > 0 {
                        return Ok(None);
                    }
                    let (part, rest) = bytes.split_at(take);
                    *bytes = rest;
                    *left -= take;
                    let (head, last) = (*head, *left == 0);
                    if last {
                        self.state = FrameState::Skip { left: *pad };
                    }
                    return Ok(Some(FramePart::Data { head, bytes: part, first, last }));
                }
                FrameState::Whole { head, len, payload } => {
                    let take = (*len - payload.len()).min(bytes.len());
                    payload.extend_from_slice(&bytes[..take]);
                    *bytes = &bytes[take..];
                    if payload.len() < *len {
                        return Ok(None);
                    }
                    let part = FramePart::Frame { head: *head, payload: std::mem::take(payload) };
                    self.state = FrameState::Head;
                    return Ok(Some(part));
                }
                FrameState::Seek => {
                    let Some(at) = (0..bytes.len()).find(|at| begins(bytes, *at)) else {
                        *bytes = &[];
                        return Ok(None);
                    };
                    *bytes = &bytes[at..];
                    self.state = FrameState::Head;
                }
                FrameState::Skip { left } => {
                    let take = (*left).min(bytes.len());
                    *bytes = &bytes[take..];
                    *left -= take;
                    if *left > 0 {
                        return Ok(None);
                    }
                    self.state = FrameState::Head;
                }
            }
        }
    }

    /// Moves bytes into the frame head. Returns whether the head is complete.
    fn take_head(&mut self, bytes: &mut &[u8]) -> bool {
        let (head, rest) = bytes.split_at((self.start.len() - self.have).min(bytes.len()));
        self.start[self.have..self.have + head.len()].copy_from_slice(head);
        self.have += head.len();
        *bytes = rest;
        let is_complete = self.have == self.start.len();
        if is_complete {
            self.have = 0;
        }
        is_complete
    }

    /// Returns the state that follows the complete frame head.
    fn begin(&self) -> Result<FrameState, Http2Error> {
        let head = FrameHead::parse(self.start);
        let FrameHead { kind, flags, len, .. } = head;
        let padded = flags & super::PADDED != 0;
        Ok(match kind {
            super::DATA if padded && len == 0 => return Err(Http2Error::DataPaddingLength),
            super::DATA if padded => FrameState::PadLength { head, len },
            super::DATA => FrameState::Data { head, left: len, pad: 0 },
            super::HEADERS | super::CONTINUATION | super::PUSH_PROMISE if len > self.max => {
                return Err(Http2Error::LongHeaderFrame);
            }
            // Hold the frame types of RFC 9113 and skip extensions.
            0..=9 if len <= self.max => FrameState::Whole { head, len, payload: Vec::new() },
            _ => FrameState::Skip { left: len },
        })
    }
}

/// Whether a frame starts at this offset of a piece: the frame and its successors look like frames
/// of gRPC peers, up to the end of the piece or for [`MIN_PLAUSIBLE_FRAMES`] frames.
fn begins(bytes: &[u8], at: usize) -> bool {
    let mut next = at;
    for n in 0..MIN_PLAUSIBLE_FRAMES {
        let Some(head) = bytes.get(next..).and_then(|rest| rest.first_chunk::<9>()) else {
            // The end, or too few bytes to tell.
            return n > 0;
        };
        let Some(len) = plausible(head) else { return false };
        next += 9 + len;
        if next > bytes.len() {
            return n > 0 || at == 0;
        }
    }
    true
}

/// Consecutive plausible frames that are not a coincidence.
const MIN_PLAUSIBLE_FRAMES: usize = 3;
/// Longest plausible frame in bytes, and largest plausible stream number.
///
/// Larger ones are legal, and less likely than a coincidence.
const MAX_PLAUSIBLE: usize = 1 << 20;
const STREAMS: u32 = 1 << 24;

/// Returns the length of the frame with this head, if gRPC peers send such frames.
fn plausible(head: &[u8; 9]) -> Option<usize> {
    let [a, b, c, kind, flags, stream @ ..] = *head;
    let len = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
    let stream = u32::from_be_bytes(stream);
    let call = stream % 2 == 1 && stream < STREAMS;
    let fits = match kind {
        super::DATA => call && flags & !0x09 == 0 && len <= MAX_PLAUSIBLE,
        super::HEADERS => call && flags & !0x2d == 0 && len > 0 && len <= MAX_PLAUSIBLE,
        // PRIORITY, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE.
        2 => call && flags == 0 && len == 5,
        super::RST_STREAM => call && flags == 0 && len == 4,
        4 => stream == 0 && (flags == 0 && len % 6 == 0 && len < 200 || flags == super::ACK && len == 0),
        super::PING => stream == 0 && flags & !super::ACK == 0 && len == 8,
        super::GOAWAY => stream == 0 && flags == 0 && (8..4096).contains(&len),
        8 => (stream == 0 || call) && flags == 0 && len == 4,
        super::CONTINUATION => call && flags & !super::END_HEADERS == 0 && len <= MAX_PLAUSIBLE,
        _ => false,
    };
    fits.then_some(len)
}
