//! Separates what a connection needs to be followed from the bodies of its messages.

use std::collections::BTreeMap;

use super::frames::FrameHead;
use super::{DATA, PADDED, PREFACE, SETTINGS};
use crate::event::Dir;

/// Unfinished messages that are followed. Streams beyond this number lose the start of the next
/// message too.
const MAX_UNFINISHED: usize = 2048;

/// The last frame type of RFC 9113. Longer payloads of other types are irrelevant to messages.
const LAST_KIND: u8 = 9;

/// Bytes of a gRPC prefix.
const PREFIX_BYTES: u8 = 5;

/// A part of skimmed bytes: bytes that were kept, then bytes that were left out.
///
/// The missing bytes lie within one message and one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SkimmedPart {
    /// Bytes that were kept.
    pub kept: u32,
    /// Bytes that were left out.
    pub missing: u32,
}

/// Follows the frames and gRPC messages of one direction of a connection.
///
/// Knows at each byte whether it is needed to follow the connection: frame heads, header blocks,
/// settings, resets and gRPC prefixes are, bodies of messages are not.
#[derive(Debug)]
pub struct Skimmer {
    state: SkimState,
    /// The messages that have begun and not ended.
    unfinished: BTreeMap<u32, Unfinished>,
}

#[derive(Clone, Copy, Debug)]
enum SkimState {
    /// After this many bytes of the client's preface.
    Preface(usize),
    /// Before a frame, after these bytes of its head.
    Head { start: [u8; 9], have: usize, is_first: bool },
    /// Before the pad length of a DATA frame.
    PadLength { stream: u32, len: usize },
    /// In a DATA frame.
    Data { stream: u32, left: usize, pad: usize },
    /// In the padding of a DATA frame, or in a frame that is irrelevant to messages.
    Irrelevant { left: usize },
    /// In any other frame.
    Needed { left: usize },
    /// Not HTTP/2.
    Other,
}

#[derive(Clone, Copy, Debug, Default)]
struct Unfinished {
    prefix: [u8; 5],
    have: u8,
    /// Bytes of the message that follow.
    left: u64,
}

/// A run of bytes that are all needed, or all not.
struct Run {
    len: usize,
    needed: bool,
}

impl Skimmer {
    /// Creates a skimmer that starts with the connection.
    pub fn new(dir: Dir) -> Skimmer {
        let state = match dir {
            Dir::Req => SkimState::Preface(0),
            Dir::Resp => SkimState::Head { start: [0; 9], have: 0, is_first: true },
        };
        Skimmer { state, unfinished: BTreeMap::new() }
    }

    /// Follows bytes that are kept.
    pub fn pass(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let run = self.next(bytes);
            bytes = bytes.get(run.len..).unwrap_or_default();
        }
    }

    /// Follows bytes and appends those that are needed to `kept`, and the form of the bytes to
    /// `parts`.
    ///
    /// Returns false, and appends nothing, if the connection is not HTTP/2.
    pub fn skim(&mut self, mut bytes: &[u8], kept: &mut Vec<u8>, parts: &mut Vec<SkimmedPart>) -> bool {
        let before = (kept.len(), parts.len());
        let mut part = SkimmedPart::default();
        while !bytes.is_empty() {
            let run = self.next(bytes);
            let (now, rest) = bytes.split_at(run.len.min(bytes.len()));
            bytes = rest;
            if run.needed {
                kept.extend_from_slice(now);
                part.kept += now.len() as u32;
            } else {
                part.missing = now.len() as u32;
                parts.push(std::mem::take(&mut part));
            }
        }
        if part.kept > 0 {
            parts.push(part);
        }
        let is_http2 = !matches!(self.state, SkimState::Other);
        if !is_http2 {
            kept.truncate(before.0);
            parts.truncate(before.1);
        }
        is_http2
    }

    /// Follows the next bytes, at least one, as far as they are of one kind.
    fn next(&mut self, bytes: &[u8]) -> Run {
        match self.state {
            SkimState::Preface(seen) => {
                let want = PREFACE.get(seen..).unwrap_or_default();
                let len = want.len().min(bytes.len());
                if bytes[..len] != want[..len] {
                    return self.other(bytes);
                }
                self.state =
                    if len == want.len() { SkimState::head(true) } else { SkimState::Preface(seen + len) };
                Run { len, needed: true }
            }
            SkimState::Head { mut start, have, is_first } => {
                let len = (start.len() - have).min(bytes.len());
                start[have..have + len].copy_from_slice(&bytes[..len]);
                if have + len < start.len() {
                    self.state = SkimState::Head { start, have: have + len, is_first };
                } else {
                    let head = FrameHead::parse(start);
                    if is_first && (head.kind != SETTINGS || head.stream != 0) {
                        return self.other(bytes);
                    }
                    self.state = SkimState::frame(head);
                }
                Run { len, needed: true }
            }
            SkimState::PadLength { stream, len } => {
                let pad = bytes.first().map_or(0, |pad| usize::from(*pad));
                self.state = match (len - 1).checked_sub(pad) {
                    Some(left) => SkimState::data(stream, left, pad),
                    None => SkimState::Other,
                };
                Run { len: 1, needed: true }
            }
            SkimState::Data { stream, left, pad } => {
                let run = self.message(stream, bytes, left);
                self.state = SkimState::data(stream, left - run.len, pad);
                run
            }
            SkimState::Irrelevant { left } => {
                let len = left.min(bytes.len());
                self.state = SkimState::irrelevant(left - len);
                Run { len, needed: false }
            }
            SkimState::Needed { left } => {
                let len = left.min(bytes.len());
                let left = left - len;
                self.state = if left == 0 { SkimState::head(false) } else { SkimState::Needed { left } };
                Run { len, needed: true }
            }
            SkimState::Other => Run { len: bytes.len(), needed: false },
        }
    }

    fn other(&mut self, bytes: &[u8]) -> Run {
        self.state = SkimState::Other;
        Run { len: bytes.len(), needed: false }
    }

    /// Follows the payload of a DATA frame up to a border between prefix and message.
    fn message(&mut self, stream: u32, bytes: &[u8], left: usize) -> Run {
        let bytes = &bytes[..left.min(bytes.len())];
        let mut message = self.unfinished.remove(&stream).unwrap_or_default();
        let needed = message.left == 0;
        let len = if needed {
            let len = usize::from(PREFIX_BYTES - message.have).min(bytes.len());
            let have = usize::from(message.have);
            message.prefix[have..have + len].copy_from_slice(&bytes[..len]);
            message.have += len as u8;
            if message.have == PREFIX_BYTES {
                let [_, length @ ..] = message.prefix;
                (message.left, message.have) = (u64::from(u32::from_be_bytes(length)), 0);
            }
            len
        } else {
            let len = usize::try_from(message.left).unwrap_or(usize::MAX).min(bytes.len());
            message.left -= len as u64;
            len
        };
        if message.left > 0 || message.have > 0 {
            self.unfinished.insert(stream, message);
            if self.unfinished.len() > MAX_UNFINISHED {
                self.unfinished.pop_first();
            }
        }
        Run { len, needed }
    }
}

impl SkimState {
    fn head(is_first: bool) -> SkimState {
        SkimState::Head { start: [0; 9], have: 0, is_first }
    }

    /// Returns the state behind a frame head.
    fn frame(FrameHead { kind, flags, stream, len }: FrameHead) -> SkimState {
        match kind {
            DATA if flags & PADDED != 0 && len > 0 => SkimState::PadLength { stream, len },
            DATA => SkimState::data(stream, len, 0),
            _ if len == 0 => SkimState::head(false),
            _ if kind <= LAST_KIND => SkimState::Needed { left: len },
            _ => SkimState::irrelevant(len),
        }
    }

    fn data(stream: u32, left: usize, pad: usize) -> SkimState {
        if left == 0 { SkimState::irrelevant(pad) } else { SkimState::Data { stream, left, pad } }
    }

    fn irrelevant(left: usize) -> SkimState {
        if left == 0 { SkimState::head(false) } else { SkimState::Irrelevant { left } }
    }
}

#[cfg(test)]
mod tests;
