//! Tests of flags that select rows.

use super::{Exit, GATEWAY, TOUR, run, show};

#[test]
fn filters_by_content() {
    let names = |expr: &str| run(&["log", TOUR, "-o", "name", "--filter", expr]).out;
    assert_eq!(names("type:cds has:eds_cluster_config kind:nack"), "");
    assert_eq!(names("field:name=ledger"), "#17\n#19\n");
    assert_eq!(names("field:response_nonce=c3"), "#20\n");
    assert_eq!(run(&["get", TOUR, "-o", "name", "--filter", "field:name=led*"]).out, "cds/ledger\n");
}

#[test]
fn node_selects_streams_of_one_client() {
    assert_eq!(show(&["log", TOUR, "--node", "batch-9"]), show(&["log", TOUR, "--stream", "batch-9"]));
    let status = run(&["status", TOUR, "--node", "batch-9"]);
    assert!(
        status.exit == Exit::No && status.out.starts_with("1 problem\nFAILING  batch-9 "),
        "{}",
        status.out
    );
    let both = run(&["status", TOUR, "--node", "batch-9", "--stream", "#2"]);
    assert_eq!(both.exit, Exit::Usage);
    let unknown = run(&["get", TOUR, "--node", "nobody"]);
    assert!(unknown.err.contains("unknown node `nobody`"), "{}", unknown.err);
}

#[test]
fn filters_name_types_and_nodes_that_the_source_lacks() {
    for (args, wanted) in [
        (&["log", GATEWAY, "--filter", "type:cd"][..], "type:cd matches no type of this source; near: cds"),
        (&["log", GATEWAY, "--since", "1h", "--filter", "type:cd"], "type:cd matches no type"),
        (&["log", GATEWAY, "--filter", "node:nope"], "node:nope matches no node of this source"),
        (&["status", GATEWAY, "--filter", "!node:edge-gv-1"], "near: edge-gw-1"),
        (&["get", GATEWAY, "cds", "--filter", "type:clsters"], "near: clusters"),
        (&["export", GATEWAY, "--to", "jsonl", "--filter", "node:nope"], "node:nope matches no node"),
        (&["wait", GATEWAY, "type:cd", "--timeout", "0s"], "type:cd matches no built-in type; near: cds"),
    ] {
        let output = run(args);
        assert!(output.err.contains(wanted), "{args:?}: {}", output.err);
    }
    for args in [
        &["log", GATEWAY, "--filter", "type:sds | node:edge*"][..],
        &["log", GATEWAY, "--filter", "type:cd", "-q"],
        &["wait", GATEWAY, "node:nope", "--timeout", "0s"],
    ] {
        let output = run(args);
        assert!(!output.err.contains(" matches no "), "{args:?}: {}", output.err);
    }
}
