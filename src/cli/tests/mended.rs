//! Tests of problems that end once they are mended, and of states that depend on other streams.

use super::{CallOutput, Exit, run};

/// Runs a verb on a script.
fn on(verb: &[&str], script: &str) -> CallOutput {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.xds");
    std::fs::write(&path, script).unwrap();
    let path = path.to_str().unwrap();
    run(&[verb, &[path]].concat())
}

const CLUSTER_B: &str = "node n1 agent=\"envoy/1.40.0\"\nstream 1 ads\n> cds\n< cds v=1 n=1 [b]\n> cds v=1 n=1\n\
                         > rds names=[r]\n< rds v=1 n=3 [r{to: [a]}]\n> rds v=1 n=3 names=[r]\nadvance 5s\n";
const CLUSTERS: &str = "node n1\nstream 1 ads\n> cds\n< cds v=1 n=1 [a b]\n> cds v=1 n=1\n\
                        > rds names=[r]\n< rds v=1 n=3 [r{to: [a]}]\n> rds v=1 n=3 names=[r]\n\
                        < cds v=2 n=5 [b]\n> cds v=2 n=5\nadvance 5s\n";
const MOVED: &str = "< rds v=2 n=7 [r{to: [b]}]\n> rds v=2 n=7 names=[r]\nadvance 30s\n";
const RELEASED: &str = "> rds v=1 n=3 names=[]\nadvance 30s\n";
const ARRIVED: &str = "< cds v=3 n=8 [a b]\n> cds v=3 n=8\nadvance 30s\n";
const UNANSWERED: &str = "< rds v=2 n=7 [r{to: [b]}]\nadvance 3s\n";
const REFUSED: &str = "< rds v=2 n=7 [r{to: [b]}]\n> rds v=1 n=7 names=[r] nack=\"bad\"\nadvance 3s\n";

/// docs/protocol.md#h-10 and docs/protocol.md#h-11
#[test]
fn gap_of_traffic_ends_in_each_way_that_mends_it() {
    for (start, arrived) in
        [(CLUSTER_B, "the cluster arrived after"), (CLUSTERS, "the cluster came back after")]
    {
        let unused = "no route points to it any more after";
        for (end, note) in [(MOVED, unused), (RELEASED, unused), (ARRIVED, arrived)] {
            let script = format!("{start}{end}");
            let CallOutput { out, exit, .. } = on(&["status"], &script);
            assert!(out.starts_with("no problems, 1 over\n") && exit == Exit::Yes, "{script}\n{out}");
            let lint = on(&["lint"], &script).out;
            assert!(lint.contains(note), "{lint}");
        }
        for end in ["", UNANSWERED, REFUSED] {
            let CallOutput { out, .. } = on(&["status"], &format!("{start}{end}"));
            assert!(out.contains("WARN"), "{end}: {out}");
        }
    }
}

/// docs/protocol.md#e-44
#[test]
fn emptied_type_is_over_once_it_has_resources() {
    let start =
        "node n1\nstream 1 ads\n> cds\n< cds v=1 n=1 [a]\n> cds v=1 n=1\n< cds v=2 n=2 []\n> cds v=2 n=2\n";
    assert!(on(&["status"], start).out.contains("WARN  n1 CDS"));
    let end = "advance 3s\n1 close status=14 \"x\"\nstream 2 ads\n2 > cds v=2\n2 < cds v=3 n=1 [b]\n2 > cds v=3 n=1\n";
    for end in ["advance 3s\n< cds v=3 n=3 [b]\n> cds v=3 n=3\n", end] {
        let out = on(&["status"], &format!("{start}{end}")).out;
        assert!(out.starts_with("no problems, 1 over\n"), "{out}");
    }
}

#[test]
fn client_is_blamed_for_an_empty_name() {
    for (first, ack) in [
        ("sotw", "> names=[\"\" a]\n< v=1 n=1 [a]\n> v=1 n=1 names=[\"\" a]\n"),
        ("delta", "> sub=[\"\" a]\n< n=1 [a@1]\n> n=1\n"),
    ] {
        let script = format!("node n1\nstream 1 {first} eds\n{ack}advance 60s\n");
        let out = on(&["status"], &script).out;
        assert!(out.contains("client: \"\": requested: no resource has an empty name"), "{out}");
        assert!(!out.contains("MISS") && out.contains("SYNCED"), "{out}");
    }
}

/// docs/protocol.md#e-40
#[test]
fn type_without_subscription_is_idle() {
    for script in [
        "stream 1 sotw eds\n> names=[a]\n< v=1 n=1 [a]\n> v=1 n=1 names=[a]\n> v=1 n=1 names=[]\n",
        "stream 1 delta eds\n> sub=[a]\n< n=1 [a@1]\n> n=1\n> unsub=[a]\n",
        "stream 1 delta cds\n> sub=[*]\n< n=1 [a@1]\n> n=1\n> unsub=[*]\n",
    ] {
        let out = on(&["status"], &format!("node n1\n{script}advance 60s\n")).out;
        assert!(out.contains("idle") && !out.contains("SYNCED"), "{script}{out}");
    }
}

#[test]
fn only_overdue_names_are_counted_as_missing() {
    let script = "node n1\nstream 1 sotw eds\n> names=[a]\nadvance 20s\n> names=[a b]\nadvance 5s\n";
    for verb in [&["status"][..], &["status", "-o", "wide"]] {
        let out = on(verb, script).out;
        assert!(out.contains("MISS 1/2") && !out.contains("MISS 2/2"), "{out}");
    }
}

const CLOSED_EDS: &str = "node n1\nstream 1 sotw cds\n>\n< v=1 n=1 [a{eds}]\n> v=1 n=1\nstream 2 sotw eds\n\
                          2 > names=[a]\n2 < v=1 n=1 [a]\n2 > v=1 n=1 names=[a]\n\
                          2 close status=14 \"gone\"\nadvance 60s\n";

#[test]
fn closed_stream_of_one_type_is_not_idle() {
    let out = on(&["status"], CLOSED_EDS).out;
    assert!(out.contains("# SYNCED") && !out.contains("idle"), "{out}");
    let tree = on(&["get", "-o", "tree"], CLOSED_EDS).out;
    assert!(!tree.contains("neither requested nor sent"), "{tree}");
    let owed = "node n1\nstream 1 ads\n> cds\n< cds v=1 n=1 [a]\n> cds v=1 n=1\n> eds names=[q]\nadvance 20s\n\
                1 close status=14 \"x\"\nstream 2 ads\n2 > cds v=1\nadvance 60s\n";
    let out = on(&["status"], owed).out;
    assert!(out.contains("OWED  n1 EDS") && out.contains("# MISS 1/1"), "{out}");
}

/// docs/protocol.md#h-03
#[test]
fn listener_waits_for_routes_that_do_not_exist() {
    let script = "node g\nstream 1 delta-ads\n> lds sub=[l]\n< lds n=1 [l{rds: r}@1]\n> lds n=1\n\
                  > rds sub=[r]\n< rds n=2 rm=[r]\n> rds n=2\nadvance 60s\n";
    let text = "listener l waits for RDS r";
    for verb in [&["status"][..], &["get", "-o", "tree"]] {
        let out = on(verb, script).out;
        assert!(out.contains(text) && out.contains("the server says that it does not exist (#5)"), "{out}");
    }
    assert!(on(&["lint"], script).out.contains("warming-stuck"));
    let came = format!("{script}< rds n=3 [r@1]\n> rds n=3\nadvance 1s\n");
    assert!(on(&["status"], &came).out.starts_with("no problems, 1 over\n"));
    let gone = "node g\nstream 1 delta-ads\n> lds sub=[l]\n< lds n=1 [l{rds: r}@1]\n> lds n=1\n\
                > rds sub=[r]\n< rds n=2 [r@1]\n> rds n=2\n< rds n=3 rm=[r]\n> rds n=3\nadvance 60s\n";
    assert!(on(&["status"], gone).out.starts_with("no problems\n"), "Envoy keeps routes that are removed");
}

/// docs/protocol.md#h-01
#[test]
fn endpoints_do_not_exist_also_if_the_response_is_forgotten() {
    let start = "node n1 agent=\"envoy/1.40.0\"\nstream 1 delta-ads\n> cds sub=[*]\n< cds n=c [c{eds}@1]\n\
                 > cds n=c\n> eds sub=[c d]\n< eds n=e [d@1] rm=[c]\n> eds n=e\n";
    let push = |i: u32| format!("advance 1s\n< eds n=e{i} [d@{i}]\n> eds n=e{i}\n");
    let pushes: String = (2..72).map(push).collect();
    for (script, response) in
        [(format!("{start}advance 30s\n"), " (#5)"), (format!("{start}{pushes}advance 30s\n"), "")]
    {
        let status = on(&["status"], &script).out;
        let words = format!(
            "c is in use without EDS c (sent in #2): the server says that it does not exist{response}\n"
        );
        assert!(status.contains(&words) && !status.contains("WARMING"), "{status}");
    }
}

/// docs/protocol.md#h-04
#[test]
fn each_wait_has_its_finding() {
    let late = "node n1\nstream 1 ads\n> cds\n< cds v=1 n=1 [c{eds}]\n> cds v=1 n=1\nadvance 30s\n\
                > eds names=[c]\nadvance 20s\n";
    assert!(on(&["lint"], late).out.contains("c: waits for endpoints"), "requested after the first check");
    let again = "node n1\nstream 1 ads\n> cds\n< cds v=1 n=1 [b{eds}]\n> cds v=1 n=1\n> eds names=[b]\n\
                 advance 20s\n1 close status=14 \"x\"\nadvance 1s\nstream 2 ads\n2 > cds v=1\n2 > eds names=[b]\n\
                 advance 30s\n";
    let lint = on(&["lint"], again).out;
    assert!(lint.contains("b: waits for endpoints"), "{lint}");
}

/// docs/protocol.md#h-02
#[test]
fn cluster_warms_across_aggregated_and_other_streams() {
    let clusters = "< cds v=1 n=1 [c{eds}]\n> cds v=1 n=1\n";
    let own_eds =
        format!("node n1\nstream 1 ads\n> cds\n{clusters}stream 2 sotw eds\n2 > names=[c]\nadvance 20s\n");
    let own_cds = "node n1\nstream 1 sotw cds\n>\n< v=1 n=1 [c{eds}]\n> v=1 n=1\nstream 2 ads\n\
                   2 > eds names=[c]\nadvance 20s\n";
    for script in [&own_eds[..], own_cds] {
        let out = on(&["status"], script).out;
        assert!(out.contains("needed by cluster c, which warms"), "{out}");
    }
}

/// A source without times cannot say how late an answer is.
#[test]
fn sources_without_times_say_what_is_open() {
    let untimed = "no problem yet: the recording ends before an answer to the request, and has no times to say \
                   how late it is";
    let status = |name: &str, text: &str| {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        run(&["status", path.to_str().unwrap()]).out
    };
    let out = status("n.xds", "notime\nnode n\nstream 1 ads\n> cds\n");
    assert!(out.contains(untimed) && !out.contains("limit"), "{out}");
    let out = status("n.xds", "notime\nnode n\nstream 1 ads\n> cds\n< cds v=1 n=a [a]\n> cds v=1 n=a\n");
    assert!(!out.contains("no problem yet"), "{out}");
    let raw = on(&["export", "--to", "raw"], "node n\nstream 1 ads\n> cds\n").out;
    let lines = raw.lines().map(|line| {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        line.as_object_mut().unwrap().remove("t");
        format!("{line}\n")
    });
    let out = status("n.jsonl", &lines.collect::<String>());
    assert!(out.contains(untimed), "{out}");
}

/// The verdict of a narrow screen keeps the names in the sentence of a broken rule.
#[test]
fn narrow_verdict_names_the_resource() {
    let script = "node edge agent=\"envoy/1.36.0\"\nstream 1 ads\n> cds\n< cds v=1 n=a [web{type: STATIC}]\n\
                  > cds v=1 n=a\n> lds\n< lds v=1 n=b [in{rds: r}]\n> lds v=1 n=b\n> rds names=[r]\n\
                  < rds v=1 n=c [r{to: [web, fraud-check-of-orders]}]\n> rds v=1 n=c names=[r]\nadvance 30s\n";
    let shown = on(&["picture", "--screen", "overview", "--size", "80x24"], script).out;
    let verdict = shown.lines().nth(1).unwrap_or_default();
    assert!(verdict.contains("cluster fraud-check-of-orders (guess)"), "{shown}");
}
