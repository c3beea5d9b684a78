//! Snapshots of screens.

use insta::assert_snapshot;

use crate::tui::widgets::theme::Theme;

use super::story::story;
use super::{screen, screen_in};

const SIZES: [(u16, u16); 3] = [(80, 24), (100, 30), (200, 60)];

fn at_all_sizes(name: &str, typed: &str) {
    for (width, height) in SIZES {
        assert_snapshot!(format!("{name}_{width}x{height}"), screen(&story(), typed, width, height));
    }
}

#[test]
fn overview() {
    at_all_sizes("overview", "");
}

#[test]
fn overview_problem_selected() {
    assert_snapshot!(screen(&story(), "}}", 100, 30));
}

#[test]
fn overview_type_selected() {
    assert_snapshot!(screen(&story(), "ll", 100, 30));
}

#[test]
fn stream() {
    at_all_sizes("stream", "ll<enter>");
}

#[test]
fn stream_that_ended() {
    assert_snapshot!(screen(&story(), "G<enter>", 100, 30));
}

#[test]
fn timeline() {
    at_all_sizes("timeline", "ll<enter>3kkkkk");
}

#[test]
fn timeline_of_all_streams() {
    assert_snapshot!(screen(&story(), "3g", 100, 30));
}

#[test]
fn ladder() {
    at_all_sizes("ladder", "ll<enter>3kkkkkL");
}

#[test]
fn body() {
    assert_snapshot!(screen(&story(), "3kv", 100, 30));
}

#[test]
fn message_in_full() {
    assert_snapshot!(screen(&story(), "3<enter>", 80, 24));
}

#[test]
fn help() {
    at_all_sizes("help", "3?");
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
fn snapshots_without_colour_and_unicode() {
    let ascii = Theme { color: false, ascii: true, contrast: false };
    assert_snapshot!("ascii_overview", screen_in(ascii, &story(), "", 100, 30));
    assert_snapshot!("ascii_timeline", screen_in(ascii, &story(), "ll<enter>3kkkkk", 100, 30));
    assert_snapshot!("ascii_ladder", screen_in(ascii, &story(), "ll<enter>3L", 100, 30));
    let mono = Theme { color: false, ascii: false, contrast: false };
    assert_eq!(screen_in(mono, &story(), "", 100, 30), screen(&story(), "", 100, 30));
}

#[test]
fn snapshots_of_empty_screens() {
    let mut nothing = story();
    nothing.rows.clear();
    nothing.streams.clear();
    nothing.states.clear();
    nothing.problems.clear();
    assert_snapshot!("empty_overview", screen(&nothing, "", 80, 24));
    assert_snapshot!("empty_stream", screen(&nothing, "2", 80, 24));
    assert_snapshot!("empty_timeline", screen(&nothing, "3", 80, 24));
    assert_snapshot!("empty_filter", screen(&story(), "3/kind:heartbeat<enter>", 80, 24));
    assert_snapshot!("too_small", screen(&story(), "", 59, 15));
}
