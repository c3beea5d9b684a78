//! Starts of the screens: the first frame is whole, and nothing is written over it.

use std::sync::PoisonError;

use super::{END_OF_FRAME, Terminal};

/// The number of starts of each verb in place of [`STARTS`]; see CONTRIBUTING.md.
const STARTS_VARIABLE: &str = "XDSCOPE_STARTS";
const STARTS: usize = 3;

const SESSION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/tui/gateway.xds");

/// Verbs with screens, and words that their screens show in the end.
const RUNS: [(&[&str], &str); 3] = [
    (&["demo", "--no-record"], "edge-gw-1"),
    (&["serve", SESSION, "--listen", "127.0.0.1:0", "--no-record"], "Overview"),
    (&["replay", SESSION], "edge-gw-2"),
];

/// Returns what is wrong with a screen of 100 by 30 cells: its first lines and its last one have a
/// fixed content, and words for stderr are not on it.
fn torn(screen: &vt100::Screen) -> Option<String> {
    let rows: Vec<String> = screen.rows(0, 100).collect();
    let has = |row: usize, text: &str| rows.get(row).is_some_and(|line| line.contains(text));
    let is_whole = screen.alternate_screen()
        && has(0, " xdscope ")
        && has(2, "[1 Overview]")
        && has(3, "scope ")
        && has(29, ": command")
        && !rows.iter().any(|row| row.contains("xdscope: "));
    (!is_whole).then(|| rows.join("\n"))
}

/// Starts a program, and returns its first torn screen.
fn start(args: &[&str], shown: &str) -> Option<String> {
    let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_xdscope"), args);
    terminal.until_written(END_OF_FRAME);
    let written = terminal.written.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let end = written.windows(END_OF_FRAME.len()).position(|bytes| bytes == END_OF_FRAME)?;
    let mut first = vt100::Parser::new(30, 100, 0);
    first.process(&written[..end]);
    terminal.until(shown);
    let later = terminal.screen.lock().unwrap_or_else(PoisonError::into_inner).screen().clone();
    let found = torn(first.screen()).or_else(|| torn(&later));
    terminal.press("q");
    assert_eq!(terminal.end(), 0, "{args:?}");
    terminal.assert_restored();
    found
}

#[test]
fn first_frame_of_each_start_is_whole() {
    let starts = std::env::var(STARTS_VARIABLE).map_or(STARTS, |text| text.parse().expect("a number"));
    let mut found = Vec::new();
    for _ in 0..starts {
        found.extend(RUNS.iter().filter_map(|(args, shown)| start(args, shown)));
    }
    let all = starts * RUNS.len();
    assert!(found.is_empty(), "{} of {all} starts are torn:\n{}", found.len(), found.join("\n\n"));
}
