//! Tests of the catalog: manuals and fixtures of all rules, and conditions that silence them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::*;
use crate::lint::rule::check::Check;
use crate::store::Store;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Clock, Dir, StreamId, Time};
use xdscope_wire::{Frame, FramePayload, Message, MessageShape, Open};

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
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/lint");
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
    rule::catalog::checks_of(rule.id).iter().all(|check| matches!(check, Check::Bootstrap(_)))
}

#[test]
fn bootstrap_rules_have_fixtures() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
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
    let mut store = Store::new(Catalog::in_memory(), Clock::default(), crate::store::Options::default());
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
    assert_eq!(listed.len(), 145);
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
    use xdscope_wire::pb::put_len_field;
    let mut store = Store::new(Catalog::in_memory(), Clock::default(), crate::store::Options::default());
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

fn method_of() -> xdscope_wire::event::Method {
    let method = "/envoy.service.cluster.v3.ClusterDiscoveryService/StreamClusters";
    xdscope_wire::event::Method::parse(method).expect("a method")
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

#[test]
fn scenarios_expect_all_findings() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/scripts");
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
