//! Tests of problems that have one cause, that are over, and that an alternative ends.

use super::{CallOutput, Exit, objects, run};

const SCRIPTS: &str = "tests/fixtures/scripts";

fn status(script: &str) -> CallOutput {
    run(&["status", &format!("{SCRIPTS}/{script}.xds")])
}

/// docs/protocol.md#h-02
#[test]
fn cluster_without_endpoints_is_one_problem() {
    // The order of separate streams is uncertain.
    for (script, severity) in [("S-41", "warn"), ("S-41b", "info")] {
        let CallOutput { out, exit, .. } = status(script);
        assert!(out.starts_with("1 problem\n") && exit == Exit::No, "{out}");
        assert!(out.contains("server owes EDS c, asked in #4; needed by cluster c, which warms\n"), "{out}");
        assert!(out.contains("WARMING 20s") && out.contains("MISS 1/2 20s"), "{out}");
        let lint = run(&["lint", &format!("{SCRIPTS}/{script}.xds")]);
        assert!(
            lint.out.contains("warming-stuck")
                && lint.err.contains("1 problem; 1 finding")
                && lint.err.contains(&format!(": 1 {severity};")),
            "{}",
            lint.err
        );
    }
}

/// docs/protocol.md#h-03
#[test]
fn listener_waits_for_routes_of_its_scopes() {
    let path = &format!("{SCRIPTS}/S-41c.xds");
    let tree = run(&["get", path, "lds", "-o", "tree", "--at", "#7"]).out;
    assert!(tree.contains("warming: listener l waits for RDS r since"), "{tree}");
}

/// A rule stays broken for `lint`; `status` tells what lasts.
#[test]
fn late_resources_are_no_problem_any_more() {
    let path = &format!("{SCRIPTS}/S-42.xds");
    let CallOutput { out, exit, .. } = run(&["status", path]);
    assert!(out.starts_with("no problems, 2 over\n") && exit == Exit::Yes, "{out}");
    let lint = run(&["lint", path]);
    assert!(lint.out.contains("c: waited for endpoints for 40.0s\n"), "{}", lint.out);
    let text = "x: subscribed, but neither sent nor removed within 15s; came after 30.0s\n";
    assert!(lint.out.contains(text), "{}", lint.out);
    assert!(lint.out.contains("c: not delivered within 15s; came after 40.0s"), "{}", lint.out);
    assert_eq!(lint.exit, Exit::No);
    let problems = objects(&["status", path, "-o", "jsonl"]);
    let problems: Vec<_> = problems.iter().filter(|object| object["object"] == "problem").collect();
    assert_eq!(problems.len(), 2);
    assert!(problems.iter().all(|of| of["urgency"] == "over" && of["over"].is_number()), "{problems:#?}");
    let findings = objects(&["lint", path, "-o", "jsonl"]);
    assert!(findings.iter().all(|finding| finding["over"].is_number()), "{findings:#?}");
}

#[test]
fn resource_of_another_stream_is_found_in_the_tree() {
    let tree = run(&["get", &format!("{SCRIPTS}/S-41b.xds"), "cds", "-o", "tree"]).out;
    assert!(tree.contains("EDS d  present") && !tree.contains("neither requested nor sent"), "{tree}");
}

/// docs/protocol.md#k-29
#[test]
fn name_with_an_alternative_is_not_owed() {
    let CallOutput { out, .. } = status("S-44b");
    assert!(!out.contains("OWED") && out.starts_with("1 problem\nFAILING"), "{out}");
}

/// docs/protocol.md#c-05
#[test]
fn unreadable_file_is_one_problem() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.xds");
    std::fs::write(&path, "stream 1 file cds\n< v=1 [c]\n+5s < raw=ffff\n").unwrap();
    let path = path.to_str().unwrap();
    let CallOutput { out, .. } = run(&["status", path]);
    assert!(out.starts_with("1 problem\nERROR"), "{out}");
    assert!(run(&["lint", path]).out.contains("; also fs-update-rejected"), "{out}");
    std::fs::write(path, "stream 1 file cds\n< v=1 [c]\n+5s < raw=ffff\n+7s < v=2 [c]\n").unwrap();
    assert!(run(&["status", path]).out.starts_with("no problems, 1 over\n"));
    let lint = run(&["lint", path]);
    assert!(
        lint.out.contains("; the file was valid again after 2.0s") && lint.exit == Exit::No,
        "{}",
        lint.out
    );
}

/// docs/protocol.md#h-10
#[test]
fn lasting_findings_keep_wait_from_being_synced() {
    let removed = "tests/fixtures/views/removed-cluster.for-ever.xds";
    let waited = run(&["wait", removed, "synced", "--timeout", "0s"]);
    assert_eq!((run(&["status", removed]).exit, waited.exit), (Exit::No, Exit::Never), "{}", waited.err);
    // A rule that was broken once is no state.
    let once = "tests/fixtures/lint/node-changed.bad.xds";
    let waited = run(&["wait", once, "synced", "--timeout", "0s"]);
    assert_eq!((run(&["status", once]).exit, waited.exit), (Exit::No, Exit::Yes), "{}", waited.err);
    let moved = "tests/fixtures/views/moved-server.xds";
    let waited = run(&["wait", moved, "synced", "--timeout", "0s"]);
    assert_eq!((run(&["status", moved]).exit, waited.exit), (Exit::Yes, Exit::Yes), "{}", waited.err);
    let malformed = "tests/fixtures/views/malformed-name.xds";
    assert_eq!(run(&["wait", malformed, "synced", "--timeout", "0s"]).exit, Exit::Never);
}

/// docs/protocol.md#e-11, docs/protocol.md#e-21
#[test]
fn client_that_has_accepted_nothing_is_not_in_sync() {
    for fixture in ["stray-refusal.xds", "stray-refusal.no-nonce.xds", "stray-nonce.xds"] {
        let path = &format!("tests/fixtures/views/{fixture}");
        let waited = run(&["wait", path, "synced", "--timeout", "0s"]);
        assert_eq!((run(&["status", path]).exit, waited.exit), (Exit::No, Exit::Never), "{fixture}");
    }
    for fixture in ["refused-name-after-reconnect.xds", "refused-name-after-reconnect.delta.xds"] {
        let path = &format!("tests/fixtures/views/{fixture}");
        assert_eq!(run(&["wait", path, "synced", "--timeout", "0s"]).exit, Exit::Never, "{fixture}");
    }
}

/// docs/protocol.md#h-01: a dump has no pushes, and nothing in it waits for an answer.
#[test]
fn dump_has_no_unanswered_pushes() {
    let path = "tests/fixtures/cli/refused-and-warming_dump.json";
    for verb in ["status", "get"] {
        let CallOutput { out, .. } = run(&[verb, path]);
        assert!(!out.contains("pushed again") && !out.contains("not answered"), "{verb}: {out}");
    }
    assert!(run(&["status", path]).out.contains("client refused LDS l1 7; version 6 in force"));
}

/// A file that another program writes or copies has no lock.
#[test]
fn wait_follows_a_file_that_is_being_written() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.xdsrec");
    let to = whole.to_str().unwrap();
    assert_eq!(run(&["export", "examples/nack.xds", "--to", "xdsrec", "--output", to]).exit, Exit::Yes);
    let bytes = std::fs::read(&whole).unwrap();
    // Half a header, and half a line.
    for (name, content) in
        [("header.xdsrec", &bytes[..12]), ("line.xds", &b"node n\nstream 1 ads\n> cds v"[..])]
    {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        let (path, started) = (path.to_str().unwrap(), std::time::Instant::now());
        let waited = run(&["wait", path, "synced", "--timeout", "100ms"]);
        assert!(started.elapsed() >= std::time::Duration::from_millis(100), "{name}: {}", waited.err);
        assert_eq!(waited.exit, Exit::Unreadable, "{name}: {}", waited.err);
    }
}
