//! Requests whose headers are changed, and clients whose headers cannot be changed.

use loona_hpack::Encoder;

use super::*;
use xdscope_sources::observe::Pipeline;
use xdscope_wire::FramePayload;
use xdscope_wire::content::Catalog;

const SECRET: &str = "Bearer hunter2-hunter2";

fn changes() -> Option<Arc<Changes>> {
    let headers = vec![("authorization".to_owned(), SECRET.to_owned())];
    Some(Arc::new(Changes { authority: Some("cp.mesh".into()), headers }))
}

/// The requests of a connection, with DATA after each. Later ones use the header table of earlier
/// ones.
fn requests(data: &[u8]) -> Vec<u8> {
    let mut encoder = Encoder::new();
    let fields = [(&b":method"[..], &b"POST"[..]), (b":path", b"/a.B/C"), (b":authority", b"tap:18001")];
    let mut out = [PREFACE, &frame(4, 0, 0, &[])].concat();
    for stream in [1, 3] {
        out.extend(frame(1, 4, stream, &encoder.encode(fields)));
        data.chunks(16_000).for_each(|data| out.extend(frame(0, 0, stream, data)));
    }
    out
}

fn found(all: &[u8], what: &str) -> usize {
    all.windows(what.len()).filter(|part| *part == what.as_bytes()).count()
}

/// Returns the error of the step that failed.
fn failed(all: &[TapCopy]) -> String {
    let words = all.iter().find_map(|copied| match &copied.event {
        TapEvent::Failed { step: ConnectStep::Headers, error } => Some(error.clone()),
        _ => None,
    });
    words.unwrap_or_else(|| panic!("{all:?}"))
}

#[test]
fn changes_requests_and_copies_what_was_sent() {
    let (upstream, server) = reverser();
    let tap = tap_with(&upstream, Some(MAX_QUEUED_BYTES), changes());
    let data = noise(2_000_000);
    let got = exchange(dial(&tap), &requests(&data));
    let sent = server.join().unwrap();
    let mut reversed = sent.clone();
    reversed.reverse();
    assert!(got == reversed, "the client got what the server sent");
    assert_eq!((found(&sent, "cp.mesh"), found(&sent, SECRET), found(&sent, "tap:18001")), (2, 2, 0));
    assert!(sent.len() > 2 * data.len() && sent.starts_with(PREFACE));
    let all = drain(&tap);
    assert!(bytes(&all, Dir::Req) == sent, "the copies are of what the server got");
    assert_eq!(tap.counters.bytes_in.load(Ordering::Relaxed), sent.len() as u64);
    assert!(matches!(all.last().unwrap().event, TapEvent::Closed { by: None, error: None }));
}

/// The outcome of a connection that the tap refused.
struct Refusal {
    /// Bytes that the client received.
    answer: Vec<u8>,
    /// Bytes that the server received.
    forwarded: Vec<u8>,
    /// The error that was reported.
    error: String,
}

/// Sends bytes to a tap that refuses them. `closes`: the client closes its direction afterwards.
fn refuse(client: &[u8], closes: bool) -> Refusal {
    let (upstream, server) = reverser();
    let tap = tap_with(&upstream, Some(MAX_QUEUED_BYTES), changes());
    let mut stream = dial(&tap);
    stream.write_all(client).unwrap();
    if closes {
        stream.shutdown(Shutdown::Write).unwrap();
    }
    let mut answer = Vec::new();
    // Ends orderly or by a reset.
    let _ = stream.read_to_end(&mut answer);
    let all = drain(&tap);
    // The server sees a reset, or an end without a byte.
    let forwarded = server.join().unwrap_or_default();
    Refusal { answer, forwarded, error: failed(&all) }
}

#[test]
fn answers_http1_clients_whose_headers_cannot_change() {
    let Refusal { answer, forwarded, error } = refuse(b"POST /v3/discovery:clusters HTTP/1.1\r\n\r\n", true);
    let answer = String::from_utf8(answer).unwrap();
    let text = "the client speaks HTTP/1.1, not HTTP/2; omit -H and --authority to pass it unchanged";
    assert_eq!(error, text);
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains(text), "{answer}");
    assert!(
        answer.contains("xdscope tap: changing headers failed: ") && !answer.contains("hunter2"),
        "{answer}"
    );
    assert!(forwarded.is_empty());
}

#[test]
fn alerts_clients_whose_tls_would_pass_unread() {
    let Refusal { answer, forwarded, error } = refuse(&[22, 3, 1, 0, 5, 1, 0, 0, 1, 0], false);
    assert_eq!(answer[..2], [21, 3]);
    assert!(error.contains("cannot read it; --listen-cert FILE --listen-key FILE"), "{error}");
    assert!(forwarded.is_empty());
}

#[test]
fn blocks_other_protocols_when_headers_change() {
    let Refusal { answer, forwarded, error } = refuse(b"hello there", false);
    assert!(answer.is_empty() && forwarded.is_empty());
    assert!(error.starts_with("the client speaks another protocol than HTTP/2; "), "{error}");
}

#[test]
fn closes_the_connection_on_an_unreadable_header_block() {
    // The header block refers to a table entry that does not exist.
    let client = [PREFACE, &frame(4, 0, 0, &[]), &frame(1, 4, 1, &[0xc0])].concat();
    let Refusal { answer, error, .. } = refuse(&client, false);
    assert!(answer.is_empty());
    let text =
        "the client sends a header block that is not HPACK; omit -H and --authority to pass it unchanged";
    assert_eq!(error, text);
}

#[test]
fn ends_open_streams_with_the_reason() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let tap = tap_with(&listener.local_addr().unwrap().to_string(), Some(MAX_QUEUED_BYTES), changes());
    let mut client = dial(&tap);
    client.write_all(&requests(b"")).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    server.read_exact(&mut [0; 24]).unwrap();
    client.write_all(&frame(1, 4, 5, &[0xff; 3])).unwrap();
    // Ends by a reset.
    let _ = client.read_to_end(&mut Vec::new());
    let (mut pipeline, mut catalog) = (Pipeline::new(|_, _| None), Catalog::in_memory());
    let mut frames = Vec::new();
    drain(&tap).into_iter().for_each(|copied| pipeline.handle(copied, &mut catalog, &mut frames));
    let ends: Vec<_> = frames
        .iter()
        .filter_map(|frame| match &frame.what {
            FramePayload::End(end) => end.note.clone(),
            _ => None,
        })
        .collect();
    let why = "changing headers failed: the client sends a header block that is not HPACK; ";
    assert!(ends.len() == 2 && ends.iter().all(|end| end.starts_with(why)), "{ends:?}");
}
