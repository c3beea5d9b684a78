use serde_json::{Value, json};

use super::*;
use crate::record::Loaded;
use crate::record::tests::sample;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Clock, Code, Dir, Side, StreamId, Time};
use xdscope_wire::{FramePayload, GapCause, MAX_COUNT};

fn load(text: &str) -> Loaded {
    read(text.as_bytes()).unwrap()
}

fn export(loaded: &Loaded) -> String {
    let mut writer = Writer::new(Vec::new(), loaded.clock, None);
    for frame in &loaded.frames {
        writer.write(frame, &loaded.catalog).unwrap();
    }
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

#[test]
fn round_trips_session() {
    let mut catalog = Catalog::in_memory();
    let frames = sample::session(&mut catalog);
    for epoch in [None, Some(1_772_460_000_000_000_000)] {
        let clock = Clock { epoch, untimed: false };
        let mut writer = Writer::new(Vec::new(), clock, None);
        for frame in &frames {
            writer.write(frame, &catalog).unwrap();
        }
        let loaded = read(&writer.finish().unwrap()[..]).unwrap();
        assert_eq!(loaded.notices, Vec::<String>::new());
        assert_eq!(sample::describe(&loaded.frames, &loaded.catalog), sample::describe(&frames, &catalog));
        assert_eq!((loaded.clock, loaded.end), (clock, Time(14_000_000)));
    }
}

#[test]
fn writes_documented_keys() {
    let mut catalog = Catalog::in_memory();
    let frames = sample::session(&mut catalog);
    let mut writer = Writer::new(Vec::new(), Clock::default(), None);
    for frame in &frames {
        writer.write(frame, &catalog).unwrap();
    }
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let keys = |line: &Value| line.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    let first = |dir: &str| lines.iter().find(|line| line["dir"] == dir).unwrap();
    assert_eq!(keys(first("open")), "dir t stream method metadata peer");
    assert_eq!(keys(first("c2s")), "dir t stream method raw");
    assert_eq!(keys(first("s2c")), "dir t stream method raw");
    assert_eq!(keys(first("status")), "dir t stream code message");
    assert_eq!(keys(first("close")), "dir t stream by");
    assert_eq!(first("gap")["messages"], 3);
    assert_eq!(first("open")["metadata"], json!({"user-agent": "grpc-c++/1.60", "x-empty": ""}));
    assert_eq!(first("s2c")["t"], 0.002);
}

#[test]
fn reports_and_skips_bad_lines() {
    let text = format!(
        concat!(
            "{{\"dir\":\"open\",\"t\":1.5,\"stream\":-3,\"method\":\"{ads}\",\"new\":[1]}}\n",
            "no json\n",
            "{{\"dir\":\"c2s\",\"t\":2,\"stream\":-3,\"method\":\"{ads}\",\"raw\":\"!\"}}\n",
            "\n",
            "{{\"dir\":\"c2s\",\"t\":\"2026-03-02T14:00:00Z\",\"stream\":-3,\"method\":\"{ads}\",\"raw\":\"\"}}\n",
            "{{\"dir\":\"what\",\"t\":2,\"stream\":-3}}\n",
            "{{\"dir\":\"c2s\",\"t\":3,\"stream\":-3,\"method\":\"{ads}\",\"raw\":\"\"}}\n",
            "{{\"dir\":\"close\",\"t\":9,\"stream\":-3,\"by\":\"client\"}}\n",
            "{{\"dir\":\"c2s\",\"t\":10,\"stream\":-3,\"method\":\"{ads}\",\"raw\":\"\"}}",
        ),
        ads = sample::ADS
    );
    let loaded = load(&text);
    let lines: Vec<_> = loaded.notices.iter().filter_map(|n| n.split(' ').nth(1)).collect();
    assert_eq!(lines, ["2", "3", "5", "6", "9"], "{:?}", loaded.notices);
    assert_eq!(loaded.frames.len(), 3);
    let FramePayload::Message(message) = &loaded.frames[1].what else { panic!("a message") };
    assert_eq!((message.size, loaded.frames[1].at), (0, Time(3_000_000_000)));
    assert_eq!(loaded.end, Time(10_000_000_000), "the clock stops at the last line");
}

#[test]
fn treats_stream_without_open_as_partial() {
    let text = format!(r#"{{"dir":"s2c","t":0,"stream":7,"method":"{}","raw":"CgF2"}}"#, sample::ADS);
    let loaded = load(&text);
    let FramePayload::Open(open) = &loaded.frames[0].what else { panic!("an open") };
    assert!(open.partial && open.method == sample::ADS);
    assert_eq!(loaded.frames[1].stream, StreamId(1));
    assert_eq!(load(&export(&loaded)).frames.len(), 2, "and stays so");
    assert!(!export(&loaded).contains("open"));
}

#[test]
fn joins_status_and_close() {
    let text = r#"{"dir":"open","t":0,"stream":1,"method":"/x.Y/Z"}
{"dir":"s2c","t":1,"stream":1,"method":"/x.Y/Z","raw":"AAAA"}
{"dir":"status","t":2,"stream":1,"code":"UNAVAILABLE","message":"gone"}
{"dir":"close","t":3,"stream":1,"by":"server","reset":2}"#;
    let loaded = load(text);
    assert_eq!(loaded.notices, Vec::<String>::new());
    assert_eq!(loaded.frames.len(), 3);
    assert!(matches!(loaded.frames[1].what, FramePayload::Opaque { dir: Dir::Resp, messages: 1, bytes: 3 }));
    let FramePayload::End(end) = &loaded.frames[2].what else { panic!("an end") };
    assert_eq!((end.by, end.reset), (Some(Side::Server), Some(2)));
    assert_eq!(end.status, Some((Code(14), "gone".into())));
    assert_eq!(loaded.end, Time(3_000_000_000));
}

#[test]
fn limits_the_counts_of_a_gap() {
    let gap =
        r#"{"dir":"gap","t":0,"stream":1,"messages":18446744073709551615,"bytes":18446744073709551615}"#;
    let open = r#"{"dir":"open","t":0,"stream":1,"method":"/x"}"#;
    let loaded = load(&[open, gap, gap].join("\n"));
    let mut sum = 0;
    for frame in &loaded.frames[1..] {
        let FramePayload::Gap { messages, bytes, .. } = &frame.what else { panic!("a gap") };
        sum += messages + bytes;
    }
    assert_eq!(sum, 4 * MAX_COUNT);
}

#[test]
fn reads_unix_seconds_as_dates() {
    let text = r#"{"dir":"open","t":1772460000.5,"stream":1,"method":"/x"}
{"dir":"close","t":1772460001.75,"stream":1}"#;
    let loaded = load(text);
    assert_eq!(loaded.clock.epoch, Some(1_772_460_000_500_000_000));
    assert_eq!(loaded.end, Time(1_250_000_000));
}

#[test]
fn rejects_seconds_beyond_all_dates() {
    let text = r#"{"dir":"open","t":88888888888888888888888888888888888888888888888888.01,"stream":1,"method":"/x"}
{"dir":"open","t":1772460000,"stream":1,"method":"/x"}"#;
    let loaded = load(text);
    assert!(loaded.notices[0].starts_with("line 1 skipped: wrong t: "), "{:?}", loaded.notices);
    assert_eq!(loaded.frames.len(), 1);
    assert_eq!(loaded.clock.epoch, Some(1_772_460_000_000_000_000));
}

/// A codec that knows one node.
struct OneNode;

impl JsonCodec for OneNode {
    fn encode(&self, message: &str, json: &Value) -> Option<Vec<u8>> {
        (message == "envoy.config.core.v3.Node" && json["id"] == "n").then(|| b"\x0a\x01n".to_vec())
    }
    fn decode(&self, _: &str, bytes: &[u8]) -> Option<Value> {
        (bytes == b"\x0a\x01n").then(|| json!({"id": "n"}))
    }
}

#[test]
fn round_trips_node_hint_with_descriptors() {
    let text = r#"{"dir":"open","t":0,"stream":1,"method":"/x","node_hint":{"id":"n"},"partial":true}"#;
    assert!(load(text).notices[0].contains("nodes skipped"));
    let options = Options { json: Some(&OneNode), ..Options::default() };
    let loaded = read_with(text.as_bytes(), &options).unwrap();
    let FramePayload::Open(open) = &loaded.frames[0].what else { panic!("an open") };
    assert_eq!(open.node_hint.as_deref(), Some(&b"\x0a\x01n"[..]));
    let mut writer = Writer::new(Vec::new(), loaded.clock, Some(&OneNode));
    writer.write(&loaded.frames[0], &loaded.catalog).unwrap();
    let line: Value = serde_json::from_slice(&writer.finish().unwrap()).unwrap();
    assert_eq!(line["node_hint"], json!({"id": "n"}));
}

#[test]
fn failed_poll_ends_its_track() {
    let poll = r#"{"dir":"c2s","t":1,"stream":1,"method":"/v3/discovery:clusters","raw":""}"#;
    let other = r#"{"dir":"c2s","t":1,"stream":1,"method":"/v3/discovery:listeners","raw":""}"#;
    let answer = |status: u16| {
        format!(
            r#"{{"dir":"s2c","t":2,"stream":1,"method":"/v3/discovery:clusters","http_status":{status},"body":"no"}}"#
        )
    };
    let loaded = load(&[poll, other, &answer(503), poll, &answer(403)].join("\n"));
    assert_eq!(loaded.notices, Vec::<String>::new());
    let described = sample::describe(&loaded.frames, &loaded.catalog);
    let ends: Vec<_> = loaded
        .frames
        .iter()
        .filter_map(|frame| match &frame.what {
            FramePayload::End(end) => Some((frame.stream, end.status.clone().expect("a status"))),
            _ => None,
        })
        .collect();
    let end = |stream, code, text: &str| (StreamId(stream), (Code(code), text.to_owned()));
    assert_eq!(ends, [end(1, 14, "HTTP status 503: no"), end(3, 7, "HTTP status 403: no")], "{described:?}");
    // The export is read again as it was, with the end of each track.
    let again = load(&export(&loaded));
    assert_eq!(sample::describe(&again.frames, &again.catalog), described);
}

#[test]
fn unanswered_and_unchanged_polls_stay_on_their_track() {
    let text = [
        r#"{"dir":"open","t":1,"stream":4,"method":"/v3/discovery:clusters"}"#,
        r#"{"dir":"c2s","t":1,"stream":4,"method":"/v3/discovery:clusters","raw":""}"#,
        r#"{"dir":"s2c","t":2,"stream":4,"method":"/v3/discovery:clusters","http_status":304}"#,
    ];
    let loaded = load(&text.join("\n"));
    let again = load(&export(&loaded));
    assert_eq!(
        sample::describe(&again.frames, &again.catalog),
        sample::describe(&loaded.frames, &loaded.catalog)
    );
    assert!(again.frames.iter().all(|frame| frame.stream == StreamId(1)));
}

#[test]
fn paths_of_polls_have_no_query() {
    let poll = |dir: &str| {
        format!(
            r#"{{"dir":"{dir}","t":1,"stream":1,"method":"/v3/discovery:clusters?token=a1b2c3","raw":""}}"#
        )
    };
    let loaded = load(&[poll("c2s"), poll("s2c")].join("\n"));
    assert_eq!(loaded.notices, Vec::<String>::new());
    assert!(loaded.frames.iter().all(|frame| frame.stream == StreamId(1)));
    let FramePayload::Open(open) = &loaded.frames[0].what else { panic!("an open") };
    assert_eq!(open.method, "/v3/discovery:clusters");
    assert!(!export(&loaded).contains("a1b2c3"));
}

#[test]
fn skips_lines_with_long_texts_or_many_values() {
    let open = |key: &str, value: Value| {
        let mut line = json!({"dir": "open", "t": 0, "stream": 1, "method": "/a.B/C"});
        line[key] = value;
        format!("{line}\n")
    };
    let long = "x".repeat(100 << 10);
    for (line, wanted) in [
        (open("method", json!(format!("/{long}"))), "line 1 skipped: method is longer than 64 KiB"),
        (open("server", json!(long)), "line 1 skipped: server is longer than 64 KiB"),
        (open("peer", json!(long)), "line 1 skipped: peer is longer than 64 KiB"),
        (open("note", json!(long.repeat(11))), "line 1 skipped: note is longer than 1024 KiB"),
        (open("body", json!(long.repeat(170))), "line 1 skipped: body is longer than 16384 KiB"),
        (
            open("raw", json!("\n".repeat(5 << 20))),
            "line 1 skipped: a message with escapes is longer than 8192 KiB; raise --memory",
        ),
        (open("metadata", json!({"a": vec![long; 11]})), "line 1 skipped: metadata is longer than 1024 KiB"),
        (
            open("node_hint", json!(vec![0; 400_000])),
            "line 1 skipped: the values need more than 64 MiB of memory; raise --memory",
        ),
    ] {
        let options = Options { memory: Some(64 << 20), ..Options::default() };
        let loaded = read_with(line.as_bytes(), &options).unwrap();
        assert_eq!(loaded.notices, [wanted]);
        assert!(loaded.frames.is_empty());
    }
}

#[test]
fn counts_messages_of_lines_that_are_too_long() {
    let options = Options { memory: Some(64 << 20), ..Options::default() };
    let read = |start: &str, end: &str| {
        let line = format!("{start}{}{end}\n", "A".repeat(33 << 20));
        read_with(line.as_bytes(), &options).unwrap()
    };
    let loaded = read(r#"{"dir":"s2c","t":0,"stream":7,"method":"/a.B/C","raw":""#, "\"}");
    assert_eq!(
        loaded.notices,
        ["line 1 skipped: longer than 32 MiB, its message counts as missing; raise --memory"]
    );
    let FramePayload::Gap { dir: Some(Dir::Resp), messages: 1, bytes, cause: GapCause::Size } =
        loaded.frames[1].what
    else {
        panic!("a gap")
    };
    assert_eq!(bytes >> 20, 24);
    for (start, end) in
        [("{\"raw\":\"", "\",\"dir\":\"s2c\"}"), ("", ""), ("{\"dir\":\"open\",\"note\":\"", "\"}")]
    {
        let loaded = read(start, end);
        assert_eq!(loaded.notices, ["line 1 skipped: longer than 32 MiB; raise --memory"]);
        assert!(loaded.frames.is_empty());
    }
}

#[test]
fn reads_polls_on_unknown_paths_by_their_type() {
    let line = |dir: &str, stream: u32, member: &str| {
        format!(
            r#"{{"dir":"{dir}","t":0,"stream":{stream},"method":"/v3/discovery:monitoringassignments",{member}}}"#
        )
    };
    let lines = [
        line("c2s", 1, r#""body":{"node":{"id":"n1"},"typeUrl":"type.googleapis.com/own.Assignment"}"#),
        line("s2c", 1, r#""http_status":200,"body":{"versionInfo":"7"}"#),
        line("c2s", 1, r#""raw":"CgE3""#),
        line("c2s", 2, r#""body":"ping""#),
        line("s2c", 2, r#""http_status":404,"body":"none""#),
        line("c2s", 3, r#""raw":"CgE3""#),
    ];
    let codec = crate::SchemaCodec(xdscope_schema::Schema::builtin());
    let options = Options { json: Some(&codec), ..Options::default() };
    let loaded = read_with(lines.join("\n").as_bytes(), &options).unwrap();
    assert_eq!(loaded.notices, Vec::<String>::new());
    let words = loaded.frames.iter().map(|frame| match &frame.what {
        FramePayload::Open(_) => "open",
        FramePayload::Message(message) if message.dir() == Dir::Req => "request",
        FramePayload::Message(_) => "response",
        FramePayload::Opaque { .. } => "counted",
        _ => "other",
    });
    let words: Vec<&str> = words.collect();
    assert_eq!(
        words,
        ["open", "request", "response", "request", "open", "counted", "counted", "open", "counted"]
    );
}
