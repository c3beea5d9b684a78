//! Each named query, run by DuckDB over the tables of several simulated taps, says what the verbs
//! say of the session files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{recording, run, said};
use crate::support::peers;
use crate::support::tap::xdscope;

/// The scripts whose sessions each simulated tap records.
const SCRIPTS: [&str; 10] = [
    "cli/tour.xds",
    "cli/still-refused.xds",
    "cli/nack-and-nonce.xds",
    "cli/twins.xds",
    "cli/gaps.xds",
    "views/made.xds",
    "views/broken-twice.corrected.xds",
    "views/emptied-by-delta.xds",
    "views/duplicate-accepted.xds",
    "views/delta-version-loop.xds",
];

/// A session with a password.
const WITH_SECRET: &str = "node n\nstream 1 ads\n> cds\n< cds v=1 n=a [c{metadata: {filter_metadata: {acme: {password: \
                           hunter2hunter2}}}}]\n> cds v=1 n=a nack=\"c: password=hunter2hunter2\"\n";

const TAPS: [&str; 3] = ["tap-1", "tap-2", "tap-3"];

/// A session file, and what the verbs say about it.
struct Session {
    tap: &'static str,
    status: Vec<Value>,
    lint: Vec<Value>,
    log: Vec<Value>,
}

impl Session {
    fn read(tap: &'static str, folder: &Path, path: &Path) -> Session {
        let objects = |args: &[&str]| -> Vec<Value> {
            let file = path.to_str().expect("text");
            let output = run(folder, &[&[args[0], file, "-o", "jsonl"], &args[1..]].concat());
            let text = String::from_utf8(output.stdout).expect("text");
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
        };
        // The streams are in `json` only.
        let status = run(folder, &["status", path.to_str().expect("text"), "-o", "json"]);
        let status: Value = serde_json::from_slice(&status.stdout).expect("JSON");
        Session {
            tap,
            status: status.as_array().expect("a list").clone(),
            lint: objects(&["lint"]),
            log: objects(&["log", "--body"]),
        }
    }

    fn status(&self, object: &str) -> impl Iterator<Item = &Value> {
        self.status.iter().filter(move |value| value["object"] == object)
    }

    fn messages(&self) -> impl Iterator<Item = &Value> {
        self.log.iter().filter(|value| value["object"] == "message" && value["n"].is_u64())
    }

    fn message(&self, n: &Value) -> &Value {
        self.messages().find(|message| message["n"] == *n).unwrap_or(&Value::Null)
    }

    /// Returns the control plane of a message, or of its stream.
    fn control_plane(&self, message: &Value) -> Value {
        match &message["control_plane"] {
            Value::Null => {
                let stream = self.status("stream").find(|stream| stream["stream"] == message["stream"]);
                stream.map_or(Value::Null, |stream| stream["control_plane"].clone())
            }
            own => own.clone(),
        }
    }

    /// Returns the refused names of a NACK, each once; an empty one if the NACK names none.
    fn refused(&self, nack: &Value) -> BTreeSet<String> {
        let entries = nack["nack"]["entries"].as_array().cloned().unwrap_or_default();
        let names: BTreeSet<String> =
            entries.iter().filter_map(|entry| entry["name"].as_str().map(str::to_owned)).collect();
        if names.is_empty() { BTreeSet::from([String::new()]) } else { names }
    }
}

/// The tables of all taps, and the sessions that they were made from.
struct Fleet {
    duckdb: &'static Path,
    folder: tempfile::TempDir,
    sessions: Vec<Session>,
}

impl Fleet {
    /// Records and exports the sessions of all taps; `None` if peers are switched off.
    fn open(test: &str) -> Option<Fleet> {
        let duckdb = peers::duckdb(test)?;
        let folder = tempfile::Builder::new().prefix("fleet's [1] ").tempdir().expect("a folder");
        let mut sessions = Vec::new();
        for (number, tap) in TAPS.into_iter().enumerate() {
            let recordings = folder.path().join(tap);
            fs::create_dir(&recordings).expect("a folder");
            for (index, script) in SCRIPTS.into_iter().enumerate() {
                // Each tap has some of the sessions, and all of them begin at other times.
                if (index + number) % TAPS.len() != 0 {
                    let path = recording(&recordings, script, (index * 60 + number * 1_000) as u64);
                    sessions.push(Session::read(tap, folder.path(), &path));
                }
            }
            if number == 0 {
                let script = folder.path().join("secret.xds");
                fs::write(&script, WITH_SECRET).expect("written");
                let path = recording(&recordings, script.to_str().expect("text"), 10_000);
                sessions.push(Session::read(tap, folder.path(), &path));
            }
            fs::copy("tests/fixtures/recordings/istio.xdsrec", recordings.join("istio.xdsrec"))
                .expect("a copy");
            sessions.push(Session::read(tap, folder.path(), &recordings.join("istio.xdsrec")));
            let tables = folder.path().join("tables");
            let args = ["--to", "parquet", "--tap", tap, "--output", tables.to_str().expect("text")];
            let exported =
                run(folder.path(), &[&["export", recordings.to_str().expect("text")], &args[..]].concat());
            assert!(exported.status.success(), "{}", said(&exported));
        }
        Some(Fleet { duckdb, folder, sessions })
    }

    fn tables(&self) -> PathBuf {
        self.folder.path().join("tables")
    }

    /// Runs a named query.
    fn query(&self, name: &str, conditions: &[&str]) -> Vec<Value> {
        let tables = self.tables();
        let conditions = conditions.iter().flat_map(|condition| ["--where", condition]);
        let path = std::env::join_paths([self.duckdb]).expect("a path");
        let mut query = xdscope(self.folder.path());
        query.args(["fleet", name, tables.to_str().expect("text"), "--run", "-o", "json"]);
        // The Python wrapper of DuckDB finds its interpreter by itself.
        query.args(conditions).env("PATH", path);
        let output = query.output().expect("xdscope runs");
        assert!(output.status.success(), "{name}: {}", said(&output));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// Returns all rows of a table, as DuckDB reads them.
    fn rows(&self, table: &str, columns: &str) -> Vec<Value> {
        let files = format!("{}/landing/{table}/*/*.parquet", self.tables().display());
        let files = files.replace('[', "[[]").replace('\'', "''");
        let sql = format!("SELECT {columns} FROM read_parquet('{files}')");
        let mut duckdb = std::process::Command::new(self.duckdb.join("duckdb"));
        let output = duckdb.args(["-no-init", "-json", "-c", &sql]).output().expect("DuckDB runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }
}

/// A row as text, by some of its members.
fn row(value: &Value, members: &[&str]) -> String {
    let cells: Vec<String> = members.iter().map(|member| value[member].to_string()).collect();
    cells.join(" | ")
}

fn sorted(rows: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut rows: Vec<String> = rows.into_iter().collect();
    rows.sort();
    rows
}

/// The conditions of queries about a time: all sessions count.
const ALWAYS: [&str; 1] = ["hours=1000000"];

#[test]
fn queries_say_what_verbs_say() {
    let Some(fleet) = Fleet::open("queries_say_what_verbs_say") else { return };
    refusals(&fleet);
    refused_owners(&fleet);
    ack_latency(&fleet);
    disappeared(&fleet);
    never_got(&fleet);
    unchanged_bytes(&fleet);
    problems_at(&fleet);
    findings(&fleet);
    states(&fleet);
    conditions(&fleet);
    secrets(&fleet);
}

fn refusals(fleet: &Fleet) {
    let mut expected: BTreeMap<[String; 4], u64> = BTreeMap::new();
    let mut nacks = 0;
    for session in &fleet.sessions {
        for nack in session.messages().filter(|message| message["kind"] == "nack") {
            nacks += 1;
            let version =
                session.message(&nack["answers"])["version"].as_str().unwrap_or_default().to_owned();
            for name in session.refused(nack) {
                let [node, of_type] = ["node", "type"].map(|member| nack[member].to_string());
                *expected.entry([node, of_type, version.clone(), name]).or_default() += 1;
            }
        }
    }
    let expected = expected.into_iter().map(|([node, of_type, version, name], count)| {
        format!("{node} | {of_type} | {version:?} | {name:?} | {count}")
    });
    let expected = sorted(expected);
    assert!(expected.len() > 5, "{expected:#?}");
    let found = fleet.query("refusals", &ALWAYS);
    let found = found.iter().map(|value| row(value, &["node", "type", "version", "name", "refusals"]));
    assert_eq!(sorted(found), expected);
    // `status` counts the NACKs.
    let counted = fleet.sessions.iter().flat_map(|session| session.status("state"));
    let counted: u64 = counted.map(|state| state["nack_count"].as_u64().expect("a count")).sum();
    assert_eq!(counted, nacks);
}

fn refused_owners(fleet: &Fleet) {
    let mut expected: BTreeMap<String, u64> = BTreeMap::new();
    for session in &fleet.sessions {
        for nack in session.messages().filter(|message| message["kind"] == "nack") {
            let refused = nack["nack"]["refused"].as_array().cloned().unwrap_or_default();
            let owners: BTreeSet<String> = refused
                .iter()
                .filter_map(|subject| subject["owners"].as_array()?.first())
                .map(|owner| {
                    ["kind", "namespace", "name"]
                        .map(|part| owner[part].as_str().unwrap_or_default())
                        .join("/")
                })
                .collect();
            owners.into_iter().for_each(|owner| *expected.entry(owner).or_default() += 1);
        }
    }
    assert!(!expected.is_empty(), "an owner has a refusal");
    let expected = sorted(expected.into_iter().map(|(owner, count)| format!("{owner:?} | {count}")));
    let found = fleet.query("refused-owners", &[]);
    assert_eq!(sorted(found.iter().map(|value| row(value, &["owner", "refusals"]))), expected);
}

fn ack_latency(fleet: &Fleet) {
    let mut expected: BTreeMap<[String; 2], Vec<f64>> = BTreeMap::new();
    for session in &fleet.sessions {
        let verdicts =
            session.messages().filter(|message| message["kind"] == "ack" || message["kind"] == "nack");
        for verdict in verdicts {
            let (Some(latency), push) =
                (verdict["latency_ms"].as_f64(), session.message(&verdict["answers"]))
            else {
                continue;
            };
            let place = [session.control_plane(push).to_string(), push["type"].to_string()];
            expected.entry(place).or_default().push(latency);
        }
    }
    // The quantile is the smallest value with so many at or below it.
    let quantile =
        |values: &[f64], part: f64| values[((part * values.len() as f64).ceil() as usize).max(1) - 1];
    let expected = expected.into_iter().map(|([plane, of_type], mut values)| {
        values.sort_by(f64::total_cmp);
        let [p50, p99] = [0.5, 0.99].map(|part| quantile(&values, part));
        format!("{plane} | {of_type} | {} | {p50:.3} | {p99:.3}", values.len())
    });
    let found = fleet.query("ack-latency", &[]);
    let found = found.iter().map(|value| {
        let number = |member: &str| value[member].as_f64().expect("a number");
        format!(
            "{} | {:.3} | {:.3}",
            row(value, &["control_plane", "type", "verdicts"]),
            number("p50_ms"),
            number("p99_ms")
        )
    });
    assert_eq!(sorted(found), sorted(expected));
}

fn disappeared(fleet: &Fleet) {
    // By tap, client, type and name: the newest push with the resource or its removal.
    let mut newest: BTreeMap<[String; 4], (Option<jiff::Timestamp>, Option<String>)> = BTreeMap::new();
    for (index, session) in fleet.sessions.iter().enumerate() {
        for push in session.messages().filter(|message| message["dir"] == "resp") {
            let client = match push["node"].as_str() {
                Some(node) => node.to_owned(),
                None => format!("{index}#{}", push["stream"]),
            };
            let time = push["time"].as_str().expect("a time").parse().ok();
            let mut note = |name: &Value, removal: Option<String>| {
                let name = name.as_str().expect("a name").to_owned();
                let key = [session.tap.to_owned(), client.clone(), push["type"].to_string(), name];
                let entry = newest.entry(key).or_default();
                if time >= entry.0 {
                    *entry = (time, removal);
                }
            };
            let names = |member: &str| push[member].as_array().cloned().unwrap_or_default();
            names("names").iter().for_each(|name| note(name, None));
            let removal = format!("{} | {} | {}", row(push, &["node", "type"]), push["version"], push["n"]);
            names("removed").iter().for_each(|name| note(name, Some(format!("{removal} | {name}"))));
        }
    }
    let expected = sorted(newest.into_values().filter_map(|(_, removal)| removal));
    assert!(!expected.is_empty(), "a resource disappears");
    let found = fleet.query("disappeared", &[]);
    assert_eq!(
        sorted(found.iter().map(|value| row(value, &["node", "type", "version", "seq", "name"]))),
        expected
    );
}

fn never_got(fleet: &Fleet) {
    let mut clients = BTreeSet::new();
    let mut got: BTreeMap<String, BTreeSet<[String; 3]>> = BTreeMap::new();
    for session in &fleet.sessions {
        let client =
            |value: &Value| [session.tap.to_owned(), value["node"].to_string(), value["type"].to_string()];
        for state in session.status("state").filter(|state| state["node"].is_string()) {
            clients.insert(client(state));
            got.entry(state["in_force"].to_string()).or_default().insert(client(state));
        }
        for push in session.messages().filter(|message| message["dir"] == "resp") {
            got.entry(push["version"].to_string()).or_default().insert(client(push));
        }
    }
    for version in ["1", "2", "42", "no such version"] {
        let got = got.get(&format!("{version:?}")).cloned().unwrap_or_default();
        let has_type =
            |client: &&[String; 3]| got.is_empty() || got.iter().any(|other| other[2] == client[2]);
        let expected = clients.iter().filter(|client| !got.contains(*client)).filter(has_type);
        let expected = expected.map(|[tap, node, of_type]| format!("{tap:?} | {node} | {of_type}"));
        let found = fleet.query("never-got", &[&format!("version={version}")]);
        assert_eq!(
            sorted(found.iter().map(|value| row(value, &["tap", "node", "type"]))),
            sorted(expected),
            "{version}"
        );
    }
}

fn unchanged_bytes(fleet: &Fleet) {
    let mut expected: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for session in &fleet.sessions {
        for state in session.status("state") {
            let sums = expected.entry(session.control_plane(state).to_string()).or_default();
            sums[0] += state["bytes_same"].as_u64().expect("bytes");
            sums[1] += state["bytes"].as_u64().expect("bytes");
        }
    }
    let expected = expected.into_iter().map(|(plane, [same, all])| format!("{plane} | {same} | {all}"));
    let found = fleet.query("unchanged-bytes", &[]);
    assert_eq!(
        sorted(found.iter().map(|value| row(value, &["control_plane", "bytes_same", "bytes"]))),
        sorted(expected)
    );
}

fn problems_at(fleet: &Fleet) {
    let mut expected = Vec::new();
    let mut all = Vec::new();
    for session in &fleet.sessions {
        for problem in session.status("problem") {
            let text = format!(
                "{:?} | {}",
                session.tap,
                row(problem, &["node", "type", "problem", "urgency", "count", "text"])
            );
            if problem["urgency"] == "error" || problem["urgency"] == "warning" {
                expected.push(text.clone());
            }
            all.push(text);
        }
    }
    assert!(expected.len() > 10, "{expected:#?}");
    const MEMBERS: [&str; 7] = ["tap", "node", "type", "problem", "urgency", "occurrences", "text"];
    let found = fleet.query("problems-at", &ALWAYS);
    assert_eq!(sorted(found.iter().map(|value| row(value, &MEMBERS))), sorted(expected));
    let rows = fleet.rows("problems", "*");
    assert_eq!(sorted(rows.iter().map(|value| row(value, &MEMBERS))), sorted(all));
    let before = fleet.query("problems-at", &["at=2001-01-01T00:00:00Z", "hours=1"]);
    assert_eq!(before, Vec::<Value>::new());
}

fn findings(fleet: &Fleet) {
    let mut expected = Vec::new();
    for session in &fleet.sessions {
        let members = ["rule", "severity", "blame", "node", "type", "at", "count", "group", "guess", "text"];
        expected.extend(
            session.lint.iter().map(|finding| format!("{:?} | {}", session.tap, row(finding, &members))),
        );
    }
    assert!(expected.len() > 10, "{expected:#?}");
    let members = [
        "tap",
        "rule",
        "severity",
        "blame",
        "node",
        "type",
        "at_seq",
        "occurrences",
        "cause_group",
        "guess",
        "text",
    ];
    let found = fleet.rows("findings", "*");
    assert_eq!(sorted(found.iter().map(|value| row(value, &members))), sorted(expected));
}

fn states(fleet: &Fleet) {
    let mut expected = Vec::new();
    for session in &fleet.sessions {
        for state in session.status("state") {
            let members =
                ["stream", "node", "type", "state", "in_force", "offered", "resources", "refused", "pushes"];
            let ack = &state["ack_ms"];
            expected.push(format!("{} | {} | {}", row(state, &members), ack["p50"], ack["p99"]));
        }
    }
    let members =
        ["stream", "node", "type", "state", "in_force", "offered", "resources", "refused", "pushes"];
    let found = fleet.rows("streams", "*");
    let found = found.iter().filter(|value| value["type"].is_string());
    let found = found.map(|value| row(value, &[&members[..], &["ack_p50_ms", "ack_p99_ms"]].concat()));
    assert_eq!(sorted(found), sorted(expected));
}

/// Conditions are literals: they select, and change nothing else in the SQL.
fn conditions(fleet: &Fleet) {
    let all = fleet.query("unchanged-bytes", &[]).len();
    assert!(all > 0);
    assert_eq!(fleet.query("unchanged-bytes", &["tap=tap-*"]).len(), all);
    for hostile in ["tap=' OR true --", "tap=x'; DROP TABLE streams; --", "tap={filters}", "tap=\\'"] {
        assert_eq!(fleet.query("unchanged-bytes", &[hostile]), Vec::<Value>::new(), "{hostile}");
    }
}

fn secrets(fleet: &Fleet) {
    let tables = ["messages", "resources", "contents", "verdicts", "streams", "problems", "findings"];
    for table in tables {
        let rows = Value::from(fleet.rows(table, "*")).to_string();
        assert!(!rows.contains("hunter2"), "{table}");
    }
    let contents = fleet.rows("contents", "json, redacted, type_url, name, hash");
    let redacted =
        contents.iter().find(|row| row["redacted"] == true && row["name"] == "c").expect("a content");
    assert!(redacted["json"].as_str().expect("JSON").contains("password"), "{redacted}");
    // Each resource of a push has its content.
    let hashes: BTreeSet<String> = contents.iter().map(|row| row["hash"].to_string()).collect();
    let resources = fleet.rows("resources", "hash");
    let known = resources.iter().filter(|row| row["hash"].is_string());
    assert!(known.clone().count() > 20 && known.clone().all(|row| hashes.contains(&row["hash"].to_string())));
}
