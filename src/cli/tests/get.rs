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
    assert_eq!((&ledger[0]["object"], &ledger[0]["refused"]), (&"resource".into(), &true.into()));
    assert_eq!(ledger[0]["body"]["name"], "ledger");
}

#[test]
fn draws_tree_of_references() {
    insta::assert_snapshot!("get-tree", show(&["get", GATEWAY, "-o", "tree", "--stream", "#1"]));
    insta::assert_snapshot!(
        "get-tree-ascii",
        show(&["get", GATEWAY, "cds/reviews", "-o", "tree", "--ascii"])
    );
}
