//! The tour of the demo tells the truth, and follows the user.

use crate::data::Info;
use crate::input::screen_id::ScreenId;
use crate::shell::effect::Effect;
use crate::shell::model::Model;
use crate::tests::script::ScriptedStore;
use crate::tests::story::info;
use crate::tests::{PLAIN, drawn_text, model, type_keys};

use super::places::{PROBLEMS, bar};

fn toured(width: u16, height: u16) -> Model {
    let mut model = model(width, height, PLAIN);
    model.common.info = Info { is_demo: true, has_tour: true, streams: 6, ..info() };
    model
}

#[test]
fn tour_goes_on_as_the_user_does_what_it_says() {
    let source = ScriptedStore::new(PROBLEMS);
    let mut model = toured(100, 40);
    let mut at = |keys: &str, step: usize, sees: &str| {
        type_keys(&mut model, &source.data(), keys);
        let shown = drawn_text(&model);
        assert!(shown.contains(&format!("tour, step {step} of 11")), "{keys}\n{shown}");
        assert!(shown.contains(sees), "{keys}: {sees}\n{shown}");
    };
    at("", 1, "is refused.");
    at("}", 2, "problem 1 of");
    at("6", 3, "the resource at fault (reviews)");
    at("d", 4, "the first is connect_timeout");
    at("3", 4, "47 events, one row each");
    at("", 4, "L draws the messages as a ladder");
    at("L", 5, "one arrow each");
    at("/kind:nack<enter>", 6, "1 message match kind:nack");
    at("<esc>", 6, "The filter is off");
    at("7", 7, "server owes");
    at("8", 8, "from listeners to endpoints");
    at("2a", 9, "of one client, 0 ended");
    at("<enter>", 9, "The types of one stream");
    at(":reviews<enter>", 10, "reviews: its content");
    model.common.info.bar = Some(bar());
    type_keys(&mut model, &source.data(), "");
    let shown = drawn_text(&model);
    assert!(
        shown.contains("The moment of the last message, 20") && shown.contains("q ends the demo"),
        "{shown}"
    );
    model.common.info.bar = None;
    type_keys(&mut model, &source.data(), "1");
    let shown = drawn_text(&model);
    assert!(shown.contains("All screens show this moment again."), "{shown}");
}

/// A filter or a scope of an earlier step hides nothing of a later one.
#[test]
fn tour_is_true_with_a_filter_in_force() {
    let source = ScriptedStore::new(PROBLEMS);
    let mut model = toured(100, 40);
    let mut at = |keys: &str, step: usize, sees: &str| {
        type_keys(&mut model, &source.data(), keys);
        let shown = drawn_text(&model);
        assert!(shown.contains(&format!("tour, step {step} of 11")), "{keys}\n{shown}");
        assert!(shown.contains(sees) && !shown.contains("nothing matches"), "{keys}: {sees}\n{shown}");
    };
    at("}", 2, "problem 1 of");
    at("6d3Lt", 5, "one arrow each");
    at("/kind:nack<enter>", 6, "match kind:nack");
    at("7", 7, "server owes");
    at("8", 8, "from listeners to endpoints");
    at("", 8, "reviews");
}

#[test]
fn keys_to_press_stay_on_a_small_terminal() {
    let source = ScriptedStore::new(PROBLEMS);
    let mut model = toured(80, 24);
    model.say("a notice that comes with the first facts, and is long enough to take several lines of a small screen");
    type_keys(&mut model, &source.data(), "");
    let shown = drawn_text(&model);
    for part in ["you see", "is refused.", "press", "} chooses the next problem", "a notice that comes"] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    type_keys(&mut model, &source.data(), "3");
    let footer = drawn_text(&model).lines().last().map(str::to_owned);
    assert!(footer.is_some_and(|keys| keys.contains("q quit")), "q ends the demo on every screen");
}

#[test]
fn tour_waits_for_facts_that_are_not_there() {
    let source = ScriptedStore::new(
        "node edge\nstream 1 ads\n+0s 1 > cds\n+1s 1 < cds v=1 n=a [c]\n+2s 1 > cds v=1 n=a\n",
    );
    let mut model = toured(100, 40);
    type_keys(&mut model, &source.data(), "");
    let shown = drawn_text(&model);
    assert!(shown.contains("(not yet: in a moment the control plane pushes"), "{shown}");
    assert!(!shown.contains("is refused"), "{shown}");
}

#[test]
fn tour_leaves_room_and_can_be_hidden() {
    let source = ScriptedStore::new(PROBLEMS);
    for (width, height) in [(80, 24), (100, 30), (200, 60)] {
        let mut model = toured(width, height);
        type_keys(&mut model, &source.data(), "");
        let shown = drawn_text(&model);
        assert!(shown.contains("tour, step 1") && shown.contains("edge-gw-1"), "{shown}");
        type_keys(&mut model, &source.data(), ":tour<enter>");
        assert!(!drawn_text(&model).contains("tour, step"));
        type_keys(&mut model, &source.data(), ":tour<enter>");
        assert!(drawn_text(&model).contains("tour, step"));
    }
    let mut model = toured(60, 15);
    type_keys(&mut model, &source.data(), "");
    assert!(!drawn_text(&model).contains("tour, step"), "no room: {}", drawn_text(&model));
}

#[test]
fn quitting_the_demo_asks_nothing_on_any_screen() {
    let source = ScriptedStore::new(PROBLEMS);
    for keys in ["1", "2", "3", "4", "5", "6", "7", "8", "9", "1}", "1}<enter>", "3\\"] {
        let mut model = toured(100, 30);
        type_keys(&mut model, &source.data(), keys);
        assert_eq!(type_keys(&mut model, &source.data(), "q"), [Effect::Quit], "{keys}");
    }
    let mut model = toured(100, 30);
    assert_eq!(type_keys(&mut model, &source.data(), "3^c"), [Effect::Quit]);
    assert_eq!(model.screen, ScreenId::Timeline);
}

#[test]
fn tour_counts_only_what_the_user_did() {
    let source = ScriptedStore::new(PROBLEMS);
    let mut model = toured(100, 30);
    type_keys(&mut model, &source.data(), "2");
    let shown = drawn_text(&model);
    assert!(
        shown.contains("tour, step 1 of 11") && !shown.contains("done:"),
        "no problem is chosen: {shown}"
    );
    type_keys(&mut model, &source.data(), ":flapping<enter>6");
    let shown = drawn_text(&model);
    assert!(shown.contains("nothing was refused") && !shown.contains("the refusal is open"), "{shown}");
    // Only messages in scope are counted.
    let mut model = toured(100, 40);
    type_keys(&mut model, &source.data(), "}6d3t");
    let shown = drawn_text(&model);
    let listed = model.screens.timeline.index.len();
    assert!(
        listed < 47 && shown.contains(&format!("{listed} events in scope, 47 in all")),
        "{listed}: {shown}"
    );
}

#[test]
fn tour_leaves_all_nodes_of_the_demo_on_the_screen() {
    let source = ScriptedStore::new(PROBLEMS);
    let mut model = toured(100, 30);
    type_keys(&mut model, &source.data(), "");
    let shown = drawn_text(&model);
    assert!(shown.contains("tour, step 1"), "{shown}");
    let nodes = model.screens.overview.table.rows.iter().take(6).map(|row| row.name.clone());
    for node in nodes {
        assert!(shown.lines().skip(4).take(7).any(|line| line.contains(&node)), "{node}\n{shown}");
    }
}
