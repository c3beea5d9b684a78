//! Orders and columns of lists, and lists as tables.

use crate::input::context::Context;
use crate::shell::commands::columns::ENTRY_KEYS;
use crate::shell::effect::Effect;
use crate::shell::model::Model;
use crate::tests::script::ScriptedStore;
use crate::tests::{drawn_text, line, type_keys, typed};

use super::places::PROBLEMS;

/// The first words of the rows below a title.
fn first_words(model: &Model, title: &str, rows: usize) -> Vec<String> {
    let shown = drawn_text(model);
    let lines = shown.lines().skip_while(|line| !line.contains(title)).skip(1).take(rows);
    lines
        .map(|line| line.trim_start_matches(['▌', '#', ' ']).split(' ').next().unwrap_or("").to_owned())
        .collect()
}

#[test]
fn sorts_by_any_column_in_both_directions() {
    let source = ScriptedStore::new(PROBLEMS);
    let mut model = typed(&source.data(), "s");
    let shown = drawn_text(&model);
    for part in ["[x] problems first", "4  [ ] by NODE", "by CDS", "numbers and letters choose"] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    type_keys(&mut model, &source.data(), "4");
    let nodes = first_words(&model, "NODE ", 5);
    assert_eq!(
        nodes,
        ["edge-gw-1", "edge-gw-2", "flapping", "ratings-v1", "silent-1"],
        "{}",
        drawn_text(&model)
    );
    assert!(drawn_text(&model).contains("by NODE, ascending"), "{}", drawn_text(&model));
    type_keys(&mut model, &source.data(), "s4");
    assert_eq!(first_words(&model, "NODE ", 5)[0], "silent-1", "again: the other way round");
    // By state, the worst first; kept while the session runs.
    type_keys(&mut model, &source.data(), "sjj<enter>21");
    assert!(drawn_text(&model).contains("by "), "{}", drawn_text(&model));
    type_keys(&mut model, &source.data(), "s1");
    assert!(drawn_text(&model).contains("problems first"));
    for keys in ["2s", "6s", "7s", "9s"] {
        let shown = drawn_text(&typed(&source.data(), keys));
        assert!(shown.contains("[x]"), "{keys}");
        let footer = shown.lines().last().unwrap_or_default();
        assert!(!footer.contains("by name"), "each entry has its own key: {footer}");
    }
    let model = typed(&source.data(), "3s");
    assert!(model.common.notice.is_some_and(|notice| notice.contains("order of time")));
    let model = typed(&source.data(), "8s");
    assert!(model.common.notice.is_some_and(|notice| notice.contains("1, 2, 6, 7 and 9")));
}

#[test]
fn sorts_types_by_numbers() {
    let source = ScriptedStore::new(PROBLEMS);
    let mut model = typed(&source.data(), ":edge-gw-1<enter>s");
    let shown = drawn_text(&model);
    let pushes = line(&shown, "by PUSHES");
    let number = pushes.split_whitespace().next().expect("a number").to_owned();
    type_keys(&mut model, &source.data(), &format!("{number}s{number}"));
    assert_eq!(first_words(&model, "TYPE ", 1), ["CDS"], "two pushes: {}", drawn_text(&model));
}

#[test]
fn chosen_columns_stay_chosen() {
    let source = ScriptedStore::new(PROBLEMS);
    let mut model = typed(&source.data(), "3C");
    let shown = drawn_text(&model);
    assert!(shown.contains("[x] NONCE") && shown.contains("[x] SIZE"), "{shown}");
    let number = line(&shown, "NONCE").split_whitespace().next().expect("a number").to_owned();
    type_keys(&mut model, &source.data(), &number);
    assert!(drawn_text(&model).contains("[ ] NONCE"), "{}", drawn_text(&model));
    type_keys(&mut model, &source.data(), "<esc>");
    assert!(!drawn_text(&model).contains("NONCE"), "{}", drawn_text(&model));
    type_keys(&mut model, &source.data(), "13");
    assert!(!drawn_text(&model).contains("NONCE"));
    type_keys(&mut model, &source.data(), "C1");
    assert!(model.common.notice.as_ref().is_some_and(|notice| notice.contains("# stays")));
    type_keys(&mut model, &source.data(), "<esc>1C");
    let cds = line(&drawn_text(&model), "] CDS").split_whitespace().next().expect("a number").to_owned();
    type_keys(&mut model, &source.data(), &format!("{cds}<esc>"));
    let shown = drawn_text(&model);
    assert!(shown.lines().any(|line| line.contains("REASON") && !line.contains("CDS")), "{shown}");
    let model = typed(&source.data(), "8C");
    assert!(model.common.notice.is_some_and(|notice| notice.contains("no table here")));
}

#[test]
fn copies_lists_as_markdown() {
    let source = ScriptedStore::new(PROBLEMS);
    let copy = |keys: &str| match type_keys(&mut typed(&source.data(), keys), &source.data(), "ym").as_slice()
    {
        [Effect::Copy(text)] => text.clone(),
        other => panic!("{keys}: {other:?}"),
    };
    let nodes = copy("1");
    assert!(nodes.starts_with("| NODE | VARIANT |"), "{nodes}");
    assert!(nodes.contains("\n| --- | --- |") && nodes.contains("| edge-gw-1 | ads |"), "{nodes}");
    assert!(copy("6").contains(r"reviews: connect\_timeout: value must be greater than 0s"));
    let messages = copy("3");
    let rows = typed(&source.data(), "3").screens.timeline.index.len();
    assert_eq!(messages.lines().count(), rows + 2, "all rows, not only those on the screen");
    for keys in ["2", "2a", "7", "9"] {
        assert!(copy(keys).lines().count() > 2, "{keys}");
    }
    let mut model = typed(&source.data(), "4");
    assert_eq!(type_keys(&mut model, &source.data(), "ym"), []);
    assert!(model.common.notice.is_some_and(|notice| notice.contains("no table to copy")));
}

#[test]
fn every_entry_of_a_menu_has_a_key() {
    let source = ScriptedStore::new(PROBLEMS);
    let mut model = typed(&source.data(), "3C");
    let shown = drawn_text(&model);
    let last = line(&shown, "[x] LAT").split_whitespace().next().expect("a key").to_owned();
    assert!(shown.contains("numbers and letters choose"), "{shown}");
    type_keys(&mut model, &source.data(), &last);
    assert!(drawn_text(&model).contains("[ ] LAT"), "{last}: {}", drawn_text(&model));
    for context in [Context::Sort, Context::Columns] {
        let bound = |key: &char| model.keys.bindings(context).any(|binding| binding.key == key.to_string());
        let taken: Vec<char> = ENTRY_KEYS.chars().filter(|key| !key.is_ascii_digit()).filter(bound).collect();
        assert!(taken.is_empty(), "{taken:?} have commands in a menu");
    }
}

#[test]
fn menu_of_columns_marks_those_without_room() {
    let source = ScriptedStore::new(PROBLEMS);
    let mut small = crate::tests::model(80, 24, crate::tests::PLAIN);
    type_keys(&mut small, &source.data(), "2C");
    let shown = drawn_text(&small);
    let left_out = shown.lines().filter(|line| line.contains("no room at this width")).count();
    assert!(left_out > 0 && !line(&shown, "[x] STATE").contains("no room"), "{shown}");
    let mut wide = crate::tests::model(200, 60, crate::tests::PLAIN);
    type_keys(&mut wide, &source.data(), "2C");
    assert!(!drawn_text(&wide).contains("no room"), "{}", drawn_text(&wide));
}
