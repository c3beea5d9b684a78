use proptest::prelude::*;

use super::*;
use crate::event::Code;

pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() as u32).to_be_bytes();
    [&len[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A header block of literals without indexing.
pub(super) fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in fields {
        assert!(name.len() < 127 && value.len() < 127);
        out.push(0);
        out.push(name.len() as u8);
        out.extend_from_slice(name.as_bytes());
        out.push(value.len() as u8);
        out.extend_from_slice(value.as_bytes());
    }
    out
}

fn request() -> Vec<u8> {
    block(&[
        (":method", "POST"),
        (":path", "/a.B/C"),
        (":authority", "cp"),
        ("content-type", "application/grpc"),
    ])
}

fn grpc(bytes: &[u8]) -> Vec<u8> {
    [&[0][..], &(bytes.len() as u32).to_be_bytes(), bytes].concat()
}

/// The events as text, with the bytes of each message joined.
#[derive(Default)]
struct Seen {
    words: Vec<String>,
    open: BTreeMap<(u32, Dir), Vec<u8>>,
}

impl Seen {
    fn take(&mut self, event: Event<'_>) {
        let word = match event {
            Event::Open { stream, head } => format!("{stream} open {} {}", head.path, head.is_grpc()),
            Event::Data { stream, dir, bytes } => {
                self.open.entry((stream, dir)).or_default().extend_from_slice(bytes);
                return;
            }
            Event::Message { stream, dir } => {
                let bytes = self.open.remove(&(stream, dir)).unwrap_or_default();
                format!("{stream} {} {}", dir.word(), String::from_utf8_lossy(&bytes))
            }
            Event::Lost { stream, why, .. } => format!("{stream} lost {why}"),
            Event::Cut { stream, bytes } => format!("{stream} cut {bytes}"),
            Event::End { stream, end } => {
                let by = end.by.map_or("?", Side::word);
                let status = end.status.map(|(code, text)| format!(" {code} {text}")).unwrap_or_default();
                let reset = end.reset.map(|code| format!(" reset {code}")).unwrap_or_default();
                format!("{stream} end {by}{status}{reset}")
            }
            Event::Begun { stream } => format!("{stream} begun"),
            Event::Missing { stream, dir, bytes, .. } => format!("{stream:?} {} missing {bytes}", dir.word()),
            Event::Unopened { dir, bytes, is_last } => {
                format!("{} unopened {}{}", dir.word(), bytes.len(), if is_last { "." } else { "" })
            }
            Event::NotFollowed { streams } => format!("{streams} streams not followed"),
            Event::Ping { dir } => format!("{} ping", dir.word()),
            Event::PingAnswer { dir } => format!("{} ping answer", dir.word()),
            Event::GoAway { by, code, debug } => format!("goaway {} {code} {debug}", by.word()),
            Event::Opaque { why } => format!("opaque {why}"),
        };
        self.words.push(word);
    }
}

fn run(parts: &[(Dir, Vec<u8>)], step: usize) -> Vec<String> {
    let mut connection = ConnectionObserver::default();
    let mut seen = Seen::default();
    for (dir, bytes) in parts {
        for chunk in bytes.chunks(step) {
            connection.feed(*dir, chunk, &mut |event| seen.take(event));
        }
    }
    connection.close(Some(Side::Client), None, &mut |event| seen.take(event));
    seen.words
}

/// Padding, priority, CONTINUATION, several messages in a frame, a message across frames, unknown
/// frames.
fn session() -> Vec<(Dir, Vec<u8>)> {
    let head = request();
    let (one, two) = head.split_at(10);
    let mut client = PREFACE.to_vec();
    client.extend(frame(4, 0, 0, &[0, 1, 0, 0, 16, 0]));
    let padded = [&[3][..], &[0, 0, 0, 0, 9], one, &[0; 3]].concat();
    client.extend(frame(HEADERS, PADDED | PRIORITY, 1, &padded));
    client.extend(frame(CONTINUATION, END_HEADERS, 1, two));
    client.extend(frame(HEADERS, END_HEADERS, 3, &request()));
    let messages = [grpc(b"first"), grpc(b"second")].concat();
    client.extend(frame(DATA, PADDED, 1, &[&[2][..], &messages, &[0, 0]].concat()));
    client.extend(frame(0x42, 0, 0, b"an extension"));
    client.extend(frame(PING, 0, 0, &[0; 8]));
    client.extend(frame(PING, ACK, 0, &[1; 8]));
    let long = grpc(b"over two frames");
    client.extend(frame(DATA, 0, 3, &long[..7]));
    client.extend(frame(DATA, END_STREAM, 3, &long[7..]));
    let mut server = frame(4, 0, 0, &[]);
    server.extend(frame(HEADERS, END_HEADERS, 1, &block(&[(":status", "200")])));
    server.extend(frame(DATA, 0, 1, &grpc(b"answer")));
    server.extend(frame(RST_STREAM, 0, 1, &8u32.to_be_bytes()));
    let trailers = block(&[(":status", "200"), ("grpc-status", "14"), ("grpc-message", "going%20away")]);
    server.extend(frame(HEADERS, END_HEADERS | END_STREAM, 3, &trailers));
    server.extend(frame(GOAWAY, 0, 0, b"\0\0\0\0\0\0\0\x02bye"));
    vec![(Dir::Req, client), (Dir::Resp, server)]
}

const WORDS: [&str; 11] = [
    "1 open /a.B/C true",
    "3 open /a.B/C true",
    "1 req first",
    "1 req second",
    "req ping",
    "req ping answer",
    "3 req over two frames",
    "1 resp answer",
    "1 end server reset 8",
    "3 end client UNAVAILABLE going away",
    "goaway server 2 bye",
];

#[test]
fn reads_session_in_any_chunks() {
    for step in [1, 2, 3, 5, 9, 10, 64, 100_000] {
        assert_eq!(run(&session(), step), WORDS, "in steps of {step}");
    }
}

#[test]
fn reports_frames_on_streams_that_were_never_opened() {
    let mut client = PREFACE.to_vec();
    client.extend(frame(HEADERS, END_HEADERS, 3, &request()));
    client.extend(frame(DATA, 0, 5, b"request"));
    let mut server = frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]);
    server.extend(frame(HEADERS, END_HEADERS, 2, &block(&[(":status", "200")])));
    server.extend(frame(DATA, 0, 7, b"response"));
    server.extend(frame(RST_STREAM, 0, 9, &[0; 4]));
    // The client has skipped stream 1, which is closed by that.
    server.extend(frame(DATA, 0, 1, b"late"));
    let words = run(&[(Dir::Req, client), (Dir::Resp, server)], 1000);
    let reports = [
        "3 open /a.B/C true",
        "req unopened 7.",
        "resp unopened 13.",
        "resp unopened 8.",
        "resp unopened 4.",
    ];
    assert_eq!(words[..5], reports);
    assert_eq!(words[5..], ["3 end client"]);
    let mut connection = ConnectionObserver::midway();
    let late = frame(DATA, 0, 2, b"begun before");
    connection.feed(Dir::Resp, &late, &mut |event| assert!(!matches!(event, Event::Unopened { .. })));
}

#[test]
fn names_other_protocols() {
    for (start, name) in [
        (&b"POST /v3/discovery:clusters HTTP/1.1\r\n"[..], "opaque HTTP/1.1"),
        (b"\x16\x03\x01\x02\x00", "opaque TLS"),
        (b"PRI * HTTP/1.9\r\n", "opaque unknown protocol"),
    ] {
        for step in [1, 100] {
            assert_eq!(run(&[(Dir::Req, start.to_vec())], step), [name]);
        }
    }
}

#[test]
fn malformed_frame_ends_open_streams_with_reason() {
    let mut client = PREFACE.to_vec();
    client.extend(frame(HEADERS, END_HEADERS, 1, &request()));
    client.extend(frame(DATA, PADDED, 1, &[9, 0]));
    client.extend(frame(DATA, 0, 1, &grpc(b"not read any more")));
    let words = run(&[(Dir::Req, client)], 100);
    assert_eq!(words, ["1 open /a.B/C true", "1 end ?", "opaque DATA with more padding than frame"]);
}

#[test]
fn follows_streams_again_after_lost_part() {
    let mut connection = ConnectionObserver::default();
    let mut seen = Seen::default();
    let mut feed = |connection: &mut ConnectionObserver, bytes: &[u8]| {
        connection.feed(Dir::Req, bytes, &mut |event| seen.take(event));
    };
    feed(&mut connection, PREFACE);
    feed(&mut connection, &frame(HEADERS, END_HEADERS, 1, &request()));
    feed(&mut connection, &frame(DATA, 0, 1, &grpc(b"\x0a\x01a")));
    connection.miss(Dir::Req, 50, &mut |event| assert!(matches!(event, Event::Missing { .. })));
    let next = [frame(DATA, 0, 1, &grpc(b"\x0a\x01b")), frame(HEADERS, END_HEADERS, 3, &request())].concat();
    feed(&mut connection, &next);
    assert!(!connection.is_opaque());
    assert_eq!(seen.words, ["1 open /a.B/C true", "1 req \n\u{1}a", "1 req \n\u{1}b", "3 open /a.B/C true"]);
}

#[test]
fn reads_status_of_trailers_only_response() {
    let mut client = PREFACE.to_vec();
    client.extend(frame(HEADERS, END_HEADERS, 1, &request()));
    let trailers = block(&[(":status", "200"), ("grpc-status", "12")]);
    let server = frame(HEADERS, END_HEADERS | END_STREAM, 1, &trailers);
    let words = run(&[(Dir::Req, client), (Dir::Resp, server)], 100);
    assert_eq!(words[1], format!("1 end server {} ", Code(12)));
}

proptest! {
    #[test]
    fn accepts_any_input(bytes in prop::collection::vec(proptest::num::u8::ANY, 0..600), step in 1usize..40) {
        let mut client = PREFACE.to_vec();
        client.extend(frame(HEADERS, END_HEADERS, 1, &request()));
        client.extend(&bytes);
        run(&[(Dir::Req, client), (Dir::Resp, bytes)], step);
    }

    #[test]
    fn accepts_any_header_block(blocks in prop::collection::vec(prop::collection::vec(proptest::num::u8::ANY, 0..80), 1..6)) {
        let mut client = PREFACE.to_vec();
        for (i, block) in blocks.iter().enumerate() {
            client.extend(frame(HEADERS, END_HEADERS, 1 + 2 * i as u32, block));
        }
        run(&[(Dir::Req, client)], 1000);
    }
}
