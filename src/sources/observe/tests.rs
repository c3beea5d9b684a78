use super::*;
use xdscope_engine::lint;
use xdscope_engine::store::{Options, Store, StreamFailure};
use xdscope_schema::Schema;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::Clock;
use xdscope_wire::{Frame, FramePayload, GapCause};

const ADS: &str = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() as u32).to_be_bytes();
    [&len[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A HEADERS frame of stream 1 with literal fields.
fn headers(flags: u8, fields: &[(&str, &str)]) -> Vec<u8> {
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    let field = |(name, value): &(&str, &str)| [vec![0], text(name), text(value)].concat();
    let block: Vec<u8> = fields.iter().flat_map(field).collect();
    frame(HEADERS, flags | END_HEADERS, 1, &block)
}

fn bytes(dir: Dir, bytes: Vec<u8>) -> TapEvent {
    TapEvent::Bytes { dir, bytes: bytes.into() }
}

fn reset(dir: Dir, code: u32) -> TapEvent {
    bytes(dir, frame(RST_STREAM, 0, 1, &code.to_be_bytes()))
}

fn go_away(dir: Dir, code: u32) -> TapEvent {
    go_away_with(dir, code, "")
}

fn go_away_with(dir: Dir, code: u32, debug: &str) -> TapEvent {
    bytes(dir, frame(GOAWAY, 0, 0, &[&[0, 0, 0, 1], &code.to_be_bytes()[..], debug.as_bytes()].concat()))
}

fn trailers(status: &str, text: &str) -> TapEvent {
    bytes(Dir::Resp, headers(END_STREAM, &[("grpc-status", status), ("grpc-message", text)]))
}

const fn finished(dir: Dir) -> TapEvent {
    TapEvent::Finished { dir }
}

const CLOSED: TapEvent = TapEvent::Closed { by: None, error: None };

/// Returns the events that begin a connection with one stream.
fn start() -> [TapEvent; 3] {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let request = [(":method", "POST"), (":path", ADS), ("content-type", "application/grpc")];
    let response = [(":status", "200"), ("content-type", "application/grpc")];
    [
        TapEvent::Opened { peer: "10.0.0.1:4000".to_owned(), server: "cp:1".to_owned() },
        bytes(Dir::Req, [PREFACE.to_vec(), headers(0, &request)].concat()),
        bytes(Dir::Resp, headers(0, &response)),
    ]
}

/// Returns the ends of the streams of a connection with one stream, after these events.
fn ends(events: Vec<TapEvent>) -> Vec<String> {
    let (mut catalog, mut frames) = (Catalog::in_memory(), Vec::new());
    let mut pipeline = Pipeline::new(|_, _| None);
    for (at, event) in start().into_iter().chain(events).enumerate() {
        let copy = TapCopy { conn: ConnId(1), at: Time(at as u64), event };
        pipeline.handle(copy, &mut catalog, &mut frames);
    }
    let word = |frame: &Frame| match &frame.what {
        FramePayload::End(end) => {
            let code = end.status.as_ref().map(|(code, text)| format!("{code} {text}"));
            let words = [code, end.reset.map(|reset| format!("reset {reset}")), end.note.clone()];
            let words: Vec<String> = words.into_iter().flatten().collect();
            Some(format!("{}: {}", end.by.map_or("-", Side::word), words.join(" ")))
        }
        _ => None,
    };
    frames.iter().filter_map(word).collect()
}

#[test]
fn the_side_whose_connection_ends_first_ends_the_streams() {
    let by_server = ["server: the connection was closed"];
    assert_eq!(ends(vec![finished(Dir::Resp), finished(Dir::Req), CLOSED]), by_server);
    assert_eq!(ends(vec![finished(Dir::Resp), reset(Dir::Req, 7), finished(Dir::Req), CLOSED]), by_server);
    let told = vec![finished(Dir::Resp), go_away(Dir::Req, 0), finished(Dir::Req), CLOSED];
    assert_eq!(ends(told), by_server);
    let by_client = ["client: the connection was closed"];
    assert_eq!(ends(vec![finished(Dir::Req), finished(Dir::Resp), CLOSED]), by_client);
    let failed = vec![finished(Dir::Req), trailers("14", "Socket closed"), finished(Dir::Resp), CLOSED];
    assert_eq!(ends(failed), by_client);
    assert_eq!(ends(vec![finished(Dir::Req), reset(Dir::Resp, 8), finished(Dir::Resp), CLOSED]), by_client);
    // One response was on its way; a client that gets more has not left.
    let ended = |responses: u32| {
        let responses = (0..responses).map(|_| message(Dir::Resp, 0, b""));
        let events = [finished(Dir::Req)].into_iter().chain(responses);
        ends(events.chain([finished(Dir::Resp), CLOSED]).collect())
    };
    assert_eq!(ended(1), by_client);
    assert_eq!(ended(2), by_server);
}

#[test]
fn an_end_of_a_stream_before_that_of_a_connection_is_the_end() {
    let ended = vec![trailers("14", "moving"), finished(Dir::Resp), finished(Dir::Req), CLOSED];
    assert_eq!(ends(ended), ["server: UNAVAILABLE moving"]);
    assert_eq!(ends(vec![reset(Dir::Req, 8), finished(Dir::Resp), CLOSED]), ["client: reset 8"]);
    let broken = TapEvent::Closed { by: Some(Side::Server), error: Some("reset by peer".to_owned()) };
    assert_eq!(ends(vec![broken]), ["server: reset by peer"]);
    let answer = TapEvent::Closed { by: Some(Side::Server), error: Some("not HTTP/2".to_owned()) };
    let other = vec![finished(Dir::Resp), finished(Dir::Req), finished(Dir::Resp), answer];
    assert_eq!(ends(other), ["server: not HTTP/2"]);
}

#[test]
fn connections_that_end_after_a_goaway_of_the_server_are_planned() {
    let closed = vec![go_away(Dir::Resp, 0), finished(Dir::Resp), finished(Dir::Req), CLOSED];
    assert_eq!(ends(closed), ["server: GOAWAY NO_ERROR"]);
    let left = vec![go_away(Dir::Resp, 0), finished(Dir::Req), finished(Dir::Resp), CLOSED];
    assert_eq!(ends(left), ["server: GOAWAY NO_ERROR"], "the client does as it was told");
    let aged = [go_away_with(Dir::Resp, 0, "max_age"), go_away(Dir::Resp, 0), finished(Dir::Resp), CLOSED];
    assert_eq!(ends(aged.into()), ["server: GOAWAY NO_ERROR (max_age)"]);
    let left = vec![go_away(Dir::Req, 0), finished(Dir::Req), finished(Dir::Resp), CLOSED];
    assert_eq!(ends(left), ["client: the connection was closed"], "a client says that it leaves");
}

#[test]
fn goaway_with_an_error_is_the_end_of_its_streams() {
    const CALM: u32 = 11;
    let calm = || go_away_with(Dir::Resp, CALM, "too_many_pings");
    let by_server = ["server: GOAWAY ENHANCE_YOUR_CALM (too_many_pings)"];
    assert_eq!(ends(vec![calm(), finished(Dir::Resp), finished(Dir::Req), CLOSED]), by_server);
    assert_eq!(ends(vec![calm(), finished(Dir::Req), finished(Dir::Resp), CLOSED]), by_server);
    assert_eq!(ends(vec![calm(), reset(Dir::Req, 8), finished(Dir::Req), CLOSED]), by_server);
    assert_eq!(ends(vec![go_away(Dir::Resp, 0), calm(), finished(Dir::Resp), CLOSED]), by_server);
    let broken = TapEvent::Closed { by: Some(Side::Server), error: Some("reset by peer".to_owned()) };
    assert_eq!(ends(vec![calm(), broken]), by_server);
    let status = vec![calm(), trailers("14", "moving"), finished(Dir::Resp), CLOSED];
    assert_eq!(ends(status), ["server: UNAVAILABLE moving GOAWAY ENHANCE_YOUR_CALM (too_many_pings)"]);
    let by_client = vec![go_away(Dir::Req, 1), finished(Dir::Req), finished(Dir::Resp), CLOSED];
    assert_eq!(ends(by_client), ["client: GOAWAY PROTOCOL_ERROR"]);
}

/// Returns DATA of stream 1 that begins a gRPC message of `len` bytes.
fn message(dir: Dir, len: u32, start: &[u8]) -> TapEvent {
    bytes(dir, frame(DATA, 0, 1, &[&[0][..], &len.to_be_bytes(), start].concat()))
}

/// Returns the facts about clients that reset their streams in the middle of a response of `len`
/// bytes, and the numbers of the gaps.
fn cut_in_response(connections: u64, len: u32) -> (Store, lint::Lint, Vec<(u64, u64, GapCause)>) {
    const CLUSTER: &[u8] = b"type.googleapis.com/envoy.config.cluster.v3.Cluster";
    let request = [b"\x12\x06\n\x04edge\"\x33", CLUSTER].concat();
    let mut store = Store::new(Catalog::in_memory(), Clock::default(), Options::default());
    let (mut pipeline, mut frames, mut at) = (Pipeline::new(|_, _| None), Vec::new(), 0);
    for conn in 1..=connections {
        let events = [
            message(Dir::Req, request.len() as u32, &request),
            message(Dir::Resp, len, b"\n\x011\x12"),
            reset(Dir::Req, 8),
            finished(Dir::Req),
            CLOSED,
        ];
        for event in start().into_iter().chain(events) {
            at += 50_000_000;
            let copy = TapCopy { conn: ConnId(conn), at: Time(at), event };
            pipeline.handle(copy, store.catalog_mut(), &mut frames);
        }
    }
    let gaps = frames.iter().filter_map(|frame| match frame.what {
        FramePayload::Gap { messages, bytes, cause, .. } => Some((messages, bytes, cause)),
        _ => None,
    });
    let gaps = gaps.collect();
    let mut rules = lint::Lint::new(xdscope_engine::analysis::rules(&Schema::builtin()));
    frames.into_iter().for_each(|frame| rules.handle(&mut store, frame));
    (store, rules, gaps)
}

#[test]
fn client_that_ends_its_streams_in_the_middle_of_a_response_fails() {
    let (store, rules, gaps) = cut_in_response(4, 5_000_000);
    assert_eq!(gaps, vec![(1, 5_000_000, GapCause::Cut); 4]);
    let failing = store.ended().failing_streams();
    assert_eq!(failing.len(), 1, "{failing:#?}");
    assert_eq!((failing[0].failure, failing[0].count), (StreamFailure::Aborted, 4));
    assert_eq!((failing[0].at_fault(), failing[0].is_in_response()), (Some(Side::Client), true));
    let text = xdscope_present::report::failing_stream(&failing[0], &Clock::default());
    let words = "client ended 4 streams, each in the middle of a response of 5.0 MB (the default receive limit of gRPC \
                 is 4 MiB)";
    assert!(text.starts_with(words), "{text}");
    assert_eq!(store.gaps(), 0, "no message is missing");
    let found: Vec<_> = rules.findings().iter().map(|of| (of.rule.id, of.severity.word())).collect();
    assert!(found.contains(&("over-4mib", "info")), "{found:?}");
    assert!(found.contains(&("stream-rejected", "warn")), "{found:?}");
    let (_, rules, _) = cut_in_response(4, 4_000_000);
    assert!(rules.findings().iter().all(|of| of.rule.id != "over-4mib"));
    let (store, ..) = cut_in_response(2, 5_000_000);
    assert!(store.ended().failing_streams().iter().all(|of| of.failure != StreamFailure::Aborted));
}

/// Returns the events that begin a connection with this many streams.
fn start_with(streams: u32) -> Vec<TapEvent> {
    let mut request =
        headers(0, &[(":method", "POST"), (":path", ADS), ("content-type", "application/grpc")]);
    let more = (1..streams).map(|n| {
        request[5..9].copy_from_slice(&(1 + 2 * n).to_be_bytes());
        bytes(Dir::Req, request.clone())
    });
    start().into_iter().chain(more).collect()
}

/// A second loss that names no stream is no gap of streams without events since the first one.
#[test]
fn streams_without_events_since_a_loss_have_one_gap() {
    const STREAMS: u32 = 500;
    let lost = |dir| TapEvent::Lost { dir, bytes: 5, chunks: 1 };
    let events = start_with(STREAMS).into_iter();
    // A response of one stream makes a second gap of that stream necessary.
    let events = events.chain([lost(Dir::Req), lost(Dir::Req), message(Dir::Resp, 0, b""), lost(Dir::Req)]);
    let (mut catalog, mut frames) = (Catalog::in_memory(), Vec::new());
    let mut pipeline = Pipeline::new(|_, _| None);
    let gaps = events.map(|event| {
        let copy = TapCopy { conn: ConnId(1), at: Time::ZERO, event };
        pipeline.handle(copy, &mut catalog, &mut frames);
        let gap = |frame: Frame| match frame.what {
            FramePayload::Gap { bytes, .. } => Some(bytes),
            _ => None,
        };
        let gaps: Vec<u64> = frames.drain(..).filter_map(gap).collect();
        (gaps.len(), gaps.iter().sum())
    });
    let gaps: Vec<(usize, u64)> = gaps.collect();
    let [first, second, .., third] = gaps[gaps.len() - 4..] else { panic!("{gaps:?}") };
    assert_eq!([first, second, third], [(STREAMS as usize, 5), (1, 5), (1, 5)]);
}

/// A server that answers where no client has asked is seen in one stream of the connection.
#[test]
fn counts_frames_on_streams_that_were_never_opened() {
    let answers = (0..3u32).map(|n| bytes(Dir::Resp, frame(DATA, 0, 2 + 5 * n, b"hidden")));
    let events = start().into_iter().chain(answers).chain([finished(Dir::Resp), CLOSED]);
    let (mut catalog, mut frames) = (Catalog::in_memory(), Vec::new());
    let mut pipeline = Pipeline::new(|_, _| None);
    for event in events {
        pipeline.handle(TapCopy { conn: ConnId(1), at: Time::ZERO, event }, &mut catalog, &mut frames);
    }
    let (mut methods, mut counted) = (Vec::new(), (0, 0));
    for frame in &frames {
        match &frame.what {
            FramePayload::Open(open) => methods.push(open.method.as_str()),
            FramePayload::Opaque { dir: Dir::Resp, messages, bytes } => {
                counted = (counted.0 + messages, counted.1 + bytes);
            }
            _ => {}
        }
    }
    assert_eq!(methods, [ADS, "frames on HTTP/2 streams that the client never opened"]);
    assert_eq!(counted, (3, 18));
    let ends = frames.iter().filter(|frame| matches!(frame.what, FramePayload::End(_)));
    assert_eq!(ends.count(), 2);
}

/// Returns the streams that each of two connections gets followed, of `wanted` of the first one and
/// 5 of the second one.
fn followed(max_streams: usize, wanted: u32) -> [usize; 2] {
    let requests = |conn, streams| {
        let events = start_with(streams).into_iter();
        events.map(|event| TapCopy { conn: ConnId(conn), at: Time::ZERO, event }).collect::<Vec<_>>()
    };
    let copies = [requests(1, wanted), requests(2, 5)].concat();
    let (mut catalog, mut frames) = (Catalog::in_memory(), Vec::new());
    let mut pipeline = Pipeline::new(|_, _| None).with_max_streams(max_streams);
    let opened = |frames: &mut Vec<Frame>| {
        frames.drain(..).filter(|frame| matches!(frame.what, FramePayload::Open(_))).count()
    };
    let mut counts = [0; 2];
    for copy in copies {
        let conn = copy.conn.0 as usize - 1;
        pipeline.handle(copy, &mut catalog, &mut frames);
        counts[conn] += opened(&mut frames);
    }
    counts
}

#[test]
fn only_connections_with_few_streams_get_more_once_all_have_too_many() {
    assert_eq!(followed(usize::MAX, 200), [200, 5]);
    assert_eq!(followed(100, 200), [100, 5]);
    assert_eq!(followed(0, 200), [16, 5]);
}
