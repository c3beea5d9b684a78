//! Splits and decompresses the gRPC messages of one direction of a stream.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::GapCause;

/// A part of the output.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Decompressed bytes of the current message.
    Bytes(&'a [u8]),
    /// The current message is complete.
    End,
    /// A message cannot be decompressed, or is too large. No [`Piece::End`] follows.
    Lost {
        /// Length on the wire.
        bytes: u64,
        /// [`GapCause::Encoding`], [`GapCause::Compression`] or [`GapCause::Size`].
        cause: GapCause,
        /// The reason.
        why: String,
    },
}

/// Splits the messages of one direction. Holds no message, only the state of the decompressor.
pub struct Messages {
    /// Not gRPC: the whole body is one message.
    plain: bool,
    /// Part of the body is missing.
    is_spoiled: bool,
    encoding: Encoding,
    prefix: [u8; 5],
    have: usize,
    current: Option<Current>,
    any: bool,
    /// The start of the next message is unknown.
    seeking: bool,
    unpacking: UnpackBudget,
}

/// A message that lacks bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissedMessage {
    /// No bytes of the message were missing before.
    pub is_new: bool,
    /// No bytes of the message follow.
    pub is_over: bool,
}

/// The decompressors that a group of streams may have open at once.
#[derive(Clone, Debug, Default)]
pub struct UnpackBudget(Arc<AtomicUsize>);

/// Memory of all open decompressors of a budget, in bytes.
pub const MAX_UNPACKING_BYTES: usize = 5 << 20;

/// Memory of a decompressor for gzip and deflate, in bytes.
pub const INFLATE_BYTES: usize = 80 << 10;

/// Largest window of zstd in bytes, as a power of two.
const ZSTD_WINDOW_LOG: u32 = 22;

/// Memory of a decompressor for zstd, in bytes.
pub const ZSTD_BYTES: usize = (1 << ZSTD_WINDOW_LOG) + (256 << 10);

/// A share of an [`UnpackBudget`], returned when dropped.
struct UnpackShare {
    budget: UnpackBudget,
    bytes: usize,
}

impl UnpackBudget {
    /// Returns the memory of all open decompressors, in bytes.
    pub(super) fn used(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes a share; `None` if the budget is used up.
    fn take(&self, bytes: usize) -> Option<UnpackShare> {
        let used = self.0.fetch_add(bytes, Ordering::Relaxed);
        let share = UnpackShare { budget: self.clone(), bytes };
        (used + bytes <= MAX_UNPACKING_BYTES).then_some(share)
    }
}

impl Drop for UnpackShare {
    fn drop(&mut self) {
        self.budget.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Encoding {
    Identity,
    Gzip,
    Deflate,
    Zstd,
    Other(String),
}

/// The longest message that gRPC receives by default, in bytes: 4 MiB.
pub const DEFAULT_RECEIVE_LIMIT: u64 = 4 << 20;

/// Compressed bytes that are decompressed at a time.
///
/// Small, so that a decompression bomb is noticed before it fills the memory: zstd can turn each
/// byte into 32 KiB.
const DECOMPRESS_STEP_BYTES: usize = 1 << 10;

/// Shortest frame that a sender fills completely before it begins the next one, in bytes.
const MIN_FULL_FRAME_BYTES: u64 = 4 << 10;
/// Longest message that a search for the next message accepts, in bytes.
const MAX_MESSAGE_BYTES: u64 = 1 << 30;

struct Current {
    left: u64,
    len: u64,
    /// Bytes that the decompressor has produced.
    unpacked: u64,
    unpack: Unpack,
    /// Held for its drop.
    share: Option<UnpackShare>,
}

enum Unpack {
    Not,
    Gzip(Box<flate2::write::GzDecoder<Vec<u8>>>),
    Deflate(Box<flate2::write::ZlibDecoder<Vec<u8>>>),
    Zstd(zstd::stream::write::Decoder<'static, Vec<u8>>),
    Lost(GapCause, String),
    /// Part of the message is missing, which was reported already.
    Missing,
}

impl Encoding {
    /// Reads the value of `grpc-encoding`.
    fn read(name: Option<&str>) -> Encoding {
        match name {
            None | Some("identity") => Encoding::Identity,
            Some("gzip") => Encoding::Gzip,
            Some("deflate") => Encoding::Deflate,
            Some("zstd") => Encoding::Zstd,
            Some(other) => Encoding::Other(other.to_owned()),
        }
    }

    /// Returns the memory of a decompressor in bytes.
    fn unpacking_bytes(&self) -> usize {
        match self {
            Encoding::Gzip | Encoding::Deflate => INFLATE_BYTES,
            Encoding::Zstd => ZSTD_BYTES,
            Encoding::Identity | Encoding::Other(_) => 0,
        }
    }

    fn unpack(&self) -> Unpack {
        match self {
            Encoding::Identity => {
                Unpack::Lost(GapCause::Encoding, "compressed, but no grpc-encoding was announced".into())
            }
            Encoding::Gzip => Unpack::Gzip(Box::new(flate2::write::GzDecoder::new(Vec::new()))),
            Encoding::Deflate => Unpack::Deflate(Box::new(flate2::write::ZlibDecoder::new(Vec::new()))),
            Encoding::Zstd => match zstd_decoder() {
                Ok(decoder) => Unpack::Zstd(decoder),
                Err(error) => Unpack::Lost(GapCause::Compression, format!("zstd: {error}")),
            },
            Encoding::Other(name) => {
                Unpack::Lost(GapCause::Encoding, format!("compressed with {name}, which is not supported"))
            }
        }
    }
}

fn zstd_decoder() -> std::io::Result<zstd::stream::write::Decoder<'static, Vec<u8>>> {
    let mut decoder = zstd::stream::write::Decoder::new(Vec::new())?;
    decoder.window_log_max(ZSTD_WINDOW_LOG)?;
    Ok(decoder)
}

impl Messages {
    /// Creates a splitter; `encoding` is the `grpc-encoding` of the direction.
    pub fn new(grpc: bool, encoding: Option<&str>) -> Messages {
        let encoding = Encoding::read(encoding);
        Messages {
            plain: !grpc,
            is_spoiled: false,
            encoding,
            prefix: [0; 5],
            have: 0,
            current: None,
            any: false,
            seeking: false,
            unpacking: UnpackBudget::default(),
        }
    }

    /// Shares the decompressors of `budget` with other streams.
    pub fn within(self, budget: UnpackBudget) -> Messages {
        Messages { unpacking: budget, ..self }
    }

    /// Sets the `grpc-encoding`, before the first message.
    pub fn set_encoding(&mut self, encoding: Option<&str>) {
        self.encoding = Encoding::read(encoding);
    }

    /// Reads the next DATA bytes. `limit` bounds the decompressed length of one message, in bytes.
    pub fn push(&mut self, mut bytes: &[u8], limit: u64, out: &mut dyn FnMut(Piece<'_>)) {
        if self.plain {
            let is_read = !bytes.is_empty() && !self.is_spoiled;
            self.any |= is_read;
            if is_read {
                out(Piece::Bytes(bytes));
            }
            return;
        }
        if self.seeking {
            return;
        }
        while !bytes.is_empty() || self.current.as_ref().is_some_and(|current| current.left == 0) {
            let Some(current) = &mut self.current else {
                let take = (5 - self.have).min(bytes.len());
                self.prefix[self.have..self.have + take].copy_from_slice(&bytes[..take]);
                self.have += take;
                bytes = &bytes[take..];
                if self.have == 5 {
                    self.have = 0;
                    let [flag, a, b, c, d] = self.prefix;
                    let len = u64::from(u32::from_be_bytes([a, b, c, d]));
                    let (unpack, share) = self.unpack(flag & 1 != 0);
                    self.current = Some(Current { left: len, len, unpacked: 0, unpack, share });
                }
                continue;
            };
            let take = usize::try_from(current.left).unwrap_or(usize::MAX).min(bytes.len());
            let (part, rest) = bytes.split_at(take);
            bytes = rest;
            current.left -= take as u64;
            current.take(part, limit, out);
            if current.left == 0
                && let Some(current) = self.current.take()
            {
                current.finish(out);
            }
        }
    }

    /// Returns the decompressor of the next message and its share of the budget.
    fn unpack(&self, is_compressed: bool) -> (Unpack, Option<UnpackShare>) {
        if !is_compressed {
            return (Unpack::Not, None);
        }
        match self.unpacking.take(self.encoding.unpacking_bytes()) {
            Some(share) => (self.encoding.unpack(), Some(share)),
            None => {
                let why = "too many compressed messages at once".to_owned();
                (Unpack::Lost(GapCause::Size, why), None)
            }
        }
    }

    /// Skips this many missing bytes. The current message is lost, and no piece reports the loss.
    pub fn miss(&mut self, bytes: u64) -> MissedMessage {
        let mut missed = MissedMessage { is_new: true, is_over: true };
        match &mut self.current {
            Some(current) if current.left >= bytes => {
                current.left -= bytes;
                missed.is_new = !matches!(current.unpack, Unpack::Missing);
                missed.is_over = current.left == 0;
                current.unpack = Unpack::Missing;
                current.share = None;
            }
            _ if self.plain => missed.is_new = !std::mem::replace(&mut self.is_spoiled, true),
            _ => self.seek(),
        }
        self.current.take_if(|current| current.left == 0);
        missed
    }

    /// Skips an unknown number of missing bytes: reading resumes at the next message that starts
    /// with a frame.
    pub fn seek(&mut self) {
        (self.have, self.current, self.seeking) = (0, None, !self.plain);
    }

    /// Whether a DATA frame of this length, starting with `bytes`, may start a message. Ends the
    /// search if so.
    pub fn begins(&mut self, frame: u64, bytes: &[u8]) -> bool {
        if self.seeking
            && let [0 | 1, a, b, c, d, rest @ ..] = bytes
        {
            let len = u64::from(u32::from_be_bytes([*a, *b, *c, *d]));
            // Every discovery message starts with a text or a message, and senders fill a frame
            // before the next.
            let field = rest.first().is_none_or(|tag| *tag & 7 == 2 && *tag < 0x80);
            self.seeking =
                !(field && (len + 5 <= frame || (frame >= MIN_FULL_FRAME_BYTES && len < MAX_MESSAGE_BYTES)));
        }
        !self.seeking
    }

    /// Returns the length on the wire of a message whose rest has not come, in bytes.
    pub fn unfinished(&self) -> Option<u64> {
        self.current.as_ref().map(|current| current.len)
    }

    /// Ends the direction. Returns true if that completes a message, as for a body that is not
    /// gRPC.
    pub fn end(&mut self) -> bool {
        self.plain && std::mem::take(&mut self.any) && !self.is_spoiled
    }
}

impl Current {
    /// Decompresses a part of a message, up to a limit.
    fn take(&mut self, part: &[u8], limit: u64, out: &mut dyn FnMut(Piece<'_>)) {
        if matches!(self.unpack, Unpack::Not) {
            if !part.is_empty() {
                out(Piece::Bytes(part));
            }
            return;
        }
        for step in part.chunks(DECOMPRESS_STEP_BYTES) {
            let result = match &mut self.unpack {
                Unpack::Not | Unpack::Lost(..) | Unpack::Missing => return,
                Unpack::Gzip(decoder) => decoder.write_all(step).map(|()| std::mem::take(decoder.get_mut())),
                Unpack::Deflate(decoder) => {
                    decoder.write_all(step).map(|()| std::mem::take(decoder.get_mut()))
                }
                Unpack::Zstd(decoder) => decoder.write_all(step).map(|()| std::mem::take(decoder.get_mut())),
            };
            match result {
                Ok(bytes) => {
                    self.unpacked += bytes.len() as u64;
                    if self.unpacked > limit {
                        let why = format!("decompresses to more than {limit} bytes");
                        self.unpack = Unpack::Lost(GapCause::Size, why);
                    } else if !bytes.is_empty() {
                        out(Piece::Bytes(&bytes));
                    }
                }
                Err(error) => {
                    let why = format!("does not decompress: {error}");
                    self.unpack = Unpack::Lost(GapCause::Compression, why);
                }
            }
        }
    }

    fn finish(self, out: &mut dyn FnMut(Piece<'_>)) {
        let rest = match self.unpack {
            Unpack::Not => Ok(Vec::new()),
            Unpack::Gzip(decoder) => decoder.finish(),
            Unpack::Deflate(decoder) => decoder.finish(),
            Unpack::Zstd(mut decoder) => decoder.flush().map(|()| decoder.into_inner()),
            Unpack::Lost(cause, why) => return out(Piece::Lost { bytes: self.len, cause, why }),
            Unpack::Missing => return,
        };
        match rest {
            Ok(rest) => {
                if !rest.is_empty() {
                    out(Piece::Bytes(&rest));
                }
                out(Piece::End);
            }
            Err(error) => {
                let (cause, why) = (GapCause::Compression, error.to_string());
                out(Piece::Lost { bytes: self.len, cause, why });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(flag: u8, bytes: &[u8]) -> Vec<u8> {
        [&[flag][..], &(bytes.len() as u32).to_be_bytes(), bytes].concat()
    }

    fn run(messages: &mut Messages, bytes: &[u8], step: usize) -> Vec<Result<Vec<u8>, String>> {
        let (mut done, mut open) = (Vec::new(), Vec::new());
        for chunk in bytes.chunks(step) {
            messages.push(chunk, 1 << 20, &mut |piece| match piece {
                Piece::Bytes(bytes) => open.extend_from_slice(bytes),
                Piece::End => done.push(Ok(std::mem::take(&mut open))),
                Piece::Lost { why, .. } => {
                    open.clear();
                    done.push(Err(why));
                }
            });
        }
        done
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn splits_messages_in_any_chunks() {
        let text = b"hello ".repeat(1000);
        let zstd = zstd::bulk::compress(&text, 1).unwrap();
        for (encoding, packed) in [("gzip", gzip(&text)), ("zstd", zstd)] {
            let mut bytes = message(0, b"plain");
            bytes.extend(message(1, &packed));
            bytes.extend(message(0, b""));
            bytes.extend(message(0, b"last"));
            for step in [1, 2, 5, 7, 100, 100_000] {
                let mut messages = Messages::new(true, Some(encoding));
                let got = run(&mut messages, &bytes, step);
                let want = [Ok(b"plain".to_vec()), Ok(text.clone()), Ok(Vec::new()), Ok(b"last".to_vec())];
                assert!(got == want, "{encoding} in steps of {step}");
                assert!(!messages.end());
            }
        }
    }

    #[test]
    fn loses_only_message_that_does_not_decompress() {
        let mut bytes = message(1, b"no gzip at all");
        bytes.extend(message(0, b"fine"));
        let got = run(&mut Messages::new(true, Some("gzip")), &bytes, 3);
        assert!(got[0].is_err());
        assert_eq!(got[1], Ok(b"fine".to_vec()));
        let got = run(&mut Messages::new(true, Some("snappy")), &bytes, 100);
        assert!(got[0].as_ref().is_err_and(|why| why.contains("snappy")), "{got:?}");
        for (encoding, expected) in [
            (Some("gzip"), GapCause::Compression),
            (Some("snappy"), GapCause::Encoding),
            (None, GapCause::Encoding),
        ] {
            let mut causes = Vec::new();
            Messages::new(true, encoding).push(&bytes, 1 << 20, &mut |piece| {
                if let Piece::Lost { cause, .. } = piece {
                    causes.push(cause);
                }
            });
            assert_eq!(causes, [expected], "{encoding:?}");
        }
    }

    #[test]
    fn loses_decompression_bomb_without_holding_it() {
        let bomb = message(1, &gzip(&vec![0; 64 << 20]));
        let got = run(&mut Messages::new(true, Some("gzip")), &bomb, 1 << 20);
        assert!(got[0].as_ref().is_err_and(|why| why.contains("more than")), "refused");
    }

    #[test]
    fn limit_applies_to_message_not_chunk() {
        let bomb = message(1, &gzip(&vec![0; 4 << 20]));
        let (mut most, mut lost) = (0, false);
        let mut messages = Messages::new(true, Some("gzip"));
        for chunk in bomb.chunks(100) {
            messages.push(chunk, 1 << 20, &mut |piece| match piece {
                Piece::Bytes(bytes) => most += bytes.len(),
                Piece::End => panic!("it is over the limit"),
                Piece::Lost { cause, .. } => lost = cause == GapCause::Size,
            });
        }
        assert!(lost && most <= 1 << 20, "{most} bytes came out");
    }

    #[test]
    fn reads_body_without_grpc_as_one_message() {
        let mut messages = Messages::new(false, None);
        assert!(run(&mut messages, b"{\"a\":1}", 3).is_empty());
        assert!(messages.end());
    }
}
