use std::collections::HashMap;
use std::io::Write;

use xdscope_wire::event::Dir;
use xdscope_wire::h2::{ConnectionObserver, Event};

use super::{Digest, Input, PREFACE, http2_frame};

const ENCODINGS: [Option<&str>; 5] = [None, Some("gzip"), Some("deflate"), Some("zstd"), Some("snappy")];

/// Checks that the gRPC messages of one direction match a plain reading of their prefixes, complete
/// or lost, for any division into DATA frames and chunks.
///
/// Correctly compressed messages are decompressed.
///
/// Input: a byte of setup (bit 0: from the server, bits 1 and up: the encoding), a byte with the
/// step, then parts. A part is a byte (bits 0 and 1: plain message, compressed message, message
/// falsely marked as compressed, raw bytes; the others: repetitions of the bytes), a length, and as
/// many bytes.
pub fn frame_splitter(data: &[u8]) {
    let mut input = Input(data);
    let (setup, step) = (input.byte(), input.byte());
    let dir = if setup & 1 == 0 { Dir::Req } else { Dir::Resp };
    let encoding = ENCODINGS[usize::from(setup >> 1) % ENCODINGS.len()];
    let mut wire = Vec::new();
    let mut packed = HashMap::new();
    while !input.is_empty() {
        let (how, len) = (input.byte(), input.byte());
        let bytes = input.bytes(len.into()).repeat(1 + usize::from(how >> 2));
        match how & 3 {
            0 => put_message(&mut wire, 0, &bytes),
            1 => {
                let body = pack(encoding, &bytes);
                put_message(&mut wire, 1, &body);
                packed.insert(body, Digest::of(&bytes));
            }
            2 => put_message(&mut wire, 1, &bytes),
            _ => wire.extend_from_slice(&bytes),
        }
    }
    let wanted = read(&wire, encoding, &packed);
    let (frame, chunk) = (1 + usize::from(step & 15) * 7, 1 + usize::from(step >> 4));
    for (frame, chunk) in [(usize::MAX, usize::MAX), (frame, usize::MAX), (usize::MAX, chunk), (frame, chunk)]
    {
        let got = observe(dir, encoding, &wire, frame, chunk);
        assert_eq!(got.len(), wanted.len(), "messages in DATA of {frame}, chunks of {chunk}");
        for (got, wanted) in got.iter().zip(&wanted) {
            match wanted {
                Wanted::Whole(digest) => assert_eq!(got, &Got::Whole(*digest)),
                Wanted::Lost(len) => assert_eq!(got, &Got::Lost(*len)),
                Wanted::Either(len) => assert!(matches!(got, Got::Whole(_)) || *got == Got::Lost(*len)),
            }
        }
    }
}

fn put_message(wire: &mut Vec<u8>, flag: u8, body: &[u8]) {
    wire.push(flag);
    wire.extend_from_slice(&(body.len() as u32).to_be_bytes());
    wire.extend_from_slice(body);
}

fn pack(encoding: Option<&str>, bytes: &[u8]) -> Vec<u8> {
    let level = flate2::Compression::fast();
    match encoding {
        Some("gzip") => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
            encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("packs")
        }
        Some("deflate") => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
            encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("packs")
        }
        Some("zstd") => zstd::bulk::compress(bytes, 1).expect("packs"),
        _ => bytes.to_vec(),
    }
}

enum Wanted {
    Whole((u64, u64)),
    Lost(u64),
    /// Whether these bytes decompress is up to the decompressor.
    Either(u64),
}

#[derive(Debug, PartialEq)]
enum Got {
    Whole((u64, u64)),
    Lost(u64),
}

/// Splits the messages by reading their prefixes in memory.
fn read(mut wire: &[u8], encoding: Option<&str>, packed: &HashMap<Vec<u8>, (u64, u64)>) -> Vec<Wanted> {
    let mut out = Vec::new();
    while let Some((&[flag, a, b, c, d], rest)) = wire.split_first_chunk::<5>() {
        let len = u32::from_be_bytes([a, b, c, d]);
        let Some((body, rest)) = rest.split_at_checked(len as usize) else { break };
        wire = rest;
        out.push(match (flag & 1, encoding) {
            (0, _) => Wanted::Whole(Digest::of(body)),
            (_, None | Some("snappy")) => Wanted::Lost(len.into()),
            _ => packed.get(body).map_or(Wanted::Either(len.into()), |digest| Wanted::Whole(*digest)),
        });
    }
    out
}

/// Splits the messages with the observer of a connection that carries one call.
fn observe(dir: Dir, encoding: Option<&str>, wire: &[u8], frame: usize, chunk: usize) -> Vec<Got> {
    let mut connection = ConnectionObserver::default();
    let mut call = vec![(":path", "/a.B/C"), ("content-type", "application/grpc")];
    let mut answer = vec![(":status", "200")];
    let side = if dir == Dir::Req { &mut call } else { &mut answer };
    side.extend(encoding.map(|name| ("grpc-encoding", name)));
    connection.feed(Dir::Req, PREFACE, &mut |_| ());
    for (dir, fields) in [(Dir::Req, &call), (Dir::Resp, &answer)] {
        connection.feed(dir, &http2_frame(1, 4, 1, &block(fields)), &mut |_| ());
    }
    let (mut got, mut open) = (Vec::new(), Digest::default());
    // The length of a frame has 24 bits.
    for data in wire.chunks(frame.min(0xff_ffff)) {
        for bytes in http2_frame(0, 0, 1, data).chunks(chunk) {
            connection.feed(dir, bytes, &mut |event| match event {
                Event::Data { bytes, .. } => open.update(bytes),
                Event::Message { .. } => got.push(Got::Whole(std::mem::take(&mut open).value())),
                Event::Lost { bytes, .. } => {
                    open = Digest::default();
                    got.push(Got::Lost(bytes));
                }
                other => panic!("DATA made {other:?}"),
            });
        }
    }
    got
}

/// Returns a header block of literals without indexing.
fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in fields {
        out.push(0);
        for text in [name, value] {
            out.push(text.len() as u8);
            out.extend_from_slice(text.as_bytes());
        }
    }
    out
}
