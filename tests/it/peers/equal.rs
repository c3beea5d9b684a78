//! Compares a live run with its recording, at the end and at moments in between, on every screen
//! and in every verb.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::tz::TimeZone;
use serde_json::Value;
use xdscope::app::recording::recording_file;
use xdscope::app::replay::{self, Cursor, Opened, Reading, ReplayFeed, Until};
use xdscope::app::screen::{LiveFeed, RunInfo};
use xdscope::app::tap::{CopyLimits, Front, Options, Running, meaning};
use xdscope::cli;
use xdscope::net::tap::Tls;
use xdscope::net::transport::Address;
use xdscope_engine::analysis::{Analysis, bounded};
use xdscope_engine::lint::Finding;
use xdscope_engine::store::{self, Store};
use xdscope_present::json;
use xdscope_schema::Schema;
use xdscope_tui::Decoded;
use xdscope_tui::{BodyFormat, Data, Feed, Info, Seek, Speed, StoreData};
use xdscope_wire::event::{Dir, Seq, Time};

use crate::support::{
    bootstrap::Variant,
    certs::Ca,
    control_plane::{ControlPlane, Event, Flags},
    grpc_client::Kind,
    screens,
    snapshot::{
        CLUSTER, ENDPOINTS, LISTENER, ROUTE, SECRET, Snapshot, bad_clusters, bad_secret, cluster,
        cluster_with_secret,
    },
    tap::Recording,
    wait::{PATIENCE, wait_for_analysis},
    world::World,
};

/// Everything that is shown of one moment of a run.
struct Said {
    at: Time,
    messages: u64,
    facts: String,
    screens: BTreeMap<&'static str, Vec<String>>,
    /// Output of each verb as JSON objects, by verb.
    verbs: BTreeMap<&'static str, Vec<Value>>,
    /// Output of `log` for each row, as text.
    lines: Vec<String>,
}

impl Said {
    fn of(info: &Info, store: &Store, findings: &[Finding], schema: &Arc<Schema>) -> Said {
        let bodies = Decoded(schema.clone());
        let data = StoreData { store, findings, bodies: &bodies, applied: None };
        Said {
            at: store.now(),
            messages: store.messages(),
            facts: facts(&data),
            screens: screens::all(info, &data),
            verbs: verbs(store, findings, schema),
            lines: (0..store.rows())
                .filter_map(|row| store.row(row))
                .map(|fact| line(&fact, store))
                .collect(),
        }
    }
}

/// Verbs and formats that print contents.
const PRINTED: [(&str, &[&str]); 11] = [
    ("status", &["-o", "wide"]),
    ("log", &["--body"]),
    ("log", &["--body", "-o", "jsonl"]),
    ("log", &["--body", "-o", "yaml"]),
    ("get", &["sds", "-o", "yaml"]),
    ("get", &["sds", "-o", "json"]),
    ("get", &["sds", "-o", "tree"]),
    ("lint", &[]),
    ("lint", &["-o", "json"]),
    ("export", &["--to", "script"]),
    ("export", &["--to", "raw"]),
];

/// Returns the secret lines of a PEM text.
fn secret_lines(pem: &str) -> Vec<&str> {
    let lines: Vec<&str> = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    assert!(lines.len() > 1, "{pem}");
    lines
}

fn line(fact: &store::MessageFact, store: &Store) -> String {
    let layout = cli::output::message_line::RowLayout {
        time: cli::args::TimeFormat::Utc,
        zone: TimeZone::UTC,
        style: cli::terminal::io::Style { color: false, ascii: false },
        has_nodes: true,
        is_cut: true,
        columns: cli::output::message_line::DEFAULT_COLUMNS,
    };
    layout.row(fact, None, store)
}

/// Describes all facts, down to the bytes of each resource and the body of each response.
fn facts(data: &StoreData<'_>) -> String {
    let (store, mut out) = (data.store, String::new());
    let _ = writeln!(out, "{:?} {} {}", store.now(), store.messages(), store.rows());
    for stream in store.streams() {
        let _ = writeln!(out, "{stream:?}");
    }
    for row in (0..store.rows()).filter_map(|row| store.row(row)) {
        let _ = writeln!(out, "{row:?}");
        // Requests repeat Envoy's node, which belongs to the stream.
        let n = row.n.filter(|_| row.dir == Some(Dir::Resp));
        for line in n.map(|n| data.body(n, BodyFormat::Json, usize::MAX)).unwrap_or_default() {
            let _ = writeln!(out, "    {line}");
        }
    }
    for state in store.states() {
        let _ = writeln!(out, "{state:?}");
        for mut resource in store.resources(state.summary.stream, &state.summary.type_url) {
            let bytes = resource.content.take().and_then(|id| store.catalog().bytes(id));
            let _ = writeln!(out, "  {resource:?} {bytes:?}");
        }
    }
    let _ = writeln!(out, "{:#?} {:#?}", xdscope_engine::problems::problems(store, &[]), data.findings);
    out
}

/// Fields that verbs add to the facts of a row.
const DERIVED_FIELDS: [&str; 6] =
    ["body", "group", "unavailable_clusters", "certificate", "refused_reason", "initial_resource_versions"];

fn verbs(store: &Store, findings: &[Finding], schema: &Schema) -> BTreeMap<&'static str, Vec<Value>> {
    let clock = store.clock();
    let (streams, states) = (store.streams(), store.states());
    let problems = xdscope_engine::problems::problems(store, findings);
    let status = problems.iter().map(|problem| json::problem(problem, findings, &clock));
    let status = status.chain(states.iter().map(|state| json::state(state, &clock)));
    let status =
        status.chain(streams.iter().map(|stream| json::stream_with_node(stream, store, schema))).collect();
    let log =
        (0..store.rows()).filter_map(|row| store.row(row)).map(|row| json::message(&row, &clock)).collect();
    // States of streams that have reconnected are not shown.
    let current = states
        .iter()
        .filter(|state| streams.iter().all(|stream| stream.reconnect_of != Some(state.summary.stream)));
    let resources = current.flat_map(|state| store.resources(state.summary.stream, &state.summary.type_url));
    let get = resources.map(|resource| json::resource(&resource, &clock)).collect();
    let mut findings: Vec<_> = findings.iter().collect();
    findings.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), finding.first, finding.at));
    let lint = findings.into_iter().map(|finding| json::finding(finding, None, &clock)).collect();
    [("status", status), ("log", log), ("get", get), ("lint", lint)].into()
}

/// A tap in this process, with everything that the screens need.
struct Live {
    running: Running,
    schema: Arc<Schema>,
    feed: LiveFeed<'static>,
    file: PathBuf,
    /// Event lines in order of arrival.
    lines: Arc<Mutex<Vec<String>>>,
}

impl Live {
    fn start(folder: &Path, upstream: SocketAddr) -> Live {
        let (file, schema) = (folder.join("live.xdsrec"), Schema::builtin());
        let address = |text: &str| text.parse::<Address>().expect("an address");
        let options = Options {
            front: Front::Tap {
                maps: vec![(address("127.0.0.1:0"), address(&upstream.to_string()))],
                connect_timeout: PATIENCE,
                tls: Tls::default(),
                changes: None,
                faults: None,
                desk: None,
            },
            decode: true,
            record: Some(recording_file::SessionFile::new(
                file.clone(),
                recording_file::create(&file).expect("a file"),
            )),
            keep_secrets: false,
            copies: CopyLimits { drain: PATIENCE, ..CopyLimits::default() },
            store: store::Options::default(),
            schema: schema.clone(),
            verb: "tap",
        };
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = lines.clone();
        let sink = move |store: &Analysis, rows: std::ops::Range<usize>, _| {
            let new = rows.filter_map(|row| store.row(row)).map(|fact| line(&fact, store));
            kept.lock().expect("the lines").extend(new);
            Ok(())
        };
        let running = Running::start(options, Some(Box::new(sink))).expect("a tap");
        let about = RunInfo {
            source: running.source.clone(),
            recording: running.recording.clone(),
            empty: Vec::new(),
            notice: None,
            copies: folder.to_owned(),
            keep_secrets: false,
            serves_clients: true,
            is_demo: false,
            has_tour: false,
            no_hold: None,
            sessions: Vec::new(),
        };
        let shared = running.shared.clone().expect("facts");
        let replay = replay_options(&schema, &file);
        let feed = LiveFeed::new(shared, Decoded(schema.clone()), about, replay);
        Live { running, schema, feed, file, lines }
    }

    fn address(&self) -> SocketAddr {
        self.running.tap.listening[0].to_string().parse().expect("an address")
    }

    /// Returns what is shown now; the facts do not change meanwhile.
    fn said(&self) -> Said {
        let info = self.feed.info();
        let shared = self.running.shared.clone().expect("facts");
        let store = shared.store();
        Said::of(&info, &store, store.findings(), &self.schema)
    }

    /// Ends the run and returns its last state together with the recording.
    fn end(self, moments: Vec<Said>) -> Ended {
        let shared = self.running.shared.clone().expect("facts");
        let (file, _) = self.running.stop().expect("a recording");
        let last = {
            let info = self.feed.info();
            let store = shared.store();
            Said::of(&info, &store, store.findings(), &self.schema)
        };
        let lines = std::mem::take(&mut *self.lines.lock().expect("the lines"));
        assert_eq!(file, self.file);
        Ended { file, schema: self.schema, moments, last, lines }
    }
}

fn replay_options(schema: &Arc<Schema>, file: &Path) -> replay::Options {
    replay::Options {
        store: store::Options::default(),
        meaning: meaning(schema.clone()),
        rules: bounded(schema),
        idle: Duration::from_secs(2),
        speed: Speed::new(1.0),
        source: "replay live.xdsrec".into(),
        rerun: file.display().to_string(),
        notices: Vec::new(),
        copies: std::env::temp_dir(),
        file: None,
        rewound: false,
        trouble: None,
    }
}

struct Ended {
    file: PathBuf,
    schema: Arc<Schema>,
    moments: Vec<Said>,
    last: Said,
    lines: Vec<String>,
}

impl Ended {
    /// Replays the recording to its end, or to a moment in the same way as a paused live run.
    fn replay(&self, up_to: Option<&Said>) -> ReplayFeed {
        let options = replay_options(&self.schema, &self.file);
        let until = up_to.map(|said| Until { message: Seq(said.messages), time: said.at });
        let reading = Reading::new(options.store, options.meaning.clone(), options.rules.clone());
        let source = xdscope_sources::start_session(std::slice::from_ref(&self.file)).expect("a recording");
        let (read, notices) = Cursor::read(source, &reading, until).expect("messages");
        assert_eq!(notices, Vec::<String>::new());
        ReplayFeed::new(Opened::new(read), options, Decoded(self.schema.clone()), None)
    }

    /// Asserts that the replay equals the live run; `refused` is a name in a NACK.
    fn assert_equal(&self, refused: &str) {
        let shows = |keys: &str, text: &str| self.last.screens[keys].iter().any(|line| line.contains(text));
        assert!(shows("1", "LIVE") && shows("6", refused), "{:#?}", self.last.screens["6"]);
        assert!(!self.last.verbs["lint"].is_empty() && self.moments.len() == 3);
        self.assert_replay_matches_live();
        self.assert_output_matches_live();
    }

    /// Asserts that no screen, output or recording has a line of this key.
    fn assert_no_key(&self, key: &str) {
        let recording = Recording { file: self.file.clone() };
        let mut places = vec![("the recording", std::fs::read(&self.file).expect("the recording"))];
        for said in self.moments.iter().chain([&self.last]) {
            let screens: Vec<String> = said.screens.values().flatten().cloned().collect();
            places.push(("the facts", said.facts.clone().into_bytes()));
            places.push(("a screen", screens.join("\n").into_bytes()));
        }
        places.push(("the lines of the run", self.lines.join("\n").into_bytes()));
        for (verb, args) in PRINTED {
            places.push((verb, recording.run(verb, args).stdout));
        }
        for (place, bytes) in places {
            for line in secret_lines(key) {
                let found = memchr::memmem::find(&bytes, line.as_bytes());
                assert_eq!(found, None, "{place} has {line}");
            }
        }
    }

    /// Asserts that the screens show each moment of the recording as they showed it live.
    fn assert_replay_matches_live(&self) {
        let whole = self.replay(None);
        for live in &self.moments {
            self.assert_shows(&self.replay(Some(live)), live);
            whole.replay(None, Seek::Time(live.at)).expect("a moment");
            let feed = &whole;
            // Messages in flight at that moment are present in the replay.
            let messages = feed.info().bar.expect("a bar").message;
            if messages == live.messages {
                self.assert_shows(feed, live);
            }
        }
        whole.replay(None, Seek::End).expect("the end");
        self.assert_shows(&whole, &self.last);
    }

    fn assert_shows(&self, feed: &ReplayFeed, live: &Said) {
        let (info, mut said) = (feed.info(), None);
        feed.read(&mut |data| {
            said = Some(Said::of(&info, data.store(), data.findings(), &self.schema));
        });
        let replayed = said.expect("facts");
        assert_same_lines("the facts", live.facts.lines(), replayed.facts.lines());
        assert_same_lines("the lines", &live.lines, &replayed.lines);
        assert_eq!(live.verbs, replayed.verbs);
        for (keys, shown) in &live.screens {
            assert_same_lines(&format!("{keys:?}"), body(shown), body(&replayed.screens[keys]));
        }
    }

    /// Asserts that the verbs print the same for the file as for the live run.
    fn assert_output_matches_live(&self) {
        let recording = Recording { file: self.file.clone() };
        for (verb, live) in &self.last.verbs {
            for output in ["json", "jsonl"] {
                let text = recording.text(verb, &["-o", output]);
                let mut printed: Vec<Value> = match output {
                    "json" => serde_json::from_str(&text).expect("an array"),
                    _ => text.lines().map(|line| serde_json::from_str(line).expect("an object")).collect(),
                };
                // Bodies are compared with the facts. The other fields follow from several facts.
                for object in printed.iter_mut().filter_map(Value::as_object_mut) {
                    for field in DERIVED_FIELDS {
                        object.remove(field);
                    }
                }
                let all = live.iter().filter(|object| output == "json" || object["object"] != "stream");
                let all: Vec<Value> = all.cloned().collect();
                assert_eq!(all, printed, "{verb} -o {output}");
            }
        }
        let replayed = recording.text("replay", &["--no-tui", "--time", "utc"]);
        assert_same_lines("the lines", self.last.lines.iter(), replayed.lines());
        assert_same_lines("the lines as they came", self.lines.iter(), replayed.lines());
    }
}

/// Returns a screen without the lines that describe the program: the first (source, mode, clock)
/// and the last three (rule or bar, actions, keys).
fn body(lines: &[String]) -> &[String] {
    &lines[1..lines.len() - 3]
}

fn assert_same_lines<L: AsRef<str>, R: AsRef<str>>(
    what: &str,
    live: impl IntoIterator<Item = L>,
    replayed: impl IntoIterator<Item = R>,
) {
    // A row has its notes on further lines. The titles of a table are not of the session. The band
    // of pushes and NACKs is about the last minute of a run, and about the whole time in a replay.
    fn lines(text: &str) -> Vec<String> {
        let is_title = |line: &&str| line.trim_start().starts_with("#  ");
        let is_band = |line: &&str| {
            (line.starts_with(" pushes  ") && line.contains("  max "))
                || (line.starts_with(" NACKs  ") && line.contains(" in "))
        };
        let own = text.lines().filter(|line| !is_title(line) && !is_band(line));
        own.map(str::to_owned).collect()
    }
    let live: Vec<String> = live.into_iter().flat_map(|text| lines(text.as_ref())).collect();
    let replayed: Vec<String> = replayed.into_iter().flat_map(|text| lines(text.as_ref())).collect();
    if live != replayed {
        let diff = similar::TextDiff::from_slices(
            &live.iter().map(String::as_str).collect::<Vec<_>>(),
            &replayed.iter().map(String::as_str).collect::<Vec<_>>(),
        )
        .unified_diff()
        .context_radius(1)
        .to_string();
        panic!("{what}: live and replay differ:\n{diff}");
    }
}

#[test]
fn replays_envoy_over_ads_as_live() {
    envoy("replays_envoy_over_ads_as_live", Variant::Ads);
}

#[test]
fn replays_envoy_over_delta_ads_as_live() {
    envoy("replays_envoy_over_delta_ads_as_live", Variant::DeltaAds);
}

/// Waits until the tap has analysed the messages so far of the streams that are open at the control
/// plane.
///
/// A closed stream does not count: a response that go-control-plane reports while the stream is
/// being closed is never sent.
fn settle(plane: &ControlPlane, live: &Live) {
    let of = |events: &[Event], kinds: &[&str]| -> Vec<(bool, u64)> {
        let events = events.iter().filter(|e| kinds.contains(&e.event.as_str()));
        events.map(|e| (e.delta, e.stream)).collect()
    };
    let messages = of(&plane.events(0), &["request", "response"]);
    let is_settled = || {
        let closed: BTreeSet<_> = of(&plane.events(0), &["close"]).into_iter().collect();
        let said = messages.iter().filter(|stream| !closed.contains(stream)).count() as u64;
        let streams = live.running.shared.as_ref().expect("facts").store().streams();
        let (open, ended): (Vec<_>, Vec<_>) = streams.iter().partition(|stream| stream.closed.is_none());
        let seen: u64 = open.iter().map(|stream| stream.messages).sum();
        (ended.len() >= closed.len() && seen >= said).then_some(())
    };
    wait_for_analysis("all messages among the facts", is_settled);
}

fn envoy(test: &str, variant: Variant) {
    let Some(world) = World::open(test) else { return };
    let mut plane = world.control_plane(Flags::default());
    let live = Live::start(world.folder(), plane.address());
    let mut envoy = world.envoy("edge-1", variant, live.address());
    let chain = Snapshot::chain(variant, envoy.admin());
    plane.set(&chain);
    envoy.wait_live();
    for type_url in [CLUSTER, ENDPOINTS, LISTENER, ROUTE] {
        plane.wait_for_ack(0, type_url, "1");
    }
    settle(&plane, &live);
    let mut moments = vec![live.said()];
    // A push that Envoy rejects in part, with a private key that the NACK quotes.
    let pair = Ca::new(world.folder(), "root").issue("edge", &["edge.test"]);
    let key = std::fs::read_to_string(pair.key).expect("a key");
    let mark = plane.mark();
    let safe = cluster_with_secret("safe", "key-1", variant);
    plane.set(
        &chain
            .clone()
            .with(CLUSTER, "2", [vec![cluster("echo", variant), safe.clone()], bad_clusters()].concat())
            .with(SECRET, "2", vec![bad_secret("key-1", &key)]),
    );
    plane.wait_for(mark, "a NACK", |e| e.is_nack(CLUSTER));
    let quoted = plane.wait_for(mark, "a NACK", |e| e.is_nack(SECRET)).error.expect("an error_detail");
    assert!(secret_lines(&key).iter().all(|line| quoted.message.contains(line)), "Envoy does print it");
    settle(&plane, &live);
    moments.push(live.said());
    // The repaired push, without the previous target of the route.
    let mark = plane.mark();
    let other = crate::support::snapshot::route("r-in", "other");
    plane.set(&chain.clone().with(CLUSTER, "3", vec![cluster("echo", variant)]).with(
        ROUTE,
        "3",
        vec![other],
    ));
    plane.wait_for_ack(mark, CLUSTER, "3");
    plane.wait_for_ack(mark, ROUTE, "3");
    let mark = plane.mark();
    plane.close_streams(14, "scripted");
    plane.wait_for(mark, "a new stream's CDS request", |e| e.is_request(CLUSTER));
    plane.wait_for(mark, "a new stream's RDS request", |e| e.is_request(ROUTE));
    settle(&plane, &live);
    moments.push(live.said());
    drop(envoy);
    drop(plane);
    let ended = live.end(moments);
    ended.assert_equal("malformed IP");
    ended.assert_no_key(&key);
}

#[test]
fn replays_grpc_core_as_live() {
    grpc("replays_grpc_core_as_live", Kind::Core);
}

#[test]
fn replays_grpc_go_as_live() {
    grpc("replays_grpc_go_as_live", Kind::Go);
}

#[test]
fn replays_grpc_js_as_live() {
    grpc("replays_grpc_js_as_live", Kind::Js);
}

fn grpc(test: &str, kind: Kind) {
    let Some(world) = World::open(test) else { return };
    // C-core and grpc-go accept compressed responses.
    let mut plane = world.control_plane(Flags { gzip: true, ..Flags::default() });
    let live = Live::start(world.folder(), plane.address());
    let mut client = world.grpc_client_of(kind, "app-1", "echo.test", live.address(), None);
    let chain = Snapshot::grpc_chain("echo.test", client.backend());
    plane.set(&chain);
    assert_eq!(client.call("hello"), Ok("hello".to_owned()));
    for type_url in [LISTENER, ROUTE, CLUSTER, ENDPOINTS] {
        plane.wait_for_ack(0, type_url, "1");
    }
    settle(&plane, &live);
    let mut moments = vec![live.said()];
    let mark = plane.mark();
    let mut bad = cluster("echo", Variant::Ads);
    bad["lb_policy"] = "MAGLEV".into();
    plane.set(&chain.clone().with(CLUSTER, "2", vec![bad]));
    plane.wait_for(mark, "a NACK", |e| e.is_nack(CLUSTER));
    settle(&plane, &live);
    moments.push(live.said());
    let mark = plane.mark();
    plane.set(&chain.clone().with(CLUSTER, "3", vec![cluster("echo", Variant::Ads)]));
    plane.wait_for_ack(mark, CLUSTER, "3");
    let mark = plane.mark();
    plane.close_streams(14, "scripted");
    plane.wait_for(mark, "a new stream's LDS request", |e| e.is_request(LISTENER));
    settle(&plane, &live);
    moments.push(live.said());
    drop(client);
    drop(plane);
    live.end(moments).assert_equal("echo");
}
