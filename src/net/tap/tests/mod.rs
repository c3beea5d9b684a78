mod armed;
mod headers;
mod tls;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

use super::lane::Lane;
use super::*;
use xdscope_sources::observe::{ConnId, ConnectStep, TapCopy, TapEvent};
use xdscope_wire::event::{Dir, Time};

const TIMEOUT: Duration = Duration::from_secs(10);

/// The first bytes of an HTTP/2 client.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Returns an HTTP/2 frame.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() as u32).to_be_bytes();
    [&len[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A tap without TLS.
fn config(listen: Address, upstream: Address) -> Config {
    let maps = vec![(listen, upstream)];
    Config {
        maps,
        queue: Some(MAX_QUEUED_BYTES),
        connect_timeout: TIMEOUT,
        tls: Tls::default(),
        changes: None,
        arms: None,
    }
}

fn tap(upstream: &str, queue: Option<usize>) -> Tap {
    tap_with(upstream, queue, None)
}

fn tap_with(upstream: &str, queue: Option<usize>, changes: Option<Arc<Changes>>) -> Tap {
    let plain = config("127.0.0.1:0".parse().unwrap(), upstream.parse().unwrap());
    Tap::start(Config { queue, changes, ..plain }).unwrap()
}

fn dial(tap: &Tap) -> TcpStream {
    let stream = TcpStream::connect(tap.listening[0].to_string()).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream
}

/// Returns the copies up to the close of the first connection.
fn drain(tap: &Tap) -> Vec<TapCopy> {
    let copies = tap.copies.as_ref().unwrap();
    let mut all: Vec<TapCopy> = Vec::new();
    let over = |all: &[TapCopy]| {
        all.iter().any(|c| matches!(c.event, TapEvent::Closed { .. } | TapEvent::Failed { .. }))
    };
    for _ in 0..100 {
        let mut some = Vec::new();
        copies.drain(&mut some, TIMEOUT);
        all.append(&mut some);
        if over(&all) {
            break;
        }
    }
    all
}

fn bytes(all: &[TapCopy], wanted: Dir) -> Vec<u8> {
    let mut out = Vec::new();
    for copied in all {
        if let TapEvent::Bytes { dir, bytes } = &copied.event
            && *dir == wanted
        {
            out.extend_from_slice(bytes);
        }
    }
    out
}

/// Starts a server that reads to the end, answers with the bytes reversed, and closes.
fn reverser() -> (String, std::thread::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut got = Vec::new();
        stream.read_to_end(&mut got).unwrap();
        let mut back = got.clone();
        back.reverse();
        stream.write_all(&back).unwrap();
        got
    });
    (address, thread)
}

fn noise(len: usize) -> Vec<u8> {
    let mut state = 12345u32;
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .collect()
}

/// Sends bytes, half-closes, and returns the answer.
fn exchange(mut stream: TcpStream, bytes: &[u8]) -> Vec<u8> {
    let mut writer = stream.try_clone().unwrap();
    let out = bytes.to_vec();
    let thread = std::thread::spawn(move || {
        writer.write_all(&out).unwrap();
        writer.shutdown(Shutdown::Write).unwrap();
    });
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    thread.join().unwrap();
    got
}

#[test]
fn relays_and_copies_bytes_and_half_closes() {
    let (upstream, server) = reverser();
    let tap = tap(&upstream, Some(MAX_QUEUED_BYTES));
    let sent = noise(3_000_000);
    let got = exchange(dial(&tap), &sent);
    let mut reversed = sent.clone();
    reversed.reverse();
    assert!(got == reversed, "the client got what the server sent");
    assert!(server.join().unwrap() == sent, "the server got what the client sent");
    let all = drain(&tap);
    assert!(bytes(&all, Dir::Req) == sent);
    assert!(bytes(&all, Dir::Resp) == reversed);
    assert!(matches!(all[0].event, TapEvent::Opened { .. }));
    assert!(matches!(all.last().unwrap().event, TapEvent::Closed { by: None, error: None }));
    assert!(all.windows(2).all(|pair| pair[0].conn == pair[1].conn));
    let (p50, p99) = tap.counters.added_delay.percentiles().expect("measured delays");
    assert!(p50 <= p99);
}

#[test]
fn copies_count_as_backlog_until_they_are_analysed() {
    let copies = CopyQueue::new(1000);
    let bytes = || TapEvent::Bytes { dir: Dir::Req, bytes: vec![0; 10].into() };
    copies.push(ConnId(1), Time::ZERO, bytes());
    let one = bytes().memory() as u64;
    assert!(one > 10, "the queue holds more than the bytes");
    assert_eq!(copies.backlog(), one);
    copies.drain(&mut Vec::new(), TIMEOUT);
    copies.push(ConnId(1), Time::ZERO, bytes());
    assert_eq!(copies.backlog(), 2 * one);
    copies.decoded(4);
    assert_eq!(copies.backlog(), 2 * one - 4);
}

#[test]
fn counts_lost_copies_and_relays_all_bytes() {
    let (upstream, server) = reverser();
    let tap = tap(&upstream, Some(100_000));
    let sent = noise(2_000_000);
    let got = exchange(dial(&tap), &sent);
    assert_eq!(got.len(), sent.len());
    assert!(server.join().unwrap() == sent);
    let all = drain(&tap);
    let (mut lost, mut kept) = (0, 0);
    for copied in &all {
        match &copied.event {
            TapEvent::Lost { bytes, .. } => lost += bytes,
            TapEvent::Bytes { bytes, .. } => kept += bytes.len() as u64,
            _ => {}
        }
    }
    assert!(lost > 0, "the queue was too small for this");
    assert_eq!(lost + kept, 2 * sent.len() as u64, "every byte is either kept or counted");
}

#[test]
fn queue_filled_by_others_takes_copies_of_slow_connection() {
    let copies = CopyQueue::new(1 << 20);
    let mut fast = [1, 2].map(|conn| Lane::new(ConnId(conn), Dir::Req));
    for _ in 0..1000 {
        for lane in &mut fast {
            copies.push_bytes(lane, Time::ZERO, vec![0; 16 << 10].into());
        }
    }
    let mut slow = Lane::new(ConnId(3), Dir::Req);
    copies.push_bytes(&mut slow, Time::ZERO, vec![1; 1000].into());
    let mut all = Vec::new();
    copies.drain(&mut all, TIMEOUT);
    let last = all.last().unwrap();
    assert!(matches!(&last.event, TapEvent::Bytes { bytes, .. } if bytes.len() == 1000), "{last:?}");
    let losses = all.iter().filter(|copy| matches!(copy.event, TapEvent::Lost { .. })).count();
    assert!((1..=2).contains(&losses), "{losses} events for the losses of two directions");
    let sent: u64 = all.iter().filter_map(|copy| copy.event.forwarded()).map(|(_, bytes)| bytes).sum();
    assert_eq!(sent, 2 * 1000 * (16 << 10) + 1000, "every byte is either kept or counted");
}

#[test]
fn counts_bytes_without_decoding() {
    let (upstream, server) = reverser();
    let tap = tap(&upstream, None);
    let sent = noise(100_000);
    assert_eq!(exchange(dial(&tap), &sent).len(), sent.len());
    server.join().unwrap();
    assert!(tap.copies.is_none());
    assert_eq!(tap.connections(), 1);
    assert_eq!(tap.counters.bytes_in.load(Ordering::Relaxed), 100_000);
}

#[test]
fn reports_the_step_when_the_upstream_is_down() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let tap = tap(&address, Some(MAX_QUEUED_BYTES));
    let mut got = Vec::new();
    // Closed orderly or by a reset: the tap answers nothing.
    let _ = dial(&tap).read_to_end(&mut got);
    assert!(got.is_empty());
    let all = drain(&tap);
    let failed = all.iter().find_map(|c| match &c.event {
        TapEvent::Failed { step, error } => Some((*step, error.clone())),
        _ => None,
    });
    let (step, error) = failed.expect("a failed step");
    assert_eq!(step, ConnectStep::Connect);
    assert!(error.contains("refused"), "{error}");
    // The next attempt succeeds when the upstream is back.
    let listener = TcpListener::bind(&address).unwrap();
    let mut client = dial(&tap);
    client.write_all(b"hi").unwrap();
    let (mut server, _) = listener.accept().unwrap();
    let mut two = [0; 2];
    server.read_exact(&mut two).unwrap();
    assert_eq!(&two, b"hi");
}

#[test]
fn tells_unknown_names_from_refused_connections() {
    let tap = tap("no-such-host.invalid:1", Some(MAX_QUEUED_BYTES));
    let mut got = Vec::new();
    let _ = dial(&tap).read_to_end(&mut got);
    let all = drain(&tap);
    assert!(
        all.iter().any(|c| matches!(c.event, TapEvent::Failed { step: ConnectStep::Resolve, .. })),
        "{all:?}"
    );
}

#[test]
fn relays_resets() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let tap = tap(&listener.local_addr().unwrap().to_string(), Some(MAX_QUEUED_BYTES));
    let mut client = dial(&tap);
    // Closing with unread bytes makes the kernel send a reset.
    client.write_all(&noise(1000)).unwrap();
    let (server, _) = listener.accept().unwrap();
    let mut one = [0; 1];
    (&server).read_exact(&mut one).unwrap();
    drop(server);
    let error = client.read(&mut one).expect_err("a reset, not an end");
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    let all = drain(&tap);
    let closed = all.last().map(|c| format!("{:?}", c.event)).unwrap_or_default();
    assert!(closed.contains("Server"), "{closed}");
}

#[test]
fn connection_that_cannot_be_held_is_closed_by_hand() {
    use xdscope_engine::hold::HoldCommand;
    use xdscope_sources::peers::intercept::HoldOptions;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let desk = HoldDesk::new(HoldOptions::default());
    let arms = Arms {
        faults: SharedFaults::default(),
        desk: Some(desk.clone()),
        schema: xdscope_schema::Schema::builtin(),
        memory: 1 << 20,
    };
    let upstream = listener.local_addr().unwrap().to_string();
    let plain = config("127.0.0.1:0".parse().unwrap(), upstream.parse().unwrap());
    let tap = Tap::start(Config { arms: Some(arms), ..plain }).unwrap();
    let mut client = dial(&tap);
    let (mut server, _) = listener.accept().unwrap();
    client.write_all(b"hi").unwrap();
    let mut two = [0; 2];
    server.read_exact(&mut two).unwrap();
    desk.command(HoldCommand::Arm("type:cds".into())).unwrap();
    assert_eq!(desk.status().passing, 1);
    assert!(desk.status().can_cover_more());
    desk.command(HoldCommand::Reconnect).unwrap();
    assert_eq!(client.read(&mut two).unwrap(), 0, "an end, not a reset");
    let closed = drain(&tap).pop().map(|copied| copied.event);
    let Some(TapEvent::Closed { by: None, error: Some(error) }) = closed else { panic!("{closed:?}") };
    assert!(error.starts_with("closed by hand"), "{error}");
    assert!(!desk.status().can_cover_more());
    desk.command(HoldCommand::Disarm).unwrap();
    assert!(!desk.needs_memory(), "nothing is armed and nothing is held");
}

#[test]
fn relays_between_unix_sockets() {
    let dir = tempfile::tempdir().unwrap();
    let (up, down) = (dir.path().join("up.sock"), dir.path().join("down.sock"));
    let server = std::os::unix::net::UnixListener::bind(&up).unwrap();
    let tap = Tap::start(config(Address::Unix(down.clone()), Address::Unix(up))).unwrap();
    let mut client = std::os::unix::net::UnixStream::connect(&down).unwrap();
    client.write_all(b"over a path").unwrap();
    let (mut stream, _) = server.accept().unwrap();
    let mut got = [0; 11];
    stream.read_exact(&mut got).unwrap();
    assert_eq!(&got, b"over a path");
    drop(tap);
    assert!(!down.exists(), "the socket file goes with the tap");
}

#[test]
fn names_an_address_that_is_in_use() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let config = config(address.parse().unwrap(), "127.0.0.1:1".parse().unwrap());
    let error = Tap::start(config).err().expect("in use");
    assert!(error.to_string().contains(&address));
}
