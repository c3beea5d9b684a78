//! The start of the screens in a real pseudo-terminal: the theme follows the background, and no
//! message is written over a frame.

use std::time::Duration;

use crate::support::wait::pass;

use super::screen::Terminal;

const RECORDING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/recordings/istio.xdsrec");
const SESSION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/tui/gateway.xds");
/// The question for the colour of the background.
const QUESTION: &[u8] = b"\x1b]11;?\x1b\\";
/// Longer than the first frame waits for an answer.
const LATE: Duration = Duration::from_millis(400);

fn replay() -> Terminal {
    let terminal = Terminal::start(env!("CARGO_BIN_EXE_xdscope"), &["replay", RECORDING]);
    terminal.until_written(QUESTION);
    terminal
}

/// Whether a cell has one of the 256 or more colours as its background.
fn has_background(screen: &vt100::Screen, background: vt100::Color) -> bool {
    let (rows, columns) = screen.size();
    let mut cells = (0..rows).flat_map(|row| (0..columns).filter_map(move |column| screen.cell(row, column)));
    cells.any(|cell| cell.bgcolor() == background)
}

#[test]
fn theme_follows_the_background_of_the_terminal() {
    // The selected rows of the themes `dark` and `light`, of 256 colours.
    for (answer, selection) in [("rgb:1e1e/1e1e/2e2e", 237), ("rgb:ffff/ffff/ffff", 254)] {
        let mut terminal = replay();
        terminal.press(&format!("\x1b]11;{answer}\x1b\\"));
        terminal.until("1 Overview");
        terminal.wait("the theme", |screen| has_background(screen, vt100::Color::Idx(selection)));
        terminal.press("q");
        assert_eq!(terminal.end(), 0);
    }
}

#[test]
fn late_answers_in_pieces_change_the_theme_and_are_no_keys() {
    let mut terminal = replay();
    terminal.until("1 Overview");
    terminal.wait("the default theme", |screen| has_background(screen, vt100::Color::Idx(236)));
    pass(LATE);
    for piece in ["\x1b]1", "1;rgb:1e1e/", "1e1e/2e2e\x1b", "\\"] {
        terminal.press(piece);
        pass(Duration::from_millis(20));
    }
    terminal.wait("the dark theme", |screen| has_background(screen, vt100::Color::Idx(237)));
    assert!(terminal.text().contains("[1 Overview]"), "{}", terminal.text());
    terminal.press("3");
    terminal.until("[3 Timeline]");
    terminal.press("1q");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn messages_of_the_start_are_not_written_over_the_screens() {
    for _ in 0..5 {
        let arguments = ["serve", SESSION, "--listen", "127.0.0.1:0", "--no-record"];
        let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_xdscope"), &arguments);
        terminal.wait("the screens or a refusal", |screen| {
            screen.alternate_screen() && screen.contents().contains("[1 Overview]")
        });
        let shown = terminal.text();
        assert!(shown.lines().next().is_some_and(|line| line.contains("xdscope")), "{shown}");
        assert!(!shown.contains("xdscope: listening"), "{shown}");
        terminal.press("q");
        terminal.end();
    }
}
