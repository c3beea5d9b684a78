//! Screen 4.

use std::fmt::Write as _;

use insta::assert_snapshot;

use crate::input::screen_id::ScreenId;
use crate::screens::resources::Focus;
use crate::shell::effect::{Effect, Msg};
use crate::shell::model::Model;
use crate::shell::settle::search;
use crate::shell::update::update;
use crate::tests::script::{
    PARTLY_REFUSED, REFUSED, ScriptedStore, large, resource, select_resource, select_resource_of,
    selected_resource,
};
use crate::tests::story::url;
use crate::tests::{
    ASCII, PLAIN, assert_snapshots, drawn_text, line, model, press, screen, screen_in, type_keys, typed,
};
use xdscope_wire::event::Kind;

/// The private key in the script. No screen may show it.
const KEY: &str = "the private key of edge-cert";

#[test]
fn resources() {
    assert_snapshots!("resources", &ScriptedStore::gateway().data(), &select_resource("cds/reviews"));
}

#[test]
fn explains_a_line_of_a_resource() {
    let keys = format!("{}<tab>{}", select_resource("cds/reviews"), "j".repeat(6));
    assert_snapshots!("resources_field", &ScriptedStore::gateway().data(), &keys);
}

#[test]
fn snapshot_in_ascii() {
    let source = ScriptedStore::gateway();
    assert_snapshot!(
        "ascii_resources",
        screen_in(ASCII, &source.data(), &select_resource("cds/reviews"), 100, 30)
    );
}

#[test]
fn shows_what_is_in_force_and_all_broken_constraints() {
    let source = ScriptedStore::new(PARTLY_REFUSED);
    let shown = |resource: &str, width, height| {
        screen(&source.data(), &select_resource_of(&source, resource), width, height)
    };
    let bad = shown("cds/bad", 160, 40);
    for part in [
        "NACK, none in force (push #18, NACK #19)",
        " breaks connect_timeout must be greater than 0s",
        "also breaks health_checks[0].timeout must be set",
    ] {
        assert!(bad.contains(part), "{part} is not in {bad}");
    }
    let pay = shown("cds/pay", 160, 40);
    assert!(pay.contains("in a refused push, not named, 1 in force"), "{pay}");
    let admin = shown("lds/admin", 160, 40);
    assert!(
        admin.contains("in a refused push, not named, accepted") && admin.contains("in force"),
        "{admin}"
    );
    assert!(admin.contains("9 resources, 3 refused"), "{admin}");
    assert_snapshot!("refused", shown("cds/bad", 100, 30));
}

#[test]
fn says_that_there_is_no_resource() {
    let empty = ScriptedStore::new("node a\nstream 1 ads\n");
    assert!(screen(&empty.data(), "4", 80, 24).contains("no resource yet"));
}

#[test]
fn follows_references_and_returns() {
    let source = ScriptedStore::gateway();
    let mut model = typed(&source.data(), &select_resource("rds/edge"));
    let at = |model: &Model, path: &str| {
        model.screens.resources.detail.lines.iter().position(|line| line.path == path)
    };
    let line = |model: &Model, path: &str| "j".repeat(at(model, path).expect("the line"));
    let keys = format!("<tab>{}<enter>", line(&model, "virtual_hosts[0].routes[1].route.cluster"));
    type_keys(&mut model, &source.data(), &keys);
    assert_eq!(selected_resource(&model), resource(Kind::Cds, "reviews"));
    let keys = format!("{}<enter>", line(&model, "eds_cluster_config.service_name"));
    type_keys(&mut model, &source.data(), &keys);
    assert_eq!(selected_resource(&model), resource(Kind::Eds, "reviews.default"));
    type_keys(&mut model, &source.data(), "<back>");
    assert_eq!(selected_resource(&model), resource(Kind::Cds, "reviews"));
    assert_eq!(at(&model, "eds_cluster_config.service_name"), Some(model.screens.resources.detail.line));
    type_keys(&mut model, &source.data(), "<back>");
    assert_eq!(selected_resource(&model), resource(Kind::Rds, "edge"));
    // An unknown resource is reported, not shown.
    model.screens.resources.detail.line =
        at(&model, "virtual_hosts[0].routes[2].route.cluster").expect("the line");
    type_keys(&mut model, &source.data(), "<enter>");
    assert_eq!(selected_resource(&model), resource(Kind::Rds, "edge"));
    assert!(
        model.common.notice.as_ref().is_some_and(|notice| notice.contains("fraud-check")),
        "{:?}",
        model.common.notice
    );
}

#[test]
fn finds_referrers_of_a_resource() {
    let source = ScriptedStore::gateway();
    let mut model = typed(&source.data(), &format!("{}P", select_resource("cds/reviews")));
    let shown = drawn_text(&model);
    assert!(shown.contains("used by 1") && shown.contains("RDS edge"), "{shown}");
    type_keys(&mut model, &source.data(), "<enter>");
    assert_eq!(selected_resource(&model), resource(Kind::Rds, "edge"));
    type_keys(&mut model, &source.data(), "<back>");
    assert_eq!(selected_resource(&model), resource(Kind::Cds, "reviews"));
}

#[test]
fn steps_through_versions() {
    let source = ScriptedStore::gateway();
    let mut model = typed(&source.data(), &select_resource("cds/reviews"));
    let timeout = |model: &Model| {
        model
            .screens
            .resources
            .detail
            .lines
            .iter()
            .find(|line| line.path == "connect_timeout")
            .map(|line| line.text.clone())
    };
    let pushes: Vec<_> =
        model.screens.resources.detail.versions.iter().map(|v| (v.version.to_string(), v.pushes)).collect();
    assert_eq!(pushes, [("42".to_owned(), 2), ("41".to_owned(), 1)]);
    assert_eq!(timeout(&model).as_deref(), Some("connect_timeout: 0s"));
    type_keys(&mut model, &source.data(), "[");
    assert_eq!(timeout(&model).as_deref(), Some("connect_timeout: 5s"));
    type_keys(&mut model, &source.data(), "[");
    assert!(model.common.notice.is_some());
    type_keys(&mut model, &source.data(), "]");
    assert_eq!(timeout(&model).as_deref(), Some("connect_timeout: 0s"));
}

#[test]
fn shows_a_content_in_every_format() {
    let source = ScriptedStore::gateway();
    let mut seen = Vec::new();
    let mut model = typed(&source.data(), &select_resource("cds/reviews"));
    for _ in 0..4 {
        let text: String =
            model.screens.resources.detail.lines.iter().map(|line| format!("{}\n", line.text)).collect();
        seen.push(text);
        type_keys(&mut model, &source.data(), "v");
    }
    for (text, part) in
        seen.iter().zip(["service_name: ", "\"serviceName\": ", "service_name: \"", "0772 6576"])
    {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert!(seen[3].starts_with("00000000: "), "{}", seen[3]);
}

#[test]
fn no_screen_shows_a_private_key() {
    let source = ScriptedStore::gateway();
    for keys in [
        select_resource("sds/edge-cert"),
        format!("{}\\", select_resource("sds/edge-cert")),
        "6".to_owned(),
        "3".to_owned(),
    ] {
        let mut model = typed(&source.data(), &keys);
        for _ in 0..5 {
            let mut all = drawn_text(&model);
            for line in &model.screens.resources.detail.lines {
                let _ = writeln!(all, "{}", line.text);
            }
            assert!(!all.contains(KEY), "{keys}: {all}");
            type_keys(&mut model, &source.data(), "v");
        }
    }
    let model = typed(&source.data(), &select_resource("sds/edge-cert"));
    assert!(drawn_text(&model).contains("[redacted "), "and it is said");
}

#[test]
fn copies_resource_and_command() {
    let source = ScriptedStore::gateway();
    let mut model = typed(&source.data(), &select_resource("cds/reviews"));
    let copied = type_keys(&mut model, &source.data(), "yc");
    let Some(Effect::Copy(line)) = copied.first() else { panic!("{copied:?}") };
    assert_eq!(line, "xdscope get session-20260302-135200.xdsrec cds/reviews -o yaml --stream '#1'");
    let copied = type_keys(&mut model, &source.data(), "yr");
    assert_eq!(copied, [Effect::Copy("cds/reviews  42  NACK".to_owned())]);
}

#[test]
fn filters_the_tree() {
    let source = ScriptedStore::gateway();
    let model = typed(&source.data(), "4/name:reviews<enter>");
    let shown = drawn_text(&model);
    assert!(shown.contains("reviews") && !shown.contains("search"), "{shown}");
}

#[test]
fn loads_only_visible_rows_of_a_large_type() {
    let names: Vec<String> = (0..20_000).map(|i| format!("c-{i:05}")).collect();
    let source = ScriptedStore::new(&format!(
        "node a\nstream 1 ads\n+0s 1 > cds\n1 < cds v=1 n=a [{}]\n1 > cds v=1 n=a\n",
        names.join(" ")
    ));
    let mut model = typed(&source.data(), "4l");
    assert_eq!(model.screens.resources.tree.len(), 20_001);
    assert!(model.screens.resources.tree.window.len() < 30);
    type_keys(&mut model, &source.data(), "G");
    assert_eq!(selected_resource(&model), resource(Kind::Cds, "c-19999"));
    assert!(drawn_text(&model).contains("c-19999"));
    assert_eq!(model.screens.resources.focus, Focus::Tree);
    assert_eq!(model.screens.resources.tree.types[0].fact.type_url, url(Kind::Cds));
}

#[test]
fn toggles_folds_and_docs() {
    let source = ScriptedStore::gateway();
    let mut model = typed(&source.data(), &format!("{}<tab>jj", select_resource("cds/reviews")));
    let lines = |model: &Model| model.screens.resources.detail.lines.len();
    let whole = lines(&model);
    type_keys(&mut model, &source.data(), "h");
    assert!(lines(&model) < whole && drawn_text(&model).contains("l unfolds"));
    type_keys(&mut model, &source.data(), "l");
    assert_eq!(lines(&model), whole);
    let before = drawn_text(&model);
    type_keys(&mut model, &source.data(), "i");
    assert_ne!(drawn_text(&model), before);
    type_keys(&mut model, &source.data(), "i");
    assert_eq!(drawn_text(&model), before);
    // A type folds in the tree as well.
    type_keys(&mut model, &source.data(), "<esc>h");
    assert_eq!(selected_resource(&model), (Kind::Cds, None));
    assert!(!drawn_text(&model).contains("ledger-v2        42"));
}

#[test]
fn cuts_or_wraps_long_lines() {
    let value = "long".repeat(60);
    let source = ScriptedStore::new(&format!(
        "node a\nstream 1 ads\n> cds\n< cds v=1 n=a [c{{alt_stat_name: {value}}}]\n> cds v=1 n=a\n"
    ));
    let count = |model: &Model| drawn_text(model).matches("long").count();
    let mut model = typed(&source.data(), "4");
    let cut = count(&model);
    type_keys(&mut model, &source.data(), "w");
    assert!(cut < 20 && count(&model) > 50, "{cut} {}", count(&model));
}

#[test]
fn resources_opens_at_the_stream_of_the_selection() {
    let source = ScriptedStore::gateway();
    // The newest message is on the second stream, the open NACK on the first.
    let model = typed(&source.data(), "34");
    assert_eq!(model.common.scope.stream.map(|stream| stream.0), Some(2));
    let model = typed(&source.data(), "64");
    assert_eq!(
        (model.common.scope.stream.map(|stream| stream.0), selected_resource(&model)),
        (Some(1), resource(Kind::Cds, "reviews"))
    );
}

#[test]
fn diff_opens_from_resources_and_nacks() {
    let source = ScriptedStore::gateway();
    for (keys, screen) in
        [(select_resource("cds/reviews"), ScreenId::Resources), ("6".to_owned(), ScreenId::Nack)]
    {
        let mut model = typed(&source.data(), &keys);
        type_keys(&mut model, &source.data(), "d");
        assert_eq!(model.screen, ScreenId::Diff, "{keys}");
        assert!(model.screens.diff.target.is_some(), "{keys}: something to compare");
        let shown = drawn_text(&model);
        assert!(shown.contains("reviews") && shown.contains("connect_timeout"), "{keys}: {shown}");
        type_keys(&mut model, &source.data(), "<esc>");
        assert_eq!(model.screen, screen);
    }
}

#[test]
fn finds_in_a_body_and_copies_path_and_content() {
    let source = ScriptedStore::gateway();
    let mut model =
        typed(&source.data(), &format!("{}<tab>/connect_timeout<enter>", select_resource("cds/reviews")));
    let line = &model.screens.resources.detail.lines[model.screens.resources.detail.line];
    assert!(line.text.contains("connect_timeout"), "{}", line.text);
    let copied = |model: &mut Model, keys: &str| match type_keys(model, &source.data(), keys).pop() {
        Some(Effect::Copy(text)) => text,
        other => panic!("{other:?}: {:?}", model.common.notice),
    };
    assert_eq!(copied(&mut model, "yp"), "connect_timeout");
    let yaml = copied(&mut model, "yy");
    assert!(yaml.contains("name: reviews") && yaml.contains("\nconnect_timeout:"), "{yaml}");
    let json: serde_json::Value = serde_json::from_str(&copied(&mut model, "yj")).expect("JSON");
    assert_eq!(json["name"], "reviews");
    // NACK and Diff copy too.
    let mut model = typed(&source.data(), "6");
    assert!(copied(&mut model, "yy").contains("name: reviews"));
    assert_eq!(copied(&mut model, "yp"), "connect_timeout");
    type_keys(&mut model, &source.data(), "d");
    assert!(!copied(&mut model, "yp").is_empty());
    let secret = typed(&source.data(), &format!("{}<tab>", select_resource("sds/edge-cert")));
    assert!(!copied(&mut secret.clone(), "yy").contains(KEY));
}

#[test]
fn compares_a_resource_with_another_node() {
    let source = ScriptedStore::gateway();
    let mut model = typed(&source.data(), &format!("{}D", select_resource("cds/reviews")));
    assert_eq!(model.screen, ScreenId::Diff);
    let shown = drawn_text(&model);
    assert!(shown.contains("CDS reviews") && shown.contains("edge-gw-2"), "{shown}");
    type_keys(&mut model, &source.data(), "<esc>");
    assert_eq!(
        (model.screen, selected_resource(&model)),
        (ScreenId::Resources, resource(Kind::Cds, "reviews"))
    );
    let same = typed(&source.data(), &format!("{}D", select_resource("sds/edge-cert")));
    assert_eq!(same.screen, ScreenId::Resources);
    assert_eq!(same.common.notice.as_deref(), Some("every stream that has it has the same content"));
}

#[test]
fn unchanged_resource_of_a_refused_push_keeps_its_version() {
    let source = ScriptedStore::new(REFUSED);
    let resources = screen(&source.data(), "4", 100, 30);
    let cart = line(&resources, " cart ").split('│').next().unwrap();
    assert!(cart.contains("41") && cart.contains('✓') && !cart.contains("42"), "{resources}");
    assert!(line(&resources, " reviews ").contains("42"), "{resources}");
    let graph = screen(&source.data(), "8", 100, 30);
    let cart = line(&graph, "CDS cart");
    assert!(cart.contains("✓ 41") && !cart.contains("42"), "{graph}");
}

#[test]
fn selects_the_refused_resource_among_many() {
    let names: String = (0..40).map(|i| format!(" c{i}")).collect();
    let push = |version: u32, seconds: u32| {
        format!("1 < cds v={version} n=n{version} [{names} reviews{{connect_timeout: {seconds}s}}]\n")
    };
    let source = ScriptedStore::new(&format!(
        "node edge\nstream 1 ads\n+0s 1 > cds\n{}1 > cds v=41 n=n41\n{}1 > cds v=41 n=n42 \
         nack=\"Error adding/updating cluster(s) reviews: no\" code=13\n",
        push(41, 5),
        push(42, 0)
    ));
    for keys in ["64", "6<enter>"] {
        let mut model = model(100, 30, PLAIN);
        type_keys(&mut model, &source.data(), keys);
        let selected = model.screens.resources.tree.selected.as_ref().and_then(|place| place.name.as_deref());
        assert_eq!(selected, Some("reviews"), "{keys}");
        assert!(drawn_text(&model).contains("▌    reviews"), "{keys}: {}", drawn_text(&model));
    }
}

#[test]
fn shows_folds_in_ascii() {
    let shown = screen_in(ASCII, &ScriptedStore::new(REFUSED).data(), "4", 100, 30);
    assert!(shown.contains("[-] CDS"), "{shown}");
    let shown = screen_in(ASCII, &ScriptedStore::new(REFUSED).data(), "4h", 100, 30);
    assert!(shown.contains("[+] CDS"), "{shown}");
}

#[test]
fn finds_referrers_in_steps() {
    let source = large(2, 150);
    let mut model = model(100, 30, PLAIN);
    type_keys(&mut model, &source.data(), "4");
    assert_eq!(model.screen, ScreenId::Resources);
    let cds = model.screens.resources.tree.types[0].fact.type_url.clone();
    model.screens.resources.go_to(&cds, Some("c0".into()));
    update(&mut model, Msg::Changed, &source.data());
    press(&mut model, &source.data(), "P");
    let found = |model: &Model| model.screens.resources.detail.referrers.as_ref().unwrap().found.len();
    assert!(found(&model) < 150 && model.is_searching() && drawn_text(&model).contains(", at least"));
    while search(&mut model, &source.data()) {}
    assert_eq!(found(&model), 150);
    assert!(
        drawn_text(&model).contains("used by 150") && !drawn_text(&model).contains("at least"),
        "{}",
        drawn_text(&model)
    );
    model.screens.resources.go_to(&cds, Some("c1".into()));
    update(&mut model, Msg::Changed, &source.data());
    press(&mut model, &source.data(), "P");
    while search(&mut model, &source.data()) {}
    assert_eq!(model.common.notice.as_deref(), Some("nothing on this stream refers to it"));
}

/// A client with a glob, a redirect and names of two authorities.
const STRUCTURED: &str = r#"node n1
stream 1 delta lds
> sub=["xdstp://a/envoy.config.listener.v3.Listener/x/*" "xdstp://b/envoy.config.listener.v3.Listener/y?env=prod" plain]
< n=1 ["xdstp://a/envoy.config.listener.v3.Listener/x/1"@1 "xdstp://a/envoy.config.listener.v3.Listener/x/2/3"@1 plain@1]
> n=1
< n=2 ["xdstp://b/envoy.config.listener.v3.Listener/y?env=prod"=>"xdstp://b/envoy.config.listener.v3.Listener/z#alt=xdstp://c/envoy.config.listener.v3.Listener/z"@2]
> n=2
"#;

#[test]
fn groups_structured_names_by_authority() {
    let source = ScriptedStore::new(STRUCTURED);
    let glob = typed(&source.data(), "4j");
    assert_snapshot!("resources_xdstp", drawn_text(&glob));
    let redirect = drawn_text(&typed(&source.data(), "4jjjj"));
    assert!(redirect.contains("authority   b  parameters env=prod"), "{redirect}");
    assert!(line(&redirect, " redirect ").contains("redirect    xdstp://b/"), "{redirect}");
    assert!(redirect.contains("#alt=xdstp://c"), "a long line is wrapped: {redirect}");
}

#[test]
fn selected_name_below_headings_stays_in_the_window() {
    let names: Vec<String> =
        (10..60).map(|n| format!("\"xdstp://a{n}/envoy.config.listener.v3.Listener/x\"")).collect();
    let listed: Vec<String> = names.iter().map(|name| format!("{name}@1")).collect();
    let script = format!(
        "node n\nstream 1 delta lds\n> sub=[{}]\n< n=1 [{}]\n> n=1\n",
        names.join(" "),
        listed.join(" ")
    );
    let source = ScriptedStore::new(&script);
    for keys in ["4l", "4lG", "4ljjjjjjjjjjjjjjjjjjjj", "4lGkkkkkk"] {
        let model = typed(&source.data(), keys);
        let tree = &model.screens.resources.tree;
        let selected = tree.window.iter().any(|row| row.place() == tree.selected.as_ref());
        assert!(selected && tree.window.len() < 30, "{keys}");
    }
}

/// docs/protocol.md#h-05, #f-05
#[test]
fn marks_unanswered_warming_and_kept_resources() {
    let vhds =
        ScriptedStore::new(include_str!("../../../../tests/fixtures/lint/delta-alias-collision.bad.xds"));
    let resent =
        ScriptedStore::new(include_str!("../../../../tests/fixtures/lint/delta-irv-resent.good.xds"));
    let warming = ScriptedStore::new(include_str!("../../../../examples/warming.xds"));
    let refused = ScriptedStore::new(include_str!("../../../../tests/fixtures/tui/refused.xds"));
    let gateway = ScriptedStore::gateway();
    let cases = [
        (&vhds, "", "rc/y", "1", "» sent"),
        (&resent, "]", " a ", "2", "» sent"),
        (&warming, "", "reviews", "", "⋯ warming"),
        (&refused, "", " cart ", "1", "! keeps 1"),
        (&refused, "", " pay ", "2", "! keeps 1"),
        (&gateway, "", "ledger-v2", "42", "⋯ warming"),
    ];
    for (source, keys, name, version, state) in cases {
        let shown = screen(&source.data(), &format!("{keys}4"), 120, 40);
        let row = shown.lines().find(|row| row.contains(name) && row.contains(state));
        assert!(row.is_some_and(|row| row.contains(version)), "{name} {state}: {shown}");
    }
    let answer = screen(&vhds.data(), "7", 120, 40);
    assert!(answer.contains("» 1 not answered"), "{answer}");
    let warm = screen(&warming.data(), "7", 120, 40);
    assert!(!warm.contains("∅ warming"), "{warm}");
}

#[test]
fn counts_what_waits_apart_from_what_is_missing() {
    let source =
        ScriptedStore::new(include_str!("../../../../tests/fixtures/misbehave/envoy-ads-endpoints.xds"));
    let resources = screen(&source.data(), "4", 120, 40);
    assert!(resources.contains("1 refused, 3 waiting") && resources.contains("⋯ 3"), "{resources}");
    let names = screen(&source.data(), "7j", 120, 40);
    let rows = names.lines().filter(|row| row.contains("waiting 3s")).count();
    assert!(names.contains("3 waiting") && rows >= 3, "{names}");
}

#[test]
fn group_row_has_nothing_to_compare_or_to_find_in() {
    let source = ScriptedStore::gateway();
    let model = typed(&source.data(), "4ggD");
    assert_eq!(model.common.notice.as_deref(), Some("choose a resource first"));
}

#[test]
fn names_keep_the_part_that_tells_them_apart_at_80_columns() {
    let source = ScriptedStore::new(
        "node sidecar\nstream 1 delta-ads\n+0s 1 > cds sub=[\"*\"]\n\
         +1s 1 < cds n=a [\"outbound|8080|v1|reviews.shop.svc.cluster.local\"@\"2026-03-02T14:01:58Z/41\" \
         \"outbound|8080|v2|reviews.shop.svc.cluster.local\"@\"2026-03-02T14:01:58Z/42\" \
         \"xdstp://control.example/envoy.config.cluster.v3.Cluster/teams/payments/production/ledger-v2?env=prod\"@1]\n\
         +2s 1 > cds n=a\n",
    );
    let shown = screen(&source.data(), "4", 80, 24);
    for part in ["…8080|v1|reviews.shop", "…8080|v2|reviews.shop", "…/ledger-v2 env=prod", "…Z/41", "…Z/42"]
    {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    // Wider terminals leave room for the content too.
    let wide = screen(&source.data(), "4", 120, 36);
    assert!(wide.contains("outbound|8080|v1|reviews.shop…"), "{wide}");
}
