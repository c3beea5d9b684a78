//! Floods against an armed tap: they cost the connection that floods, and no other.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::bombs::CLUSTER;
use crate::support::raw_h2::{PREFACE, ads_headers, field, frame, message};
use crate::support::tap::Tap;
use crate::support::wait::{PATIENCE, wait_for};

/// Time without growth after which the memory stays.
const SETTLE_TIME: Duration = Duration::from_secs(1);

/// `--memory` of the taps, and what floods may cost beyond it.
const BUDGET: usize = 64 << 20;
const MAX_EXTRA: usize = 64 << 20;

/// The payload of the PING behind a flood.
const LAST: &[u8; 8] = b"last-one";

/// The longest time in which another client may get no answer. A plain tap on an idle machine takes
/// 65 ms, and an armed one took four seconds.
const MAX_GAP: Duration = Duration::from_secs(2);

fn arguments(fault: &str) -> [&str; 4] {
    ["--memory", "64MB", "--fault", fault]
}

fn start() -> Vec<u8> {
    [PREFACE, &frame(4, 0, 0, &[]), &frame(1, 4, 1, &ads_headers(None))].concat()
}

/// Streams on which a client makes the server send a reset ("made you reset", CVE-2025-8671).
pub fn made_you_reset(streams: u32) -> Vec<u8> {
    let mut bytes = start();
    for stream in (1..=streams).map(|n| 1 + 2 * n) {
        bytes.extend(frame(1, 4, stream, &ads_headers(None)));
        bytes.extend(frame(8, 0, stream, &[0; 4]));
    }
    bytes.extend(frame(6, 0, 0, LAST));
    bytes
}

/// Starts a server that handles each connection in a thread.
fn server(handle: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let handle = handle.clone();
            thread::spawn(move || handle(stream));
        }
    });
    address
}

/// Reads to the end. Says when the PING behind the flood arrives.
fn silent_server() -> (SocketAddr, Receiver<()>) {
    let (arrived, last) = channel();
    let address = server(move |mut stream: TcpStream| {
        let _ = stream.write_all(&frame(4, 0, 0, &[]));
        let (mut buffer, mut tail) = (vec![0; 64 << 10], Vec::new());
        while let Ok(read @ 1..) = stream.read(&mut buffer) {
            tail.extend_from_slice(&buffer[..read]);
            if tail.ends_with(LAST) {
                let _ = arrived.send(());
            }
            tail.drain(..tail.len().saturating_sub(LAST.len()));
        }
    });
    (address, last)
}

/// Calls `with` for each frame, with its kind, stream and payload.
fn each_frame(stream: &mut TcpStream, skip: usize, mut with: impl FnMut(u8, u32, &[u8]) -> bool) {
    let (mut buffer, mut bytes, mut skip) = (vec![0; 64 << 10], Vec::new(), skip);
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..read]);
        let mut at = skip.min(bytes.len());
        skip -= at;
        while let Some([a, b, c, kind, _, stream @ ..]) = bytes[at..].first_chunk::<9>() {
            let len = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            let Some(payload) = bytes.get(at + 9..at + 9 + len) else { break };
            if !with(*kind, u32::from_be_bytes(*stream), payload) {
                return;
            }
            at += 9 + len;
        }
        bytes.drain(..at);
    }
}

/// Answers PINGs, and resets streams that widen their window by nothing.
fn resetting_server() -> SocketAddr {
    server(|mut stream: TcpStream| {
        let mut out = stream.try_clone().expect("a second handle");
        let _ = out.write_all(&frame(4, 0, 0, &[]));
        each_frame(&mut stream, PREFACE.len(), |kind, number, payload| {
            let answer = match kind {
                6 => frame(6, 1, 0, payload),
                8 if number > 0 && payload == [0; 4] => frame(3, 0, number, &[0, 0, 0, 1]),
                _ => return true,
            };
            out.write_all(&answer).is_ok()
        });
    })
}

#[test]
fn cost_of_streams_is_linear() {
    let cost = |streams: u32| {
        let folder = tempfile::tempdir().expect("a folder");
        let (server, last) = silent_server();
        let tap = Tap::start(folder.path(), server, &arguments("type:cds kind:push => drop"));
        let mut client = TcpStream::connect(tap.address()).expect("a connection");
        let before = tap.relay_ticks();
        client.write_all(&made_you_reset(streams)).expect("the tap reads");
        last.recv_timeout(PATIENCE).expect("the server gets all frames");
        tap.relay_ticks() - before
    };
    let (one, two) = (cost(10_000), cost(20_000));
    // Ticks are 10 ms.
    assert!(two <= one * 5 / 2 + 5, "{one} ticks for 10,000 streams and {two} for 20,000");
}

#[test]
fn flood_of_streams_does_not_hold_up_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let tap = Tap::start(folder.path(), resetting_server(), &arguments("type:cds kind:push => drop"));
    let connect = || TcpStream::connect(tap.address()).expect("a connection");
    let mut other = connect();
    other.write_all(&[PREFACE, &frame(4, 0, 0, &[])].concat()).expect("the tap reads");
    let mut out = other.try_clone().expect("a second handle");
    let (arrived, last) = channel();
    for _ in 0..4 {
        let (mut client, arrived) = (connect(), arrived.clone());
        let mut reading = client.try_clone().expect("a second handle");
        thread::spawn(move || client.write_all(&made_you_reset(20_000)));
        thread::spawn(move || {
            each_frame(&mut reading, 0, |kind, _, payload| !(kind == 6 && payload == LAST));
            let _ = arrived.send(());
        });
    }
    let (mut ended, mut longest, mut since) = (0, Duration::ZERO, Instant::now());
    out.write_all(&frame(6, 0, 0, b"a-client")).expect("the tap reads");
    each_frame(&mut other, 0, |kind, _, _| {
        if kind != 6 {
            return true;
        }
        longest = longest.max(since.elapsed());
        ended += last.try_iter().count();
        since = Instant::now();
        ended < 4 && out.write_all(&frame(6, 0, 0, b"a-client")).is_ok()
    });
    assert_eq!(ended, 4, "all floods arrive");
    assert!(longest < MAX_GAP, "{longest:?} without an answer");
}

/// Waits until the analysis has come so far that the memory does not grow any more, and returns the
/// highest memory.
fn settled_peak(tap: &Tap) -> usize {
    let mut last = (0, Instant::now());
    wait_for("the memory to stay", || {
        let now = tap.peak_memory();
        if now > last.0 {
            last = (now, Instant::now());
        }
        (last.1.elapsed() > SETTLE_TIME).then_some(last.0)
    })
}

/// Sends the same bytes on several connections. Returns the memory above that of the idle tap.
fn memory_of(fault: &str, connections: usize, bytes: &[u8]) -> usize {
    let folder = tempfile::tempdir().expect("a folder");
    let wide = [frame(4, 0, 0, &[0, 4, 0x7f, 0xff, 0xff, 0xff]), frame(8, 0, 0, &[0x7f, 0, 0, 0])].concat();
    let address = server(move |mut stream: TcpStream| {
        let _ = stream.write_all(&wide);
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
    });
    let tap = Tap::start(folder.path(), address, &arguments(fault));
    let idle = tap.peak_memory();
    let clients: Vec<TcpStream> = thread::scope(|scope| {
        let flood = |_| {
            scope.spawn(|| {
                let mut client = TcpStream::connect(tap.address()).expect("a connection");
                client.set_write_timeout(Some(Duration::from_secs(2))).expect("a timeout");
                // The tap may slow a client that floods, or end its connection.
                if let Err(error) = client.write_all(bytes) {
                    let is_limited = [
                        ErrorKind::WouldBlock,
                        ErrorKind::TimedOut,
                        ErrorKind::ConnectionReset,
                        ErrorKind::BrokenPipe,
                    ];
                    assert!(is_limited.contains(&error.kind()), "{error}");
                }
                client
            })
        };
        let floods: Vec<_> = (0..connections).map(flood).collect();
        floods.into_iter().map(|flood| flood.join().expect("a client")).collect()
    });
    let used = settled_peak(&tap).saturating_sub(idle);
    drop(clients);
    tap.kill();
    used
}

#[track_caller]
fn check(fault: &str, connections: usize, bytes: &[u8]) {
    let used = memory_of(fault, connections, bytes);
    assert!(used < BUDGET + MAX_EXTRA, "{} bytes on {connections} connections cost {used}", bytes.len());
}

#[test]
fn delayed_requests_with_many_names() {
    let mut request = field(4, CLUSTER);
    (0..3_000).for_each(|n| request.extend(field(3, &format!("a{n:05}"))));
    let bytes = [start(), message(1, false, &request).repeat(300)].concat();
    check("type:cds => delay 60s", 8, &bytes);
}

/// Each stream has facts of its own in decoder, analysis and rules.
#[test]
fn streams_with_one_request_each() {
    let request = field(4, CLUSTER);
    let mut bytes = start();
    for stream in (1..15_000).map(|n| 1 + 2 * n) {
        bytes.extend(frame(1, 4, stream, &ads_headers(None)));
        bytes.extend(message(stream, false, &request));
    }
    check("type:cds => delay 60s", 8, &bytes);
}

#[test]
fn short_frames_before_the_first_request() {
    for short in [frame(0, 0, 1, &[]), frame(8, 0, 1, &[0, 0, 0, 1])] {
        check("type:cds => drop", 8, &[start(), short.repeat(500_000)].concat());
    }
}

#[test]
fn long_frames_that_are_read_completely() {
    for kind in [1, 4] {
        let long = frame(kind, 0, 0, &vec![0; (16 << 20) - 1]);
        check("type:cds => drop", 12, &[start(), long[..15 << 20].to_vec()].concat());
    }
}
