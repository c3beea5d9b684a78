//! Screen 9.

use insta::assert_snapshot;

use crate::input::screen_id::ScreenId;
use crate::tests::script::{GATEWAY, ScriptedStore};
use crate::tests::{ASCII, assert_snapshots, drawn_text, line, screen, screen_in, type_keys, typed};

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
    let nothing = ScriptedStore::new("node a\nstream 1 ads\n+0s 1 > cds\n");
    assert!(screen(&nothing.data(), "9", 80, 24).contains("no finding"));
}

/// Without a finding, the screen has the rules, and what they checked.
#[test]
fn lists_what_was_checked_without_a_finding() {
    let source = ScriptedStore::new(
        "node a\nstream 1 ads\n+0s 1 > cds\n+1s 1 < cds v=41 n=x [c]\n+2s 1 > cds v=41 n=x\n",
    );
    let shown = screen(&source.data(), "9", 200, 60);
    let rules = xdscope_engine::lint::rules().count();
    assert!(shown.contains(&format!("no finding: {rules} rules checked 4 rows of 1 stream")), "{shown}");
    let first = xdscope_engine::lint::rules().next().expect("a rule");
    assert!(line(&shown, first.id).contains(first.title()), "{shown}");
    assert!(shown.contains("more: xdscope lint --list-rules"), "{shown}");
    assert!(shown.contains("messages of all streams"), "{shown}");
}

#[test]
fn enter_shows_findings_of_other_scopes() {
    let source = ScriptedStore::new(
        "node a\nstream 1 ads\n+0s 1 > cds\n+1s 1 < cds v=41 n=x [c]\n+2s 1 > cds v=41 n=x\n\
         node b\nstream 2 ads\n+3s 2 > cds\n+4s 2 < cds v=41 n=x [c]\n+5s 2 > cds v=41 n=nosuch\n",
    );
    let mut model = typed(&source.data(), "j29");
    let shown = drawn_text(&model);
    assert!(shown.contains(" in others: Enter shows all"), "{shown}");
    type_keys(&mut model, &source.data(), "<enter>");
    assert!(!model.screens.lint.list.rows.is_empty() && model.common.scope == Default::default());
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
    let (all, rule) =
        (model.screens.lint.list.rows.len(), model.screens.lint.finding.clone().expect("a finding").rule);
    assert!(all > 1 && all == model.screens.lint.total);
    type_keys(&mut model, &source.data(), "x");
    assert!(
        drawn_text(&model).contains(rule.title().split(',').next().expect("words")),
        "{}",
        drawn_text(&model)
    );
    type_keys(&mut model, &source.data(), "xH");
    assert!(
        model.screens.lint.list.rows.len() <= all
            && model.screens.lint.finding.as_ref().is_none_or(|finding| finding.rule != rule)
    );
    assert!(drawn_text(&model).contains("1 rule hidden, U shows"), "{}", drawn_text(&model));
    let mut one_hidden = typed(&source.data(), "9HU");
    assert_eq!(one_hidden.screens.lint.list.rows.len(), all);
    type_keys(&mut one_hidden, &source.data(), "U");
    assert!(drawn_text(&one_hidden).contains("no rule is hidden"));
    while !model.screens.lint.list.rows.is_empty() {
        type_keys(&mut model, &source.data(), "H");
    }
    assert!(drawn_text(&model).contains("U shows all again"));
    type_keys(&mut model, &source.data(), "U");
    assert_eq!(model.screens.lint.list.rows.len(), all);
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

/// The finding is on the first stream that failed, the scope is the newest one.
#[test]
fn scope_of_a_client_has_the_findings_of_its_problems() {
    let named = include_str!("../../../../tests/fixtures/lint/stream-rejected.bad.xds");
    let nameless = "node n1\nstream 1 ads\n+0s 1 > cds\n+1s 1 < cds v=1 n=a [c]\n+2s 1 > cds v=1 n=a\n\
                    +3s 1 close status=16 \"expired\"\n+4s stream 2 ads\n+4s 2 close status=16 \"expired\"\n\
                    +5s stream 3 ads\n+5s 3 close status=16 \"expired\"\n";
    for (script, keys) in [(named, "29"), (nameless, "29"), (nameless, "}<enter>9")] {
        let source = ScriptedStore::new(script);
        let model = typed(&source.data(), keys);
        assert!(model.common.scope.stream.is_some(), "{keys}");
        let rule = model.screens.lint.finding.as_ref().map(|finding| finding.rule.id);
        assert_eq!(rule, Some("stream-rejected"), "{}", drawn_text(&model));
        assert!(drawn_text(&model).contains("[9 Lint 1]"), "{}", drawn_text(&model));
    }
}

#[test]
fn empty_scope_names_the_findings_of_others() {
    let source = ScriptedStore::gateway();
    let all = typed(&source.data(), "9").screens.lint.total;
    let healthy = format!("{GATEWAY}node calm\nstream 99 ads\n+70s 99 > lds\n");
    let source = ScriptedStore::new(&healthy);
    let shown = screen(&source.data(), "/node:calm<enter>2<esc>9", 100, 30);
    assert!(shown.contains(&format!("no finding in this scope, {all} findings in others")), "{shown}");
    assert!(shown.contains(&format!("0 of {all} findings")), "{shown}");
}

#[test]
fn filter_by_rule_and_other_rules_of_a_cause() {
    let source = ScriptedStore::new(include_str!("../../../../tests/fixtures/lint/version-churn.bad.xds"));
    let all = screen(&source.data(), "9", 140, 40);
    assert!(all.contains("version-churn"), "{all}");
    let own = screen(&source.data(), "9/rule:version-*<enter>", 140, 40);
    assert!(line(&own, "▌").contains("version-churn"), "{own}");
    let none = screen(&source.data(), "9/rule:nack<enter>", 140, 40);
    assert!(none.contains("no finding matches"), "{none}");
}

#[test]
fn narrow_list_has_whole_rules() {
    let source = ScriptedStore::new(include_str!("../../../../tests/fixtures/tui/diagnoses.xds"));
    let shown = screen(&source.data(), "9", 80, 24);
    let rules = typed(&source.data(), "9")
        .screens
        .lint
        .window
        .iter()
        .map(|finding| finding.rule.id)
        .collect::<Vec<_>>();
    assert!(rules.len() > 2);
    for rule in rules {
        assert!(shown.contains(rule), "{rule} is cut:\n{shown}");
    }
}
