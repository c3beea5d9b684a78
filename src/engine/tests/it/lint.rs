//! Findings in sessions as arrow scripts.

mod losses;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use xdscope_engine::lint::{Finding, Lint, Options};
use xdscope_engine::store::{self, Store};
use xdscope_wire::event::{Dir, StreamId, Time};
use xdscope_wire::{Frame, FramePayload, Open};

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

impl xdscope_sources::script::Codec for EmptyCodec {
    fn encode(&self, _: &str, _: &serde_json::Value) -> Result<Vec<u8>, xdscope_sources::script::CodecError> {
        Ok(Vec::new())
    }
    fn decode(&self, _: &str, _: &[u8]) -> Option<serde_json::Value> {
        None
    }
}

fn frames(text: &str) -> xdscope_sources::record::Loaded {
    let script = xdscope_sources::script::parse(text, "test.xds").unwrap_or_else(|error| panic!("{error}"));
    xdscope_sources::script::load(&script, &EmptyCodec).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the findings of a session, into which `after` may insert a frame behind each frame.
fn found(
    loaded: xdscope_sources::record::Loaded,
    after: impl Fn(&Frame) -> Option<Frame>,
) -> BTreeSet<&'static str> {
    findings(loaded, after).iter().map(|finding| finding.rule.id).collect()
}

fn findings(
    loaded: xdscope_sources::record::Loaded,
    after: impl Fn(&Frame) -> Option<Frame>,
) -> Vec<Finding> {
    let mut store = Store::new(loaded.catalog, loaded.clock, store::Options::default());
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

/// Rules that report the opening or the end of a stream, which are no messages either.
const OF_STREAMS: &[&str] = &["stream-rejected", "transport-v2"];

/// A finding that neither a message nor a stream completes comes from a timer.
#[test]
fn runs_no_timers_without_timestamps() {
    let (mut timers, mut wrong) = (0, Vec::new());
    let fixtures = fixtures();
    for (name, text) in fixtures.iter().filter(|(name, _)| name.ends_with(".bad.xds")) {
        let id = name.split('.').next().unwrap_or_default();
        let is_of_timer = |finding: &Finding| finding.rule.id == id && finding.at.is_none();
        if OF_STREAMS.contains(&id) || !findings(frames(text), |_| None).iter().any(is_of_timer) {
            continue;
        }
        timers += 1;
        let mut loaded = frames(text);
        loaded.clock.untimed = true;
        if findings(loaded, |_| None).iter().any(is_of_timer) {
            wrong.push(id);
        }
    }
    assert!(wrong.is_empty() && timers >= 10, "{timers} rules with timers, wrong: {wrong:?}");
}

#[test]
fn is_deterministic() {
    for (name, text) in fixtures() {
        let all = || {
            let loaded = frames(&text);
            let mut store = Store::new(loaded.catalog, loaded.clock, store::Options::default());
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
        let mut store = Store::new(loaded.catalog, loaded.clock, store::Options::default());
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
