//! The messages around the selection, below screens that leave room.

use crate::tests::screen;
use crate::tests::script::ScriptedStore;

/// The heading of the pane, if there is one.
fn heading(keys: &str, (width, height): (u16, u16)) -> Option<String> {
    let source = ScriptedStore::gateway();
    let drawn = screen(&source.data(), keys, width, height);
    drawn.lines().find(|line| line.starts_with("── messages")).map(str::to_owned)
}

#[test]
fn large_terminals_show_the_messages_of_the_selection() {
    for (keys, scope) in [("5", ", CDS bright"), ("6", ", CDS bright"), ("7", ""), ("8", ""), ("9", "")] {
        for size in [(160, 45), (200, 60)] {
            let heading = heading(keys, size).unwrap_or_else(|| panic!("{keys} at {size:?}"));
            assert!(heading.contains("messages of stream #") && heading.contains(scope), "{keys}: {heading}");
            assert!(heading.contains("3 timeline"), "{keys}: {heading}");
        }
        assert_eq!(heading(keys, (120, 36)), None, "{keys}");
        assert_eq!(heading(&format!("{keys}\\"), (200, 60)), None, "{keys}: full screen");
    }
    assert!(heading("4", (200, 60)).is_some(), "a short body leaves room");
    assert!(heading("2a", (200, 60)).is_some(), "the list of streams leaves room");
}

#[test]
fn the_pane_ends_with_the_answer_to_a_refused_push() {
    let source = ScriptedStore::gateway();
    let drawn = screen(&source.data(), "6", 200, 60);
    let (_, pane) = drawn.split_once("── messages of stream #1, CDS bright").expect("a pane");
    let push = pane.find("resend").expect("the refused push");
    let refusal = pane.find("NACK #21").expect("its NACK");
    assert!(push < refusal, "{pane}");
    assert!(!pane.contains("── messages of"), "one pane: {pane}");
}

/// Blank lines below the content of a screen, in a row.
fn blank_lines(drawn: &str) -> usize {
    let is_blank = |line: &str| line.chars().all(|c| c == ' ' || c == '│');
    let lines: Vec<bool> = drawn.lines().map(is_blank).collect();
    lines.split(|blank| !blank).map(<[bool]>::len).max().unwrap_or(0)
}

#[test]
fn messages_take_the_lines_that_a_screen_leaves() {
    let source = ScriptedStore::gateway();
    for keys in ["5", "6", "7", "8", "9"] {
        let high = screen(&source.data(), keys, 200, 60);
        let messages =
            |drawn: &str| drawn.lines().skip_while(|line| !line.starts_with("── messages")).count();
        let low = screen(&source.data(), keys, 200, 45);
        assert!(messages(&high) >= messages(&low), "{keys}: {high}");
        assert!(blank_lines(&high) < 20, "{keys}: {} blank lines:\n{high}", blank_lines(&high));
    }
}

#[test]
fn the_pane_keeps_its_place_while_the_selection_moves() {
    let source = ScriptedStore::gateway();
    let place = |keys: &str| {
        let drawn = screen(&source.data(), keys, 200, 60);
        drawn.lines().position(|line| line.starts_with("── messages")).expect("a pane")
    };
    for screen in ["6", "8", "9"] {
        // The content of each selection counts from then on.
        let all: String = "j".repeat(30) + &"k".repeat(30);
        let settled = place(&format!("{screen}{all}"));
        for moved in 1..5 {
            assert_eq!(place(&format!("{screen}{all}{}", "j".repeat(moved))), settled, "{screen} {moved}");
        }
    }
}
