//! Small inputs that decode to gigabytes: a connection costs the tap a bounded amount of memory.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread::JoinHandle;

use flate2::{Compression, write::GzEncoder};

use crate::support::tap::Tap;
use crate::support::wait::wait_for;

/// `--memory` of the taps, and what a connection may cost beyond it.
const BUDGET: usize = 64 << 20;
const MAX_EXTRA: usize = 64 << 20;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const ADS: &str = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";
const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    out.extend([kind, flags]);
    out.extend(stream.to_be_bytes());
    out.extend(payload);
    out
}

/// Appends an HPACK integer with a prefix of `bits` bits.
fn put_integer(out: &mut Vec<u8>, first: u8, bits: u32, mut value: usize) {
    let most = (1 << bits) - 1;
    if value < most {
        return out.push(first | value as u8);
    }
    out.push(first | most as u8);
    value -= most;
    while value >= 128 {
        out.push(value as u8 | 128);
        value /= 128;
    }
    out.push(value as u8);
}

/// Appends a literal header field; `indexed` adds it to the table.
fn put_field(out: &mut Vec<u8>, indexed: bool, name: &str, value: &str) {
    out.push(if indexed { 0x40 } else { 0 });
    for text in [name, value] {
        put_integer(out, 0, 7, text.len());
        out.extend(text.as_bytes());
    }
}

/// Returns the header block of an ADS request.
fn ads_headers(encoding: Option<&str>) -> Vec<u8> {
    let mut block = Vec::new();
    let fixed = [(":method", "POST"), (":scheme", "http"), (":path", ADS), (":authority", "cp.test")];
    for (name, value) in fixed.into_iter().chain([("content-type", "application/grpc")]) {
        put_field(&mut block, false, name, value);
    }
    if let Some(encoding) = encoding {
        put_field(&mut block, false, "grpc-encoding", encoding);
    }
    block
}

/// Returns the frames of a gRPC message.
fn message(stream: u32, compressed: bool, bytes: &[u8]) -> Vec<u8> {
    let prefix = [&[u8::from(compressed)][..], &(bytes.len() as u32).to_be_bytes()].concat();
    let body = [&prefix, bytes].concat();
    body.chunks(16 << 10).flat_map(|part| frame(0, 0, stream, part)).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn field(number: u8, text: &str) -> Vec<u8> {
    [&[number << 3 | 2, text.len() as u8], text.as_bytes()].concat()
}

/// A server that reads two connections to their end and returns the number of bytes.
fn sink() -> (SocketAddr, JoinHandle<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let read =
        |mut stream: TcpStream| std::io::copy(&mut stream, &mut std::io::sink()).expect("bytes") as usize;
    let reader = std::thread::spawn(move || {
        let connections: Vec<_> =
            listener.incoming().take(2).map(|stream| stream.expect("a stream")).collect();
        let readers = connections.into_iter().map(|stream| std::thread::spawn(move || read(stream)));
        readers.collect::<Vec<_>>().into_iter().map(|reader| reader.join().expect("bytes")).sum()
    });
    (address, reader)
}

/// Sends `bytes` behind the preface through a tap, then an ordinary request on a connection of its
/// own. Returns the memory above that of the idle tap, and the output of `info -o jsonl`.
fn attack(folder: &Path, bytes: &[u8]) -> (usize, String) {
    let (server, reader) = sink();
    let tap = Tap::start(folder, server, &["--memory", "64MB"]);
    let idle = tap.peak_memory();
    let connect = || TcpStream::connect(tap.address()).expect("a connection");
    let (mut client, mut other) = (connect(), connect());
    let start = [PREFACE, &frame(4, 0, 0, &[])].concat();
    let attack = [&start, bytes].concat();
    client.write_all(&attack).expect("the tap reads");
    let request = [field(4, CLUSTER), field(3, "after-the-attack")].concat();
    let last = [&start[..], &frame(1, 4, 1, &ads_headers(None)), &message(1, false, &request)].concat();
    other.write_all(&last).expect("the tap reads");
    wait_for("the last request", || tap.log().contains("after-the-attack").then_some(()));
    let used = tap.peak_memory().saturating_sub(idle);
    drop((client, other));
    assert_eq!(reader.join().expect("a reader"), attack.len() + last.len(), "the server gets every byte");
    (used, tap.stop().text("info", &["-o", "jsonl"]))
}

#[track_caller]
fn check(bytes: &[u8], what: Option<&str>) {
    let folder = tempfile::tempdir().expect("a folder");
    let (used, info) = attack(folder.path(), bytes);
    assert!(used < BUDGET + MAX_EXTRA, "{} bytes cost {used}", bytes.len());
    if let Some(what) = what {
        assert!(info.contains(&format!("\"what\":\"{what}\"")), "{info}");
    }
}

#[test]
fn names_of_one_byte() {
    let names = field(3, "a").repeat(20 << 20);
    let bomb = gzip(&[field(4, CLUSTER), names].concat());
    assert!(bomb.len() < 100_000, "{}", bomb.len());
    check(&[frame(1, 4, 1, &ads_headers(Some("gzip"))), message(1, true, &bomb)].concat(), Some("names"));
}

#[test]
fn resources_without_content() {
    let entries = [0x12, 0].repeat(20 << 20);
    let bomb = gzip(&entries);
    // Field 2 of a request is its node, so each entry is a node without content.
    check(&[frame(1, 4, 1, &ads_headers(Some("gzip"))), message(1, true, &bomb)].concat(), None);
}

#[test]
fn unknown_fields() {
    let bomb = gzip(&[0xf8, 0x01, 0x00].repeat(20 << 20));
    check(&[frame(1, 4, 1, &ads_headers(Some("gzip"))), message(1, true, &bomb)].concat(), Some("size"));
}

#[test]
fn references_to_a_long_header_field() {
    let mut block = ads_headers(None);
    put_field(&mut block, true, "x-long", &"v".repeat(3_900));
    let mut bytes = frame(1, 4, 1, &block);
    // Each byte of a block stands for the long field.
    for stream in (3..70_u32).step_by(2) {
        let block = [ads_headers(None), vec![0xbe; 16_000]].concat();
        bytes.extend(frame(1, 4, stream, &block));
    }
    assert!(bytes.len() < 600_000);
    check(&bytes, Some("headers"));
}

#[test]
fn references_in_many_streams() {
    let mut block = ads_headers(None);
    put_field(&mut block, true, "x-long", &"v".repeat(3_900));
    let mut bytes = frame(1, 4, 1, &block);
    for stream in (3..4_000_u32).step_by(2) {
        bytes.extend(frame(1, 4, stream, &[ads_headers(None), vec![0xbe; 16]].concat()));
        bytes.extend(frame(3, 0, stream, &[0, 0, 0, 8]));
    }
    check(&bytes, Some("headers"));
}

#[test]
fn streams_that_stay_open() {
    let streams = (1..60_000_u32).step_by(2);
    let bytes: Vec<u8> = streams.flat_map(|stream| frame(1, 4, stream, &ads_headers(None))).collect();
    check(&bytes, Some("streams"));
}

#[test]
fn messages_that_never_end() {
    let mut bytes = Vec::new();
    let part = vec![b'x'; 2 << 20];
    for stream in (1..200_u32).step_by(2) {
        bytes.extend(frame(1, 4, stream, &ads_headers(None)));
        // A type URL of 30 MB, of which 2 MB arrive.
        let start = [&[0x22, 0x80, 0x80, 0x80, 0x0f][..], &part].concat();
        let message = [&[0, 2, 0, 0, 0][..], &start].concat();
        bytes.extend(message.chunks(16 << 10).flat_map(|part| frame(0, 0, stream, part)));
    }
    check(&bytes, None);
}

#[test]
fn compressed_messages_that_never_end() {
    let start = gzip(&[7; 100_000]);
    let mut bytes = Vec::new();
    for stream in (1..4_000_u32).step_by(2) {
        bytes.extend(frame(1, 4, stream, &ads_headers(Some("gzip"))));
        let message = [&[1, 1, 0, 0, 0][..], &start].concat();
        bytes.extend(frame(0, 0, stream, &message));
    }
    check(&bytes, None);
}
