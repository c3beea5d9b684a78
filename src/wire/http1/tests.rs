use super::*;

/// Returns the events as text: `> 0 POST /path body`, `< 0 200 body`.
fn seen(pieces: &[(Dir, &[u8])], close: bool) -> Vec<String> {
    let mut connection = ConnectionObserver::default();
    let mut out = Vec::new();
    let mut see = |event: Event| {
        let text = |body: Vec<u8>| String::from_utf8_lossy(&body).into_owned();
        out.push(match event {
            Event::Request { number, head, body } => {
                format!("> {number} {} {} {}", head.method(), head.path(), text(body))
            }
            Event::Response { number, head, body } => {
                format!("< {number} {} {}", head.status().unwrap_or(0), text(body))
            }
            Event::Unanswered { number } => format!("unanswered {number}"),
            Event::Opaque { why } => format!("opaque: {why}"),
        });
    };
    for (dir, bytes) in pieces {
        connection.feed(*dir, bytes, &mut see);
    }
    if close {
        connection.close(&mut see);
    }
    out
}

const POST: &[u8] = b"POST /v3/discovery:clusters?x=1 HTTP/1.1\r\nHost: cp\r\nContent-Length: 2\r\n\r\n{}";
const CHUNKED: &[u8] =
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\n{\"a\r\n2\r\n\":\r\n3\r\n 1}\r\n0\r\nT: x\r\n\r\n";
const SAME: &[u8] = b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n";

#[test]
fn reads_requests_and_responses_in_any_chunks() {
    let wanted = [
        "> 0 POST /v3/discovery:clusters {}",
        "< 0 200 {\"a\": 1}",
        "> 1 POST /v3/discovery:clusters {}",
        "< 1 304 ",
    ];
    let whole = [(Dir::Req, POST), (Dir::Resp, CHUNKED), (Dir::Req, POST), (Dir::Resp, SAME)];
    assert_eq!(seen(&whole, true), wanted);
    let mut bytes: Vec<(Dir, &[u8])> = Vec::new();
    for (dir, piece) in whole {
        bytes.extend(piece.chunks(1).map(|byte| (dir, byte)));
    }
    assert_eq!(seen(&bytes, true), wanted);
    assert!(ConnectionObserver::begins(POST) && !ConnectionObserver::begins(b"GET / HTTP/1.1"));
}

#[test]
fn matches_pipelined_responses_in_order() {
    let two = [POST, POST].concat();
    let answers =
        [b"HTTP/1.1 100 Continue\r\n\r\n" as &[u8], SAME, b"HTTP/1.1 503 No\r\nContent-Length: 1\r\n\r\nx"]
            .concat();
    let found = seen(&[(Dir::Req, &two), (Dir::Resp, &answers)], true);
    assert_eq!(found[2..], ["< 0 304 ", "< 1 503 x"]);
}

#[test]
fn close_completes_body_and_reports_missing_response() {
    let found = seen(&[(Dir::Req, POST), (Dir::Resp, b"HTTP/1.1 200 OK\r\n\r\n{\"v\":1}")], true);
    assert_eq!(found[1..], ["< 0 200 {\"v\":1}"]);
    assert_eq!(seen(&[(Dir::Req, POST)], true)[1..], ["unanswered 0"]);
}

#[test]
fn becomes_opaque_on_other_protocols() {
    for (dir, bytes) in [
        (Dir::Resp, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" as &[u8]),
        (Dir::Req, b"nonsense\r\n\r\n"),
        (Dir::Req, b"POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n"),
        (Dir::Req, b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n"),
    ] {
        let found = seen(&[(dir, bytes), (dir, POST)], false);
        assert!(found.len() == 1 && found[0].starts_with("opaque: "), "{found:?}");
    }
}

#[test]
fn refuses_endless_head() {
    let long = vec![b'a'; MAX_HEAD_BYTES + 1];
    assert_eq!(seen(&[(Dir::Req, &long)], false), ["opaque: a head of more than 64 KiB"]);
}

proptest::proptest! {
    #[test]
    fn accepts_any_bytes_in_any_chunks(pieces in proptest::collection::vec((proptest::bool::ANY, proptest::collection::vec(0u8..255, 0..60)), 0..20)) {
        let pieces: Vec<(Dir, &[u8])> =
            pieces.iter().map(|(req, bytes)| (if *req { Dir::Req } else { Dir::Resp }, bytes.as_slice())).collect();
        seen(&pieces, true);
    }
}
