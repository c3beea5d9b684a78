//! A control plane that cannot be reached is one problem, listed first, and not a node.

use super::{CallOutput, run};
use crate::cli::Exit;

/// Failed connections through a tap, one second apart.
fn attempts(notes: &[(&str, &str)]) -> String {
    let mut out = String::new();
    for (at, (by, note)) in notes.iter().enumerate() {
        let (time, stream) = (format!("2026-03-02T14:02:{:02}Z", 8 + at), at + 1);
        let address = format!(r#""peer":"127.0.0.1:{}","server":"127.0.0.1:28000""#, 5000 + at);
        out +=
            &format!(r#"{{"dir":"open","t":"{time}","stream":{stream},"method":"(connection)",{address}}}"#);
        out += "\n";
        out += &format!(r#"{{"dir":"close","t":"{time}","stream":{stream},"by":"{by}","note":"{note}"}}"#);
        out += "\n";
    }
    out
}

fn on(recording: &str, args: &[&str]) -> CallOutput {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("taped.jsonl");
    std::fs::write(&path, recording).unwrap();
    let (verb, flags) = args.split_first().unwrap();
    run(&[&[*verb, path.to_str().unwrap()], flags].concat())
}

const REFUSED: (&str, &str) = ("server", "connect 127.0.0.1:28000 failed: Connection refused");
const WRONG: (&str, &str) = ("server", "TLS to 127.0.0.1:28000 failed: wrong name");

#[test]
fn unreachable_server_is_one_problem_without_a_node() {
    let recording = attempts(&[REFUSED, REFUSED, WRONG]);
    let output = on(&recording, &["status"]);
    assert_eq!(output.exit, Exit::No, "{}", output.all());
    let lines: Vec<&str> = output.out.lines().collect();
    let line = "server can't be reached, 3 attempts since 14:02:08: TLS failed: wrong name";
    assert_eq!(lines[0], "1 problem");
    assert!(lines[1].starts_with("DOWN  127.0.0.1:28000  ") && lines[1].ends_with(line), "{}", output.out);
    assert!(!output.out.contains("(connection)"), "an attempt is no node: {}", output.out);
    assert!(output.err.contains("next: xdscope doctor 127.0.0.1:28000"), "{}", output.err);
    let objects = on(&recording, &["status", "-o", "json"]);
    assert!(objects.exit == Exit::No && objects.out.contains("3 attempts"), "{}", objects.out);
    let lint = on(&recording, &["lint"]);
    assert!(lint.out.contains("server cannot be reached, 3 attempts"), "{}", lint.out);
    let one = on(&attempts(&[REFUSED]), &["status"]);
    assert!(
        one.out.ends_with("server can't be reached: connect failed: Connection refused\n\n"),
        "{}",
        one.out
    );
}

#[test]
fn stream_on_a_later_connection_clears_the_problem() {
    let method = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";
    let opened = |server: &str| {
        let time = "2026-03-02T14:02:20Z";
        format!(
            r#"{{"dir":"open","t":"{time}","stream":9,"method":"{method}","peer":"127.0.0.1:6000","server":"{server}"}}"#
        )
    };
    let recording = attempts(&[REFUSED, WRONG]);
    let there = recording.clone() + &opened("127.0.0.1:28000");
    let output = on(&there, &["status"]);
    assert_eq!((output.exit, output.out.contains("DOWN")), (Exit::Yes, false), "{}", output.all());
    assert!(output.out.contains("127.0.0.1:6000") && !output.out.contains("(connection)"), "{}", output.out);
    assert!(on(&there, &["log"]).out.contains("connect 127.0.0.1:28000 failed"), "the log keeps it");
    let elsewhere = recording + &opened("127.0.0.1:28001");
    assert_eq!(on(&elsewhere, &["status"]).exit, Exit::No, "another server says nothing of this one");
}

#[test]
fn poll_after_failed_connections_clears_the_problem() {
    let method = "/v3/discovery:clusters";
    let open = format!(
        r#"{{"dir":"open","t":"2026-03-02T14:02:00Z","stream":9,"method":"{method}","peer":"127.0.0.1:6000","server":"127.0.0.1:28000"}}"#
    );
    let request = "CgExEgQKAm4xIjN0eXBlLmdvb2dsZWFwaXMuY29tL2Vudm95LmNvbmZpZy5jbHVzdGVyLnYzLkNsdXN0ZXI=";
    let poll = |time: &str| {
        let start = format!(r#""t":"2026-03-02T14:02:{time}Z","stream":9"#);
        let asked = format!(r#"{{"dir":"c2s",{start},"method":"{method}","raw":"{request}"}}"#);
        format!("{asked}\n{{\"dir\":\"gap\",{start},\"messages\":0,\"bytes\":0,\"opaque\":\"s2c\"}}\n")
    };
    let down = format!("{open}\n{}{}", poll("01"), attempts(&[REFUSED, REFUSED, REFUSED]));
    assert!(on(&down, &["status"]).out.contains("DOWN"), "no poll was answered since");
    let output = on(&(down + &poll("20")), &["status"]);
    assert_eq!((output.exit, output.out.contains("DOWN")), (Exit::Yes, false), "{}", output.all());
}

#[test]
fn client_that_cannot_connect_is_told_apart_from_the_server() {
    let theirs = ("client", "TLS with the client failed: client certificate required");
    let output = on(&attempts(&[theirs, theirs]), &["status"]);
    assert!(
        output.out.starts_with("1 problem\nDOWN  127.0.0.1  ") && output.exit == Exit::No,
        "{}",
        output.all()
    );
    assert!(
        output.out.contains("client can't connect, 2 attempts since 14:02:08: TLS with"),
        "{}",
        output.out
    );
}

#[test]
fn unknown_files_are_unreadable() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.json");
    std::fs::write(&path, r#"{"a":1}"#).unwrap();
    let path = path.to_str().unwrap();
    for verb in ["status", "get", "log", "info"] {
        let output = run(&[verb, path]);
        assert_eq!((output.exit, output.out.as_str()), (Exit::Unreadable, ""), "{verb}: {}", output.all());
        assert!(output.err.contains("is neither a recording nor a file of resources"), "{}", output.err);
    }
    let output = run(&["lint", path]);
    assert!(
        output.out.contains("fs-parse-error"),
        "what is wrong with it is lint's to say: {}",
        output.all()
    );
}

#[test]
fn subscriptions_of_a_name_list_that_name_only() {
    let output = run(&["get", super::TOUR, "eds/ledger-v2", "--subscriptions", "--no-headers"]);
    let names: Vec<&str> = output.out.lines().filter(|line| line.contains("EDS")).collect();
    assert!(names.len() == 1 && names[0].contains("ledger-v2"), "{}", output.out);
}
