//! Tests of verbs, from arguments to output, in an environment of the test.

mod contract;
mod export;
mod reference;
mod secrets;
mod silence;
mod unreachable;
mod words;

use std::ffi::OsString;
use std::io::{Cursor, Read, Write};

use clap::CommandFactory as _;
use jiff::tz::TimeZone;
use serde_json::json;

use super::io::Io;
use super::{Exit, run_in};

const TOUR: &str = "tests/fixtures/cli/tour.xds";

struct World {
    stdin: Box<dyn Read>,
    terminal: bool,
    env: &'static [(&'static str, &'static str)],
}

impl Default for World {
    fn default() -> Self {
        World { stdin: Box::new(std::io::empty()), terminal: false, env: &[("LANG", "C.UTF-8")] }
    }
}

pub(super) struct Said {
    pub out: String,
    pub err: String,
    pub exit: Exit,
}

impl Said {
    /// All output, as on a terminal.
    fn all(&self) -> String {
        format!("{}{}exit {}\n", self.out, self.err, self.exit.code())
    }
}

impl World {
    fn run(self, args: &[&str]) -> Said {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let env = self.env;
        let mut io = Io {
            stdin: self.stdin,
            stdout: Box::new(&mut out),
            stderr: Box::new(&mut err),
            stdin_is_terminal: self.terminal,
            stdout_is_terminal: self.terminal,
            stderr_is_terminal: self.terminal,
            env: Box::new(move |name| env.iter().find(|(key, _)| *key == name).map(|(_, v)| (*v).to_owned())),
            zone: TimeZone::UTC,
        };
        let exit = run_in(["xdscope"].iter().chain(args).map(OsString::from), &mut io);
        drop(io);
        Said { out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap(), exit }
    }
}

pub(super) fn run(args: &[&str]) -> Said {
    World::default().run(args)
}

/// Runs `args`, and returns output and exit code.
pub(super) fn show(args: &[&str]) -> String {
    run(args).all()
}

pub(super) fn objects(args: &[&str]) -> Vec<serde_json::Value> {
    let said = run(args);
    assert_eq!(said.err, "");
    said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_bare_call_prints_ten_lines_the_demo_first() {
    let said = run(&[]);
    assert_eq!((said.exit, said.err.as_str()), (Exit::Yes, ""));
    assert!(said.out.lines().count() <= 10);
    let commands: Vec<_> = said.out.lines().filter(|line| line.starts_with("  xdscope")).collect();
    assert!(commands[0].starts_with("  xdscope demo"), "{commands:?}");
}

#[test]
fn help_of_every_verb() {
    for verb in super::args::Cli::command().get_subcommands() {
        let name = verb.get_name();
        let help = run(&["help", name]);
        assert_eq!(help.exit, Exit::Yes, "{name}");
        insta::assert_snapshot!(format!("help-{name}"), help.out);
    }
}

#[test]
fn help_of_every_topic() {
    for topic in ["config", "descriptors", "exit-codes", "filter", "keys", "states"] {
        insta::assert_snapshot!(format!("help-{topic}"), run(&["help", topic]).out);
    }
    assert_eq!(run(&["help", "nothing"]).exit, Exit::Usage);
    let all = run(&["help"]).out;
    for topic in ["config", "descriptors", "exit-codes", "filter", "json", "keys", "states"] {
        assert!(all.contains(&format!("\n  {topic} ")), "{topic}");
    }
}

#[test]
fn status_is_a_matrix_worst_first() {
    insta::assert_snapshot!(show(&["status", TOUR]));
    insta::assert_snapshot!("status-wide", show(&["status", TOUR, "-o", "wide"]));
    assert!(run(&["status", TOUR, "-o", "wide", "--ascii"]).out.is_ascii());
    insta::assert_snapshot!("status-ascii", show(&["status", TOUR, "--ascii", "-q", "--no-headers"]));
}

#[test]
fn status_is_judged_by_what_is_picked() {
    assert_eq!(run(&["status", TOUR, "--filter", "type:lds"]).exit, Exit::Yes);
    assert_eq!(run(&["status", TOUR, "--stream", "batch-9"]).exit, Exit::Yes);
    assert_eq!(run(&["status", TOUR, "--stream", "#2"]).exit, Exit::No);
    assert_eq!(run(&["status", TOUR, "--stream", "#2", "--stale-after", "1m"]).exit, Exit::Yes);
    let nothing = run(&["status", TOUR, "--filter", "node:nobody"]);
    assert_eq!((nothing.out.as_str(), nothing.exit), ("", Exit::Yes));
}

#[test]
fn status_objects_are_states_and_with_json_streams() {
    let states = objects(&["status", TOUR, "-o", "jsonl"]);
    assert!(states.iter().all(|state| state["object"] == "state"));
    assert_eq!(states.len(), 5);
    let said = run(&["status", TOUR, "-o", "json"]);
    let all: Vec<serde_json::Value> = serde_json::from_str(&said.out).unwrap();
    assert_eq!(all[..5], states[..]);
    let streams: Vec<_> = all[5..].iter().map(|stream| (&stream["object"], &stream["stream"])).collect();
    assert_eq!(streams.len(), 3);
    assert_eq!(said.exit, Exit::No);
}

#[test]
fn log_is_a_table() {
    insta::assert_snapshot!(show(&["log", TOUR]));
    insta::assert_snapshot!("log-one-stream", show(&["log", TOUR, "--stream", "#2", "--time", "delta"]));
    insta::assert_snapshot!("log-ladder", show(&["log", TOUR, "--ladder"]));
    insta::assert_snapshot!(
        "log-ladder-ascii",
        show(&["log", TOUR, "--ladder", "--ascii", "--stream", "#1"])
    );
}

#[test]
fn log_shows_what_is_asked_for() {
    assert_eq!(run(&["log", TOUR, "-o", "name", "--filter", "kind:nack"]).out, "#18\n#20\n");
    assert_eq!(run(&["log", TOUR, "-o", "name", "--filter", "type:cds", "--tail", "2"]).out, "#19\n#20\n");
    assert_eq!(run(&["log", TOUR, "-o", "name", "--stream", "batch-9"]).out, "#14\n#15\n#16\n");
    let nothing = run(&["log", TOUR, "--filter", "type:rtds"]);
    assert_eq!((nothing.out.as_str(), nothing.err.as_str()), ("", "xdscope: 0 of 24 rows match\n"));
    assert_eq!(run(&["log", TOUR, "--filter", "type:rtds", "-q"]).err, "");
}

#[test]
fn log_says_what_memory_could_not_hold() {
    use std::fmt::Write as _;
    let mut script = String::from("node a\nstream 1 ads\n1 > cds\n");
    for push in 1..=6000 {
        let _ = writeln!(script, "1 < cds v={push} n=n{push} [a~{push}]\n1 > cds v={push} n=n{push}");
    }
    let log = |more: &[&str]| {
        let stdin = Box::new(Cursor::new(script.clone().into_bytes()));
        World { stdin, ..World::default() }.run(&[&["log", "-", "-o", "name"], more].concat())
    };
    let said = log(&["--memory", "2MB"]);
    let text = "xdscope: the content of the first ";
    let note = said.err.lines().find(|line| line.starts_with(text)).expect("a note");
    assert!(note.ends_with("did not fit into --memory 2.0MB; --memory 4.0MB holds twice as many"), "{note}");
    assert_eq!(said.out.lines().count(), 12_001, "rows stay");
    assert_eq!(log(&["--memory", "2MB", "-q"]).err, "");
    assert_eq!(log(&[]).err, "");
}

#[test]
fn log_objects_follow_the_contract() {
    let nack = &objects(&["log", TOUR, "-o", "jsonl", "--filter", "#18", "--body"])[0];
    for (field, value) in [
        ("schema", json!(1)),
        ("object", json!("message")),
        ("n", json!(18)),
        ("dir", json!("req")),
        ("type", json!("cds")),
        ("kind", json!("nack")),
        ("version", json!("41")),
        ("nonce", json!("c2")),
        ("answers", json!(17)),
        ("latency_ms", json!(19.0)),
    ] {
        assert_eq!(nack[field], value, "{field}");
    }
    assert_eq!(nack["body"]["responseNonce"], "c2", "protobuf JSON");
    assert!(nack["raw"].as_str().is_some_and(|raw| !raw.is_empty()));
    let plain = &objects(&["log", TOUR, "-o", "jsonl", "--filter", "#18"])[0];
    assert!(plain.get("body").is_none() && plain.get("raw").is_none());
    let all: Vec<serde_json::Value> = serde_json::from_str(&run(&["log", TOUR, "-o", "json"]).out).unwrap();
    assert_eq!(all.len(), 24);
}

#[test]
fn content_can_be_filtered() {
    let names = |expr: &str| run(&["log", TOUR, "-o", "name", "--filter", expr]).out;
    assert_eq!(names("type:cds has:eds_cluster_config kind:nack"), "");
    assert_eq!(names("field:name=ledger"), "#17\n#19\n");
    assert_eq!(names("field:response_nonce=c3"), "#20\n");
    assert_eq!(run(&["get", TOUR, "-o", "name", "--filter", "field:name=led*"]).out, "cds/ledger\n");
}

#[test]
fn get_counts_lists_and_prints() {
    insta::assert_snapshot!("get-counts", show(&["get", TOUR]));
    insta::assert_snapshot!("get-cds", show(&["get", TOUR, "cds"]));
    insta::assert_snapshot!("get-cds-wide", show(&["get", TOUR, "Cluster", "--stream", "#1", "-o", "wide"]));
    insta::assert_snapshot!("get-yaml", show(&["get", TOUR, "cds/ledger", "eds/reviews", "-o", "yaml"]));
    insta::assert_snapshot!("get-subscriptions", show(&["get", TOUR, "--subscriptions"]));
    insta::assert_snapshot!("get-subscriptions-eds", show(&["get", TOUR, "eds", "--subscriptions"]));
    assert_eq!(
        run(&["get", TOUR, "cds", "-o", "name"]).out,
        "cds/cart\ncds/reviews\ncds/search\ncds/ledger\n"
    );
}

#[test]
fn get_sees_the_past() {
    let names = |at: &str| run(&["get", TOUR, "cds", "-o", "name", "--at", at]).out;
    assert_eq!(names("#5"), "cds/cart\ncds/reviews\ncds/search\n");
    assert_eq!(names("+39s"), names("#16"));
    assert!(names("+40s").contains("ledger") && names("end").contains("ledger"));
    assert_eq!(names("start"), "");
    assert_eq!(run(&["get", TOUR, "--at", "#99"]).exit, Exit::Usage);
    assert_eq!(
        run(&["get", TOUR, "--at", "2026-03-02T14:02:08Z"]).exit,
        Exit::Usage,
        "a script has no dates"
    );
    assert_eq!(run(&["get", TOUR, "--at", "noon"]).exit, Exit::Usage);
}

#[test]
fn get_objects_have_their_content() {
    let ledger = objects(&["get", TOUR, "cds/ledger", "-o", "jsonl"]);
    assert_eq!(ledger.len(), 1);
    assert_eq!((&ledger[0]["object"], &ledger[0]["refused"]), (&"resource".into(), &true.into()));
    assert_eq!(ledger[0]["body"]["name"], "ledger");
}

#[test]
fn info_tells_what_is_in_a_file() {
    insta::assert_snapshot!(show(&["info", TOUR]));
    let streams = objects(&["info", TOUR, "-o", "jsonl"]);
    assert_eq!(streams.iter().map(|stream| &stream["stream"]).collect::<Vec<_>>(), [1, 2, 3]);
}

/// A missing part of a recording is not a finding about its peers.
#[test]
fn a_part_knows_its_clients_and_blames_nobody_for_what_it_lacks() {
    let dir = tempfile::tempdir().unwrap();
    for (to, name) in [("xdsrec", "part.xdsrec"), ("raw", "part.jsonl"), ("script", "part.xds")] {
        let path = dir.path().join(name);
        let path = path.to_str().unwrap();
        for cut in [&["--from", "#7"][..], &["--from", "#12", "--until", "#18"], &["--filter", "type:eds"]] {
            let said = run(&[&["export", TOUR, "--to", to, "--output", path, "-q"], cut].concat());
            assert_eq!(said.exit, Exit::Yes, "{to} {cut:?} {}", said.err);
            let status = run(&["status", path]).out;
            assert!(status.contains("edge-gw-1"), "{to} {cut:?} {status}");
            // Arrow scripts cannot express lost messages.
            if to != "script" || cut.len() == 2 && cut[0] == "--from" {
                let lint = run(&["lint", path, "--fail-on", "error"]);
                assert_eq!(lint.exit, Exit::Yes, "{to} {cut:?} {}", lint.out);
            }
        }
    }
    let part = dir.path().join("part.xdsrec");
    let part = part.to_str().unwrap();
    run(&["export", TOUR, "--to", "xdsrec", "--output", part, "-q", "--until", "#12"]);
    let objects = |args: &[&str]| run(args).out;
    assert!(!objects(&["status", part, "-o", "jsonl"]).contains("\"closed\""), "nothing later is in it");
}

#[test]
fn nothing_is_in_sync_in_a_file_of_which_nothing_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cut.xdsrec");
    let path = path.to_str().unwrap();
    run(&["export", TOUR, "--to", "xdsrec", "--output", path, "-q"]);
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(200).unwrap();
    let said = run(&["status", path]);
    assert_eq!((said.exit, said.out.as_str()), (Exit::Unreadable, ""), "{}", said.err);
    assert!(said.err.contains("can't be read"), "{}", said.err);
    assert_eq!(run(&["info", path]).exit, Exit::Yes, "what is known of it can be asked");
}

#[test]
fn every_form_tells_the_same() {
    assert_eq!(run(&["status", TOUR, "-o", "text"]).out, run(&["status", TOUR]).out);
    assert_eq!(run(&["get", TOUR, "cds", "-o", "text"]).out, run(&["get", TOUR, "cds"]).out);
    let names = run(&["status", TOUR, "-o", "name"]).out;
    assert!(names.lines().any(|name| name == "edge-gw-1"), "{names}");
    let lines = run(&["status", TOUR, "-o", "jsonl"]).out.lines().count();
    let yaml = run(&["status", TOUR, "-o", "yaml"]).out;
    assert_eq!(yaml.lines().filter(|line| *line == "---").count(), lines, "{yaml}");
    assert!(yaml.contains("state: nack"), "{yaml}");
    assert!(run(&["info", TOUR, "-o", "yaml"]).out.contains("object: stream"));
    let wide = run(&["log", TOUR, "-o", "wide", "--stream", "#1"]).out;
    assert!(wide.lines().next().is_some_and(|titles| titles.contains("NODE") && titles.contains("CLASS")));
    assert!(wide.lines().any(|line| line.ends_with("  initial")), "{wide}");
}

#[test]
fn a_recording_never_goes_to_a_terminal() {
    let world = World { terminal: true, ..World::default() };
    let said = world.run(&["export", TOUR, "--to", "xdsrec"]);
    assert_eq!((said.out.as_str(), said.exit), ("", Exit::Usage));
    assert!(said.err.contains("--output"), "{}", said.err);
}

#[test]
fn words_that_are_no_verbs_lead_to_one() {
    let mut shown = String::new();
    for args in
        [&["show"][..], &["cat"], &["dump"], &["proxy"], &["open"], &["statsu"], &[TOUR], &["frobnicate"]]
    {
        shown.push_str(&format!("$ xdscope {}\n{}", args.join(" "), show(args)));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn errors_say_what_to_do() {
    let mut shown = String::new();
    for args in [
        &["status"][..],
        &["status", "no-such.xdsrec"],
        &["replay", "cp.mesh:15010"],
        &["status", "src"],
        &["log", TOUR, "--filter", "type:cds tpye:eds"],
        &["log", TOUR, "--filter", "state:nack"],
        &["log", TOUR, "--stream", "#9"],
        &["log", TOUR, "--stream", "nobody"],
        &["log", TOUR, "-o", "tree"],
        &["get", TOUR, "widgets"],
        &["get", TOUR, "cds/nothing"],
        &["get", TOUR, "eds", "--subscriptions", "-o", "yaml"],
        &["status", "Cargo.toml"],
    ] {
        shown.push_str(&format!("$ xdscope {}\n{}\n", args.join(" "), show(args)));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn colour_is_for_terminals_that_want_it() {
    let world = |terminal, env| World { terminal, env, ..World::default() };
    let utf8: &[(&str, &str)] = &[("LANG", "C.UTF-8")];
    let colored = |said: Said| said.out.contains("\x1b[");
    assert!(colored(world(true, utf8).run(&["status", TOUR])));
    assert!(!colored(world(false, utf8).run(&["status", TOUR])));
    assert!(!colored(world(true, &[("NO_COLOR", "1")]).run(&["status", TOUR])));
    assert!(!colored(world(true, &[("TERM", "dumb")]).run(&["status", TOUR])));
    assert!(!colored(world(true, utf8).run(&["status", TOUR, "--color", "never"])));
    assert!(colored(world(false, &[("NO_COLOR", "1")]).run(&["status", TOUR, "--color", "always"])));
}

#[test]
fn ascii_is_for_locales_that_need_it() {
    let log = |env: &'static [(&'static str, &'static str)]| {
        World { env, ..World::default() }.run(&["log", TOUR]).out
    };
    assert!(log(&[("LANG", "C")]).is_ascii());
    assert!(log(&[("LC_ALL", "POSIX"), ("LANG", "C.UTF-8")]).is_ascii());
    assert!(!log(&[("LC_CTYPE", "de_DE.utf8")]).is_ascii());
    assert!(!log(&[]).is_ascii());
}

#[test]
fn wire_text_can_not_move_the_cursor() {
    let script = "node \"a\\u001b[2J\"\nstream 1 sotw cds\n+0s 1 > v= n= names=[\"\\u001b]0;x\\u0007\"]\n\
                  1 < v=\"1\\u009b\" n=a [b]\n1 > v= n=a nack=\"\\u001b[31mred\\nline\"\n";
    for args in [
        &["status", "-"][..],
        &["status", "-", "-o", "wide"],
        &["status", "-", "-o", "json"],
        &["log", "-"],
        &["log", "-", "--ladder"],
        &["log", "-", "--body"],
        &["log", "-", "-o", "yaml"],
        &["log", "-", "-o", "jsonl", "--body"],
        &["get", "-"],
        &["get", "-", "cds", "--subscriptions"],
        &["get", "-", "-o", "yaml"],
        &["info", "-"],
        &["diff", "-", "@start", "@end"],
        &["diff", TOUR, "-"],
        &["diff", "-", TOUR, "--stat"],
    ] {
        // Control characters matter on a terminal only.
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut io = Io {
            stdin: Box::new(Cursor::new(script)),
            stdout: Box::new(&mut out),
            stderr: Box::new(&mut err),
            stdin_is_terminal: false,
            stdout_is_terminal: true,
            stderr_is_terminal: true,
            env: Box::new(|name| (name == "NO_COLOR").then(|| "1".to_owned())),
            zone: TimeZone::UTC,
        };
        run_in(["xdscope"].iter().chain(args).map(OsString::from), &mut io);
        drop(io);
        assert!(!out.is_empty(), "{args:?}: {}", String::from_utf8_lossy(&err));
        for text in [out, err] {
            let text = String::from_utf8(text).unwrap();
            assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{args:?}: {text:?}");
        }
    }
}

#[test]
fn stdin_of_a_terminal_is_refused() {
    let said = World { terminal: true, ..World::default() }.run(&["log", "-"]);
    assert_eq!(said.exit, Exit::Usage);
}

#[test]
fn sessions_are_found_by_their_bare_name() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().to_str().unwrap().to_owned();
    std::fs::create_dir(dir.path().join("xdscope")).unwrap();
    let kept = dir.path().join("xdscope/session-1.xdsrec");
    assert_eq!(run(&["export", TOUR, "--to", "xdsrec", "--output", kept.to_str().unwrap()]).exit, Exit::Yes);
    let env: &'static [_] = vec![("XDG_STATE_HOME", &*state.leak())].leak();
    let world = || World { env, ..World::default() };
    for name in ["session-1", "session-1.xdsrec"] {
        assert_eq!(world().run(&["info", name]).exit, Exit::Yes, "{name}");
    }
    let missing = world().run(&["info", "session-2"]);
    assert_eq!(missing.exit, Exit::Unreadable);
}

/// A reader that closes its pipe.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_pipe_ends_every_verb_quietly() {
    for args in [
        &[][..],
        &["--help"],
        &["status", TOUR],
        &["log", TOUR],
        &["log", TOUR, "-o", "json"],
        &["get", TOUR],
        &["diff", TOUR, "@start", "@end"],
        &["export", TOUR, "--to", "raw"],
        &["export", TOUR, "--to", "xdsrec"],
        &["info", TOUR],
        &["explain", "stale"],
        &["completions", "bash"],
        &["man"],
        &["doctor"],
        &["help", "filter"],
    ] {
        let mut err = Vec::new();
        let mut io = Io {
            stdin: Box::new(std::io::empty()),
            stdout: Box::new(Closed),
            stderr: Box::new(&mut err),
            stdin_is_terminal: false,
            stdout_is_terminal: false,
            stderr_is_terminal: false,
            env: Box::new(|_| None),
            zone: TimeZone::UTC,
        };
        let exit = run_in(["xdscope"].iter().chain(args).map(OsString::from), &mut io);
        drop(io);
        assert_eq!((exit, String::from_utf8(err).unwrap().as_str()), (Exit::Yes, ""), "{args:?}");
    }
}

const PROTO: &str =
    "syntax = \"proto3\"; package acme.v1; message Widget { string name = 1; string color = 2; }";

#[test]
fn descriptors_can_be_added() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("widget.proto"), PROTO).unwrap();
    let known = |args: &[&str]| run(&[&["descriptors", "list", "acme.v1"], args].concat()).out;
    assert_eq!(known(&["--proto", &path("widget.proto")]), "FROM  MESSAGE\nuser  acme.v1.Widget\n");
    assert_eq!(known(&[]), "");
    let built =
        run(&["descriptors", "build", "--proto", &path("widget.proto"), "-o", &path("set.binpb"), "-q"]);
    assert_eq!((built.err.as_str(), built.exit), ("", Exit::Yes));
    assert!(known(&["--protoset", &path("set.binpb")]).contains("user  acme.v1.Widget"));
    let broken = run(&["descriptors", "list", "--protoset", TOUR]);
    assert_eq!(broken.exit, Exit::Unreadable);
    assert_eq!(run(&["descriptors", "check", TOUR]).exit, Exit::Yes);
}

#[test]
fn types_that_can_not_be_decoded_are_named() {
    // An Any of acme.v1.Widget with a name.
    let any = "CiJ0eXBlLmdvb2dsZWFwaXMuY29tL2FjbWUudjEuV2lkZ2V0EgQKAncx";
    let script = format!("node a\nstream 1 ads\n+0s 1 > cds\n1 < cds v=1 n=a [raw:{any}]\n");
    let world = || World { stdin: Box::new(Cursor::new(script.clone())), ..World::default() };
    let said = world().run(&["descriptors", "check", "-"]);
    assert_eq!(
        (said.out.as_str(), said.exit),
        ("type.googleapis.com/acme.v1.Widget  1 resource\n", Exit::No)
    );
    let dir = tempfile::tempdir().unwrap();
    let proto = dir.path().join("widget.proto");
    std::fs::write(&proto, PROTO).unwrap();
    let said = world().run(&["descriptors", "check", "-", "--proto", proto.to_str().unwrap()]);
    assert_eq!(said.exit, Exit::Yes, "{}", said.err);
}

const GATEWAY: &str = "tests/fixtures/tui/gateway.xds";

#[test]
fn get_draws_what_refers_to_what() {
    insta::assert_snapshot!("get-tree", show(&["get", GATEWAY, "-o", "tree", "--stream", "#1"]));
    insta::assert_snapshot!(
        "get-tree-ascii",
        show(&["get", GATEWAY, "cds/reviews", "-o", "tree", "--ascii"])
    );
}

#[test]
fn log_reads_refusals() {
    let args = ["log", GATEWAY, "--filter", "kind:nack", "--body"];
    insta::assert_snapshot!("log-nack-body", show(&[&args[..], &["--tail", "2"]].concat()));
    let nacks = objects(&[&args[..], &["-o", "jsonl"]].concat());
    assert_eq!(nacks.len(), 3);
    let read = &nacks[0]["nack"];
    assert_eq!((&read["client"], &read["entries"][0]["name"]), (&json!("envoy"), &json!("reviews")));
    assert_eq!(read["entries"][0]["field"], "connect_timeout");
    assert_eq!(read["entries"][0]["field_guessed"], false);
    assert_eq!(read["refused"][0]["body"]["connect_timeout"], "0s");
    assert_eq!(read["refused"][0]["last_good"], "41");
    let guess = &nacks[2]["nack"]["entries"][0];
    assert_eq!((&guess["name"], &guess["name_guessed"]), (&json!("reviews"), &json!(true)));
    assert!(
        objects(&["log", GATEWAY, "-o", "jsonl", "--body", "--filter", "kind:ack"])[0].get("nack").is_none()
    );
}

/// docs/protocol.md#h-02 and docs/protocol.md#h-03.
#[test]
fn status_says_what_is_warming_and_who_owes() {
    let said = run(&["status", "tests/fixtures/rows/H-02.xds"]);
    assert!(
        said.out.ends_with("n1: cluster c2 waits for EDS c2 since 20s (asked in #4): the server owes it\n"),
        "{}",
        said.out
    );
    let said = run(&["status", "tests/fixtures/rows/H-03.xds"]);
    assert!(said.out.contains("listener l1 waits for RDS r since"), "{}", said.out);
    assert!(!said.out.contains("listener l2") && !said.out.contains("listener l3"), "{}", said.out);
    let said = run(&["status", "tests/fixtures/rows/H-02.xds", "-o", "json"]);
    let objects: Vec<serde_json::Value> = serde_json::from_str(&said.out).expect("an array");
    let state = |word: &str| objects.iter().find(|object| object["type"] == word).expect("a state").clone();
    assert_eq!(state("cds")["warming"][0]["name"], "c2");
    assert_eq!(state("cds")["warming"][0]["waits_for"][0]["asked"], 4);
    assert_eq!(state("eds").get("warming"), None);
}

#[test]
fn node_selects_streams_of_one_client() {
    assert_eq!(show(&["log", TOUR, "--node", "batch-9"]), show(&["log", TOUR, "--stream", "batch-9"]));
    assert_eq!(run(&["status", TOUR, "--node", "batch-9"]).exit, Exit::Yes);
    let both = run(&["status", TOUR, "--node", "batch-9", "--stream", "#2"]);
    assert_eq!(both.exit, Exit::Usage);
    let unknown = run(&["get", TOUR, "--node", "nobody"]);
    assert!(unknown.err.contains("unknown node `nobody`"), "{}", unknown.err);
}

#[test]
fn output_is_an_alias_of_format() {
    let names = show(&["status", TOUR, "-o", "name"]);
    assert_eq!(show(&["status", TOUR, "--format", "name"]), names);
    assert_eq!(show(&["status", TOUR, "--output", "name"]), names);
}
