//! Properties that hold for any input, for the libFuzzer targets and for the test that replays
//! their corpora.
//!
//! Each check parses its input: a few bytes say how the rest is divided and wrapped, so that a
//! fuzzer gets past checksums, prefixes and compression.
#![allow(dead_code, unused_imports, reason = "each target is a crate that uses one check")]

mod arrow_script;
mod bootstrap;
#[allow(clippy::duplicate_mod, reason = "of the tests that replay the corpora it is a part too")]
#[path = "../../it/support/capture.rs"]
mod capture;
mod capture_reader;
mod constraints;
mod descriptor_set;
mod filter;
mod frame_splitter;
mod h2_observer;
mod header_block;
mod message_scan;
mod packet_headers;
mod raw_jsonl;
mod recording_reader;
mod xdstp_names;

pub use arrow_script::arrow_script;
pub use bootstrap::bootstrap;
pub use capture_reader::capture_reader;
pub use constraints::constraints;
pub use descriptor_set::descriptor_set;
pub use filter::filter;
pub use frame_splitter::frame_splitter;
pub use h2_observer::h2_observer;
pub use header_block::header_block;
pub use message_scan::message_scan;
pub use packet_headers::packet_headers;
pub use raw_jsonl::raw_jsonl;
pub use recording_reader::recording_reader;
pub use xdstp_names::xdstp_names;

use std::hash::Hasher;

use twox_hash::XxHash3_64;

/// Reads the parts of a fuzzer's input; beyond the end everything is zero or empty.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn byte(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or(0)
    }

    fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        taken
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Length and hash of bytes that arrive in pieces, because a few compressed bytes may expand to
/// many.
#[derive(Clone, Default)]
struct Digest(u64, XxHash3_64);

impl Digest {
    fn of(bytes: &[u8]) -> (u64, u64) {
        let mut digest = Digest::default();
        digest.update(bytes);
        digest.value()
    }

    fn update(&mut self, bytes: &[u8]) {
        self.0 += bytes.len() as u64;
        self.1.write(bytes);
    }

    fn value(&self) -> (u64, u64) {
        (self.0, self.1.finish())
    }
}

/// A frame of HTTP/2.
fn http2_frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() as u32).to_be_bytes();
    [&len[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// The HTTP/2 client connection preface.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
