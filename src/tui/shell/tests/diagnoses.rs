//! The table of diagnoses in docs/diagnoses.md: at most two keys from the first screen.

use crate::input::screen_id::ScreenId;
use crate::tests::script::ScriptedStore;
use crate::tests::{PLAIN, drawn_text, model, type_keys};

use super::every_key::harness_key;
use super::places::{PROBLEMS, replayed};

const TABLE: &str = include_str!("../../../../docs/diagnoses.md");

/// The words in backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn ten_diagnoses_need_at_most_two_keys() {
    let source = ScriptedStore::new(PROBLEMS);
    let rows: Vec<Vec<&str>> = TABLE
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains("? |"))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    assert_eq!(rows.len(), 10);
    for row in rows {
        let [question, keys, screen, text] = row.as_slice() else { panic!("not four cells: {row:?}") };
        let keys = quoted(keys);
        assert!(keys.len() <= 2, "{question}");
        let typed: String = keys.iter().map(|key| harness_key(key)).collect();
        let wanted = quoted(text).concat();
        let [mut live, mut small] = [(100, 40), (80, 24)].map(|(width, height)| model(width, height, PLAIN));
        type_keys(&mut live, &source.data(), &typed);
        type_keys(&mut small, &source.data(), &typed);
        let mut replayed = replayed(&source, "");
        replayed.common.size = (100, 40);
        type_keys(&mut replayed, &source.data(), &typed);
        for model in [&live, &replayed, &small] {
            let shown = drawn_text(model);
            assert!(shown.contains(&wanted), "{question} {keys:?}: {wanted}\n{shown}");
            assert!(
                ScreenId::ALL.iter().any(|id| id.title() == *screen && *id == model.screen),
                "{question}"
            );
        }
    }
}
