//! Charts of a recording, on the time of the replay bar.

use crate::data::{ReplayMark, Sign};
use crate::tests::drawn_text;
use crate::tests::script::ScriptedStore;
use crate::tests::type_keys;
use xdscope_wire::event::Time;

use super::places::replayed;

/// In a recording, the replay bar is the axis of the charts: a NACK stands above its mark.
#[test]
fn charts_of_a_recording_stand_above_the_replay_bar() {
    let source = ScriptedStore::gateway();
    for (columns, rows) in [(160, 45), (200, 60)] {
        for keys in ["", "2"] {
            let mut model = replayed(&source, "");
            model.common.size = (columns, rows);
            let end = source.store().now();
            let nacks = [40_019, 50_015, 55_010].map(|millis| Time(millis * 1_000_000));
            let marks = nacks.map(|at| ReplayMark { at, n: 1, sign: Sign::Nack });
            let bar = model.common.info.bar.as_mut().expect("a replay bar");
            (bar.marks, bar.now, bar.end) = (marks.into(), end, end);
            type_keys(&mut model, &source.data(), keys);
            let shown = drawn_text(&model);
            let lines: Vec<&str> = shown.lines().collect();
            let band = lines.iter().position(|line| line.starts_with(" pushes ")).expect("a band");
            let starts = ["pushes ", "NACKs ", "slowest ", "messages "].map(|word| format!(" {word}"));
            for (line, start) in lines[band..].iter().zip(&starts) {
                assert!(line.starts_with(start), "{start}\n{shown}");
            }
            let columns_of = |line: &str, mark: char| -> Vec<usize> {
                line.chars().enumerate().filter(|(_, c)| *c == mark).map(|(at, _)| at).collect()
            };
            let marked = columns_of(lines[band + 4], 'n');
            let drawn = columns_of(lines[band + 1], '✗');
            // Screen 2 is about the first client, whose two refusals have marks.
            assert_eq!(drawn.len(), if keys.is_empty() { 3 } else { 2 }, "{shown}");
            assert!(drawn.iter().all(|at| marked.contains(at)), "{drawn:?} {marked:?}\n{shown}");
            assert!(!model.is_searching(), "{shown}");
        }
    }
}

/// A low terminal leaves the lines to the list of problems.
#[test]
fn low_replay_has_no_charts() {
    let source = ScriptedStore::gateway();
    let mut model = replayed(&source, "");
    model.common.size = (120, 36);
    type_keys(&mut model, &source.data(), "");
    assert!(!drawn_text(&model).contains(" slowest "), "{}", drawn_text(&model));
}
