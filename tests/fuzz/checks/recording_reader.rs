use std::collections::HashSet;
use std::hash::Hasher;
use std::io::Write;

use twox_hash::XxHash3_64;
use xdscope_sources::record::{self, FileFormat, Header, Loaded};
use xdscope_wire::event::Clock;
use xdscope_wire::{Frame, FramePayload};
use zstd::stream::write::Encoder;

use super::Input;

/// Limit in bytes on joining messages made long by nested lists.
const JOINED: u64 = 64 << 20;

/// Checks that any bytes are either rejected or read: each frame is on an open stream, bodies are
/// present or known to be lost.
///
/// A truncated recording reads as a prefix of the complete one.
///
/// Input: a byte of setup, a byte with the point of truncation. Setup 0: a file as is. Otherwise a
/// header, then parts that become blocks: a byte with the kind of the block (0 and above 6: raw
/// bytes), two bytes of length, and as many bytes; for a loose block, a preceding byte with the
/// part before which it belongs.
pub fn recording_reader(data: &[u8]) {
    let mut input = Input(data);
    let (setup, cut) = (input.byte(), input.byte());
    let (file, blocks) = if setup == 0 { (input.0.to_vec(), None) } else { build(input, setup) };
    let whole = read(&file);
    // A loose block takes the place of others, so more bytes may hold less; blocks within a
    // compressed block are found only if that one is truncated: its length may be damaged.
    let moving = file.windows(3).any(|bytes| bytes == b"\xd5\xb1\x05" || bytes == b"\xd5\xb1\x06");
    let nested = blocks.is_some_and(|blocks| markers(&file) > blocks);
    let recording = record::detect(&file) == FileFormat::Recording;
    let Some(whole) = whole.filter(|_| recording && !moving && !nested) else { return };
    let cut = file.len() * usize::from(cut) / 256;
    if let Some(start) = read(&file[..cut]) {
        let same = start.iter().zip(&whole).take_while(|(a, b)| a == b).count();
        let (a, b) = (start.get(same), whole.get(same));
        assert!(
            a.is_none(),
            "cut at {cut} of {}: frame {same} is {a:?}, in the whole file {b:?}",
            file.len()
        );
    }
}

/// Describes the frames; `None` if the file is rejected.
fn read(file: &[u8]) -> Option<Vec<String>> {
    let Loaded { catalog, frames, notices, .. } = record::read(file).ok()?;
    assert!(notices.len() <= file.len() + 8, "{} notices", notices.len());
    let (mut open, mut joined) = (HashSet::new(), 0);
    let mut words = Vec::new();
    for Frame { at, stream, what } in &frames {
        if record::detect(file) == FileFormat::Recording {
            assert!(
                matches!(what, FramePayload::Open(_)) || open.contains(stream),
                "{stream:?} was not opened"
            );
        }
        open.insert(*stream);
        let what = match what {
            FramePayload::Message(message) => {
                if joined < JOINED {
                    let bytes = message.bytes(&catalog);
                    joined += bytes.map_or(JOINED / 8, |bytes| bytes.len() as u64);
                }
                let list = message.resources().map(|list| (list.len(), list.fingerprint()));
                let segments = message.segments.len();
                format!("{:?} {} {} {segments} {list:?}", message.shape, message.size, message.redacted)
            }
            other => format!("{other:?}"),
        };
        words.push(format!("{at:?} {stream:?} {what}"));
    }
    Some(words)
}

fn markers(bytes: &[u8]) -> usize {
    bytes.windows(2).filter(|bytes| bytes == b"\xd5\xb1").count()
}

/// Returns the file and the number of its markers that begin blocks or lie in loose ones.
fn build(mut input: Input<'_>, setup: u8) -> (Vec<u8>, Option<usize>) {
    let header = Header {
        seed: setup.into(),
        keep_secrets: setup & 2 != 0,
        clock: Clock { epoch: None, untimed: setup & 4 != 0 },
        ..Header::default()
    };
    let mut file = header.encode();
    let (mut places, mut blocks) = (Vec::new(), 0);
    let mut encoder = None;
    while !input.is_empty() {
        let (kind, low, high) = (input.byte(), input.byte(), input.byte());
        let home = if matches!(kind, 5 | 6) { Some(usize::from(input.byte())) } else { None };
        let bytes = input.bytes(usize::from(low) | usize::from(high) << 8);
        places.push(file.len() as u64);
        if !matches!(kind, 1..=6) {
            file.extend_from_slice(bytes);
            continue;
        }
        let body =
            if matches!(kind, 3 | 4) { bytes.to_vec() } else { pack(&mut encoder, kind % 2 == 1, bytes) };
        let home = home.map(|part| places[part % places.len()].to_le_bytes());
        let body = [home.as_ref().map_or(&[][..], |home| home), &body].concat();
        put_block(&mut file, kind, &body, bytes.len());
        blocks += 1 + if matches!(kind, 3 | 4) { markers(bytes) } else { 0 };
    }
    (file, Some(blocks))
}

/// Returns the next bytes of a segment, compressed and flushed.
fn pack(encoder: &mut Option<Encoder<'static, Vec<u8>>>, first: bool, bytes: &[u8]) -> Vec<u8> {
    if first {
        *encoder = None;
    }
    let encoder = encoder.get_or_insert_with(|| Encoder::new(Vec::new(), 1).expect("an encoder"));
    encoder.write_all(bytes).and_then(|()| encoder.flush()).expect("packs");
    std::mem::take(encoder.get_mut())
}

fn put_block(file: &mut Vec<u8>, kind: u8, body: &[u8], raw: usize) {
    let mut head = vec![0xd5, 0xb1, kind];
    head.extend_from_slice(&(body.len() as u32).to_le_bytes()[..3]);
    head.extend_from_slice(&(raw as u32).to_le_bytes()[..3]);
    let mut hash = XxHash3_64::new();
    hash.write(&head);
    hash.write(body);
    file.extend_from_slice(&head);
    file.extend_from_slice(&(hash.finish() as u32).to_le_bytes());
    file.extend_from_slice(body);
}
