use super::super::{ConnId, Pipeline, TapCopy, TapEvent};
use super::*;
use xdscope_engine::lint;
use xdscope_wire::{FramePayload, MessageBody};

/// Observes bytes on connections. Returns the frames as text, and the rules with findings.
fn seen(pieces: &[(u64, Dir, String)]) -> (Vec<String>, Vec<&'static str>) {
    let schema = Schema::builtin();
    let mut pipeline = Pipeline::new(|_, _| None).with_rest(schema.clone());
    let clock = xdscope_wire::event::Clock::default();
    let mut store = xdscope_engine::store::Store::new(
        Catalog::in_memory(),
        clock,
        xdscope_engine::store::Options::default(),
    );
    let mut lint = lint::Lint::new(xdscope_engine::analysis::rules(&schema));
    let (mut frames, mut known) = (Vec::new(), Vec::new());
    for (at, (conn, dir, bytes)) in pieces.iter().enumerate() {
        let (conn, at) = (ConnId(*conn), Time(at as u64 * 1_000_000));
        if !known.contains(&conn) {
            known.push(conn);
            let what =
                TapEvent::Opened { peer: format!("10.0.0.1:{}", 4000 + conn.0), server: "cp:1".to_owned() };
            pipeline.handle(TapCopy { conn, at, event: what }, store.catalog_mut(), &mut frames);
        }
        let what = TapEvent::Bytes { dir: *dir, bytes: bytes.clone().into_bytes().into() };
        pipeline.handle(TapCopy { conn, at, event: what }, store.catalog_mut(), &mut frames);
    }
    let words = frames.iter().map(|frame| match &frame.what {
        FramePayload::Open(open) => format!("{} open {}", frame.stream.0, open.method),
        FramePayload::Message(message) => match &message.body {
            MessageBody::SotwRequest(m) => format!("{} > {}", frame.stream.0, m.version_info),
            MessageBody::SotwResponse(m) => {
                format!("{} < {} [{}]", frame.stream.0, m.version_info, m.resources.blobs().len())
            }
            MessageBody::Undecodable { .. } => {
                format!("{} {} undecodable", frame.stream.0, message.dir().word())
            }
            other => format!("{other:?}"),
        },
        FramePayload::Opaque { dir, messages: 0, .. } => {
            format!("{} {} nothing", frame.stream.0, dir.word())
        }
        FramePayload::Opaque { dir, bytes, .. } => format!("{} {} {bytes} B", frame.stream.0, dir.word()),
        FramePayload::End(end) => {
            format!("{} end {:?} {:?}", frame.stream.0, end.by, end.status.as_ref().expect("a status"))
        }
        other => format!("{other:?}"),
    });
    let words = words.collect();
    frames.into_iter().for_each(|frame| lint.handle(&mut store, frame));
    (words, lint.findings().iter().map(|finding| finding.rule.id).collect())
}

fn post(conn: u64, path: &str, body: &str) -> (u64, Dir, String) {
    (
        conn,
        Dir::Req,
        format!("POST {path} HTTP/1.1\r\nHost: cp\r\nContent-Length: {}\r\n\r\n{body}", body.len()),
    )
}

fn answer(conn: u64, status: &str, body: &str) -> (u64, Dir, String) {
    (conn, Dir::Resp, format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
}

const CDS: &str = "/v3/discovery:clusters";
const CLUSTERS: &str = r#"{"versionInfo": "1", "typeUrl": "type.googleapis.com/envoy.config.cluster.v3.Cluster",
    "resources": [{"@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "name": "c"}]}"#;

#[test]
fn joins_polls_of_several_connections() {
    let first = r#"{"node": {"id": "n1"}}"#;
    let next = r#"{"node": {"id": "n1"}, "versionInfo": "1"}"#;
    let (frames, rules) = seen(&[
        post(1, CDS, first),
        answer(1, "200 OK", CLUSTERS),
        post(1, CDS, next),
        answer(1, "304 Not Modified", ""),
        post(2, CDS, next),
        post(3, "/v3/discovery:endpoints", r#"{"node": {"id": "n1"}, "resourceNames": ["c"]}"#),
    ]);
    assert_eq!(
        frames,
        [
            "1 open /v3/discovery:clusters",
            "1 > ",
            "1 < 1 [1]",
            "1 > 1",
            "1 resp nothing",
            "1 > 1",
            "2 open /v3/discovery:endpoints",
            "2 > ",
        ]
    );
    assert_eq!(rules, Vec::<&str>::new());
}

#[test]
fn status_of_an_error_ends_the_track() {
    let poll = r#"{"node": {"id": "n1"}}"#;
    let (frames, rules) = seen(&[
        post(1, CDS, poll),
        answer(1, "503 Service Unavailable", "overloaded\n"),
        post(1, CDS, poll),
        answer(1, "403 Forbidden", ""),
        post(2, CDS, poll),
        answer(2, "200 OK", CLUSTERS),
        post(2, CDS, r#"{"node": {"id": "n1"}, "versionInfo": "1"}"#),
    ]);
    assert_eq!(
        frames,
        [
            "1 open /v3/discovery:clusters",
            "1 > ",
            "1 end Some(Server) (Code(14), \"HTTP status 503: overloaded\")",
            "2 open /v3/discovery:clusters",
            "2 > ",
            "2 end Some(Server) (Code(7), \"HTTP status 403\")",
            "3 open /v3/discovery:clusters",
            "3 > ",
            "3 < 1 [1]",
            "3 > 1",
        ]
    );
    assert_eq!(rules, ["stream-rejected"]);
    let down = [post(1, CDS, poll), answer(1, "503 No", "")];
    assert_eq!(seen(&[down.clone(), down.clone(), down].concat()).1, ["stream-rejected"]);
}

#[test]
fn closed_connection_ends_the_poll_only() {
    let poll = r#"{"node": {"id": "n1"}}"#;
    let broken = (1, Dir::Resp, "nonsense\r\n\r\n".to_owned());
    let (frames, _) = seen(&[post(1, CDS, poll), broken, post(2, CDS, poll)]);
    assert_eq!(
        frames,
        ["1 open /v3/discovery:clusters", "1 > ", "1 req nothing", "2 open HTTP/1.1: not HTTP/1.1", "1 > "]
    );
}

#[test]
fn finds_violations_in_polls() {
    let node = r#"{"node": {"id": "n1"}}"#;
    let again = r#"{"node": {"id": "n1"}, "versionInfo": "1"}"#;
    let processes = [post(1, CDS, node), post(2, CDS, node)];
    assert_eq!(seen(&processes).1, Vec::<&str>::new());
    let overlap =
        [post(1, CDS, node), answer(1, "200 OK", CLUSTERS), post(1, CDS, again), post(2, CDS, again)];
    assert_eq!(seen(&overlap).1, ["rest-overlap"]);
    assert_eq!(
        seen(&[post(1, CDS, r#"{"node": {"id": "n1"}, "version_info": "1"}"#)]).1,
        ["rest-noncanonical"]
    );
    let delta = r#"{"node": {"id": "n1"}, "resourceNamesSubscribe": ["a"]}"#;
    assert_eq!(seen(&[post(1, CDS, delta)]).1, ["rest-delta"]);
    assert_eq!(seen(&[post(1, CDS, "{")]).1, ["rest-bad-json"]);
    assert_eq!(seen(&[post(1, CDS, node), answer(1, "200 OK", "<html>")]).1, ["rest-bad-json"]);
    assert_eq!(seen(&[post(1, CDS, node), answer(1, "200 OK", "")]).1, ["rest-bad-json"]);
}

#[test]
fn accepts_unknown_type_as_valid_json() {
    let (frames, rules) = seen(&[
        post(1, CDS, r#"{"node": {"id": "n1"}}"#),
        answer(1, "200 OK", r#"{"resources": [{"@type": "type.googleapis.com/own.Type", "x": 1}]}"#),
    ]);
    assert!(frames[2].starts_with("Gap"), "{frames:?}");
    assert_eq!(rules, Vec::<&str>::new());
}

#[test]
fn leaves_other_requests_opaque() {
    let get = |path: &str| (1, Dir::Req, format!("GET {path} HTTP/1.1\r\n\r\n"));
    assert_eq!(seen(&[get("/healthz")]).0, ["1 open HTTP/1.1"]);
}

const OWN: &str = "/v3/discovery:monitoringassignments";

#[test]
fn polls_unknown_path_by_stated_type() {
    let first = r#"{"node": {"id": "n1"}, "typeUrl": "type.googleapis.com/own.Assignment"}"#;
    let again =
        r#"{"node": {"id": "n1"}, "type_url": "type.googleapis.com/own.Assignment", "version_info": "7"}"#;
    let empty = r#"{"versionInfo": "7", "typeUrl": "type.googleapis.com/own.Assignment"}"#;
    let (frames, rules) = seen(&[
        post(1, OWN, first),
        answer(1, "200 OK", empty),
        post(2, OWN, again),
        answer(2, "304 Not Modified", ""),
        post(2, OWN, again),
        answer(2, "404 Not Found", ""),
    ]);
    assert_eq!(
        frames,
        [
            format!("1 open {OWN}").as_str(),
            "1 > ",
            "1 < 7 [0]",
            "1 > 7",
            "1 resp nothing",
            "1 > 7",
            "1 end Some(Server) (Code(12), \"HTTP status 404\")",
        ]
    );
    assert!(!rules.contains(&"rest-bad-json") && !rules.contains(&"rest-ads"), "{rules:?}");
}

#[test]
fn counts_unknown_path_without_type() {
    let (frames, rules) = seen(&[
        post(1, OWN, r#"{"node": {"id": "n1"}}"#),
        answer(1, "404 No", "none"),
        post(1, OWN, r#"{"node": {"id": "n1"}, "typeUrl": "type.googleapis.com/own.Assignment"}"#),
        post(1, OWN, "ping"),
    ]);
    assert_eq!(
        frames,
        [
            format!("1 open POST {OWN}").as_str(),
            "1 req 22 B",
            "1 resp 4 B",
            format!("2 open {OWN}").as_str(),
            "2 > ",
            format!("3 open POST {OWN}").as_str(),
            "3 req 4 B",
        ]
    );
    assert!(!rules.contains(&"rest-bad-json") && !rules.contains(&"stream-rejected"), "{rules:?}");
}
