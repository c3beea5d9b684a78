//! Tests of `blame`.

use super::{Exit, TOUR, objects, run, show};

const MADE: &str = "tests/fixtures/views/made.xds";

#[test]
fn lists_owners_and_what_they_made() {
    insta::assert_snapshot!("blame-owners", show(&["blame", MADE]));
    insta::assert_snapshot!("blame-one", show(&["blame", MADE, "VirtualService", "shop/front"]));
    insta::assert_snapshot!("blame-wide", show(&["blame", MADE, "VirtualService/shop/front", "-o", "wide"]));
    insta::assert_snapshot!("blame-several", show(&["blame", MADE, "*", "-o", "md"]));
    assert_eq!(
        run(&["blame", MADE, "-o", "name"]).out,
        "VirtualService/shop/back\nVirtualService/shop/front\nDestinationRule/shop/shop\n"
    );
    assert_eq!(run(&["blame", MADE, "VirtualService", "-o", "name"]).out, "rds/443\nrds/80\n");
}

#[test]
fn owner_is_typed_as_for_kubectl_and_as_it_is_shown() {
    let front = run(&["blame", MADE, "VirtualService/shop/front"]).out;
    for words in [
        &["VirtualService shop/front"][..],
        &["virtualservice", "front"],
        &["VirtualService", "shop/front", "shop/front"],
        &["VirtualService/shop/front?"],
        &["VirtualService/front"],
    ] {
        assert_eq!(run(&[&["blame", MADE], words].concat()).out, front, "{words:?}");
    }
}

#[test]
fn exit_code_says_whether_all_is_in_force() {
    let exit = |args: &[&str]| run(&[&["blame", MADE], args].concat()).exit;
    assert_eq!(exit(&[]), Exit::No);
    assert_eq!(exit(&["VirtualService/shop/front"]), Exit::No);
    assert_eq!(exit(&["VirtualService/shop/front", "--node", "edge-3"]), Exit::Yes);
    assert_eq!(exit(&["VirtualService/shop/front", "--node", "edge-2"]), Exit::No, "missing");
    assert_eq!(exit(&["VirtualService/shop/front", "--at", "#3"]), Exit::Yes, "not refused yet");
    assert_eq!(run(&["blame", TOUR]).exit, Exit::Yes);
}

#[test]
fn owner_that_made_nothing_has_near_names() {
    for (args, wanted) in [
        (
            &["VirtualService/shop/frnt"][..],
            "next   xdscope blame tests/fixtures/views/made.xds VirtualService/shop/front\n",
        ),
        (
            &["vs", "shop/back"],
            "next   xdscope blame tests/fixtures/views/made.xds VirtualService/shop/back\n",
        ),
        (&["Gateway"], "xdscope blame tests/fixtures/views/made.xds   3 owners\n"),
        (&["*", "--filter", "type:sds"], "no resource that matches the filter was made from *"),
    ] {
        let output = run(&[&["blame", MADE], args].concat());
        assert_eq!(output.exit, Exit::Never, "{args:?}");
        assert!(output.err.contains(wanted), "{args:?}: {}", output.err);
    }
    let none = run(&["blame", TOUR, "Gateway"]);
    assert!(none.err.contains("no resource states an owner"), "{}", none.err);
}

#[test]
fn objects_have_the_message_and_the_reason() {
    let made = objects(&["blame", MADE, "VirtualService/shop/front", "-o", "jsonl"]);
    let outcomes: Vec<&str> = made.iter().filter_map(|object| object["outcome"].as_str()).collect();
    assert_eq!(outcomes, ["refused", "missing", "in_force", "in_force"]);
    assert_eq!((&made[0]["push"]["n"], &made[0]["reason"]), (&4.into(), &"443: duplicate domain b".into()));
    assert_eq!((&made[1]["request"]["n"], &made[1]["node"]), (&6.into(), &"edge-2".into()));
    assert_eq!(made[2]["push"]["version"], "2");
    let owners = objects(&["blame", MADE, "-o", "jsonl"]);
    assert_eq!(owners[0]["command"], "kubectl get virtualservice -n shop back -o yaml");
    assert_eq!((&owners[1]["worst"], &owners[1]["clients"]), (&"refused".into(), &4.into()));
}

#[test]
fn other_views_name_owners_too() {
    let command = "kubectl get virtualservice -n shop back -o yaml";
    for (args, wanted) in [
        (&["status", MADE][..], "443: duplicate domain b; owner VirtualService shop/back\n"),
        (&["get", MADE, "-o", "tree"], "owner VirtualService shop/back"),
        (&["diff", MADE, "@start", "@end"], "VirtualService shop/back  edge-1"),
        (&["report", MADE, "--output", "-"], command),
        (&["export", MADE, "--to", "md"], "| owner | VirtualService shop/back"),
        (&["export", MADE, "--to", "dot", "--node", "edge-1"], "VirtualService shop/back"),
        (&["export", MADE, "--to", "mermaid", "--node", "edge-1"], "VirtualService shop/back"),
        (&["lint", MADE, "-o", "jsonl"], "\"owners\":[{\"kind\":\"DestinationRule\""),
    ] {
        let output = run(args);
        assert!(output.out.contains(wanted), "{args:?}: {}", output.all());
    }
}
