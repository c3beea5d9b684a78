//! The tables of docs/peers.md: what real servers and clients do in the rows of `check`.
//!
//! `UPDATE_PEERS=1 cargo test --test it conformance` measures again and writes the page.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread;

use serde_json::{Value, json};
use xdscope::app::check::CLIENT_ROWS;
use xdscope::app::check::rows::{SERVER_ROWS, VARIANTS};

use crate::behaviour::network::check::Changes;
use crate::support::{
    bootstrap::Variant,
    control_plane::Flags,
    grpc_client::Kind,
    process::free_port,
    snapshot::{CLUSTER, ENDPOINTS, LISTENER, ROUTE, Snapshot, cluster, endpoints, listener, route},
    tap::xdscope,
    world::World,
};

const BEGIN: &str = "<!-- begin: measured by UPDATE_PEERS=1 cargo test --test it conformance -->\n";
const END: &str = "<!-- end -->\n";

/// The marks of the outcomes in a table.
const MARKS: [(&str, &str); 4] =
    [("passed", "yes"), ("failed", "**no**"), ("unanswered", "unanswered"), ("not_run", "-")];

/// A server to check: its name in the page, and its flags.
const SERVERS: [(&str, bool, bool); 3] = [
    ("go-control-plane, snapshot cache", false, false),
    ("go-control-plane, snapshot cache with ADS ordering", true, false),
    ("go-control-plane, linear caches", false, true),
];

/// A client to check.
#[derive(Clone, Copy)]
enum Client {
    Envoy(Variant),
    Grpc(Kind),
}

const CLIENTS: [(&str, Client); 8] = [
    ("Envoy 1.40, ADS", Client::Envoy(Variant::Ads)),
    ("Envoy 1.40, delta ADS", Client::Envoy(Variant::DeltaAds)),
    ("Envoy 1.40, SotW", Client::Envoy(Variant::Sotw)),
    ("Envoy 1.40, delta", Client::Envoy(Variant::Delta)),
    ("gRPC C-core", Client::Grpc(Kind::Core)),
    ("grpc-go", Client::Grpc(Kind::Go)),
    ("grpc-java", Client::Grpc(Kind::Java)),
    ("grpc-js", Client::Grpc(Kind::Js)),
];

/// Peers that are checked at a time: they mostly wait.
const PEERS_AT_A_TIME: usize = 2;

/// Outcomes by row and variant, as marks.
type Outcomes = BTreeMap<(String, String), &'static str>;

fn page() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/peers.md")
}

/// Runs `check` and returns the marks.
fn check(folder: &Path, args: &[&str]) -> Outcomes {
    let output = xdscope(folder).arg("check").args(args).args(["-o", "jsonl"]).output().expect("a run");
    let text = String::from_utf8(output.stdout).expect("text");
    fs::write(folder.join("check.jsonl"), &text).expect("a file");
    assert!(!text.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let of = |line: &str| {
        let result: Value = serde_json::from_str(line).expect("JSON");
        let word = |field: &str| result[field].as_str().unwrap_or_default().to_owned();
        let mark = MARKS.iter().find(|(known, _)| *known == word("outcome")).expect("an outcome").1;
        ((word("row"), word("variant")), mark)
    };
    text.lines().map(of).collect()
}

/// Returns the resources in a version, without the first cluster or with other content.
fn resources(version: u32, word: &str) -> Snapshot {
    let backend: SocketAddr = "127.0.0.1:1".parse().expect("an address");
    let (ads, text) = (Variant::Ads, version.to_string());
    let mut first = cluster("echo", ads);
    if word == "update" {
        first["connect_timeout"] = json!("2s");
    }
    let (mut clusters, mut loads) =
        (vec![first, cluster("more", ads)], vec![endpoints("echo", backend), endpoints("more", backend)]);
    if word == "remove" {
        clusters.remove(0);
        loads.remove(0);
    }
    Snapshot::default()
        .with(LISTENER, &text, vec![listener("in", "r-in", ads)])
        .with(ROUTE, &text, vec![route("r-in", "more")])
        .with(CLUSTER, &text, clusters)
        .with(ENDPOINTS, &text, loads)
}

fn of_server(test: &str, ads: bool, linear: bool) -> Option<Outcomes> {
    let world = World::open(test)?;
    let mut plane = world.control_plane(Flags { ads, linear, ..Flags::default() });
    plane.set(&resources(1, "restore"));
    let address = plane.address().to_string();
    let mut version = 1;
    let changes = Changes::follow(world.folder(), move |word| {
        version += 1;
        plane.set(&resources(version, word));
    });
    let args = [&address, "--change", &changes.command, "--timeout", "3s", "--settle", "300ms"];
    Some(check(world.folder(), &args))
}

fn of_client(test: &str, client: Client) -> Option<Outcomes> {
    let world = World::open(test)?;
    let address: SocketAddr = format!("127.0.0.1:{}", free_port()).parse().expect("an address");
    let (folder, listen) = (world.folder().to_owned(), address.to_string());
    let checked = thread::spawn(move || {
        check(&folder, &["--client", &listen, "--connect-within", "90s", "--timeout", "5s"])
    });
    let envoy = |variant: Variant| world.envoy("checked", variant, address);
    let running = match client {
        Client::Envoy(variant) => (Some(envoy(variant)), None),
        Client::Grpc(kind) => {
            let mut client = world.grpc_client_of(kind, "checked", "check", address, None);
            // A call makes the client connect.
            client.ask("ping");
            (None, Some(client))
        }
    };
    let outcomes = checked.join().expect("results");
    drop(running);
    Some(outcomes)
}

/// Runs jobs, some at a time, and returns their results in order.
fn all<T: Copy + Sync, R: Send>(jobs: &[T], run: impl Fn(T) -> Option<R> + Sync) -> Option<Vec<R>> {
    let mut results = Vec::new();
    for some in jobs.chunks(PEERS_AT_A_TIME) {
        let of_some = thread::scope(|scope| {
            let running: Vec<_> = some.iter().map(|job| scope.spawn(|| run(*job))).collect();
            running.into_iter().map(|job| job.join().expect("a peer")).collect::<Vec<_>>()
        });
        results.extend(of_some);
    }
    results.into_iter().collect()
}

fn row(cells: impl IntoIterator<Item = String>) -> String {
    format!("| {} |\n", cells.into_iter().collect::<Vec<_>>().join(" | "))
}

fn server_table(outcomes: &Outcomes) -> String {
    let mut out = row(["row".to_owned()].into_iter().chain(VARIANTS.map(|of| of.word().to_owned())));
    out += "|---|---|---|---|---|\n";
    for of in SERVER_ROWS {
        let mark = |variant: xdscope_wire::event::Variant| {
            let key = (of.id.to_owned(), variant.word().to_owned());
            outcomes.get(&key).copied().unwrap_or_default().to_owned()
        };
        out += &row([format!("`{}`", of.id)].into_iter().chain(VARIANTS.map(mark)));
    }
    out
}

fn client_table(outcomes: &[Outcomes]) -> String {
    let names = CLIENTS.iter().map(|(name, _)| (*name).to_owned());
    let mut out = row(["row".to_owned()].into_iter().chain(names));
    out += &format!("|{}\n", "---|".repeat(CLIENTS.len() + 1));
    for of in CLIENT_ROWS {
        let mark = |of_client: &Outcomes| {
            let found = of_client.iter().find(|((id, _), _)| id == of.id);
            found.map(|(_, mark)| *mark).unwrap_or_default().to_owned()
        };
        out += &row([format!("`{}`", of.id)].into_iter().chain(outcomes.iter().map(mark)));
    }
    out
}

fn measured_server(at: usize) -> Option<Outcomes> {
    let (name, ads, linear) = SERVERS[at];
    of_server(&format!("conformance-{}", name.replace([' ', ','], "-")), ads, linear)
}

fn measured_client(at: usize) -> Option<Outcomes> {
    let (name, client) = CLIENTS[at];
    of_client(&format!("conformance-{}", name.replace([' ', ','], "-")), client)
}

fn server_section(at: usize, outcomes: &Outcomes) -> String {
    format!("### {}\n\n{}\n", SERVERS[at].0, server_table(outcomes))
}

/// Runs of a peer that a test compares with the page at most.
const MAX_RUNS: usize = 3;

/// Asserts that a peer does what the page says. A busy machine may be late with an answer: each
/// cell has to be as stated in one run of several.
fn assert_as_stated(stated: &[String], measure: impl Fn() -> Option<Vec<String>>) {
    let mut wrong: Vec<usize> = (0..stated.len()).collect();
    for _ in 0..MAX_RUNS {
        let Some(measured) = measure() else { return };
        assert_eq!(measured.len(), stated.len(), "run UPDATE_PEERS=1 cargo test --test it conformance");
        wrong.retain(|&cell| measured[cell] != stated[cell]);
        if wrong.is_empty() {
            return;
        }
    }
    let wrong: Vec<_> = wrong.into_iter().map(|cell| &stated[cell]).collect();
    panic!("in no run as stated: {wrong:#?}; run UPDATE_PEERS=1 cargo test --test it conformance");
}

/// Asserts that the column of a client in the page is what the client does.
fn assert_client_as_stated(at: usize) {
    let text = fs::read_to_string(page()).expect("the page");
    let (_, table) = text.split_once("## Clients\n").expect("the table of clients");
    let cells =
        |line: &str| line.split(" | ").nth(at + 1).map(|cell| cell.trim_matches([' ', '|']).to_owned());
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let stated: Vec<String> = rows.filter_map(cells).collect();
    let marks = |outcomes: Outcomes| -> Vec<String> {
        let of_row = |row: &str| outcomes.iter().find(|((id, _), _)| id == row).map(|(_, mark)| *mark);
        CLIENT_ROWS.iter().map(|row| of_row(row.id).unwrap_or_default().to_owned()).collect()
    };
    assert_as_stated(&stated, || measured_client(at).map(marks));
}

#[test]
fn go_control_plane_does_what_the_page_says() {
    let text = fs::read_to_string(page()).expect("the page");
    let (_, section) = text.split_once(&format!("### {}\n", SERVERS[0].0)).expect("the section");
    let (section, _) = section.split_once("\n### ").expect("the next section");
    let stated = format!("### {}\n{section}\n", SERVERS[0].0);
    // One cell for each row and variant, with the names of both.
    let cells = |section: &str| -> Vec<String> {
        let rows = section.lines().filter_map(|line| line.strip_prefix("| "));
        let cells_of = |line: &str| -> Vec<String> {
            let (name, marks) = line.split_once(" | ").expect("a row");
            let marks = marks.trim_end_matches('|').split('|').map(str::trim);
            marks.enumerate().map(|(variant, mark)| format!("{name}, variant {variant}: {mark}")).collect()
        };
        rows.flat_map(cells_of).collect()
    };
    let measure = || measured_server(0).map(|outcomes| cells(&server_section(0, &outcomes)));
    assert_as_stated(&cells(&stated), measure);
}

#[test]
fn envoy_does_what_the_page_says() {
    assert_client_as_stated(0);
}

#[test]
fn grpc_core_does_what_the_page_says() {
    assert_client_as_stated(4);
}

/// Measures all peers and writes the page, if `UPDATE_PEERS` is set. That takes seven minutes.
#[test]
fn page_is_written_on_request() {
    if std::env::var_os("UPDATE_PEERS").is_none() {
        return println!("left out without UPDATE_PEERS: page_is_written_on_request");
    }
    let servers = all(&[0, 1, 2], measured_server);
    let clients = all(&[0, 1, 2, 3, 4, 5, 6, 7], measured_client);
    let (servers, clients) = (servers.expect("the servers"), clients.expect("the clients"));
    let sections = servers.iter().enumerate().map(|(at, outcomes)| server_section(at, outcomes));
    let measured = sections.collect::<String>() + &format!("## Clients\n\n{}", client_table(&clients));
    let text = fs::read_to_string(page()).expect("the page");
    let (before, rest) = text.split_once(BEGIN).expect("a begin mark");
    let (_, after) = rest.split_once(END).expect("an end mark");
    fs::write(page(), [before, BEGIN, &measured, END, after].concat()).expect("a writable page");
}
