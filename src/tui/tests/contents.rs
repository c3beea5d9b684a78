//! Screens 4 and 6: resources and NACKs.

use std::fmt::Write as _;

use insta::assert_snapshot;

use crate::tui::input::screen_id::ScreenId;
use crate::tui::screens::resources::Focus;
use crate::tui::shell::effect::Effect;
use crate::tui::shell::model::Model;
use crate::tui::widgets::theme::Theme;
use crate::wire::event::Kind;

use super::real::Real;
use super::story::url;
use super::{PLAIN, drawn, model, screen, screen_in, text, type_keys};

const SIZES: [(u16, u16); 3] = [(80, 24), (100, 30), (200, 60)];
/// The private key in the script. No screen may show it.
const KEY: &str = "the private key of edge-cert";

fn at_all_sizes(name: &str, typed: &str) {
    let real = Real::gateway();
    for (width, height) in SIZES {
        assert_snapshot!(format!("{name}_{width}x{height}"), screen(&real.data(), typed, width, height));
    }
}

fn typed(real: &Real, keys: &str) -> Model {
    let mut model = model(100, 30, PLAIN);
    type_keys(&mut model, &real.data(), keys);
    model
}

fn selected(model: &Model) -> (Kind, Option<String>) {
    let place = model.screens.resources.tree.selected.as_ref().expect("a selection");
    let kind = Kind::of_type_url(place.type_url.as_str()).expect("a known type").0;
    (kind, place.name.as_ref().map(|name| name.to_string()))
}

fn name(kind: Kind, name: &str) -> (Kind, Option<String>) {
    (kind, Some(name.to_owned()))
}

/// The keys that select a resource of the gateway on screen 4.
fn select(resource: &str) -> String {
    format!("4g{}", "j".repeat(place(resource)))
}

fn place(resource: &str) -> usize {
    let real = Real::gateway();
    let mut model = typed(&real, "4g");
    for row in 0..40 {
        let (kind, name) = selected(&model);
        if format!("{}/{}", kind.word(), name.unwrap_or_default()) == resource {
            return row;
        }
        type_keys(&mut model, &real.data(), "j");
    }
    panic!("{resource} is not in the tree");
}

#[test]
fn resources() {
    at_all_sizes("resources", &select("cds/reviews"));
}

#[test]
fn explains_a_line_of_a_resource() {
    let keys = format!("{}<tab>{}", select("cds/reviews"), "j".repeat(6));
    at_all_sizes("resources_field", &keys);
}

#[test]
fn nacks() {
    at_all_sizes("nacks", "6");
}

#[test]
fn a_recovered_guess() {
    assert_snapshot!(screen(&Real::gateway().data(), "6j", 100, 30));
}

#[test]
fn snapshots_in_ascii() {
    let ascii = Theme { color: false, ascii: true, contrast: false };
    let real = Real::gateway();
    assert_snapshot!("ascii_nacks", screen_in(ascii, &real.data(), "6", 100, 30));
    assert_snapshot!("ascii_resources", screen_in(ascii, &real.data(), &select("cds/reviews"), 100, 30));
}

#[test]
fn says_that_there_is_nothing_to_show() {
    let nothing = Real::of("node a\nstream 1 ads\n+0s 1 > cds\n");
    assert!(screen(&nothing.data(), "6", 80, 24).contains("nothing was refused"));
    let empty = Real::of("node a\nstream 1 ads\n");
    assert!(screen(&empty.data(), "4", 80, 24).contains("no resource yet"));
}

#[test]
fn follows_references_and_returns() {
    let real = Real::gateway();
    let mut model = typed(&real, &select("rds/edge"));
    let at = |model: &Model, path: &str| {
        model.screens.resources.detail.lines.iter().position(|line| line.path == path)
    };
    let line = |model: &Model, path: &str| "j".repeat(at(model, path).expect("the line"));
    let keys = format!("<tab>{}<enter>", line(&model, "virtual_hosts[0].routes[1].route.cluster"));
    type_keys(&mut model, &real.data(), &keys);
    assert_eq!(selected(&model), name(Kind::Cds, "reviews"));
    let keys = format!("{}<enter>", line(&model, "eds_cluster_config.service_name"));
    type_keys(&mut model, &real.data(), &keys);
    assert_eq!(selected(&model), name(Kind::Eds, "reviews.default"));
    type_keys(&mut model, &real.data(), "<back>");
    assert_eq!(selected(&model), name(Kind::Cds, "reviews"));
    assert_eq!(at(&model, "eds_cluster_config.service_name"), Some(model.screens.resources.detail.line));
    type_keys(&mut model, &real.data(), "<back>");
    assert_eq!(selected(&model), name(Kind::Rds, "edge"));
    // An unknown resource is reported, not shown.
    model.screens.resources.detail.line =
        at(&model, "virtual_hosts[0].routes[2].route.cluster").expect("the line");
    type_keys(&mut model, &real.data(), "<enter>");
    assert_eq!(selected(&model), name(Kind::Rds, "edge"));
    assert!(
        model.common.notice.as_ref().is_some_and(|said| said.contains("fraud-check")),
        "{:?}",
        model.common.notice
    );
}

#[test]
fn finds_referrers_of_a_resource() {
    let real = Real::gateway();
    let mut model = typed(&real, &format!("{}P", select("cds/reviews")));
    let shown = text(&drawn(&model));
    assert!(shown.contains("used by 1") && shown.contains("RDS edge"), "{shown}");
    type_keys(&mut model, &real.data(), "<enter>");
    assert_eq!(selected(&model), name(Kind::Rds, "edge"));
    type_keys(&mut model, &real.data(), "<back>");
    assert_eq!(selected(&model), name(Kind::Cds, "reviews"));
}

#[test]
fn steps_through_versions() {
    let real = Real::gateway();
    let mut model = typed(&real, &select("cds/reviews"));
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
    type_keys(&mut model, &real.data(), "[");
    assert_eq!(timeout(&model).as_deref(), Some("connect_timeout: 5s"));
    type_keys(&mut model, &real.data(), "[");
    assert!(model.common.notice.is_some());
    type_keys(&mut model, &real.data(), "]");
    assert_eq!(timeout(&model).as_deref(), Some("connect_timeout: 0s"));
}

#[test]
fn shows_a_content_in_every_format() {
    let real = Real::gateway();
    let mut seen = Vec::new();
    let mut model = typed(&real, &select("cds/reviews"));
    for _ in 0..4 {
        let text: String =
            model.screens.resources.detail.lines.iter().map(|line| format!("{}\n", line.text)).collect();
        seen.push(text);
        type_keys(&mut model, &real.data(), "v");
    }
    for (text, part) in
        seen.iter().zip(["service_name: ", "\"serviceName\": ", "service_name: \"", "0772 6576"])
    {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert!(seen[3].starts_with("00000000: "), "{}", seen[3]);
}

#[test]
fn nack_leads_to_resource_and_message() {
    let real = Real::gateway();
    let mut model = typed(&real, "6<enter>");
    assert_eq!((model.screen, selected(&model)), (ScreenId::Resources, name(Kind::Cds, "reviews")));
    type_keys(&mut model, &real.data(), "<esc>");
    assert_eq!(model.screen, ScreenId::Nack);
    type_keys(&mut model, &real.data(), "3");
    let n = model.screens.timeline.selected_message.as_ref().and_then(|shown| shown.fact.n);
    assert_eq!(
        (model.screen, n),
        (ScreenId::Timeline, model.screens.nack.group().and_then(|g| g.last().map(|nack| nack.n)))
    );
}

#[test]
fn card_has_field_last_good_and_repeats() {
    let real = Real::gateway();
    let model = typed(&real, "6");
    let card = &model.screens.nack.card;
    let subject = card.subjects.first().expect("a subject");
    assert_eq!((subject.name.value.as_str(), subject.name.guessed), ("reviews", false));
    assert_eq!(subject.faults[0].0.value, "connect_timeout");
    assert_eq!(subject.rules, ["duration.gt = 0s"]);
    assert_eq!(subject.good.as_ref().map(|(version, _)| &*version.version), Some("41"));
    assert_eq!(
        (model.screens.nack.group().map(|g| g.nacks.len()), card.same_error, card.same_push),
        (Some(2), true, Some(true))
    );
    assert_eq!(card.partial_use, Some(crate::engine::nack::PartialUse::Envoy));
    assert_eq!(card.recovery, None);
    let fixed = typed(&real, "6j");
    assert_eq!(fixed.screens.nack.card.recovery.as_ref().map(|fact| &*fact.version), Some("43"));
}

#[test]
fn no_screen_shows_a_private_key() {
    let real = Real::gateway();
    for keys in
        [select("sds/edge-cert"), format!("{}\\", select("sds/edge-cert")), "6".to_owned(), "3".to_owned()]
    {
        let mut model = typed(&real, &keys);
        for _ in 0..5 {
            let mut all = text(&drawn(&model));
            for line in &model.screens.resources.detail.lines {
                let _ = writeln!(all, "{}", line.text);
            }
            assert!(!all.contains(KEY), "{keys}: {all}");
            type_keys(&mut model, &real.data(), "v");
        }
    }
    let model = typed(&real, &select("sds/edge-cert"));
    assert!(text(&drawn(&model)).contains("[redacted "), "and it is said");
}

#[test]
fn copies_resource_and_command() {
    let real = Real::gateway();
    let mut model = typed(&real, &select("cds/reviews"));
    let copied = type_keys(&mut model, &real.data(), "yc");
    let Some(Effect::Copy(line)) = copied.first() else { panic!("{copied:?}") };
    assert_eq!(line, "xdscope get session-20260302-135200.xdsrec cds/reviews -o yaml --stream '#1'");
    let copied = type_keys(&mut model, &real.data(), "yr");
    assert_eq!(copied, [Effect::Copy("cds/reviews  42  NACK".to_owned())]);
}

#[test]
fn filters_the_tree() {
    let real = Real::gateway();
    let model = typed(&real, "4/name:reviews<enter>");
    let shown = text(&drawn(&model));
    assert!(shown.contains("reviews") && !shown.contains("search"), "{shown}");
}

#[test]
fn loads_only_visible_rows_of_a_large_type() {
    let names: Vec<String> = (0..20_000).map(|i| format!("c-{i:05}")).collect();
    let real = Real::of(&format!(
        "node a\nstream 1 ads\n+0s 1 > cds\n1 < cds v=1 n=a [{}]\n1 > cds v=1 n=a\n",
        names.join(" ")
    ));
    let mut model = typed(&real, "4l");
    assert_eq!(model.screens.resources.tree.len(), 20_001);
    assert!(model.screens.resources.tree.window.len() < 30);
    type_keys(&mut model, &real.data(), "G");
    assert_eq!(selected(&model), name(Kind::Cds, "c-19999"));
    assert!(text(&drawn(&model)).contains("c-19999"));
    assert_eq!(model.screens.resources.focus, Focus::Tree);
    assert_eq!(model.screens.resources.tree.types[0].fact.type_url, url(Kind::Cds));
}

#[test]
fn toggles_folds_and_docs() {
    let real = Real::gateway();
    let mut model = typed(&real, &format!("{}<tab>jj", select("cds/reviews")));
    let lines = |model: &Model| model.screens.resources.detail.lines.len();
    let whole = lines(&model);
    type_keys(&mut model, &real.data(), "h");
    assert!(lines(&model) < whole && text(&drawn(&model)).contains("l unfolds"));
    type_keys(&mut model, &real.data(), "l");
    assert_eq!(lines(&model), whole);
    let before = text(&drawn(&model));
    type_keys(&mut model, &real.data(), "i");
    assert_ne!(text(&drawn(&model)), before);
    type_keys(&mut model, &real.data(), "i");
    assert_eq!(text(&drawn(&model)), before);
    // A type folds in the tree as well.
    type_keys(&mut model, &real.data(), "<esc>h");
    assert_eq!(selected(&model), (Kind::Cds, None));
    assert!(!text(&drawn(&model)).contains("ledger-v2        42"));
}

#[test]
fn cuts_or_wraps_long_lines() {
    let value = "long".repeat(60);
    let real = Real::of(&format!(
        "node a\nstream 1 ads\n> cds\n< cds v=1 n=a [c{{alt_stat_name: {value}}}]\n> cds v=1 n=a\n"
    ));
    let count = |model: &Model| text(&drawn(model)).matches("long").count();
    let mut model = typed(&real, "4");
    let cut = count(&model);
    type_keys(&mut model, &real.data(), "w");
    assert!(cut < 20 && count(&model) > 50, "{cut} {}", count(&model));
}

#[test]
fn shows_a_nack_without_error_detail() {
    let real = Real::of(
        "node a\nstream 1 ads\n> cds\n< cds v=1 n=a [c]\n> cds v=1 n=a\n< cds v=2 n=b [c~2]\n> cds v=1 n=b\n",
    );
    let shown = screen(&real.data(), "6", 100, 30);
    assert!(shown.contains("refused by its version alone"), "{shown}");
}

#[test]
fn visits_problems_among_resources() {
    let real = Real::gateway();
    let mut model = typed(&real, "4g");
    for wanted in [name(Kind::Cds, "ledger-v2"), name(Kind::Cds, "reviews"), name(Kind::Eds, "ledger-v2")] {
        type_keys(&mut model, &real.data(), "}");
        assert_eq!(selected(&model), wanted);
    }
    type_keys(&mut model, &real.data(), "}");
    assert!(model.common.notice.is_some());
    type_keys(&mut model, &real.data(), "{{");
    assert_eq!(selected(&model), name(Kind::Cds, "ledger-v2"));
}

#[test]
fn resources_opens_at_the_stream_of_the_selection() {
    let real = Real::gateway();
    // The newest message is on the second stream, the open NACK on the first.
    let model = typed(&real, "34");
    assert_eq!(model.common.scope.stream.map(|stream| stream.0), Some(2));
    let model = typed(&real, "64");
    assert_eq!(
        (model.common.scope.stream.map(|stream| stream.0), selected(&model)),
        (Some(1), name(Kind::Cds, "reviews"))
    );
}

#[test]
fn diff_opens_from_resources_and_nacks() {
    let real = Real::gateway();
    for (keys, screen) in [(select("cds/reviews"), ScreenId::Resources), ("6".to_owned(), ScreenId::Nack)] {
        let mut model = typed(&real, &keys);
        type_keys(&mut model, &real.data(), "d");
        assert_eq!(model.screen, ScreenId::Diff, "{keys}");
        assert!(model.screens.diff.target.is_some(), "{keys}: something to compare");
        let shown = text(&drawn(&model));
        assert!(shown.contains("reviews") && shown.contains("connect_timeout"), "{keys}: {shown}");
        type_keys(&mut model, &real.data(), "<esc>");
        assert_eq!(model.screen, screen);
    }
}

#[test]
fn copies_a_name_on_every_screen() {
    let real = Real::gateway();
    for (keys, name) in
        [("", "edge-gw-1"), ("2", "edge-gw-1"), (&*select("cds/reviews"), "reviews"), ("6", "reviews")]
    {
        let mut model = typed(&real, keys);
        let effects = type_keys(&mut model, &real.data(), "yn");
        assert_eq!(effects, [Effect::Copy(name.to_owned())], "{keys}");
    }
}

#[test]
fn finds_in_a_body_and_copies_path_and_content() {
    let real = Real::gateway();
    let mut model = typed(&real, &format!("{}<tab>/connect_timeout<enter>", select("cds/reviews")));
    let line = &model.screens.resources.detail.lines[model.screens.resources.detail.line];
    assert!(line.text.contains("connect_timeout"), "{}", line.text);
    let copied = |model: &mut Model, keys: &str| match type_keys(model, &real.data(), keys).pop() {
        Some(Effect::Copy(text)) => text,
        other => panic!("{other:?}: {:?}", model.common.notice),
    };
    assert_eq!(copied(&mut model, "yp"), "connect_timeout");
    let yaml = copied(&mut model, "yy");
    assert!(yaml.contains("name: reviews") && yaml.contains("\nconnect_timeout:"), "{yaml}");
    let json: serde_json::Value = serde_json::from_str(&copied(&mut model, "yj")).expect("JSON");
    assert_eq!(json["name"], "reviews");
    // NACK and Diff copy too.
    let mut model = typed(&real, "6");
    assert!(copied(&mut model, "yy").contains("name: reviews"));
    assert_eq!(copied(&mut model, "yp"), "connect_timeout");
    type_keys(&mut model, &real.data(), "d");
    assert!(!copied(&mut model, "yp").is_empty());
    let secret = typed(&real, &format!("{}<tab>", select("sds/edge-cert")));
    assert!(!copied(&mut secret.clone(), "yy").contains(KEY));
}

#[test]
fn compares_a_resource_with_another_node() {
    let real = Real::gateway();
    let mut model = typed(&real, &format!("{}D", select("cds/reviews")));
    assert_eq!(model.screen, ScreenId::Diff);
    let shown = text(&drawn(&model));
    assert!(shown.contains("CDS reviews") && shown.contains("edge-gw-2"), "{shown}");
    type_keys(&mut model, &real.data(), "<esc>");
    assert_eq!((model.screen, selected(&model)), (ScreenId::Resources, name(Kind::Cds, "reviews")));
    let same = typed(&real, &format!("{}D", select("sds/edge-cert")));
    assert_eq!(same.screen, ScreenId::Resources);
    assert_eq!(same.common.notice.as_deref(), Some("every stream that has it has the same content"));
}

#[test]
fn compares_two_nodes() {
    let real = Real::gateway();
    let mut model = typed(&real, "gD");
    let marked = model.screens.overview.marked;
    assert!(marked.is_some() && marked == model.screens.overview.selected);
    assert!(
        model.common.notice.as_ref().is_some_and(|said| said.contains("is marked")),
        "{:?}",
        model.common.notice
    );
    type_keys(&mut model, &real.data(), "jD");
    assert_eq!(model.screens.overview.marked, None);
    // The pushed contents are compared, although one client refused them.
    let said = "edge-gw-2 against edge-gw-1: CDS ~1 -1 +0 (sent; in force 43 against 41)";
    assert_eq!(model.common.notice.as_deref(), Some(said));
    type_keys(&mut model, &real.data(), "DD");
    assert!(
        model.common.notice.as_ref().is_some_and(|said| said.contains("is marked")),
        "a node against itself"
    );
}
