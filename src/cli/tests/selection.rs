//! Tests of flags that select rows.

use super::{Exit, GATEWAY, TOUR, objects, run, script_file, show};

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

/// Returns a session in which thirty nodes refuse one cluster, and `n7` also a listener.
fn refused_by_thirty_nodes() -> tempfile::NamedTempFile {
    let mut text = String::new();
    for n in 1..=30 {
        text.push_str(&format!(
            "node n{n}\nstream {n} ads\n{n} > cds\n{n} < cds v=2 n=b [x bad]\n\
             {n} > cds n=b nack=\"Error adding/updating cluster(s) bad: no timeout\"\n"
        ));
    }
    text.push_str("7 > lds\n7 < lds v=2 n=l [in]\n7 > lds n=l nack=\"in: no address\"\n");
    script_file(&text)
}

#[test]
fn one_refusal_of_thirty_nodes_is_one_problem() {
    let file = refused_by_thirty_nodes();
    let path = file.path().to_str().unwrap();
    let status = run(&["status", path]);
    let problems: Vec<&str> = status.out.lines().take_while(|line| !line.is_empty()).collect();
    assert_eq!((status.exit, problems.len(), problems[0]), (Exit::No, 3, "2 problems"), "{}", status.out);
    let line = problems.iter().find(|line| line.starts_with("NACK  30 nodes CDS")).expect("one line");
    assert!(line.contains("on n1, n10, n11") && line.contains("and 22 more: bad: no timeout"), "{line}");
    assert!(problems.iter().any(|line| line.starts_with("NACK  n7 LDS")), "{}", status.out);
    let problems = objects(&["status", path, "-o", "jsonl"]);
    let problem = problems.iter().find(|of| of["object"] == "problem" && of["type"] == "cds").unwrap();
    assert_eq!((&problem["node"], &problem["stream"]), (&"n1".into(), &1.into()));
    assert_eq!((&problem["streams"], &problem["count"]), (&30.into(), &30.into()));
    assert_eq!(problem["nodes"].as_array().map(Vec::len), Some(30));
    let rows = run(&["lint", path]).out;
    assert_eq!(rows.lines().filter(|line| line.contains(" CDS ")).count(), 1, "{rows}");
    assert_eq!(run(&["wait", path, "synced", "--timeout", "0s"]).exit, Exit::Never);
    let report = run(&["export", path, "--to", "md", "--problem", "2"]).out;
    assert!(report.contains("# 30 nodes CDS: NACK") && report.contains("other nodes"), "{report}");
    assert!(report.contains("nack=") && !report.contains("node n2\n"), "a script of one node: {report}");
    let page = run(&["report", path]).out;
    assert!(page.contains("30 nodes CDS") && page.contains("and 22 more"), "the page");
}

#[test]
fn selected_node_is_named_in_the_problem_of_many() {
    let file = refused_by_thirty_nodes();
    let path = file.path().to_str().unwrap();
    let of_node = run(&["status", path, "--node", "n9"]);
    assert!(of_node.out.starts_with("1 problem\nNACK  n9 CDS "), "{}", of_node.out);
    assert!(!of_node.out.contains(" n1") && !of_node.out.contains("nodes"), "{}", of_node.out);
    let of_two = run(&["status", path, "--node", "n1?", "--filter", "!node:n1?"]);
    assert_eq!(of_two.out, "", "{}", of_two.out);
    let of_ten = run(&["status", path, "--node", "n2*"]);
    assert!(of_ten.out.starts_with("1 problem\nNACK  11 nodes CDS "), "{}", of_ten.out);
    let rows = run(&["lint", path, "--node", "n9"]).out;
    assert!(rows.contains(" n9 CDS ") && !rows.contains(" n1 CDS "), "{rows}");
    let of_first = run(&["lint", path, "--node", "n9", "-o", "jsonl"]).out;
    assert_eq!(of_first.lines().count(), 1, "{of_first}");
}
