//! The table of docs/faults.md: the behaviour of real clients, measured with a tap
//! in front of go-control-plane.
//!
//! `UPDATE_FAULTS=1 cargo test --test it named_faults` measures again and writes the page.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use xdscope_sources::peers::intercept::LIBRARY;

use crate::peers::intercept::interventions;
use crate::support::{
    bootstrap::Variant,
    control_plane::{ControlPlane, Flags},
    grpc_client::Kind,
    snapshot::{CLUSTER, ENDPOINTS, LISTENER, ROUTE, Snapshot},
    tap::Recording,
    wait::{pass, wait_within},
    world::World,
};

const BEGIN: &str = "<!-- begin: measured by UPDATE_FAULTS=1 cargo test --test it named_faults -->\n";
const END: &str = "<!-- end -->\n";

/// Time without a message after which an effect counts as absent. A busy machine delays messages
/// more than it delays this clock.
const QUIET_TIME: Duration = Duration::from_secs(5);

/// Time without a message after the last awaited ACK. Clients may do more than is awaited: they
/// acknowledge a version again when they have asked for more of it.
const REST_TIME: Duration = Duration::from_millis(500);

/// Time from the first message until the faults with `after=3s` are in force, and a stream has
/// reached the maximum age of 3 s.
const IN_FORCE_AFTER: Duration = Duration::from_secs(4);

/// Time after which an effect counts as absent in any case.
const LIMIT: Duration = Duration::from_secs(30);

/// Cases of a client that run at a time: they mostly wait.
const CASES_AT_A_TIME: usize = 3;

/// A named fault with arguments and options, and the part of the control plane.
struct Case {
    fault: &'static str,
    part: Part,
    /// A rule that `lint` finds in the recording of an Envoy.
    rule: Option<&'static str>,
}

/// The part of the server between the first version and the second.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Nothing,
    /// The server ends all streams.
    Close,
    /// Time passes, until the fault is in force.
    Wait,
}

const fn case(fault: &'static str, part: Part, rule: Option<&'static str>) -> Case {
    Case { fault, part, rule }
}

/// One case for each fault of the library, in its order.
const CASES: [Case; 13] = [
    case("eds-unanswered echo", Part::Nothing, None),
    case("cds-unchanged", Part::Nothing, None),
    case("removed-before-added cds echo", Part::Nothing, None),
    case("duplicate-name cds more times=1", Part::Nothing, Some("duplicate-resource-name")),
    case("ack-withheld eds", Part::Nothing, None),
    case("wildcard-lost cds echo", Part::Nothing, None),
    case("versions-forgotten", Part::Close, None),
    case("stale-nonce eds", Part::Nothing, None),
    case("constant-nonce eds", Part::Nothing, Some("nonce-reused")),
    case("over-4mib eds nth=2", Part::Nothing, Some("over-4mib")),
    case("token-expired after=3s times=1", Part::Wait, None),
    case("server-max-age 3s", Part::Wait, None),
    case("thundering-reconnect after=3s", Part::Wait, None),
];

#[derive(Clone, Copy)]
enum Client {
    Envoy(Variant),
    Grpc(Kind),
}

const CLIENTS: [(&str, Client); 5] = [
    ("Envoy 1.40, SotW", Client::Envoy(Variant::Ads)),
    ("Envoy 1.40, delta", Client::Envoy(Variant::DeltaAds)),
    ("gRPC C-core", Client::Grpc(Kind::Core)),
    ("grpc-go", Client::Grpc(Kind::Go)),
    ("grpc-java", Client::Grpc(Kind::Java)),
];

/// The running client, which ends when it is dropped.
enum Running {
    Envoy { _it: crate::support::envoy::Envoy },
    Grpc { _it: crate::support::grpc_client::GrpcClient },
}

fn page() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/faults.md")
}

/// Whether the server got an ACK of a version of all these types.
fn are_acked(plane: &ControlPlane, version: &str, types: &[&str]) -> bool {
    let events = plane.events(0);
    types.iter().all(|url| {
        let pushes = events.iter().filter(|e| e.is_response(url) && e.version == version);
        pushes.into_iter().any(|push| events.iter().any(|e| e.is_ack_of(push)))
    })
}

/// Waits until the server got these ACKs and no message was sent for `rest`, or none was sent for
/// [`QUIET_TIME`]: a server that gets no ACK does not know.
fn wait_for_acks(plane: &ControlPlane, version: &str, types: &[&str], rest: Duration) {
    let (mut count, mut since) = (plane.mark(), Instant::now());
    let _ = wait_within(LIMIT, || {
        if std::mem::replace(&mut count, plane.mark()) != count {
            since = Instant::now();
        }
        let is_quiet = |time| since.elapsed() >= time;
        (is_quiet(QUIET_TIME) || (is_quiet(rest) && are_acked(plane, version, types))).then_some(())
    });
}

/// Runs a client through a tap with a fault. Returns what it did, in words.
fn measure(test: &str, client: Client, case: &Case) -> Option<String> {
    let world = World::open(test)?;
    // An Envoy gets its types in order. A gRPC client asks for less than a snapshot has.
    let ads = matches!(client, Client::Envoy(_));
    let mut plane = world.control_plane(Flags { ads, ..Flags::default() });
    let tap = world.tap(plane.address(), &["--fault", case.fault]);
    let (running, chain, grown) = match client {
        Client::Envoy(variant) => {
            let envoy = world.envoy("client", variant, tap.address());
            let chain = Snapshot::chain(variant, envoy.admin());
            let grown = chain.clone().grown(variant, envoy.admin());
            (Running::Envoy { _it: envoy }, chain, grown)
        }
        Client::Grpc(kind) => {
            let mut client = world.grpc_client_of(kind, "client", "cart", tap.address(), None);
            let chain = Snapshot::grpc_chain("cart", client.backend());
            let grown = chain.clone().grown(Variant::Ads, client.backend());
            client.ask("hello");
            (Running::Grpc { _it: client }, chain, grown)
        }
    };
    // Time for an effect begins when the client has started.
    plane.wait_for(0, "the first request", |event| event.event == "request");
    plane.set(&chain);
    wait_for_acks(&plane, "1", &[LISTENER, ROUTE, CLUSTER, ENDPOINTS], Duration::ZERO);
    match case.part {
        Part::Nothing => {}
        Part::Close => plane.close_streams(14, "scripted"),
        Part::Wait => pass(IN_FORCE_AFTER),
    }
    plane.set(&grown);
    wait_for_acks(&plane, "2", &[CLUSTER, ENDPOINTS, ROUTE], REST_TIME);
    let recording = tap.stop();
    drop(running);
    if let (Client::Envoy(_), Some(rule)) = (client, case.rule) {
        let findings = recording.objects("lint", &[]);
        let found = findings.iter().find(|finding| finding["rule"] == rule);
        let found = found.unwrap_or_else(|| panic!("{test}: no {rule} in {findings:?}"));
        assert_eq!(found["blame"], "xdscope", "{test}: {found}");
    }
    Some(behaviour(&recording))
}

/// Describes what a client did, from the recording of what it sent and received.
fn behaviour(recording: &Recording) -> String {
    if interventions(recording).is_empty() {
        return "does not apply".into();
    }
    let messages = recording.messages();
    let pushes: Vec<&Value> =
        messages.iter().filter(|m| m["kind"] == "push" || m["kind"] == "resend").collect();
    let has_name = |push: &Value, name: &str| {
        push["names"].as_array().is_some_and(|names| names.iter().any(|of| of == name))
    };
    // Types of which a push of this version, with what is new in it, was answered by such a message.
    let answered = |kind: &str, version: Option<&str>| -> BTreeSet<&str> {
        let answers = messages.iter().filter(|m| m["kind"] == kind);
        let of = |answer: &Value| pushes.iter().find(|push| push["n"] == answer["answers"]).copied();
        let pushed = answers.filter_map(of);
        let wanted = pushed.filter(|push| match version {
            None => true,
            Some("2") => push["version"] == "2" && (push["type"] == "rds" || has_name(push, "more")),
            Some(version) => push["version"] == version,
        });
        wanted.filter_map(|push| push["type"].as_str()).collect()
    };
    let list = |types: Vec<&str>| types.join(", ");
    let mut words = Vec::new();
    let first = answered("ack", Some("1"));
    let missing: Vec<&str> =
        ["cds", "eds", "lds", "rds"].into_iter().filter(|of| !first.contains(of)).collect();
    if !missing.is_empty() {
        words.push(format!("never accepts {}", list(missing)));
    }
    let refused: Vec<&str> = answered("nack", None).into_iter().collect();
    if !refused.is_empty() {
        words.push(format!("NACK of {}", list(refused)));
    }
    let streams = messages.iter().filter_map(|m| m["stream"].as_u64()).collect::<BTreeSet<_>>().len();
    if streams > 1 {
        words.push("another stream".into());
    }
    let second = answered("ack", Some("2"));
    let changed: Vec<&str> = ["cds", "eds", "rds"].into_iter().filter(|of| second.contains(of)).collect();
    words.push(match changed.len() {
        0 => "keeps version 1".to_owned(),
        3 => "takes version 2".to_owned(),
        _ => format!("takes version 2 of {} only", list(changed)),
    });
    words.join("; ")
}

/// One test at a time writes the page.
static PAGE: Mutex<()> = Mutex::new(());

/// Runs a client with each fault, some of them at a time. Returns what it did, in the order of the
/// cases; `None` if peers are switched off.
fn measure_all(number: usize, client: Client) -> Option<Vec<String>> {
    let next = AtomicUsize::new(0);
    let measure_some = || {
        let mut measured = Vec::new();
        while let Some((at, case)) = CASES.iter().enumerate().nth(next.fetch_add(1, Ordering::Relaxed)) {
            let fault = case.fault.split(' ').next().expect("a name");
            measured.push((at, measure(&format!("named_{number}_{fault}"), client, case)?));
        }
        Some(measured)
    };
    let threads = thread::scope(|scope| {
        let threads = [(); CASES_AT_A_TIME].map(|()| scope.spawn(measure_some));
        threads.map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let mut measured: Vec<_> = threads.into_iter().collect::<Option<Vec<_>>>()?.concat();
    measured.sort();
    Some(measured.into_iter().map(|(_, words)| words).collect())
}

/// Measures the column of a client, and compares it with the page.
fn column(number: usize) {
    let (name, client) = CLIENTS[number];
    let Some(measured) = measure_all(number, client) else { return };
    let _writing = PAGE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let text = fs::read_to_string(page()).expect("the page");
    let (before, rest) = text.split_once(BEGIN).expect("a begin mark");
    let (table, after) = rest.split_once(END).expect("an end mark");
    let mut cells = cells(table);
    if std::env::var_os("UPDATE_FAULTS").is_some() {
        for (row, words) in cells.iter_mut().zip(&measured) {
            row[number].clone_from(words);
        }
        fs::write(page(), [before, BEGIN, &rendered(&cells), END, after].concat()).expect("a writable page");
        return;
    }
    let shown: Vec<&String> = cells.iter().map(|row| &row[number]).collect();
    let wrong: Vec<String> = CASES
        .iter()
        .zip(shown.iter().zip(&measured))
        .filter(|(_, (shown, it))| *shown != it)
        .map(|(case, (shown, it))| format!("{name}, {}: {it}, and not: {shown}", case.fault))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the cells of the table; those that are missing are empty.
fn cells(table: &str) -> Vec<[String; CLIENTS.len()]> {
    let mut rows: Vec<[String; CLIENTS.len()]> = CASES.iter().map(|_| Default::default()).collect();
    for (row, line) in rows.iter_mut().zip(table.lines().skip(2)) {
        let cells = line.trim_matches('|').split('|').skip(1);
        for (cell, text) in row.iter_mut().zip(cells) {
            *cell = text.trim().to_owned();
        }
    }
    rows
}

fn rendered(cells: &[[String; CLIENTS.len()]]) -> String {
    let titles = CLIENTS.map(|(name, _)| name).join(" | ");
    let mut out = format!("| fault | {titles} |\n|---|{}\n", "---|".repeat(CLIENTS.len()));
    for (case, row) in CASES.iter().zip(cells) {
        out.push_str(&format!("| `{}` | {} |\n", case.fault, row.join(" | ")));
    }
    out
}

#[test]
fn every_named_fault_is_measured() {
    let names: Vec<&str> = LIBRARY.iter().map(|fault| fault.name).collect();
    let measured: Vec<&str> = CASES.iter().filter_map(|case| case.fault.split(' ').next()).collect();
    assert_eq!(names, measured);
    let text = fs::read_to_string(page()).expect("the page");
    let table = text.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).expect("marks").0;
    assert_eq!(table, rendered(&cells(table)), "the form of the table");
}

#[test]
fn measured_with_envoy_sotw() {
    column(0);
}

#[test]
fn measured_with_envoy_delta() {
    column(1);
}

#[test]
fn measured_with_grpc_core() {
    column(2);
}

#[test]
fn measured_with_grpc_go() {
    column(3);
}

#[test]
fn measured_with_grpc_java() {
    column(4);
}
