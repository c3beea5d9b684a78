//! Small inputs that decode to gigabytes: a connection costs the tap a bounded amount of memory.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread::JoinHandle;

use xdscope_wire::pb::put_len_field;

use crate::support::bombs::{self, BOMB_ENTRIES, CLUSTER, gzip};
use crate::support::raw_h2::{PREFACE, ads_headers, field, frame, message, put_field};
use crate::support::tap::Tap;
use crate::support::wait::{ANALYSIS_PATIENCE, wait_within};

/// Most memory of a tap before its first push. The program file takes 16 MB more.
const MAX_IDLE: usize = 32 << 20;
/// `--memory` of the taps, and what a connection may cost beyond it.
const BUDGET: usize = 64 << 20;
const MAX_EXTRA: usize = 64 << 20;

/// Compresses with zstd. A reader needs `1 << window_log` bytes.
fn zstd(window_log: u32, bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).expect("an encoder");
    encoder.window_log(window_log).expect("a window");
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
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

/// Returns a request for clusters. The output of a tap has the name of its node at once.
fn request_of(node: &str) -> Vec<u8> {
    let mut request = field(4, CLUSTER);
    put_len_field(&mut request, 2, &field(1, node));
    request
}

/// Sends `bytes` through a tap, then an ordinary request on a connection of its
/// own. Returns the memory above that of the idle tap, and the output of `info -o jsonl`.
fn attack(folder: &Path, attack: &[u8]) -> (usize, String) {
    let (server, reader) = sink();
    let tap = Tap::start(folder, server, &["--memory", "64MB"]);
    let idle = tap.peak_memory();
    let connect = || TcpStream::connect(tap.address()).expect("a connection");
    let (mut client, mut other) = (connect(), connect());
    let start = [PREFACE, &frame(4, 0, 0, &[])].concat();
    client.write_all(attack).expect("the tap reads");
    let request = request_of("last-client");
    let last = [&start[..], &frame(1, 4, 1, &ads_headers(None)), &message(1, false, &request)].concat();
    other.write_all(&last).expect("the tap reads");
    let seen = wait_within(ANALYSIS_PATIENCE, || tap.log().contains("last-client").then_some(()));
    assert!(seen.is_some(), "the last request: {}", tap.log());
    let used = tap.peak_memory().saturating_sub(idle);
    drop((client, other));
    assert_eq!(reader.join().expect("a reader"), attack.len() + last.len(), "the server gets every byte");
    (used, tap.stop().text("info", &["-o", "jsonl"]))
}

/// A tap that meets no types and no large push holds neither their descriptors nor their buffers.
///
/// The first request comes after everything that the tap prepares at its start.
#[test]
fn tap_with_one_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let (server, _reader) = sink();
    let tap = Tap::start(folder.path(), server, &[]);
    let mut client = TcpStream::connect(tap.address()).expect("a connection");
    let request = request_of("only-client");
    let start = [PREFACE, &frame(4, 0, 0, &[]), &frame(1, 4, 1, &ads_headers(None))].concat();
    client.write_all(&[start, message(1, false, &request)].concat()).expect("the tap reads");
    let seen = wait_within(ANALYSIS_PATIENCE, || tap.log().contains("only-client").then_some(()));
    assert!(seen.is_some(), "the request: {}", tap.log());
    let used = tap.own_memory();
    assert!(used < MAX_IDLE, "{used} bytes");
}

/// Checks the frames of a connection.
#[track_caller]
fn check(frames: &[u8], what: Option<&str>) {
    check_bytes(&bombs::connection(frames), what);
}

#[track_caller]
fn check_bytes(bytes: &[u8], what: Option<&str>) {
    let folder = tempfile::tempdir().expect("a folder");
    let (used, info) = attack(folder.path(), bytes);
    assert!(used < BUDGET + MAX_EXTRA, "{} bytes cost {used}", bytes.len());
    if let Some(what) = what {
        assert!(info.contains(&format!("\"what\":\"{what}\"")), "{info}");
    }
}

#[test]
fn names_of_one_byte() {
    check(&bombs::names(), Some("names"));
}

#[test]
fn resources_without_content() {
    // Field 2 of a request is its node, so each entry is a node without content.
    check(&bombs::compressed(&[0x12, 0].repeat(BOMB_ENTRIES)), None);
}

#[test]
fn unknown_fields() {
    check(&bombs::unknown_fields(), Some("size"));
}

#[test]
fn references_to_a_long_header_field() {
    check(&bombs::header_references(), Some("headers"));
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

/// A flood beyond the spool costs a bounded amount of memory, and does not keep the request of another
/// client out of the recording.
#[test]
fn header_blocks_beyond_the_spool() {
    const BLOCKS: u32 = 12_000;
    let folder = tempfile::tempdir().expect("a folder");
    let (server, reader) = sink();
    let limits = ["--memory", "64MB", "--spool", "20MB", "--drain", "3s"];
    let tap = Tap::start(folder.path(), server, &limits);
    let idle = tap.peak_memory();
    let connect = || TcpStream::connect(tap.address()).expect("a connection");
    let (mut client, mut other) = (connect(), connect());
    let start = [PREFACE, &frame(4, 0, 0, &[])].concat();
    let mut block = ads_headers(None);
    put_field(&mut block, true, "x-long", &"v".repeat(3_900));
    client.write_all(&[&start[..], &frame(1, 4, 1, &block)].concat()).expect("the tap reads");
    let references = [ads_headers(None), vec![0xbe; 15_000]].concat();
    for n in 1..=BLOCKS {
        let stream = 1 + 2 * n;
        let reset = frame(3, 0, stream, &[0, 0, 0, 8]);
        client.write_all(&[frame(1, 4, stream, &references), reset].concat()).expect("the tap reads");
    }
    let request =
        [field(2, &String::from_utf8(field(1, "other-client")).unwrap()), field(4, CLUSTER)].concat();
    let request = [&start[..], &frame(1, 4, 1, &ads_headers(None)), &message(1, false, &request)].concat();
    other.write_all(&request).expect("the tap reads");
    drop((client, other));
    reader.join().expect("the server gets all bytes");
    let used = tap.peak_memory().saturating_sub(idle);
    assert!(used < BUDGET + MAX_EXTRA, "the flood costs {used}");
    let info = tap.stop().text("info", &["-o", "jsonl"]);
    assert!(info.contains("other-client"), "{info}");
}

#[test]
fn streams_that_stay_open() {
    check(&bombs::open_streams(), Some("streams"));
}

#[test]
fn messages_that_never_end() {
    check(&bombs::unfinished_messages(100), None);
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

#[test]
fn names_in_zstd() {
    let names = [field(4, CLUSTER), field(3, "a").repeat(20 << 20)].concat();
    let bomb = zstd(20, &names);
    assert!(bomb.len() < 100_000, "{}", bomb.len());
    check(&[frame(1, 4, 1, &ads_headers(Some("zstd"))), message(1, true, &bomb)].concat(), Some("names"));
}

#[test]
fn zstd_with_a_large_window() {
    // Both messages need 128 MB before their first byte can be read.
    let bomb = zstd(27, &[field(4, CLUSTER), field(3, "a").repeat(50 << 20)].concat());
    let mut bytes = frame(1, 4, 1, &ads_headers(Some("zstd")));
    bytes.extend(message(1, true, &bomb));
    bytes.extend(frame(1, 4, 3, &ads_headers(Some("zstd"))));
    bytes.extend(message(3, true, &bomb));
    check(&bytes, None);
}

#[test]
fn zstd_messages_that_never_end() {
    // The first bytes of a message that is too random to compress.
    let mut state = 7_u32;
    let mut random = || {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        (state >> 16) as u8
    };
    let start = zstd(22, &(0..300_000).map(|_| random()).collect::<Vec<u8>>());
    let mut bytes = Vec::new();
    for stream in (1..400_u32).step_by(2) {
        bytes.extend(frame(1, 4, stream, &ads_headers(Some("zstd"))));
        let message = [&[1, 1, 0, 0, 0][..], start.get(..200_000).expect("bytes")].concat();
        bytes.extend(message.chunks(16 << 10).flat_map(|part| frame(0, 0, stream, part)));
    }
    check(&bytes, None);
}

#[test]
fn node_of_empty_features() {
    check(&bombs::empty_features(), None);
}

#[test]
fn error_of_empty_details() {
    let mut request = field(4, CLUSTER);
    put_len_field(&mut request, 6, &[0x1a, 0].repeat(4 << 20));
    check(&bombs::compressed(&request), None);
}

/// Returns a REST poll with this body.
fn poll(body: &str) -> Vec<u8> {
    let head = "POST /v3/discovery:clusters HTTP/1.1\r\nHost: cp\r\nContent-Length:";
    format!("{head} {}\r\n\r\n{body}", body.len()).into_bytes()
}

#[test]
fn poll_of_many_values() {
    let body = format!("{{\"node\": {{\"id\": \"n\"}}, \"resource_names\": [{}0]}}", "[0],".repeat(3 << 20));
    check_bytes(&poll(&body), Some("size"));
}
