//! Tests of `diff`, from arguments to output.

use serde_json::json;

use crate::cli::error::Exit;
use crate::cli::tests::{objects, run, show};

const SCRIPT: &str = "tests/fixtures/cli/diff.xds";
const TOUR: &str = "tests/fixtures/cli/tour.xds";
const DIRECTORY: &str = "tests/fixtures/cli/resources";
const DUMP: &str = "tests/fixtures/cli/config_dump.json";

#[test]
fn two_versions_of_a_resource() {
    insta::assert_snapshot!("diff-paths", show(&["diff", SCRIPT, "cds/reviews", "41", "42"]));
    insta::assert_snapshot!(
        "diff-unified",
        show(&["diff", SCRIPT, "cds/reviews", "41", "42", "--unified", "-q"])
    );
    insta::assert_snapshot!("diff-columns", show(&["diff", SCRIPT, "cds/reviews", "--side-by-side", "-q"]));
    let paths = run(&["diff", SCRIPT, "cds/reviews", "41", "42"]).out;
    for same in [&["cds/reviews"][..], &["cds/reviews", "41"], &["Cluster/reviews", "#2", "#13"]] {
        assert_eq!(run(&[&["diff", SCRIPT], same].concat()).out, paths, "{same:?}");
    }
    // Type and name as separate words, as `get` takes them.
    for same in [&["cds", "reviews"][..], &["clusters", "reviews", "41"], &["cds", "reviews", "41", "42"]] {
        assert_eq!(run(&[&["diff", SCRIPT], same].concat()).out, paths, "{same:?}");
    }
    let neither = run(&["diff", SCRIPT, "cds", "no-such"]);
    assert!(neither.err.contains("no push of cds has version no-such"), "{}", neither.err);
    let back = run(&["diff", SCRIPT, "cds/reviews", "42", "41"]).out;
    assert!(back.contains("- 0s\n      + 5s"), "{back}");
}

#[test]
fn two_moments() {
    insta::assert_snapshot!("diff-moments", show(&["diff", SCRIPT, "@+20s", "@end", "cds", "rds"]));
    insta::assert_snapshot!("diff-stat", show(&["diff", SCRIPT, "@+20s", "@end", "--stat", "-q"]));
    let named = |what: &[&str]| run(&[&["diff", SCRIPT, "@+20s", "@end"], what].concat()).out;
    assert_eq!(named(&["cds", "reviews"]), named(&["cds/reviews"]));
    let one = run(&["diff", SCRIPT, "@#13", "@end", "cds", "--stream", "reviews-v2", "-q"]);
    assert_eq!(one.out, "- cds/search  1  removed  reviews-v2\n");
    let back = run(&["diff", SCRIPT, "@end", "@#13", "cds", "--stream", "#2", "-q"]);
    assert_eq!(back.out, "+ cds/search  1  added  reviews-v2\n");
    let none = run(&["diff", SCRIPT, "@+60s", "@end", "cds"]);
    assert_eq!(
        (none.out.as_str(), none.err.as_str(), none.exit),
        ("", "xdscope: no difference\n", Exit::Yes)
    );
}

#[test]
fn compares_pushes_of_one_client() {
    let output = run(&["diff", SCRIPT, "cds", "41", "42", "-q", "--ignore", "circuit_breakers"]);
    assert_eq!(
        output.out,
        "+ cds/ledger  42  added  edge-gw-1\n~ cds/reviews  41 → 42  1 field changed  edge-gw-1\n    \
         connect_timeout\n      - 5s\n      + 0s\n- cds/search  41  removed  edge-gw-1\n"
    );
}

#[test]
fn order_counts_when_asked_for() {
    let same = run(&["diff", SCRIPT, "rds/edge", "8", "9"]);
    assert_eq!((same.out.as_str(), same.exit), ("", Exit::Yes));
    assert!(same.err.contains("order ignored, 1 keyed list: rds/edge virtual_hosts"), "{}", same.err);
    let strict = objects(&["diff", SCRIPT, "rds/edge", "8", "9", "--strict-order", "-q", "-o", "jsonl"]);
    assert_eq!(
        strict,
        [json!({"schema": 1, "object": "change", "type": "rds", "name": "edge", "op": "reordered",
            "from_version": "8", "to_version": "9", "paths": [{"path": "virtual_hosts", "op": "reordered",
            "from": ["admin", "shop"], "to": ["shop", "admin"]}]})]
    );
}

#[test]
fn fields_can_be_left_out() {
    let args =
        ["diff", SCRIPT, "cds/reviews", "--ignore", "connectTimeout", "--ignore", "**.max_connections"];
    let output = run(&args);
    assert_eq!((output.out.as_str(), output.exit), ("", Exit::Yes));
    assert_eq!(run(&["diff", SCRIPT, "cds/reviews", "--ignore", "a..b"]).exit, Exit::Usage);
}

#[test]
fn objects_and_tables() {
    let all = objects(&["diff", SCRIPT, "cds/reviews", "-q", "-o", "jsonl"]);
    assert_eq!(all[0]["op"], "changed");
    assert_eq!(
        all[0]["paths"][0],
        json!({"path": "connect_timeout", "op": "changed", "from": "5s", "to": "0s"})
    );
    let array: Vec<serde_json::Value> =
        serde_json::from_str(&run(&["diff", SCRIPT, "cds/reviews", "-o", "json"]).out).unwrap();
    assert_eq!(array, all);
    insta::assert_snapshot!(
        "diff-table",
        show(&["diff", SCRIPT, "@+20s", "@end", "cds", "-o", "table", "-q"])
    );
    insta::assert_snapshot!("diff-yaml", show(&["diff", SCRIPT, "cds/reviews", "-o", "yaml", "-q"]));
}

#[test]
fn secrets_differ_without_being_shown() {
    let output = run(&["diff", SCRIPT, "sds/edge-cert", "1", "2"]);
    assert!(!output.out.contains("private key\n") && !output.out.contains("the "), "{}", output.out);
    assert_eq!(output.out.matches("[redacted 21 B, id ").count(), 2, "{}", output.out);
    assert_eq!(output.exit, Exit::No);
    let kept = run(&["diff", SCRIPT, "sds/edge-cert", "1", "2", "--keep-secrets"]);
    assert!(kept.out.contains("- the first private key"), "{}", kept.out);
    // Both sides use one key, whatever the format of the source.
    assert_eq!(run(&["diff", SCRIPT, DUMP, "sds"]).exit, Exit::Yes);
    assert_eq!(run(&["diff", DUMP, SCRIPT, "sds"]).exit, Exit::Yes);
}

#[test]
fn files_and_directories_of_resources() {
    let output = run(&["diff", SCRIPT, DIRECTORY, "cds", "-q", "--stream", "edge-gw-1"]);
    assert_eq!(
        output.out,
        "- cds/ledger  42  removed\n~ cds/reviews  42  1 field changed\n    connect_timeout\n      - 0s\n      + 5s\n"
    );
    assert_eq!(run(&["diff", DIRECTORY, "tests/fixtures/cli/resources/clusters.yaml"]).exit, Exit::Yes);
    let dump = run(&["diff", SCRIPT, DUMP, "cds/reviews", "-q", "-o", "table", "--no-headers"]);
    assert_eq!(
        dump.out,
        "~  CDS  reviews  42 → 41  connect_timeout                                                0s    5s\n\
         ~  CDS  reviews  42 → 41  circuit_breakers.thresholds[priority=DEFAULT].max_connections  2048  1024\n"
    );
    assert_eq!(run(&["diff", DUMP, DUMP, "--stat"]).out, "CDS  +0  ~0  -0  =2\nSDS  +0  ~0  -0  =1\n");
    let nothing = run(&["diff", "tests/fixtures/scripts", DUMP]);
    assert_eq!(nothing.exit, Exit::Unreadable, "{}", nothing.err);
}

#[test]
fn compares_sources_and_nodes() {
    let output = run(&["diff", TOUR, TOUR]);
    assert_eq!((output.out.as_str(), output.exit), ("", Exit::Yes));
    assert_eq!(run(&["diff", TOUR, SCRIPT, "lds", "-q"]).out, "- lds/web  7  removed\n");
}

#[test]
fn errors_suggest_a_comparison() {
    let mut shown = String::new();
    for args in [
        &["diff"][..],
        &["diff", SCRIPT],
        &["diff", SCRIPT, "cds"],
        &["diff", SCRIPT, "cds/reviews", "41", "77"],
        &["diff", SCRIPT, "cds/nothing"],
        &["diff", SCRIPT, "/no/such/file", "cds"],
        &["diff", SCRIPT, "cds/ledger"],
        &["diff", SCRIPT, "cds", "41", "77"],
        &["diff", SCRIPT, "no-such.xdsrec"],
        &["diff", SCRIPT, "@nonsense"],
        &["diff", SCRIPT, "@#99"],
        &["diff", SCRIPT, "@start", "@end", "widgets"],
        &["diff", SCRIPT, TOUR, "@end"],
        &["diff", SCRIPT, "@start", "@end", "cds/nothing"],
    ] {
        shown.push_str(&format!("$ xdscope {}\n{}\n", args.join(" "), show(args)));
    }
    insta::assert_snapshot!("diff-errors", shown);
}

#[test]
fn finds_newest_change_on_any_stream() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.xds");
    let script = "node a\nstream 1 ads\nnode b\nstream 2 ads\n+0s 1 > cds\n+0s 1 < cds v=41 n=a [A]\n+1s 1 > cds v=41 \
                  n=a\n+2s 1 < cds v=42 n=b [A{connect_timeout: 1s}]\n+3s 2 > cds\n+4s 2 < cds v=42 n=c [A{connect_timeout: 1s}]\n";
    std::fs::write(&path, script).unwrap();
    let path = path.to_str().unwrap();
    let (any, own) = (run(&["diff", path, "cds/A"]), run(&["diff", path, "cds/A", "--stream", "#1"]));
    assert_eq!((any.exit, &any.out), (Exit::No, &own.out), "{}{}", any.out, any.err);
    let other = run(&["diff", path, "cds/A", "--stream", "#2"]);
    assert_eq!(other.exit, Exit::Never, "{}", other.err);
}

#[test]
fn counts_gain_of_several_nodes_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.xds");
    let script = "node a\nstream 1 ads\nnode b\nstream 2 ads\n+0s 1 > cds\n+0s 2 > cds\n+1s 1 < cds v=1 n=a [A B]\n\
                  +1s 2 < cds v=1 n=b [A B]\n+2s 1 < cds v=2 n=c [A B C]\n+2s 2 < cds v=2 n=d [A B C]\n";
    std::fs::write(&path, script).unwrap();
    let output = run(&["diff", path.to_str().unwrap(), "@+1s", "@+2s", "--stat"]);
    assert_eq!(
        (output.out.as_str(), output.err.as_str()),
        ("CDS  +1  ~0  -0  =2\n", "xdscope: 1 resource differs\n")
    );
}
