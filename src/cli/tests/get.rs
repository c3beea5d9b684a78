//! Tests of `get`.

use super::{Exit, GATEWAY, TOUR, objects, run, show};

#[test]
fn counts_lists_and_prints_resources() {
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
fn prints_resources_at_a_position() {
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
fn prints_resource_objects_with_content() {
    let ledger = objects(&["get", TOUR, "cds/ledger", "-o", "jsonl"]);
    assert_eq!(ledger.len(), 1);
    assert_eq!((&ledger[0]["object"], &ledger[0]["refused"]), (&"resource".into(), &false.into()));
    assert_eq!(ledger[0]["refusal"]["named"], false, "{}", ledger[0]);
    assert_eq!(ledger[0]["body"]["name"], "ledger");
}

const REFUSED: &str = "tests/fixtures/tui/refused.xds";

#[test]
fn refused_content_is_an_overlay_on_what_is_in_force() {
    insta::assert_snapshot!("refused-tree", show(&["get", REFUSED, "-o", "tree"]));
    insta::assert_snapshot!("refused-counts", show(&["get", REFUSED]));
    insta::assert_snapshot!(
        "refused-table",
        show(&["get", REFUSED, "lds", "cds", "eds", "rds", "-o", "wide"])
    );
    insta::assert_snapshot!("refused-dot", show(&["export", REFUSED, "--to", "dot"]));
}

#[test]
fn views_agree_on_what_is_in_force() {
    let counts = run(&["get", REFUSED]).out;
    for (label, kind, present) in [("LDS", "lds", 3), ("CDS", "cds", 2), ("EDS", "eds", 2), ("RDS", "rds", 2)]
    {
        let state = objects(&["status", REFUSED, "-o", "jsonl"]);
        let state = state.iter().find(|state| state["object"] == "state" && state["type"] == kind).unwrap();
        assert_eq!(state["resources"], present, "{label} in status");
        let row = counts.lines().find(|line| line.starts_with(label)).unwrap();
        let shown: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(shown[2], present.to_string(), "{label} in get");
        let facts = objects(&["get", REFUSED, kind, "-o", "jsonl"]);
        let is_used = |fact: &&serde_json::Value| fact["in_force"].is_string() && fact["state"] != "released";
        let used = facts.iter().filter(is_used).count();
        assert_eq!(used, present, "{label} in get -o jsonl");
    }
    let web = &objects(&["get", REFUSED, "lds/web", "-o", "jsonl"])[0];
    assert_eq!((&web["in_force"], &web["refusal"]["version"]), (&"1".into(), &"2".into()));
    assert_eq!((&web["refusal"]["named"], &web["refused"]), (&true.into(), &true.into()));
    let admin = &objects(&["get", REFUSED, "lds/admin", "-o", "jsonl"])[0];
    assert_eq!((&admin["in_force"], &admin["refusal"]["rest"]), (&"2".into(), &"used".into()));
    let orphans = run(&["get", REFUSED, "-o", "name", "--filter", "state:orphan"]).out;
    assert_eq!(orphans, "", "the version of web in force refers to edge, that of pay to the assignment pay");
}

#[test]
fn lists_all_broken_constraints() {
    let bad = &objects(&["get", REFUSED, "cds/bad", "-o", "jsonl"])[0];
    let fields: Vec<&str> = bad["broken_constraints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["field"].as_str().unwrap())
        .collect();
    assert_eq!((fields.len(), fields[0]), (8, "connect_timeout"));
    assert!(
        bad["more_broken_constraints"].as_u64() > Some(0) && fields.contains(&"health_checks[1].timeout"),
        "{bad}"
    );
    let named =
        bad["broken_constraints"].as_array().unwrap().iter().map(|one| one["named"].as_bool().unwrap());
    assert_eq!(named.filter(|named| *named).count(), 1);
    let good = &objects(&["get", REFUSED, "cds/cart", "-o", "jsonl"])[0];
    assert!(good.get("broken_constraints").is_none(), "{good}");
    let log = run(&["log", REFUSED, "--body", "--filter", "kind:nack type:cds"]).out;
    assert!(log.contains("# breaks connect_timeout must be greater than 0s   named in the NACK"), "{log}");
    assert!(log.contains("# breaks health_checks[0].timeout must be set   not named in the NACK"), "{log}");
    let nack = &objects(&["log", REFUSED, "--body", "--filter", "kind:nack type:cds", "-o", "jsonl"])[0];
    let refused = &nack["nack"]["refused"][0];
    assert_eq!(refused["broken_constraints"], bad["broken_constraints"]);
    assert!(nack["nack"]["partly"].as_str().unwrap().contains("uses nothing of this response"), "{nack}");
}

#[test]
fn draws_tree_of_references() {
    insta::assert_snapshot!("get-tree", show(&["get", GATEWAY, "-o", "tree", "--stream", "#1"]));
    insta::assert_snapshot!(
        "get-tree-ascii",
        show(&["get", GATEWAY, "cds/reviews", "-o", "tree", "--ascii"])
    );
}

/// docs/protocol.md#h-07 and docs/protocol.md#h-11.
#[test]
fn names_clusters_that_routes_in_force_point_to_in_vain() {
    const GAPS: &str = "tests/fixtures/cli/gaps.xds";
    let all = objects(&["get", GAPS, "-o", "jsonl"]);
    let of = |stream: u64, name: &str| {
        all.iter().find(|one| one["stream"] == stream && one["name"] == name).expect("a resource")
    };
    let gap = |name: &str, state: &str, since: f64| serde_json::json!({"name": name, "state": state, "since": since});
    let removed = &of(1, "r")["unavailable_clusters"];
    assert_eq!(*removed, serde_json::json!([gap("b", "dangling", 10.0)]), "from the removal");
    let warming = &of(3, "l")["unavailable_clusters"];
    assert_eq!(warming.as_array().map(Vec::len), Some(1), "an updated cluster stays in use: {warming}");
    assert_eq!((&warming[0]["name"], &warming[0]["state"]), (&"e".into(), &"warming".into()));
    for (stream, name) in [(1, "l"), (1, "a"), (1, "own"), (3, "a")] {
        assert_eq!(of(stream, name).get("unavailable_clusters"), None, "{stream} {name}");
    }
    let tree = run(&["get", GAPS, "rds", "-o", "tree"]).out;
    assert!(tree.contains("CDS b  removed, 503 since 20s\n"), "{tree}");

    let certificate = &of(1, "own")["certificate"];
    assert_eq!(certificate["not_after"], "2036-11-20T03:06:39Z");
    assert_eq!(certificate["names"], serde_json::json!(["edge.example"]));
    assert_eq!(of(1, "bare").get("certificate"), None);
    let tree = run(&["get", GAPS, "sds", "-o", "tree"]).out;
    assert!(tree.contains("certificate edge.example expires on 2036-11-20T03:06:39Z"), "{tree}");
}

/// The route was refused, and a version that points to an unknown cluster is in force.
#[test]
fn gap_lasts_as_long_as_routes_in_force_point_to_the_cluster() {
    let at = |when: &str| {
        objects(&["get", "tests/fixtures/cli/gaps.xds", "rds", "--stream", "#2", "--at", when, "-o", "jsonl"])
    };
    let gaps = |when: &str| at(when)[0].get("unavailable_clusters").cloned();
    assert_eq!(gaps("+19s"), None);
    let since = |when: &str| gaps(when).expect("a gap")[0]["since"].as_f64().expect("a time");
    assert!((since("+21s") - 20.01).abs() < 0.001, "{}", since("+21s"));
    assert_eq!(since("+21s"), since("+23s"), "another version points to the cluster, too");
}

/// A CSDS response of gRPC lacks the content that was refused.
#[test]
fn names_the_reason_of_each_refusal_in_a_dump() {
    const CSDS: &str = "tests/fixtures/cli/csds.json";
    let table = run(&["get", CSDS, "cds"]).out;
    let row = |name: &str| table.lines().find(|line| line.contains(name)).expect("a row");
    assert!(
        row("held").contains("NACK") && row("held").contains("unsupported cluster type: STRICT_DNS"),
        "{table}"
    );
    assert!(row("never").contains("NACK") && row("never").contains("unexpected lb_policy MAGLEV"), "{table}");
    assert!(row("good").contains("present") && !row("good").contains("NACK"), "{table}");
    let all = objects(&["get", CSDS, "cds", "-o", "jsonl"]);
    let of = |name: &str| all.iter().find(|one| one["name"] == name).expect("a resource");
    assert!(
        of("held")["refused_reason"].as_str().is_some_and(|text| text.contains("STRICT_DNS")),
        "{all:#?}"
    );
    assert_eq!(of("held")["body"]["type"], "EDS", "the content in use stays visible");
    assert_eq!(of("good").get("refused_reason"), None);
    let mut state = objects(&["status", CSDS, "-o", "jsonl"]);
    state.retain(|object| object["object"] == "state");
    assert_eq!((&state[0]["state"], &state[0]["nack_count"]), (&"nack".into(), &2.into()));
}

/// docs/protocol.md#f-34: the reason stays as long as the refusal, also of a NACK without a name.
#[test]
fn reason_stays_as_long_as_the_refusal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.xds");
    let script =
        "node n\nstream 1 delta cds\n>\n< n=1 [a@1 b@1]\n> n=1\n< n=2 [b~2@2]\n> n=2 nack=\"too many\"
        < n=3 [a~2@2]\n> n=3\n< n=4 [a~3@3]\n> n=4 nack=\"a: other\"\n";
    std::fs::write(&path, script).unwrap();
    let all = objects(&["get", path.to_str().unwrap(), "cds", "-o", "jsonl"]);
    let of = |name: &str| all.iter().find(|one| one["name"] == name).expect("a resource");
    assert_eq!(of("b")["refused_reason"], "too many");
    assert!(of("a")["refused_reason"].as_str().is_some_and(|reason| reason.contains("other")), "{all:?}");
}
