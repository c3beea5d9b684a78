//! Small inputs that decode to much, as the bytes of a client's connection.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use xdscope_wire::pb::put_len_field;

use super::raw_h2::{PREFACE, ads_headers, field, frame, message, put_field};

/// Entries of a bomb. Each would cost 60 bytes and more: several times the limit.
pub const BOMB_ENTRIES: usize = 8 << 20;

pub const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// Returns a connection that begins properly and goes on with these frames.
pub fn connection(frames: &[u8]) -> Vec<u8> {
    [PREFACE, &frame(4, 0, 0, &[]), frames].concat()
}

/// Returns the frames of a stream with one message in gzip.
pub fn compressed(message_bytes: &[u8]) -> Vec<u8> {
    let bomb = gzip(message_bytes);
    assert!(bomb.len() < message_bytes.len() / 200, "{}", bomb.len());
    [frame(1, 4, 1, &ads_headers(Some("gzip"))), message(1, true, &bomb)].concat()
}

/// Names of one byte.
pub fn names() -> Vec<u8> {
    compressed(&[field(4, CLUSTER), field(3, "a").repeat(BOMB_ENTRIES)].concat())
}

/// A message of unknown fields.
pub fn unknown_fields() -> Vec<u8> {
    compressed(&[0xf8, 0x01, 0x00].repeat(20 << 20))
}

/// A node with empty features.
pub fn empty_features() -> Vec<u8> {
    let mut request = field(4, CLUSTER);
    put_len_field(&mut request, 2, &[0x52, 0].repeat(7 << 20));
    compressed(&request)
}

/// Header blocks of references to a long field: each byte of a block stands for the field.
pub fn header_references() -> Vec<u8> {
    let mut block = ads_headers(None);
    put_field(&mut block, true, "x-long", &"v".repeat(3_900));
    let mut bytes = frame(1, 4, 1, &block);
    for stream in (3..70_u32).step_by(2) {
        let block = [ads_headers(None), vec![0xbe; 16_000]].concat();
        bytes.extend(frame(1, 4, stream, &block));
    }
    assert!(bytes.len() < 600_000);
    bytes
}

/// Streams that stay open.
pub fn open_streams() -> Vec<u8> {
    (1..60_000_u32).step_by(2).flat_map(|stream| frame(1, 4, stream, &ads_headers(None))).collect()
}

/// Messages with a type URL of 30 MB, of which 2 MB arrive, on this many streams.
pub fn unfinished_messages(streams: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let part = vec![b'x'; 2 << 20];
    for stream in (0..streams).map(|i| 2 * i + 1) {
        bytes.extend(frame(1, 4, stream, &ads_headers(None)));
        let start = [&[0x22, 0x80, 0x80, 0x80, 0x0f][..], &part].concat();
        let message = [&[0, 2, 0, 0, 0][..], &start].concat();
        bytes.extend(message.chunks(16 << 10).flat_map(|part| frame(0, 0, stream, part)));
    }
    bytes
}
