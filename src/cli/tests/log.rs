//! Tests of `log`.

use std::io::Cursor;

use serde_json::json;

use super::{Environment, GATEWAY, TOUR, objects, run, script_file, show};

#[test]
fn prints_table_and_ladder() {
    insta::assert_snapshot!(show(&["log", TOUR]));
    insta::assert_snapshot!("log-one-stream", show(&["log", TOUR, "--stream", "#2", "--time", "delta"]));
    insta::assert_snapshot!("log-ladder", show(&["log", TOUR, "--ladder"]));
    insta::assert_snapshot!(
        "log-ladder-ascii",
        show(&["log", TOUR, "--ladder", "--ascii", "--stream", "#1"])
    );
}

/// The line on stderr about the problems of the tour.
const PROBLEMS: &str =
    "xdscope: 4 problems, the worst: edge-gw-1 CDS NACK; xdscope status tests/fixtures/cli/tour.xds\n";

#[test]
fn prints_selected_rows() {
    assert_eq!(run(&["log", TOUR, "-o", "name", "--filter", "kind:nack"]).out, "#18\n#20\n");
    assert_eq!(run(&["log", TOUR, "-o", "name", "--filter", "type:cds", "--tail", "2"]).out, "#19\n#20\n");
    assert_eq!(run(&["log", TOUR, "-o", "name", "--stream", "batch-9"]).out, "#14\n#15\n#16\n");
    let nothing = run(&["log", TOUR, "--filter", "type:rtds"]);
    assert_eq!(
        (nothing.out.as_str(), nothing.err.as_str()),
        ("", format!("{PROBLEMS}xdscope: 0 of 24 rows match\n").as_str())
    );
    assert_eq!(run(&["log", TOUR, "--filter", "type:rtds", "-q"]).err, "");
}

#[test]
fn tail_is_the_end_of_all_rows() {
    for args in [&[][..], &["--filter", "type:cds"], &["--stream", "#2"], &["--since", "30s"]] {
        let args = [&["log", TOUR, "-o", "jsonl"], args].concat();
        let all = run(&args).out;
        let all: Vec<&str> = all.lines().collect();
        assert!(all.len() > 2, "{args:?}");
        for n in [1, 2, all.len(), 100] {
            let tail = run(&[&args[..], &["--tail", &n.to_string()]].concat());
            let wanted = &all[all.len().saturating_sub(n)..];
            assert_eq!(tail.out.lines().collect::<Vec<_>>(), wanted, "{args:?} {n}");
        }
    }
    assert_eq!(run(&["log", TOUR, "--tail", "2"]).err, "", "the line about problems needs the rules");
}

#[test]
fn notes_content_beyond_the_memory_limit() {
    use std::fmt::Write as _;
    let mut script = String::from("node a\nstream 1 ads\n1 > cds\n");
    for push in 1..=6000 {
        let _ = writeln!(script, "1 < cds v={push} n=n{push} [a~{push}]\n1 > cds v={push} n=n{push}");
    }
    let log = |more: &[&str]| {
        let stdin = Box::new(Cursor::new(script.clone().into_bytes()));
        Environment { stdin, ..Environment::default() }.run(&[&["log", "-", "-o", "name"], more].concat())
    };
    let output = log(&["--memory", "1600KB"]);
    let text = "xdscope: the content of the first ";
    let note = output.err.lines().find(|line| line.starts_with(text)).expect("a note");
    assert!(note.ends_with("did not fit into --memory 1.6MB; --memory 3.2MB holds twice as many"), "{note}");
    assert_eq!(output.out.lines().count(), 12_001, "rows stay");
    assert_eq!(log(&["--memory", "1600KB", "-q"]).err, "");
    assert_eq!(log(&[]).err, "");
}

#[test]
fn prints_message_objects() {
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
fn prints_entries_of_nacks() {
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

#[test]
fn names_the_first_name_of_an_alternative() {
    let output = run(&["log", "tests/fixtures/lint/xdstp-alt-without-failure.bad.xds", "-o", "wide"]);
    let [first, second] = [
        "a1/envoy.config.endpoint.v3.ClusterLoadAssignment/foo",
        "a2/envoy.config.endpoint.v3.ClusterLoadAssignment/bar",
    ];
    let event = format!("failover from xdstp://{first} to xdstp://{second}");
    assert_eq!(output.out.matches(&event).count(), 1, "{}", output.out);
}

#[test]
fn body_of_an_intervention_is_the_original_and_what_was_sent() {
    const EDITED: &str = "tests/fixtures/cli/edited.jsonl";
    let rows = objects(&["log", EDITED, "-q", "--body", "-o", "jsonl", "--filter", "kind:intercepted"]);
    let timeout = |of: &serde_json::Value| of["resources"][0]["connectTimeout"].clone();
    let [held, changed] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!(held["intercepted"]["by"], "hand: h1");
    assert!(held["intercepted"]["sent"].is_null());
    assert_eq!(timeout(&held["intercepted"]["original"]), "5s");
    assert_eq!(timeout(&changed["intercepted"]["original"]), "5s");
    assert_eq!(timeout(&changed["intercepted"]["sent"]), "9s");
    let without = objects(&["log", EDITED, "-q", "-o", "jsonl", "--filter", "kind:intercepted"]);
    assert!(without[1]["intercepted"]["sent"].is_null());
    let text = run(&["log", EDITED, "--body"]).out;
    let (_, sent) = text.split_once("sent instead:").expect("the message that was sent");
    assert!(text.contains("push changed by hand: h1") && sent.contains("connect_timeout: 9s"), "{text}");
}

#[test]
fn rows_on_a_terminal_keep_what_counts() {
    let names: Vec<String> = (0..118).map(|n| format!("c{n}")).collect();
    let script = format!(
        "node reviews-v2-6b8f9c7d55-x2x4z\nstream 1 delta-ads\n> eds sub=[{0}]\n< eds n=a [{1}]\n> eds n=a\n",
        names.join(" "),
        names.iter().map(|name| format!("{name}@1")).collect::<Vec<_>>().join(" ")
    );
    let log = |script: &str, terminal| {
        let file = script_file(script);
        let environment = Environment { terminal, ..Environment::default() };
        environment.run(&["log", file.path().to_str().unwrap(), "--color", "never"]).out
    };
    let shown = log(&script, true);
    assert!(shown.contains("subscribe +118"), "{shown}");
    assert!(shown.lines().all(|line| xdscope_present::text::width(line) <= 100), "{shown}");
    let two = script.replace("> eds n=a", "1 > eds n=a\nnode other\nstream 2 ads\n2 > cds");
    let shown = log(&two, true);
    assert!(shown.contains("subscribe +118"), "with the column of nodes: {shown}");
    let piped = log(&two, false);
    assert!(piped.contains("reviews-v2-6b8f9c7d55-x2x4z #1"), "nothing is cut in a pipe: {piped}");
}

/// The type, the kind, the version and the node of each row fit into a terminal.
#[test]
fn rows_fit_into_the_terminal() {
    let envs: [(usize, &'static [(&str, &str)]); 3] =
        [(80, &[("COLUMNS", "80")]), (120, &[("COLUMNS", "120")]), (160, &[("COLUMNS", "160")])];
    for source in ["tests/fixtures/tui/meshes.xds", "tests/fixtures/recordings/istio.xdsrec"] {
        let nodes = run(&["status", source, "-o", "name"]).out;
        for (columns, env) in envs {
            let environment = Environment { env, ..Environment::default() };
            let out = environment.run(&["log", source, "-q"]).out;
            let widest = out.lines().max_by_key(|line| xdscope_present::text::width(line)).unwrap();
            assert!(xdscope_present::text::width(widest) <= columns, "{columns}: {widest}");
            for word in ["push", "ACK #", "CDS"] {
                assert!(out.contains(word) || out.contains(&word.to_lowercase()), "{columns}: {word}: {out}");
            }
            if columns >= 120 {
                let pods = nodes.lines().filter_map(xdscope_present::text::workload);
                for pod in pods {
                    let name = pod.split('.').next().unwrap_or(pod);
                    assert!(out.contains(name), "{columns}: {name}: {out}");
                }
            }
        }
        // Without a terminal, nothing is cut, and Istio's nodes have the names of `istioctl`.
        let out = run(&["log", source, "-q"]).out;
        let pods = nodes.lines().filter_map(xdscope_present::text::workload);
        assert!(!out.contains("sidecar~") && !out.contains("router~"), "{out}");
        assert!(pods.into_iter().all(|pod| out.contains(pod)), "{out}");
    }
}
