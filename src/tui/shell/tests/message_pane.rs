//! The messages around the selection, below screens that leave room.

use crate::tui::tests::script::ScriptedStore;
use crate::tui::tests::{line, screen};

/// The heading of the pane, if there is one.
fn heading(keys: &str, (width, height): (u16, u16)) -> Option<String> {
    let source = ScriptedStore::gateway();
    let drawn = screen(&source.data(), keys, width, height);
    drawn.lines().find(|line| line.starts_with("── messages")).map(str::to_owned)
}

#[test]
fn large_terminals_show_the_messages_of_the_selection() {
    for (keys, scope) in [("5", " of CDS"), ("6", " of CDS"), ("7", ""), ("8", ""), ("9", "")] {
        for size in [(160, 45), (200, 60)] {
            let heading = heading(keys, size).unwrap_or_else(|| panic!("{keys} at {size:?}"));
            assert!(heading.contains(&format!("messages{scope}")), "{keys}: {heading}");
            assert!(heading.contains("3 timeline"), "{keys}: {heading}");
        }
        assert_eq!(heading(keys, (120, 36)), None, "{keys}");
        assert_eq!(heading(&format!("{keys}\\"), (200, 60)), None, "{keys}: full screen");
    }
    assert_eq!(heading("4", (200, 60)), None, "bodies fill a high terminal");
}

#[test]
fn the_pane_ends_with_the_answer_to_a_refused_push() {
    let source = ScriptedStore::gateway();
    let drawn = screen(&source.data(), "6", 200, 60);
    let (_, pane) = drawn.split_once("── messages of CDS").expect("a pane");
    let push = pane.find("resend").expect("the refused push");
    let refusal = pane.find("NACK #21").expect("its NACK");
    assert!(push < refusal, "{pane}");
    assert!(!pane.contains(" EDS "), "other types are left out: {}", line(pane, "EDS"));
}
