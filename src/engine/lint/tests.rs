//! Tests of the catalog: manuals and fixtures of all rules, and conditions that silence them.

mod losses;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use super::check::Check;
use super::*;
use crate::engine::store::Store;
use crate::wire::content::Catalog;
use crate::wire::event::{Clock, Dir, StreamId, Time};
use crate::wire::{Frame, FramePayload, Message, MessageShape, Open};

/// Rules whose bad fixture is built by a test, because of its size or because scripts cannot
/// express the content.
const BUILT_IN_TESTS: [&str; 9] = [
    "over-4mib",
    "delta-would-save",
    "collection-form",
    "rest-noncanonical",
    "fs-format-mismatch",
    "xdstp-authority-unmapped",
    "relay-leak",
    "relay-version-rewritten",
    "stream-silent",
];

fn fixtures() -> BTreeMap<String, String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/lint");
    let mut out = BTreeMap::new();
    for entry in std::fs::read_dir(root).expect("the fixtures").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.ends_with(".xds") {
            continue;
        }
        out.insert(name, std::fs::read_to_string(entry.path()).expect("text"));
    }
    out
}

#[test]
fn rules_have_fixtures() {
    let fixtures = fixtures();
    let mut wrong = Vec::new();
    for rule in rules().filter(|rule| !is_bootstrap_rule(rule)) {
        let has = |kind: &str, line: String| {
            let text = fixtures.get(&format!("{}.{kind}.xds", rule.id));
            let close = |line: &str| line == "expect lint only" || line == "expect lint none";
            text.is_some_and(|text| text.contains(&line) && text.lines().last().is_some_and(close))
        };
        if !has("bad", format!("\nexpect lint {}", rule.id)) && !BUILT_IN_TESTS.contains(&rule.id) {
            wrong.push(format!("{} has no bad fixture", rule.id));
        }
        if !has("good", format!("\nexpect no {}", rule.id)) {
            wrong.push(format!("{} has no good fixture", rule.id));
        }
    }
    for name in fixtures.keys() {
        let id = name.split('.').next().unwrap_or_default();
        if rule(id).is_none() {
            wrong.push(format!("{name} does not belong to a rule"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether the rule checks bootstrap files only.
fn is_bootstrap_rule(rule: &Rule) -> bool {
    catalog::checks_of(rule.id).iter().all(|check| matches!(check, Check::Bootstrap(_)))
}

#[test]
fn bootstrap_rules_have_fixtures() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let found = |file: &str| {
        let text = std::fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let file = Bootstrap::read(&text).unwrap_or_else(|| panic!("not a bootstrap: {file}"));
        let findings = file.findings();
        assert!(findings.iter().all(|finding| finding.place.is_some()));
        findings.into_iter().map(|finding| finding.rule.id).collect::<BTreeSet<_>>()
    };
    let mut seen = 0;
    for rule in rules().filter(|rule| is_bootstrap_rule(rule)) {
        assert_eq!(found(&format!("tests/fixtures/lint/{}.bad.yaml", rule.id)), [rule.id].into());
        assert_eq!(found(&format!("tests/fixtures/lint/{}.good.yaml", rule.id)), [].into(), "{}", rule.id);
        seen += 1;
    }
    assert_eq!(seen, 4);
    for file in ["examples/bootstraps/envoy-ads.yaml", "examples/bootstraps/grpc.json"] {
        assert_eq!(found(file), [].into(), "{file}");
    }
    assert!(Bootstrap::read("a: 1").is_none() && Bootstrap::read("{").is_none());
}

/// Returns the findings of a stream that opens with the metadata.
fn findings_of_open(method: &str, metadata: &[(&str, &str)]) -> BTreeSet<&'static str> {
    let metadata = metadata.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let mut store =
        Store::new(Catalog::in_memory(), Clock::default(), crate::engine::store::Options::default());
    let mut lint = Lint::new(Options::default());
    let what = FramePayload::Open(Box::new(Open { method: method.to_owned(), metadata, ..Open::default() }));
    lint.handle(&mut store, Frame { at: Time(1), stream: StreamId(1), what });
    lint.findings().iter().map(|finding| finding.rule.id).collect()
}

/// docs/protocol.md#c-03 and docs/protocol.md#d-04
#[test]
fn checks_formats_stated_by_stream() {
    let rest = "/v3/discovery:clusters";
    assert_eq!(findings_of_open(rest, &[(Open::JSON_NAMES, "proto")]), ["rest-noncanonical"].into());
    assert_eq!(findings_of_open(rest, &[]), [].into());
    let file = |ending: &str| findings_of_open("file:", &[(Open::FORMAT, "YAML"), (Open::ENDING, ending)]);
    assert_eq!(file("JSON"), ["fs-format-mismatch"].into());
    assert_eq!(file("YAML"), [].into());
}

/// Returns the findings of a session whose client has servers for the authorities.
fn findings_with_authorities(authorities: &str, text: &str) -> BTreeSet<&'static str> {
    let mut loaded = frames(text);
    for frame in &mut loaded.frames {
        if let FramePayload::Open(open) = &mut frame.what {
            open.metadata.push((Open::AUTHORITIES.to_owned(), authorities.to_owned()));
        }
    }
    found(loaded, |_| None)
}

/// docs/protocol.md#k-24
#[test]
fn reports_unmapped_authorities() {
    let l = "envoy.config.listener.v3.Listener";
    let redirect = format!(
        "node me\nstream 1 delta lds\n> sub=[\"xdstp://a/{l}/x\"]\n\
         < n=1 [\"xdstp://a/{l}/x\"=>\"xdstp://b/{l}/x\"@1]\n"
    );
    let list = format!(
        "node me\nstream 1 delta lds\n> sub=[\"xdstp://a/{l}Collection/x\"]\n\
         < n=1 [\"xdstp://a/{l}Collection/x\"{{entries: [{{locator: \"xdstp:///{l}/y\"}}]}}@1]\n"
    );
    for text in [&redirect, &list] {
        assert_eq!(findings_with_authorities("a", text), ["xdstp-authority-unmapped"].into());
        assert_eq!(findings_with_authorities(",a,b", text), [].into());
        assert_eq!(found(frames(text), |_| None), [].into(), "one server serves all authorities");
    }
}

/// Returns the findings of a relay with two clients.
///
/// The relay reaches its control plane from `from`, serves its clients at `to`, and sends the first
/// client the resources in `sent`.
fn findings_of_relay(from: &str, to: &str, sent: &str) -> BTreeSet<&'static str> {
    let x = |name: &str| format!("\"xdstp://a/envoy.config.cluster.v3.Cluster/{name}\"");
    let text = "node relay\nstream 1 delta cds\n> sub=[$x $y]\n< n=1 [$x@1 $y@1]\n> n=1\n\
                node a\nstream 2 delta cds\n> sub=[$x]\nnode b\nstream 3 delta cds\n> sub=[$y]\n2 < n=1 [$sent]\n";
    let text = text.replace("$sent", sent).replace("$x", &x("x")).replace("$y", &x("y"));
    let mut loaded = frames(&text);
    for frame in &mut loaded.frames {
        let relay = frame.stream == StreamId(1);
        if let FramePayload::Open(open) = &mut frame.what {
            open.peer = Some(if relay { from } else { "10.0.0.9:1" }.to_owned());
            open.server = Some(if relay { "10.0.0.1:18000" } else { to }.to_owned());
        }
    }
    found(loaded, |_| None)
}

/// docs/protocol.md#k-30
#[test]
fn recognizes_relays_by_address() {
    let same = |sent: &str| findings_of_relay("10.0.0.5:4711", "10.0.0.5:18001", sent);
    assert_eq!(same("$x@1"), [].into());
    assert_eq!(same("$x@r7"), ["relay-version-rewritten"].into());
    assert_eq!(same("$x@1 $y@1"), ["relay-leak", "unrequested-resource"].into());
    // Different content was not forwarded.
    assert_eq!(same("$x~2@r7"), [].into());
    // On one host the nodes decide. A peer on another host is not a relay.
    assert_eq!(
        findings_of_relay("127.0.0.1:4711", "127.0.0.1:18001", "$x@r7"),
        ["relay-version-rewritten"].into()
    );
    assert_eq!(
        findings_of_relay("10.0.0.6:4711", "10.0.0.5:18001", "$x@r7 $y@1"),
        ["unrequested-resource"].into()
    );
}

/// Returns the findings of a stream with PINGs at the given seconds, until `end`.
fn findings_of_pings(at: &[u64], end: u64) -> BTreeSet<&'static str> {
    let time = |secs: u64| Time::ZERO.after(Duration::from_secs(secs));
    let mut loaded = frames("node n\nstream 1 sotw cds\n>\n< v=1 n=1 [a]\n> v=1 n=1\n");
    let ping = FramePayload::Opaque { dir: Dir::Req, messages: 0, bytes: 0 };
    let ping = |at: &u64| Frame { at: time(*at), stream: StreamId(1), what: ping.clone() };
    loaded.frames.extend(at.iter().map(ping));
    loaded.end = time(end);
    found(loaded, |_| None)
}

/// docs/protocol.md#i-12
#[test]
fn reports_stopped_keepalives() {
    assert_eq!(findings_of_pings(&[30, 60, 90], 179), [].into());
    assert_eq!(findings_of_pings(&[30, 60, 90], 180), ["stream-silent"].into());
    // Irregular PINGs, and none.
    assert_eq!(findings_of_pings(&[30, 60, 150], 900), [].into());
    assert_eq!(findings_of_pings(&[], 900), [].into());
}

#[test]
fn rules_have_manuals() {
    let mut titles = BTreeSet::new();
    for rule in rules() {
        let manual = rule.manual();
        for part in ["\nWhy: ", "\nExample:\n", "\nAdvice: ", "\nReference: "] {
            assert!(manual.contains(part), "{} lacks {part:?}", rule.id);
        }
        let mentions_row = |row: &str| manual.contains(row) && row.contains('-');
        assert!(!rule.rows.split(", ").any(mentions_row), "{} mentions a row", rule.id);
        assert!(
            !rule.title().is_empty() && titles.insert(rule.title()),
            "{} lacks a title of its own",
            rule.id
        );
        assert!(
            rule.id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'),
            "{}",
            rule.id
        );
    }
}

/// Returns the severity and rows of each rule in `rules.txt`.
fn listed_rules() -> BTreeMap<&'static str, (&'static str, BTreeSet<&'static str>)> {
    let lines = include_str!("rules.txt").lines().filter(|line| !line.starts_with('#'));
    let parts = lines.map(|line| line.split(" | ").collect::<Vec<_>>());
    let row = |parts: Vec<&'static str>| match parts[..] {
        [id, severity, rows] => (id, (severity, rows.split(", ").collect())),
        _ => panic!("not three columns: {parts:?}"),
    };
    parts.map(row).collect()
}

#[test]
fn rules_match_catalog() {
    let listed = listed_rules();
    assert_eq!(listed.len(), 143);
    assert_eq!(rules().count(), listed.len());
    for rule in rules() {
        let (severity, rows) = listed.get(rule.id).unwrap_or_else(|| panic!("{}", rule.id));
        let own: BTreeSet<&str> = rule.rows.split(", ").collect();
        assert_eq!(*severity, rule.severity.word(), "{}", rule.id);
        assert!(rows.is_subset(&own), "{}: {own:?} of {rows:?}", rule.id);
    }
}

/// Returns the findings of a session with acknowledged CDS pushes, of which one cluster changes
/// each time.
fn findings_of_pushes(pushes: usize, clusters: usize, bytes: usize) -> Vec<&'static str> {
    use crate::wire::pb::put_len_field;
    let mut store =
        Store::new(Catalog::in_memory(), Clock::default(), crate::engine::store::Options::default());
    let mut lint = Lint::new(Options::default());
    let method = "/envoy.service.cluster.v3.ClusterDiscoveryService/StreamClusters".to_owned();
    let mut feed = |store: &mut Store, what| {
        let at = Time(store.messages() * 1_000_000);
        lint.handle(store, Frame { at, stream: StreamId(1), what });
    };
    feed(&mut store, FramePayload::Open(Box::new(Open { method, ..Open::default() })));
    let mut node = Vec::new();
    put_len_field(&mut node, 1, b"n1");
    for push in 0..=pushes {
        let mut request = Vec::new();
        put_len_field(&mut request, 2, &node);
        if push > 0 {
            put_len_field(&mut request, 1, push.to_string().as_bytes());
            put_len_field(&mut request, 5, push.to_string().as_bytes());
        }
        let message = Message::parse(MessageShape::of(&method_of(), Dir::Req), &request, store.catalog_mut());
        feed(&mut store, FramePayload::Message(std::sync::Arc::new(message)));
        if push == pushes {
            break;
        }
        let mut response = Vec::new();
        put_len_field(&mut response, 1, (push + 1).to_string().as_bytes());
        for cluster in 0..clusters {
            let mut value = Vec::new();
            put_len_field(&mut value, 1, format!("c{cluster}").as_bytes());
            let content = if cluster == 0 { push as u8 } else { 0 };
            put_len_field(&mut value, 28, &vec![b'a' + content; bytes]);
            let mut any = Vec::new();
            put_len_field(&mut any, 1, b"type.googleapis.com/envoy.config.cluster.v3.Cluster");
            put_len_field(&mut any, 2, &value);
            put_len_field(&mut response, 2, &any);
        }
        put_len_field(&mut response, 5, (push + 1).to_string().as_bytes());
        let message =
            Message::parse(MessageShape::of(&method_of(), Dir::Resp), &response, store.catalog_mut());
        feed(&mut store, FramePayload::Message(std::sync::Arc::new(message)));
    }
    lint.findings().iter().map(|finding| finding.rule.id).collect()
}

fn method_of() -> crate::wire::event::Method {
    let method = "/envoy.service.cluster.v3.ClusterDiscoveryService/StreamClusters";
    crate::wire::event::Method::parse(method).expect("a method")
}

#[test]
fn reports_large_messages_and_unchanged_pushes() {
    assert_eq!(findings_of_pushes(1, 3, 2 << 20), ["over-4mib"]);
    assert_eq!(findings_of_pushes(14, 100, 4 << 10), ["delta-would-save"]);
    assert_eq!(findings_of_pushes(14, 100, 100), Vec::<&str>::new());
    // Two pushes are too few for a finding. The first one repeats nothing.
    assert_eq!(findings_of_pushes(2, 100, 10 << 10), Vec::<&str>::new());
    assert_eq!(findings_of_pushes(3, 100, 10 << 10), ["delta-would-save"]);
}

#[test]
fn merges_repeated_findings() {
    let ids = findings_of_pushes(40, 3, 2 << 20);
    // The first is a warning. Once the client has accepted a large message, the others are info.
    assert_eq!(ids.iter().filter(|id| **id == "over-4mib").count(), 2, "{ids:?}");
}

/// Returns the findings of a session in which a list of `entries` members is sent `times` times in
/// a minute.
fn texts_of_lists(entries: usize, times: usize) -> BTreeSet<String> {
    let list = "xdstp://a/envoy.config.listener.v3.ListenerCollection/c";
    let members: Vec<String> = (0..entries).map(|i| format!("{{inline: m{i}, version: \"1\"}}")).collect();
    let mut text = format!("node n1\nstream 1 delta lds\n> sub=[\"{list}\"]\n");
    for n in 1..=times {
        let members = members.join(", ");
        text.push_str(&format!(
            "< n={n} [\"{list}\"{{entries: [{members}, {{inline: n{n}}}]}}@{n}]\n> n={n}\n"
        ));
    }
    let findings = findings(frames(&text), |_| None).into_iter();
    findings.filter(|finding| finding.rule.id == "collection-form").map(|finding| finding.text).collect()
}

/// A codec for scripts whose content needs no descriptors.
struct EmptyCodec;

impl crate::sources::script::Codec for EmptyCodec {
    fn encode(&self, _: &str, _: &serde_json::Value) -> Result<Vec<u8>, crate::sources::script::CodecError> {
        Ok(Vec::new())
    }
    fn decode(&self, _: &str, _: &[u8]) -> Option<serde_json::Value> {
        None
    }
}

fn frames(text: &str) -> crate::sources::record::Loaded {
    let script = crate::sources::script::parse(text, "test.xds").unwrap_or_else(|error| panic!("{error}"));
    crate::sources::script::load(&script, &EmptyCodec).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the findings of a session, into which `after` may insert a frame behind each frame.
fn found(
    loaded: crate::sources::record::Loaded,
    after: impl Fn(&Frame) -> Option<Frame>,
) -> BTreeSet<&'static str> {
    findings(loaded, after).iter().map(|finding| finding.rule.id).collect()
}

fn findings(
    loaded: crate::sources::record::Loaded,
    after: impl Fn(&Frame) -> Option<Frame>,
) -> Vec<super::Finding> {
    let mut store = Store::new(loaded.catalog, loaded.clock, crate::engine::store::Options::default());
    let mut lint = Lint::new(Options::default());
    for frame in loaded.frames {
        let more = after(&frame);
        lint.handle(&mut store, frame);
        if let Some(more) = more {
            lint.handle(&mut store, more);
        }
    }
    lint.advance(&mut store, loaded.end);
    lint.findings().to_vec()
}

#[test]
fn runs_no_timers_without_timestamps() {
    for (name, text) in fixtures().iter().filter(|(name, _)| name.ends_with(".bad.xds")) {
        let mut loaded = frames(text);
        loaded.clock.untimed = true;
        let id = name.split('.').next().unwrap_or_default();
        let timer = catalog::checks_of(id).iter().all(|check| matches!(check, Check::Alarm(..)));
        assert!(!(timer && found(loaded, |_| None).contains(id)), "{id}");
    }
}

#[test]
fn is_deterministic() {
    for (name, text) in fixtures() {
        let all = || {
            let loaded = frames(&text);
            let mut store =
                Store::new(loaded.catalog, loaded.clock, crate::engine::store::Options::default());
            let mut lint = Lint::new(Options::default());
            loaded.frames.into_iter().for_each(|frame| lint.handle(&mut store, frame));
            lint.advance(&mut store, loaded.end);
            format!(
                "{:?}",
                lint.findings().iter().map(|f| (f.rule.id, &f.names, &f.text)).collect::<Vec<_>>()
            )
        };
        assert_eq!(all(), all(), "{name}");
    }
}

/// docs/protocol.md#l-06
#[test]
fn response_shows_reading_of_names_after_wildcard() {
    let text = |after: &str| {
        let text = format!("node n\nstream 1 sotw cds\n>\n< v=1 n=1 [A B]\n> v=1 n=1 names=[A]\n{after}\n");
        let loaded = frames(&text);
        let mut store = Store::new(loaded.catalog, loaded.clock, crate::engine::store::Options::default());
        let mut lint = Lint::new(Options::default());
        loaded.frames.into_iter().for_each(|frame| lint.handle(&mut store, frame));
        let found = lint.findings().iter().find(|finding| finding.rule.id == "wildcard-dropped-by-names");
        found.map(|finding| finding.text.clone()).expect("the finding")
    };
    assert!(text("").ends_with("servers that follow the edition of Envoy 1.17 keep it"));
    assert!(text("+20s < v=2 n=2 [A B~2]").ends_with("; this server keeps the wildcard"));
    assert!(text("+20s < v=2 n=2 [A~2]").ends_with("; this server sends the names only"));
    // The response may have crossed the list.
    assert!(text("< v=2 n=2 [A B~2]").ends_with("Envoy 1.17 keep it"));
}

/// docs/protocol.md#k-22
#[test]
fn reports_large_busy_lists() {
    let texts = BTreeSet::from(["list of 1,201 entries, sent 11 times in a minute".to_owned()]);
    assert_eq!(texts_of_lists(1200, 11), texts);
    assert_eq!(texts_of_lists(1001, 10), BTreeSet::new());
    assert_eq!(texts_of_lists(900, 11), BTreeSet::new());
}

#[test]
fn scenarios_expect_all_findings() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/scripts");
    let mut open = Vec::new();
    for entry in std::fs::read_dir(root).expect("the scenarios").flatten() {
        let text = std::fs::read_to_string(entry.path()).expect("text");
        let closed = text.lines().any(|line| line == "expect lint only" || line == "expect lint none");
        if !closed {
            open.push(entry.path());
        }
    }
    assert!(open.is_empty(), "{open:?}");
}
