//! Screens 7, 8 and 9: subscriptions, graph and findings.

use insta::assert_snapshot;

use crate::tui::input::screen_id::ScreenId;
use crate::tui::shell::effect::Effect;
use crate::tui::shell::model::Model;
use crate::tui::widgets::theme::Theme;
use crate::wire::event::Kind;

use super::real::Real;
use super::{PLAIN, drawn, model, screen, screen_in, text, type_keys};

const SIZES: [(u16, u16); 3] = [(80, 24), (100, 30), (200, 60)];

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

fn shown(model: &Model) -> String {
    text(&drawn(model))
}

fn node(model: &Model) -> (Kind, String) {
    let (_, node) = model.screens.graph.node().expect("a node");
    (node.kind, node.name.to_string())
}

#[test]
fn snapshots_of_subscriptions() {
    at_all_sizes("subs", "7");
}

#[test]
fn graph() {
    at_all_sizes("graph", "8");
}

#[test]
fn snapshots_of_findings() {
    at_all_sizes("lint", "9");
}

#[test]
fn snapshots_in_ascii() {
    let ascii = Theme { color: false, ascii: true, ..Theme::default() };
    let real = Real::gateway();
    for (name, keys) in [("subs", "7"), ("graph", "8"), ("lint", "9")] {
        assert_snapshot!(format!("ascii_{name}"), screen_in(ascii, &real.data(), keys, 100, 30));
    }
}

#[test]
fn says_that_there_is_nothing_to_show() {
    let nothing = Real::of("node a\nstream 1 ads\n+0s 1 > cds\n");
    assert!(screen(&nothing.data(), "9", 80, 24).contains("no finding"));
    assert!(screen(&nothing.data(), "8", 80, 24).contains("no resource yet"));
    let empty = Real::of("node a\nstream 1 ads\n");
    assert!(screen(&empty.data(), "7", 80, 24).contains("nothing was asked for"));
}

#[test]
fn finding_leads_to_its_evidence_and_back() {
    let real = Real::gateway();
    let mut model = typed(&real, "9");
    let finding = model.screens.lint.finding.clone().expect("a finding");
    let n = finding.at.or(finding.messages.last().copied());
    type_keys(&mut model, &real.data(), "<enter>");
    let at = model.screens.timeline.selected_message.as_ref().and_then(|current| current.fact.n);
    assert_eq!((model.screen, at), (ScreenId::Timeline, n));
    type_keys(&mut model, &real.data(), "<esc>");
    assert_eq!(model.screen, ScreenId::Lint);
}

#[test]
fn explains_hides_and_shows_rules() {
    let real = Real::gateway();
    let mut model = typed(&real, "9");
    let (all, rule) = (model.screens.lint.len(), model.screens.lint.finding.clone().expect("a finding").rule);
    assert!(all > 1 && all == model.screens.lint.total);
    type_keys(&mut model, &real.data(), "x");
    assert!(shown(&model).contains(rule.title().split(',').next().expect("words")), "{}", shown(&model));
    type_keys(&mut model, &real.data(), "xH");
    assert!(
        model.screens.lint.len() < all
            && model.screens.lint.finding.as_ref().is_none_or(|finding| finding.rule != rule)
    );
    assert!(shown(&model).contains("1 rule hidden"), "{}", shown(&model));
    while model.screens.lint.len() > 0 {
        type_keys(&mut model, &real.data(), "H");
    }
    assert!(shown(&model).contains("H shows all again"));
    type_keys(&mut model, &real.data(), "H");
    assert_eq!(model.screens.lint.len(), all);
}

#[test]
fn tab_counts_findings_on_every_screen() {
    let real = Real::gateway();
    let model = typed(&real, "");
    let found = real.data().findings.len();
    assert!(shown(&model).contains(&format!("9 Lint {found}")), "{}", shown(&model));
}

#[test]
fn filters_findings() {
    let real = Real::gateway();
    let model = typed(&real, "9/type:rds<enter>");
    let rules: Vec<_> = model.screens.lint.window.iter().map(|finding| finding.type_url.as_str()).collect();
    assert!(!rules.is_empty() && rules.iter().all(|url| url.contains("RouteConfiguration")), "{rules:?}");
}

#[test]
fn shows_dangling_and_warming_resources() {
    let real = Real::gateway();
    let model = typed(&real, "8");
    let screen = shown(&model);
    for part in ["fraud-check", "dangling: not in CDS 42", "ledger-v2", "warming", "rejected, 41 in force"] {
        assert!(screen.contains(part), "{part} is not in {screen}");
    }
    let model = typed(&real, "8p");
    let screen = shown(&model);
    assert!(screen.contains("fraud-check") && !screen.contains("CDS cart"), "{screen}");
}

#[test]
fn shows_references_and_referrers() {
    let real = Real::gateway();
    let mut model = typed(&real, "8g");
    assert_eq!(node(&model), (Kind::Lds, "web".into()));
    let whole = model.screens.graph.rows.len();
    type_keys(&mut model, &real.data(), "h");
    assert!(
        model.screens.graph.rows.len() < whole && !shown(&model).contains("CDS cart"),
        "{}",
        shown(&model)
    );
    type_keys(&mut model, &real.data(), "l/name:fraud<enter>");
    assert_eq!(node(&model), (Kind::Cds, "fraud-check".into()));
    type_keys(&mut model, &real.data(), "<esc>P");
    let screen = shown(&model);
    assert!(screen.contains("referrers of"), "{screen}");
    assert!(
        screen.contains("RDS edge") && screen.contains("LDS web") && !screen.contains("CDS cart"),
        "{screen}"
    );
    type_keys(&mut model, &real.data(), "P");
    assert!(shown(&model).contains("CDS cart"));
    // A resource that is not there can't be opened; one that is can.
    type_keys(&mut model, &real.data(), "gj<enter>");
    assert_eq!(model.screen, ScreenId::Resources);
    type_keys(&mut model, &real.data(), "<esc>");
    assert_eq!(model.screen, ScreenId::Graph);
}

#[test]
fn lists_missing_names_first() {
    let real = Real::gateway();
    let mut model = typed(&real, "7");
    let row = model.screens.subscriptions.row().expect("a name");
    assert_eq!((&*row.name, row.waits.map(|waits| waits.requests.first.0)), ("ledger-v2", Some(7)));
    assert!(shown(&model).contains("missing"));
    let copied = type_keys(&mut model, &real.data(), "yc");
    let Some(Effect::Copy(line)) = copied.first() else { panic!("{copied:?}") };
    assert!(line.contains("eds --subscriptions"), "{line}");
    type_keys(&mut model, &real.data(), "3");
    let at = model.screens.timeline.selected_message.as_ref().and_then(|current| current.fact.n);
    assert_eq!((model.screen, at.map(|n| n.0)), (ScreenId::Timeline, Some(7)));
}

#[test]
fn explains_missing_names_as_a_guess() {
    let real = Real::of(
        "node a\nstream 1 ads\n> cds\n< cds v=1 n=1 [c]\n> cds v=1 n=1\n> eds names=[stranger]\nadvance 5s\n",
    );
    let why = "stranger: no cluster of this client refers to it";
    for (keys, says) in [("7", "perhaps"), ("2jjj", why)] {
        let text = shown(&typed(&real, keys));
        assert!(
            text.contains(says) && text.contains("no cluster of this client refers to it"),
            "{keys}: {text}"
        );
    }
}

#[test]
fn loads_only_visible_names() {
    let names: Vec<String> = (0..100_000).map(|i| format!("c-{i:06}")).collect();
    let names = names.join(" ");
    let real = Real::of(&format!(
        "node a\nstream 1 ads\n+0s 1 > eds names=[{names} late]\n1 < eds v=1 n=a [{names}]\n\
         1 > eds v=1 n=a names=[{names} late]\nadvance 20s\n"
    ));
    let mut model = typed(&real, "7<tab>");
    assert_eq!(model.screens.subscriptions.len(), 100_001);
    assert_eq!(model.screens.subscriptions.row().map(|row| &*row.name), Some("late"));
    assert!(model.screens.subscriptions.window.len() < 30);
    type_keys(&mut model, &real.data(), "G");
    assert_eq!(model.screens.subscriptions.row().map(|row| &*row.name), Some("c-099999"));
    type_keys(&mut model, &real.data(), "/name:c-05000*<enter>");
    assert_eq!(model.screens.subscriptions.len(), 10);
}
