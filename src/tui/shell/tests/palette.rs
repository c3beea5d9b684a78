//! The palette goes to places by name.

use crate::input::screen_id::ScreenId;
use crate::shell::effect::{Effect, Msg};
use crate::shell::model::Model;
use crate::shell::settle::search;
use crate::shell::update::{update, update_all};
use crate::tests::script::{ScriptedStore, large, resource, selected_resource};
use crate::tests::{PLAIN, drawn_text, keys, line, model, type_keys, typed};
use crate::widgets::theme::Palette;
use xdscope_wire::event::Kind;

use super::places::PROBLEMS;

fn filter(model: &Model) -> Option<&str> {
    model.common.filter.as_ref().map(|filter| filter.text.as_str())
}

#[test]
fn goes_to_what_has_the_name() {
    let source = ScriptedStore::new(PROBLEMS);
    let after = |keys: &str| typed(&source.data(), keys);
    let model = after(":reviews<enter>");
    assert_eq!(
        (model.screen, selected_resource(&model)),
        (ScreenId::Resources, resource(Kind::Cds, "reviews"))
    );
    let model = after(":ratings<enter>");
    assert_eq!(model.screen, ScreenId::Stream);
    assert_eq!(model.screens.stream.fact().map(|fact| fact.stream.0), Some(3));
    let model = after(":eds<enter>");
    assert_eq!((model.screen, selected_resource(&model)), (ScreenId::Resources, (Kind::Eds, None)));
    let model = after(":route-unknown-cluster<enter>");
    assert_eq!((model.screen, filter(&model)), (ScreenId::Lint, Some("rule:route-unknown-cluster")));
    assert!(!model.screens.lint.list.rows.is_empty());
    let model = after(":stale<enter>");
    assert_eq!((model.screen, filter(&model)), (ScreenId::Overview, Some("state:stale")));
    let model = after(":cds/reviews<enter>");
    assert_eq!(selected_resource(&model), resource(Kind::Cds, "reviews"));
    assert_eq!(after(":#2<enter>").screen, ScreenId::Timeline);
    for (keys, words) in [(":goto<enter>", "type goto #487"), (":set<enter>", "type set mouse on")] {
        let notice = after(keys).common.notice.unwrap_or_default();
        assert!(notice.contains(words), "{keys}: {notice}");
    }
    let mut model = typed(&source.data(), "");
    model.palettes = vec![("plain".to_owned(), Palette::MONO), ("own".to_owned(), Palette::SIXTEEN)];
    for (name, palette) in [("own", Palette::SIXTEEN), ("plain", Palette::MONO), ("pla", Palette::MONO)] {
        type_keys(&mut model, &source.data(), &format!(":set theme {name}<enter>"));
        assert_eq!(model.common.theme.palette, palette, "{name}");
    }
    assert!(model.common.notice.is_some_and(|notice| notice.contains("one of plain, own")));
    let model = after(":Cluster.connect_timeout<enter>");
    assert_eq!((model.screen, filter(&model)), (ScreenId::Resources, Some("has:connect_timeout")));
    let shown = drawn_text(&after(":zzzzz"));
    assert!(shown.contains("nothing has this name"), "{shown}");
    let model = after(":zzzzz<enter>");
    assert!(model.common.notice.is_some_and(|notice| notice.contains("no command, node, type")));
}

#[test]
fn shows_what_each_line_is() {
    let source = ScriptedStore::new(PROBLEMS);
    let shown = drawn_text(&typed(&source.data(), ":cart"));
    assert!(line(&shown, "▌  cart").contains("CDS resource: open that of "), "{shown}");
    assert!(shown.contains("EDS resource"), "{shown}");
    let shown = drawn_text(&typed(&source.data(), ":nack"));
    assert!(shown.contains("▌  nack                      rule: show its findings"), "an exact name: {shown}");
    let (command, state) = (shown.find("next-nack"), shown.find("state: show the nodes in it"));
    assert!(command < state, "commands come before other places: {shown}");
    assert!(line(&shown, "state: show the nodes in it").contains("nack"), "{shown}");
    let shown = drawn_text(&typed(&source.data(), ":ledg<tab>"));
    assert!(shown.contains(" :ledger"), "Tab completes: {shown}");
}

#[test]
fn says_whose_resource_opens() {
    let source = ScriptedStore::new(
        "node a\nstream 1 ads\n> cds\n< cds v=1 n=1 [x only]\nnode b\nstream 2 ads\n> cds\n< cds v=1 n=1 [x]\n",
    );
    let shown = drawn_text(&typed(&source.data(), ":x"));
    assert!(line(&shown, "▌  x ").contains("CDS resource: open that of a"), "{shown}");
    let said = |keys: &str| typed(&source.data(), keys).common.notice.unwrap_or_default();
    assert_eq!(said(":x<enter>"), "CDS x of a; 1 other resource with this name: W names the clients");
    assert_eq!(said("j2:x<enter>"), "CDS x of b; 1 other resource with this name: W names the clients");
    assert_eq!(said(":only<enter>"), "CDS only of a");
}

#[test]
fn recordings_are_found_by_name() {
    let source = ScriptedStore::new(PROBLEMS);
    let mut model = model(100, 30, PLAIN);
    model.common.info.sessions = vec!["session-20260302-135200.xdsrec".to_owned()];
    let effects = type_keys(&mut model, &source.data(), ":session-2026<enter>");
    let line = "xdscope replay session-20260302-135200.xdsrec";
    assert_eq!(effects, [Effect::Copy(line.to_owned())]);
}

#[test]
fn names_typed_in_one_batch_are_found() {
    let source = large(5_000, 10);
    for name in ["c4321", "4321"] {
        let mut model = model(100, 30, PLAIN);
        update(&mut model, Msg::Changed, &source.data());
        let typed = format!(":{name}<enter>");
        update_all(&mut model, keys(&typed).into_iter().map(Msg::Key).collect(), &source.data());
        while search(&mut model, &source.data()) {}
        update(&mut model, Msg::Changed, &source.data());
        assert_eq!(selected_resource(&model), resource(Kind::Cds, "c4321"), "{name}");
    }
}

#[test]
fn history_recalls_places_too() {
    let source = ScriptedStore::new(PROBLEMS);
    let mut model = typed(&source.data(), ":reviews<enter>1:<up>");
    assert!(drawn_text(&model).contains(" :reviews"), "{}", drawn_text(&model));
    type_keys(&mut model, &source.data(), "<enter>");
    assert_eq!(model.screen, ScreenId::Resources);
}
