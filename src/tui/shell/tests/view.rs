//! Title, footer, help and prompts as drawn, and texts that are hard to draw.

use std::sync::Arc;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use ratatui::style::{Color, Modifier};

use crate::shell::effect::Msg;
use crate::shell::update::update;
use crate::tests::script::{REFUSED, ScriptedStore};
use crate::tests::story::{empty_story, story};
use crate::tests::{PLAIN, assert_snapshots, drawn, drawn_text, line, model, screen, type_keys, typed};
use xdscope_engine::nack::StatedFaults;
use xdscope_engine::problems::{Problem, RefusedPush};
use xdscope_engine::store::{PushedVersion, RowNote};
use xdscope_wire::text::must_escape;

#[test]
fn help() {
    assert_snapshots!("help", &story(), "3?");
}

#[test]
fn palette() {
    assert_snapshot!(screen(&story(), "3:nack", 100, 30));
}

#[test]
fn snapshots_of_a_filter() {
    assert_snapshot!("filter_good", screen(&story(), "3/kind:nack", 100, 30));
    assert_snapshot!("filter_bad", screen(&story(), "3/kind:nack<enter>/ kind:xyz", 100, 30));
}

#[test]
fn snapshot_of_a_small_terminal() {
    assert_snapshot!("too_small", screen(&story(), "", 59, 15));
}

#[test]
fn help_lists_screens_and_unavailable_keys() {
    let data = story();
    let help = |client| {
        let mut model = model(100, 120, PLAIN);
        model.common.info.client = client;
        type_keys(&mut model, &data, "?");
        drawn_text(&model)
    };
    let tapped = help(false);
    assert!(tapped.contains("Not available now") && tapped.contains("R!"), "{tapped}");
    assert!(tapped.contains("Where to look") && tapped.contains("stuck in warming"), "{tapped}");
    assert!(help(true).contains("On the wire") && !help(true).contains("Not available now"));
}

#[test]
fn escapes_hostile_text() {
    let evil = "\x1b]0;owned\x07\x1b[2J\u{202e}\u{e0041}\u{200b}\u{9b}\u{7f}evil\r\n";
    let mut data = story();
    for row in &mut data.rows {
        row.row.version = evil.into();
        row.row.nonce = evil.into();
        row.row.node = Some(evil.into());
        row.row.note = row.note.as_ref().map(|_| Arc::new(RowNote::Undecodable(evil.into())));
        row.row.error = row.error.as_ref().map(|(code, _)| (*code, evil.into()));
        row.added = vec![evil.into()];
        row.row.type_url = evil.into();
    }
    for state in &mut data.states {
        state.summary.type_url = evil.into();
        state.versions.in_force = Some(evil.into());
        state.subscription.missing = vec![evil.into()];
    }
    for stream in &mut data.streams {
        stream.method = evil.to_owned();
        stream.peer = Some(evil.to_owned());
        stream.control_plane = Some(evil.into());
        stream.node = None;
    }
    for problem in &mut data.problems {
        problem.problem = Problem::Refused(RefusedPush {
            version: PushedVersion::Whole(evil.into()),
            implied: false,
            is_explained: true,
            times: 2,
            open: 1,
            first: data.now,
            is_resent: true,
            in_force: Some(evil.into()),
            knows_in_force: true,
            message: Some(evil.into()),
            faults: StatedFaults::read(evil, &[]),
            is_file: false,
            is_guess: false,
            unanswered: None,
            unused: 0,
            users: Vec::new(),
            broken: None,
            by_version: Vec::new(),
        });
        problem.node = Some(evil.into());
    }
    let prompts = ["/\u{7f}\u{202e}", ":\u{202e}"];
    let screens = ["", "2", "3", "3L", "3<enter>", "3v", "4", "4<enter>", "5", "6", "7", "8", "9"];
    for keys in screens.into_iter().chain(prompts) {
        for (width, height) in [(80, 24), (100, 30), (200, 60)] {
            let mut model = model(width, height, PLAIN);
            model.common.info.source = evil.to_owned();
            type_keys(&mut model, &data, keys);
            for cell in &drawn(&model).content {
                let raw = cell.symbol().chars().any(must_escape);
                assert!(!raw, "{keys} {width}x{height}: {:?}", cell.symbol());
            }
        }
    }
    assert!(screen(&data, "3", 200, 60).contains("\\x1b[2J"));
}

#[test]
fn resizes_panes_within_the_screen() {
    let data = story();
    for keys in ["3", "9", "6", "4", "7"] {
        for by in ["+", "-"] {
            for (width, height) in [(60, 15), (80, 24), (200, 60)] {
                let mut model = model(width, height, PLAIN);
                type_keys(&mut model, &data, &format!("{keys}{}", by.repeat(60)));
                drawn_text(&model);
            }
        }
    }
    let rows = |keys: &str| typed(&data, keys).screens.timeline.window.len();
    assert!(rows("3+") < rows("3") && rows("3-") > rows("3+"));
}

/// The second line of every screen.
fn verdict(data: &dyn crate::data::Data, keys: &str) -> String {
    screen(data, keys, 200, 30).lines().nth(1).unwrap_or_default().trim().to_owned()
}

#[test]
fn verdict_is_the_worst_problem_on_every_screen() {
    let source = ScriptedStore::new(REFUSED);
    for keys in ["1", "2", "3", "4", "5", "6", "7", "8", "9"] {
        let verdict = verdict(&source.data(), keys);
        assert!(
            verdict.starts_with("✗ edge refused CDS 42 since +4.0s: reviews: no; version 41 in force"),
            "{keys} {verdict}"
        );
    }
    let source = ScriptedStore::gateway();
    let model = typed(&source.data(), "");
    let more = model.common.problems.count() - 1;
    assert!(verdict(&source.data(), "").contains(&format!("+{more} more  }}")), "one list");
}

#[test]
fn verdict_says_that_all_is_well_or_still_in_time() {
    let accepted: String = REFUSED.lines().take(5).map(|line| format!("{line}\n")).collect();
    let source = ScriptedStore::new(&accepted);
    let shown = verdict(&source.data(), "");
    assert!(shown.starts_with("✓ 1 node in sync; last push "), "{shown}");
    let source = ScriptedStore::new("node edge\nstream 1 ads\n+0s 1 > cds\n");
    let shown = verdict(&source.data(), "");
    assert!(shown.starts_with("⋯ no problem; edge: server owes CDS"), "{shown}");
    assert!(verdict(&empty_story(), "").contains("no stream yet"));
}

#[test]
fn one_row_is_selected_in_one_piece() {
    let source = ScriptedStore::gateway();
    for keys in [
        "",
        "}",
        "2",
        "2<tab>",
        "3",
        "3<tab>",
        "3L",
        "4",
        "4<tab>",
        "4<tab><tab>",
        "6",
        "7",
        "7<tab>",
        "8",
        "9",
        ":",
    ] {
        let mut model = model(120, 36, PLAIN);
        type_keys(&mut model, &source.data(), keys);
        let buffer = drawn(&model);
        let width = usize::from(buffer.area.width);
        let is_reversed = |cell: &ratatui::buffer::Cell| cell.modifier.contains(Modifier::REVERSED);
        let selected: Vec<usize> =
            (0..buffer.content.len()).filter(|at| is_reversed(&buffer.content[*at])).collect();
        let mut pieces = selected.chunk_by(|a, b| *b == a + 1);
        // A problem takes some rows, with the words of the client.
        let rows: std::collections::BTreeSet<usize> = selected.iter().map(|at| at / width).collect();
        let most = if keys == "}" { 4 } else { 1 };
        assert!(rows.len() <= most && pieces.by_ref().count() <= most, "{keys}: {rows:?}");
        assert!(selected.iter().all(|at| buffer.content[*at].fg == Color::Reset), "{keys}: one colour");
    }
}

#[test]
fn keeps_the_keys_on_a_low_terminal() {
    let source = ScriptedStore::new(REFUSED);
    let mut model = model(80, 24, PLAIN);
    update(&mut model, Msg::Notice("a hint of many words ".repeat(6)), &source.data());
    let shown = drawn_text(&model);
    let last = shown.lines().last().unwrap();
    assert!(last.contains("? help") && last.contains("q quit"), "{shown}");
    assert!(shown.lines().rev().skip(1).take(2).all(|line| line.contains("a hint of many words")), "{shown}");
}

#[test]
fn draws_long_texts_in_time() {
    let name = format!("n{}", "x".repeat(300_000));
    for long in
        ["x".repeat(300_000), "e ".repeat(150_000), "Proto constraint validation failed ".repeat(9000)]
    {
        let source = ScriptedStore::new(&format!(
            "node edge\nstream 1 ads\n+0s 1 > cds\n+1s 1 < cds v=1 n=a [\"{name}\"]\n\
             +2s 1 > cds v= n=a nack=\"{name}: {long}\" code=13\n+3s 1 > eds v= n= names=[\"{name}\"]\n"
        ));
        for keys in ["1", "2", "3", "3k", "4", "5", "6", "7", "8", "9", "6\\G", "3k\\G", "3kvvw"] {
            let mut model = model(100, 30, PLAIN);
            type_keys(&mut model, &source.data(), keys);
            let start = Instant::now();
            update(&mut model, Msg::Changed, &source.data());
            let shown = drawn_text(&model);
            // Twenty times the usual time of an unoptimized build. Laying out the full text takes
            // minutes.
            assert!(start.elapsed() < Duration::from_secs(2), "{keys}: {:?}\n{shown}", start.elapsed());
        }
    }
}

#[test]
fn help_says_how_it_goes_on_and_how_the_mouse_is_used() {
    let data = story();
    let shown = screen(&data, "?", 80, 24);
    assert!(shown.lines().nth(3).is_some_and(|line| line.contains(" lines below, j")), "{shown}");
    let end = screen(&data, "?G", 80, 24);
    assert!(!end.contains("lines below"), "{end}");
    assert!(screen(&data, "?", 200, 200).contains(":set mouse on"));
}

/// On narrow terminals the verdict leaves out the times, not the reason.
#[test]
fn verdict_keeps_the_reason_on_narrow_terminals() {
    let source = ScriptedStore::gateway();
    for (width, part) in
        [(80, "timeout must be greater than 0s"), (100, "reviews: connect_timeout: value must be")]
    {
        let shown = screen(&source.data(), "", width, 30);
        let verdict = shown.lines().nth(1).unwrap_or_default();
        assert!(verdict.contains("refused CDS (2×): revi") && verdict.contains(part), "{verdict}");
    }
    let wide = screen(&source.data(), "", 120, 36);
    let verdict = wide.lines().nth(1).unwrap_or_default();
    assert!(
        verdict.contains("refused CDS 42 since +40.0s (2×): reviews: connect_timeout: value"),
        "{verdict}"
    );
}

#[test]
fn narrow_terminals_show_the_tab_of_the_screen() {
    let source = ScriptedStore::gateway();
    for (key, tab) in [("1", "[1 Overview]"), ("9", "[9 Lint "), ("0", "[0 Hold]")] {
        let drawn = screen(&source.data(), key, 60, 15);
        let tabs = drawn.lines().nth(2).expect("tabs");
        assert!(tabs.contains(tab), "{key}: {tabs}");
        assert!(["1", "5", "9", "0"].iter().all(|number| tabs.contains(number)), "{key}: {tabs}");
    }
}

#[test]
fn wide_lists_of_messages_have_the_reasons_of_refusals() {
    let source = ScriptedStore::gateway();
    let wide = screen(&source.data(), "6", 200, 60);
    assert!(
        line(&wide, "NACK #").contains("reviews: connect_timeout: value must be greater than 0s"),
        "{wide}"
    );
    assert!(!screen(&source.data(), "3", 120, 36).contains("NOTE"), "other columns come first");
}
