//! Screen 9.

use insta::assert_snapshot;

use crate::tui::input::screen_id::ScreenId;
use crate::tui::tests::script::ScriptedStore;
use crate::tui::tests::{ASCII, assert_snapshots, drawn_text, screen, screen_in, type_keys, typed};

#[test]
fn snapshots_of_findings() {
    assert_snapshots!("lint", &ScriptedStore::gateway().data(), "9");
}

#[test]
fn snapshot_in_ascii() {
    assert_snapshot!("ascii_lint", screen_in(ASCII, &ScriptedStore::gateway().data(), "9", 100, 30));
}

#[test]
fn says_that_there_is_no_finding() {
    let nothing = ScriptedStore::of("node a\nstream 1 ads\n+0s 1 > cds\n");
    assert!(screen(&nothing.data(), "9", 80, 24).contains("no finding"));
}

#[test]
fn finding_leads_to_its_evidence_and_back() {
    let source = ScriptedStore::gateway();
    let mut model = typed(&source.data(), "9");
    let finding = model.screens.lint.finding.clone().expect("a finding");
    let n = finding.at.or(finding.messages.last().copied());
    type_keys(&mut model, &source.data(), "<enter>");
    let at = model.screens.timeline.selected_message.as_ref().and_then(|current| current.fact.n);
    assert_eq!((model.screen, at), (ScreenId::Timeline, n));
    type_keys(&mut model, &source.data(), "<esc>");
    assert_eq!(model.screen, ScreenId::Lint);
}

#[test]
fn explains_hides_and_shows_rules() {
    let source = ScriptedStore::gateway();
    let mut model = typed(&source.data(), "9");
    let (all, rule) = (model.screens.lint.len(), model.screens.lint.finding.clone().expect("a finding").rule);
    assert!(all > 1 && all == model.screens.lint.total);
    type_keys(&mut model, &source.data(), "x");
    assert!(
        drawn_text(&model).contains(rule.title().split(',').next().expect("words")),
        "{}",
        drawn_text(&model)
    );
    type_keys(&mut model, &source.data(), "xH");
    assert!(
        model.screens.lint.len() <= all
            && model.screens.lint.finding.as_ref().is_none_or(|finding| finding.rule != rule)
    );
    assert!(drawn_text(&model).contains("1 rule hidden"), "{}", drawn_text(&model));
    while model.screens.lint.len() > 0 {
        type_keys(&mut model, &source.data(), "H");
    }
    assert!(drawn_text(&model).contains("H shows all again"));
    type_keys(&mut model, &source.data(), "H");
    assert_eq!(model.screens.lint.len(), all);
}

#[test]
fn tab_counts_findings_on_every_screen() {
    let source = ScriptedStore::gateway();
    let model = typed(&source.data(), "");
    let causes = model.common.finding_groups.len();
    assert!(causes > 1 && causes < source.data().findings.len());
    assert!(drawn_text(&model).contains(&format!("9 Lint {causes}")), "{}", drawn_text(&model));
}

#[test]
fn filters_findings() {
    let source = ScriptedStore::gateway();
    let model = typed(&source.data(), "9/type:rds<enter>");
    let rules: Vec<_> = model.screens.lint.window.iter().map(|finding| finding.type_url.as_str()).collect();
    assert!(!rules.is_empty() && rules.iter().all(|url| url.contains("RouteConfiguration")), "{rules:?}");
}
