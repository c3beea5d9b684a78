//! Checks that no rule misses an error that peers make on purpose, through the real tap.

use std::{
    collections::BTreeSet,
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    sync::Arc,
    thread,
};

use tokio::sync::oneshot;
use xdscope_engine::analysis;
use xdscope_engine::lint::{self, Finding, Lint};
use xdscope_engine::store::{SchemaSemantics, Store};
use xdscope_sources::observe::Pipeline;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Clock, Time};
use xdscope_wire::{Frame, FramePayload};

use crate::support::{
    bootstrap::{self, Variant},
    grpc_client::{GrpcClient, Kind},
    misbehave::{Misbehaving, Play, play_client, schema},
    tap,
    wait::{PATIENCE, wait_for},
    world::World,
};

/// Rules that no pair of gRPC peers can break, with reasons.
const ELSEWHERE: [(&str, &str); 18] = [
    ("fs-parse-error", "of files"),
    ("fs-partial-write", "of files"),
    ("fs-update-rejected", "of files"),
    ("fs-format-mismatch", "of files"),
    ("rest-ads", "of polls"),
    ("rest-bad-json", "of polls"),
    ("rest-delta", "of polls"),
    ("rest-noncanonical", "of polls"),
    ("rest-overlap", "of polls"),
    ("rest-unchanged-response", "of polls"),
    ("bootstrap-ads-missing", "of bootstraps"),
    ("bootstrap-not-v3", "of bootstraps"),
    ("bootstrap-xds-cluster", "of bootstraps"),
    ("bootstrap-xds-cluster-order", "of bootstraps"),
    ("xdstp-authority-unmapped", "of our own client"),
    ("relay-leak", "of two hops"),
    ("relay-version-rewritten", "of two hops"),
    ("stream-silent", "of PINGs, which are the transport's own"),
];

/// Returns scripts that are too large for files, each with the rule that it breaks.
fn large() -> Vec<(&'static str, String)> {
    let opening = "node n1\nstream 1 delta lds\n";
    let text = "x".repeat(5 << 20);
    let over = format!("node n1\nstream 1 sotw cds\n>\n< v=1 n=a [A~{text}]\n");
    let same = "y".repeat(60_000);
    let pushes = (1..=14).map(|n| format!("< v={n} n={n} [A~{same} B~{n}]\n> v={n} n={n}\n"));
    let again = format!("node n1\nstream 1 sotw cds\n>\n{}", pushes.collect::<String>());
    let list = "xdstp://a/envoy.config.listener.v3.ListenerCollection/c";
    let members: String = (0..1001).map(|i| format!("{{inline: m{i}, version: \"1\"}}, ")).collect();
    let pushes = (1..=11)
        .map(|n| format!("< n={n} [\"{list}\"{{entries: [{members}{{inline: n{n}}}]}}@{n}]\n> n={n}\n"));
    let lists = format!("{opening}> sub=[\"{list}\"]\n{}", pushes.collect::<String>());
    vec![("over-4mib", over), ("delta-would-save", again), ("collection-form", lists)]
}

/// Plays a script between two peers through the tap and returns the frames.
fn tapped(name: &str, text: &str) -> (Play, Vec<Frame>, Catalog) {
    let (mut plays, mut frames, catalog) = tapped_hops([Misbehaving::start()], [(name, text)]);
    let play = plays.remove(0);
    // Peers disconnect at the end; in the script they stay connected.
    frames.truncate(play.frames.len());
    // Silences exist in the script only: no peer waits for them.
    for (frame, scripted) in frames.iter_mut().zip(&play.frames) {
        frame.at = scripted.at;
    }
    (play, frames, catalog)
}

/// Plays a script to each of several servers in turn.
fn tapped_hops<const N: usize>(
    servers: [Misbehaving; N],
    scripts: [(&str, &str); N],
) -> (Vec<Play>, Vec<Frame>, Catalog) {
    let tap = tap::relay(&servers.each_ref().map(Misbehaving::address));
    let mut plays = Vec::new();
    for ((mut server, (name, text)), listening) in servers.into_iter().zip(scripts).zip(&tap.listening) {
        let play = Play::new(name, text);
        let listening = listening.to_string().parse().expect("an address");
        thread::scope(|both| {
            let (done, played) = oneshot::channel();
            // Contents belong to their thread, so the client parses the script itself.
            both.spawn(move || play_client(&Play::new(name, text), listening, played));
            server.play(&play, true);
            // The client is already gone if it sent the last message.
            let _ = done.send(());
        });
        plays.push(play);
    }
    let copies = tap.copies.clone().expect("decoding");
    let mut pipeline = Pipeline::new(|_, _| None).with_rest(schema().clone());
    let (mut catalog, mut frames) = (Catalog::in_memory(), Vec::new());
    let messages = |frames: &[Frame]| {
        frames.iter().filter(|frame| matches!(frame.what, FramePayload::Message(_))).count()
    };
    let all: usize = plays.iter().map(|play| play.frames.len()).sum();
    let said: usize = plays.iter().map(|play| messages(&play.frames)).sum();
    while frames.len() < all || messages(&frames) < said {
        let mut batch = Vec::new();
        assert!(copies.drain(&mut batch, PATIENCE) && !batch.is_empty(), "the tap tells all of it");
        for copied in batch {
            pipeline.handle(copied, &mut catalog, &mut frames);
        }
    }
    (plays, frames, catalog)
}

fn findings(frames: Vec<Frame>, catalog: Catalog, end: Time) -> Vec<Finding> {
    let mut store = Store::new(catalog, Clock::default(), Default::default());
    store.set_meaning(Arc::new(SchemaSemantics::new(schema().clone())));
    let mut lint = Lint::new(analysis::rules(schema()));
    for frame in frames {
        lint.handle(&mut store, frame);
    }
    lint.advance(&mut store, end);
    lint.findings().to_vec()
}

type Said = (&'static str, &'static str, &'static str, Vec<String>, String);

fn said(findings: &[Finding]) -> Vec<Said> {
    let names = |finding: &Finding| finding.names.iter().map(ToString::to_string).collect();
    let said = |f: &Finding| (f.rule.id, f.severity.word(), f.blame.word(), names(f), f.text.clone());
    findings.iter().map(said).collect()
}

/// Returns the sessions that break a rule, each with the id of the rule.
fn sessions() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/lint");
    let mut out: Vec<(String, String)> =
        large().into_iter().map(|(rule, text)| (rule.to_owned(), text)).collect();
    for entry in fs::read_dir(root).expect("the fixtures").flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        let Some(name) = file.strip_suffix(".bad.xds") else { continue };
        let rule = name.split('.').next().unwrap_or(name);
        if !ELSEWHERE.iter().any(|(id, _)| *id == rule) {
            out.push((rule.to_owned(), fs::read_to_string(entry.path()).expect("text")));
        }
    }
    out
}

#[test]
fn finds_errors_of_both_peers_through_tap() {
    let mut found = BTreeSet::new();
    for (rule, text) in sessions() {
        let (play, frames, catalog) = tapped(&rule, &text);
        let passed = said(&findings(frames, catalog, play.end));
        let written = said(&findings(play.frames, play.catalog, play.end));
        assert_eq!(passed, written, "{rule}");
        assert!(passed.iter().any(|(id, ..)| *id == rule), "{rule}: {passed:?}");
        found.insert(rule);
    }
    let elsewhere = ELSEWHERE.iter().map(|(id, _)| (*id).to_owned());
    let covered: BTreeSet<String> = found.into_iter().chain(elsewhere).collect();
    let all: BTreeSet<String> = lint::rules().map(|rule| rule.id.to_owned()).collect();
    assert_eq!(covered, all);
}

/// Polls on one connection: requests sent together, each with path and body, and their responses.
type Turn<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);

/// Returns the rules found when these polls and responses pass the tap.
fn polled(turns: &[Turn<'_>]) -> BTreeSet<&'static str> {
    let http = |first: &str, body: &str| {
        format!("{first}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let tap = tap::relay(&[listener.local_addr().expect("its address")]);
    let mut client = TcpStream::connect(tap.listening[0].to_string()).expect("a connection");
    let (mut server, _) = listener.accept().expect("the tap's connection");
    let pass = |from: &mut TcpStream, to: &mut TcpStream, text: String| {
        to.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        from.write_all(text.as_bytes()).expect("a connection");
        to.read_exact(&mut vec![0; text.len()]).expect("it passes");
    };
    let mut messages = 0;
    for (requests, answers) in turns {
        let request = |(path, body): &(&str, &str)| http(&format!("POST {path} HTTP/1.1\r\nhost: cp"), body);
        pass(&mut client, &mut server, requests.iter().map(request).collect());
        let answer = |body: &&str| http("HTTP/1.1 200 OK", body);
        pass(&mut server, &mut client, answers.iter().map(answer).collect());
        messages += requests.len() + answers.len();
    }
    let copies = tap.copies.clone().expect("decoding");
    let mut pipeline = Pipeline::new(|_, _| None).with_rest(schema().clone());
    let (mut catalog, mut frames) = (Catalog::in_memory(), Vec::<Frame>::new());
    while frames.iter().filter(|frame| matches!(frame.what, FramePayload::Message(_))).count() < messages {
        let mut batch = Vec::new();
        assert!(copies.drain(&mut batch, PATIENCE) && !batch.is_empty(), "the tap tells all of it");
        batch.into_iter().for_each(|copied| pipeline.handle(copied, &mut catalog, &mut frames));
    }
    let end = frames.last().map_or(Time::ZERO, |frame| frame.at);
    findings(frames, catalog, end).iter().map(|finding| finding.rule.id).collect()
}

/// Errors of clients and servers in REST polls.
#[test]
fn finds_rest_poll_errors_through_tap() {
    const CDS: &str = "/v3/discovery:clusters";
    let node = r#""node":{"id":"n1","cluster":"c"}"#;
    let cluster =
        r#""resources":[{"@type":"type.googleapis.com/envoy.config.cluster.v3.Cluster","name":"a"}]"#;
    let asks = |more: &str| format!("{{{node}{more}}}");
    let (first, again) = (asks(""), asks(r#","versionInfo":"1""#));
    let (one, two) =
        (format!(r#"{{"versionInfo":"1",{cluster}}}"#), format!(r#"{{"versionInfo":"2",{cluster}}}"#));
    let three = two.replace("\"versionInfo\":\"2\"", "\"versionInfo\":\"3\"").replace("\"a\"", "\"b\"");
    let good: Turn<'_> = (&[(CDS, &first)], &[&one]);
    assert_eq!(polled(&[good, (&[(CDS, &again)], &[&two.replace("\"a\"", "\"b\"")])]), [].into());
    let eds = asks(
        r#","typeUrl":"type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment","resourceNames":["a"]"#,
    );
    let snake = asks(r#","version_info":"""#);
    let delta = asks(r#","resourceNamesSubscribe":["a"]"#);
    let mut met = BTreeSet::new();
    for (rule, turns) in [
        ("rest-overlap", &[good, (&[(CDS, &*again), (CDS, &*again)][..], &[&*two, &*three][..])][..]),
        ("rest-unchanged-response", &[good, (&[(CDS, &again)], &[&one])]),
        ("rest-bad-json", &[(&[(CDS, &first)], &[r#"{"resources": 1}"#])]),
        ("rest-bad-json", &[(&[(CDS, r#"{"node": "#)], &[&one])]),
        ("rest-noncanonical", &[(&[(CDS, &snake)], &[&one])]),
        ("rest-delta", &[(&[(CDS, &delta)], &["{}"])]),
        ("rest-ads", &[good, (&[(CDS, &eds)], &["{}"])]),
    ] {
        let found = polled(turns);
        assert!(found.contains(rule), "{rule}: {found:?}");
        met.insert(rule);
    }
    let of_polls = ELSEWHERE.iter().filter(|(_, why)| *why == "of polls").map(|(rule, _)| *rule);
    assert_eq!(met, of_polls.collect());
}

/// docs/protocol.md#k-30: a relay requests everything for all of its clients, and sends one client
/// the resources of another, under its own versions.
#[test]
fn detects_relay_from_both_hops() {
    let x = "\"xdstp://a/envoy.config.cluster.v3.Cluster/x\"";
    let y = x.replace("/x", "/y");
    let up = format!("node relay\nstream 1 delta cds\n> sub=[{x} {y}]\n< n=1 [{x}@1 {y}@1]\n> n=1\n");
    let clients =
        format!("node a\nstream 1 delta cds\n> sub=[{x}]\nnode b\nstream 2 delta cds\n> sub=[{y}]\n");
    let down = |said: &str| {
        let down = format!("{clients}1 < n=1 [{said}]\n1 > n=1\n");
        let servers = [Misbehaving::start(), Misbehaving::start()];
        let (_, frames, catalog) = tapped_hops(servers, [("up", &up), ("down", &down)]);
        let end = frames.last().map_or(Time::ZERO, |frame| frame.at);
        let found = findings(frames, catalog, end);
        let of_relays = found.iter().filter(|finding| finding.rule.rows == "K-30");
        of_relays.map(|finding| (finding.rule.id, finding.node.clone())).collect::<BTreeSet<_>>()
    };
    assert_eq!(down(&format!("{x}@1")), [].into());
    assert_eq!(down(&format!("{x}@7")), [("relay-version-rewritten", Some("a".into()))].into());
    assert_eq!(down(&format!("{x}@1 {y}@1")), [("relay-leak", Some("a".into()))].into());
}

/// Rules that a server breaks and that no available client can provoke, with reasons.
const NO_OCCASION: [(&str, &str); 9] = [
    ("collection-form", "none of them asks for list collections"),
    ("delta-stale-sub-ignored", "none of them subscribes with the nonce of an older response"),
    ("delta-wildcard-unsub-unanswered", "none of them gives up a name beside a wildcard"),
    ("empty-treated-as-wildcard", "none of them gives up its last listener or cluster by an empty list"),
    ("payload-undecodable", "no script sends them a payload that is not protobuf"),
    ("reconnect-new-name-unsent", "a name must become wanted while no stream is open"),
    ("response-before-request", "all of them ask in the same breath in which they open a stream"),
    ("sotw-answer-to-stale", "a request and a response must cross"),
    ("stream-rejected", "servers that reject streams are in `faults`"),
];

/// Returns the findings that a script in `tests/fixtures/misbehave` expects.
fn expected(text: &str) -> BTreeSet<&str> {
    text.lines().filter_map(|line| line.strip_prefix("expect lint ")).collect()
}

fn error_scripts() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/misbehave");
    let files = fs::read_dir(root).expect("the scripts").flatten();
    let text = |path: &Path| fs::read_to_string(path).expect("text");
    files.map(|file| (file.file_name().to_string_lossy().into_owned(), text(&file.path()))).collect()
}

/// Whether a line of the tap shows a response; the arrow depends on the locale.
fn is_response(line: &str) -> bool {
    line.split_whitespace().any(|word| word == "←" || word == "<-")
}

/// Returns the rules of the findings that blame `who`, and whether each is a note.
fn by<'a>(findings: &'a [serde_json::Value], who: &'static str) -> impl Iterator<Item = (&'a str, bool)> {
    let by = findings.iter().filter(move |finding| finding["blame"] == who);
    by.filter_map(|finding| Some((finding["rule"].as_str()?, finding["severity"] == "info")))
}

/// Plays the server's side of each script for `client` to a client started by `start`.
///
/// Asserts that all expected findings appear, that there are no other errors or warnings about the
/// server, and only `known` ones about the client.
fn misbehave<T>(test: &str, client: &str, known: &[&str], start: impl Fn(&World, &str, SocketAddr) -> T) {
    let Some(world) = World::open(test) else { return };
    let scripts: Vec<_> = error_scripts().into_iter().filter(|(file, _)| file.starts_with(client)).collect();
    assert!(!scripts.is_empty());
    for (file, text) in &scripts {
        let name = file.trim_end_matches(".xds");
        let play = Play::new(file, &text.replace("$BIG", &"x".repeat(5 << 20)));
        let mut server = Misbehaving::start();
        let tap = world.tap_named(name, server.address(), &[]);
        let client = start(&world, name, tap.address());
        server.play(&play, false);
        // The last message, or the last end of a stream, is in flight until the tap prints it.
        let ends = text.lines().filter(|line| line.trim_start().starts_with("close status=")).count();
        wait_for("all that the server said among the tap's lines", || {
            let log = tap.log();
            let told = log.lines().filter(|line| is_response(line)).count();
            let ended =
                log.lines().filter(|line| line.split_whitespace().any(|word| word == "close")).count();
            (told >= play.responses() && ended >= ends).then_some(())
        });
        drop(client);
        let recording = tap.stop();
        let timers = ["--timers", "ack=1s,answer=2s,exist=2s,warm=2s"];
        let findings = recording.objects("lint", &timers);
        // On busy cores a client needs more than a second for an answer.
        let of_slow_client = recording.objects("lint", &["--timers", "ack=60s,answer=2s,exist=2s,warm=2s"]);
        let expected = expected(text);
        let server: BTreeSet<&str> = by(&findings, "server").map(|(rule, _)| rule).collect();
        let severe = by(&findings, "server").filter(|(_, info)| !info).map(|(rule, _)| rule);
        let missed: Vec<_> = expected.difference(&server).collect();
        let more: BTreeSet<&str> = severe.filter(|rule| !expected.contains(rule)).collect();
        let client = by(&of_slow_client, "client").filter(|(_, info)| !info);
        let client: BTreeSet<&str> = client.map(|(rule, _)| rule).collect();
        let client: Vec<_> = client.into_iter().filter(|rule| !known.contains(rule)).collect();
        assert!(
            missed.is_empty() && more.is_empty() && client.is_empty(),
            "{file}: missed {missed:?}, more of the server {more:?}, of the client {client:?}\n{}\n{}",
            recording.text("log", &[]),
            recording.text("lint", &timers)
        );
    }
}

#[test]
fn finds_server_errors_with_envoy_over_ads() {
    // Envoy answers an unrequested type without a type URL (docs/protocol.md#i-02), hence with the
    // nonce of another type (docs/protocol.md#e-11).
    let known = ["ads-type-url-missing", "nonce-unknown"];
    misbehave("finds_server_errors_with_envoy_over_ads", "envoy-ads", &known, |world, node, tap| {
        world.envoy(node, Variant::Ads, tap)
    });
}

#[test]
fn finds_server_errors_with_envoy_over_sotw_streams() {
    misbehave("finds_server_errors_with_envoy_over_sotw_streams", "envoy-sotw", &[], |world, node, tap| {
        world.envoy(node, Variant::Sotw, tap)
    });
}

#[test]
fn finds_server_errors_with_envoy_over_delta_ads() {
    misbehave("finds_server_errors_with_envoy_over_delta_ads", "envoy-delta-ads", &[], |world, node, tap| {
        world.envoy(node, Variant::DeltaAds, tap)
    });
}

#[test]
fn finds_server_errors_with_envoy_and_xdstp_names() {
    misbehave("finds_server_errors_with_envoy_and_xdstp_names", "envoy-xdstp", &[], |world, node, tap| {
        world.envoy_of(node, &bootstrap::envoy_xdstp(node, Variant::DeltaAds, tap))
    });
}

#[test]
fn finds_server_errors_with_two_envoys() {
    misbehave("finds_server_errors_with_two_envoys", "envoy-pair", &[], |world, node, tap| {
        ["one", "two"].map(|which| world.envoy(&format!("{node}-{which}"), Variant::DeltaAds, tap))
    });
}

fn grpc(kind: Kind) -> impl Fn(&World, &str, SocketAddr) -> GrpcClient {
    move |world, node, tap| {
        let mut client = world.grpc_client_of(kind, node, "echo.test", tap, None);
        client.ask("hello");
        client
    }
}

#[test]
fn finds_server_errors_with_grpc_core() {
    misbehave("finds_server_errors_with_grpc_core", "grpc-core", &[], grpc(Kind::Core));
}

#[test]
fn finds_server_errors_with_grpc_go() {
    misbehave("finds_server_errors_with_grpc_go", "grpc-go", &[], grpc(Kind::Go));
}

#[test]
fn finds_server_errors_with_grpc_js() {
    misbehave("finds_server_errors_with_grpc_js", "grpc-js", &[], grpc(Kind::Js));
}

#[test]
fn every_server_error_has_real_client_or_reason() {
    let mut of_servers = BTreeSet::new();
    for (rule, text) in sessions() {
        let play = Play::new(&rule, &text);
        let said = said(&findings(play.frames, play.catalog, play.end));
        if said.iter().any(|(id, _, blame, ..)| *id == rule && *blame == "server") {
            of_servers.insert(rule);
        }
    }
    let misdeeds = error_scripts();
    let met = misdeeds.iter().flat_map(|(_, text)| expected(text));
    let without = NO_OCCASION.iter().map(|(id, _)| *id);
    let covered: BTreeSet<&str> = met.chain(without).collect();
    let missed: Vec<_> = of_servers.iter().filter(|rule| !covered.contains(rule.as_str())).collect();
    assert!(missed.is_empty(), "{missed:?}");
}
