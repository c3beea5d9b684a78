//! The mouse: tabs, rows, panes, menus, wheel.

use crossterm::event::{MouseButton, MouseEventKind};

use crate::common::Pane;
use crate::input::screen_id::ScreenId;
use crate::shell::effect::Effect;
use crate::tests::script::ScriptedStore;
use crate::tests::{click, drawn_text, mouse, type_keys, typed};

use super::places::PROBLEMS;

/// A line with the text has the mark of a selected row.
fn is_marked(shown: &str, text: &str) -> bool {
    shown.lines().any(|line| line.contains('▌') && line.contains(text))
}

#[test]
fn click_on_a_tab_opens_the_screen() {
    let source = ScriptedStore::new(PROBLEMS);
    let mut model = typed(&source.data(), "");
    for screen in ScreenId::ALL.into_iter().rev() {
        click(&mut model, &source.data(), &format!("{} {}", screen.number(), screen.title()));
        assert_eq!(model.screen, screen);
    }
}

#[test]
fn click_selects_a_row_and_a_second_click_opens_it() {
    let source = ScriptedStore::new(PROBLEMS);
    let mut model = typed(&source.data(), "");
    click(&mut model, &source.data(), "ratings-v1");
    assert!(is_marked(&drawn_text(&model), "ratings-v1"), "{}", drawn_text(&model));
    assert_eq!(model.screen, ScreenId::Overview);
    click(&mut model, &source.data(), "ratings-v1");
    assert_eq!(model.screen, ScreenId::Stream);
    // A problem: its list takes the focus.
    type_keys(&mut model, &source.data(), "1");
    click(&mut model, &source.data(), "client owes an answer");
    assert_eq!(model.common.pane, Pane::Second);
    click(&mut model, &source.data(), "client owes an answer");
    assert_eq!(model.screen, ScreenId::Timeline);
    for (keys, text) in [
        ("3g", "LDS"),
        ("3gL", "LDS"),
        (":edge-gw-1<enter>4", "search"),
        ("7", "ledger"),
        ("8", "EDS cart"),
        ("9", "route-unknown"),
    ] {
        let mut model = typed(&source.data(), keys);
        click(&mut model, &source.data(), text);
        let shown = drawn_text(&model);
        assert!(is_marked(&shown, text), "{keys} {text}\n{shown}");
    }
}

#[test]
fn wheel_moves_the_pane_below_it() {
    let source = ScriptedStore::new(PROBLEMS);
    let mut model = typed(&source.data(), "3g");
    let first = model.screens.timeline.selected;
    mouse(&mut model, &source.data(), MouseEventKind::ScrollDown, (10, 8));
    assert_eq!(model.screens.timeline.selected, first.map(|row| row + 3));
    mouse(&mut model, &source.data(), MouseEventKind::ScrollUp, (10, 8));
    assert_eq!(model.screens.timeline.selected, first);
    mouse(&mut model, &source.data(), MouseEventKind::ScrollDown, (10, 22));
    assert_eq!(model.common.pane, Pane::Second, "the wheel is above the detail");
}

#[test]
fn menus_and_palette_take_clicks() {
    let source = ScriptedStore::new(PROBLEMS);
    let mut model = typed(&source.data(), "s");
    click(&mut model, &source.data(), "by NODE");
    assert!(model.overlays.is_empty() && drawn_text(&model).contains("by NODE, ascending"));
    type_keys(&mut model, &source.data(), ":ratings-v1");
    click(&mut model, &source.data(), "node: open its newest stream");
    assert_eq!(model.screen, ScreenId::Stream);
    type_keys(&mut model, &source.data(), "/x");
    click(&mut model, &source.data(), "1 Overview");
    assert_eq!(model.screen, ScreenId::Stream, "a prompt is left with Esc");
}

#[test]
fn mouse_is_switched_by_a_command() {
    let source = ScriptedStore::new(PROBLEMS);
    let mut model = typed(&source.data(), "");
    assert_eq!(type_keys(&mut model, &source.data(), ":set mouse on<enter>"), [Effect::Mouse(true)]);
    assert_eq!(type_keys(&mut model, &source.data(), ":set mouse off<enter>"), [Effect::Mouse(false)]);
    assert_eq!(type_keys(&mut model, &source.data(), ":set mouse<enter>"), []);
    assert!(model.common.notice.is_some_and(|notice| notice.contains("set mouse on")));
    let mut model = typed(&source.data(), "");
    let nothing = mouse(&mut model, &source.data(), MouseEventKind::Up(MouseButton::Left), (5, 5));
    assert_eq!(nothing, []);
}
