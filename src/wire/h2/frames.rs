/// The first nine bytes of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameHead {
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

/// What the reader hands on.
#[derive(Debug)]
pub(super) enum Part<'a> {
    /// Payload of a DATA frame, padding left out, as far as it has arrived; `last` closes the frame.
    Data { head: FrameHead, bytes: &'a [u8], last: bool },
    /// Any other frame, whole.
    Frame { head: FrameHead, payload: Vec<u8> },
}

/// Reads the frames of one direction. Holds no DATA.
pub(super) struct Frames {
    start: [u8; 9],
    have: usize,
    state: State,
    max: usize,
}

enum State {
    Head,
    /// The first byte of a padded DATA frame's payload is still to come.
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
    /// A frame that says nothing about messages, too long to hold.
    Skip {
        left: usize,
    },
}

impl Frames {
    pub(super) fn new(max: usize) -> Self {
        Frames { start: [0; 9], have: 0, state: State::Head, max }
    }

    /// The next part; takes what it used off the front of `bytes`. `None`: more bytes are needed.
    pub(super) fn next<'a>(&mut self, bytes: &mut &'a [u8]) -> Result<Option<Part<'a>>, &'static str> {
        loop {
            match &mut self.state {
                State::Head => {
                    let take = (9 - self.have).min(bytes.len());
                    self.start[self.have..self.have + take].copy_from_slice(&bytes[..take]);
                    self.have += take;
                    *bytes = &bytes[take..];
                    if self.have < 9 {
                        return Ok(None);
                    }
                    self.have = 0;
                    self.state = self.begin()?;
                }
                State::PadLength { head, len } => {
                    let Some((pad, rest)) = bytes.split_first() else { return Ok(None) };
                    *bytes = rest;
                    let pad = usize::from(*pad);
                    let left = (*len - 1).checked_sub(pad).ok_or("DATA with more padding than frame")?;
                    self.state = State::Data { head: *head, left, pad };
                }
                State::Data { head, left, pad } => {
                    let take = (*left).min(bytes.len());
                    if take == 0 && *left > 0 {
                        return Ok(None);
                    }
                    let (part, rest) = bytes.split_at(take);
                    *bytes = rest;
                    *left -= take;
                    let (head, last) = (*head, *left == 0);
                    if last {
                        self.state = State::Skip { left: *pad };
                    }
                    return Ok(Some(Part::Data { head, bytes: part, last }));
                }
                State::Whole { head, len, payload } => {
                    let take = (*len - payload.len()).min(bytes.len());
                    payload.extend_from_slice(&bytes[..take]);
                    *bytes = &bytes[take..];
                    if payload.len() < *len {
                        return Ok(None);
                    }
                    let part = Part::Frame { head: *head, payload: std::mem::take(payload) };
                    self.state = State::Head;
                    return Ok(Some(part));
                }
                State::Skip { left } => {
                    let take = (*left).min(bytes.len());
                    *bytes = &bytes[take..];
                    *left -= take;
                    if *left > 0 {
                        return Ok(None);
                    }
                    self.state = State::Head;
                }
            }
        }
    }

    fn begin(&self) -> Result<State, &'static str> {
        let [a, b, c, kind, flags, stream @ ..] = self.start;
        let len = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        let stream = u32::from_be_bytes(stream) & 0x7fff_ffff;
        let head = FrameHead { kind, flags, stream };
        let padded = flags & super::PADDED != 0;
        Ok(match kind {
            super::DATA if padded && len == 0 => return Err("padded DATA without a padding length"),
            super::DATA if padded => State::PadLength { head, len },
            super::DATA => State::Data { head, left: len, pad: 0 },
            super::HEADERS | super::CONTINUATION | super::PUSH_PROMISE if len > self.max => {
                return Err("a header frame over the limit");
            }
            // The kinds of RFC 9113 are read whole; extensions are skipped.
            0..=9 if len <= self.max => State::Whole { head, len, payload: Vec::new() },
            _ => State::Skip { left: len },
        })
    }
}
