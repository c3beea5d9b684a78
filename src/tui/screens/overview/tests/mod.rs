//! Screen 1.

mod large;
pub(crate) mod problems;

use std::path::Path;
use std::time::Duration;

use insta::assert_snapshot;

use crate::common::Pane;
use crate::data::{Info, Mode, TapFigures};
use crate::input::screen_id::ScreenId;
use crate::screens::overview::cells::reason;
use crate::screens::stream::tests::states::state;
use crate::shell::effect::Msg;
use crate::shell::model::Model;
use crate::shell::update::{update, update_all};
use crate::tests::script::{REFUSED, ScriptedStore};
use crate::tests::story::{Story, empty_story, info, story, stream};
use crate::tests::{
    ASCII, PLAIN, assert_snapshots, drawn_text, keys, line, model, screen, screen_in, type_keys, typed,
};
use crate::widgets::theme::Theme;
use xdscope_engine::problems::Problem;
use xdscope_engine::store::TypeState;
use xdscope_present::report::Row;
use xdscope_wire::event::{Seq, Time, Variant};

#[test]
fn overview() {
    assert_snapshots!("overview", &story(), "");
}

#[test]
fn overview_problem_selected() {
    assert_snapshot!(screen(&story(), "}}", 100, 30));
}

#[test]
fn every_word_of_a_problem_can_be_read() {
    let long = format!("{} end-of-the-error", "all words of an error ".repeat(200));
    let source = ScriptedStore::new(&REFUSED.replace("reviews: no", &format!("reviews: {long}")));
    for (width, height) in [(80, 24), (100, 30), (130, 40), (200, 50)] {
        let mut model = model(width, height, PLAIN);
        type_keys(&mut model, &source.data(), "}");
        let shown = drawn_text(&model);
        for part in ["client refused CDS 42; version 41 in force", "blame", "problem 1 of 1: edge CDS NACK"] {
            assert!(shown.contains(part), "{width}x{height} {part}\n{shown}");
        }
        assert!(shown.contains("\\ full screen"), "{shown}");
        let mut seen = String::new();
        type_keys(&mut model, &source.data(), "\\");
        for _ in 0..80 {
            seen.push_str(&drawn_text(&model));
            type_keys(&mut model, &source.data(), "j");
        }
        assert!(seen.contains("end-of-the-error") && seen.contains("messages #4 #5"), "{width}x{height}");
        type_keys(&mut model, &source.data(), "<esc>");
        assert!(!model.common.is_full_screen);
    }
}

#[test]
fn problems_have_columns() {
    let shown = screen(&story(), "", 130, 40);
    let title = line(&shown, "PROBLEM");
    let row = line(&shown, "server owes EDS ledger-v2");
    for (name, value) in
        [("STATE", "∅ MISS"), ("NODE", "edge-gw-1"), ("TYPE", "EDS"), ("PROBLEM", "server owes")]
    {
        let place = |line: &str, part: &str| line.find(part).map(|at| line[..at].chars().count());
        assert_eq!(place(title, name), place(row, value), "{shown}");
    }
}

#[test]
fn overview_type_selected() {
    assert_snapshot!(screen(&story(), "ll", 100, 30));
}

#[test]
fn snapshots_without_colour_and_unicode() {
    assert_snapshot!("ascii_overview", screen_in(ASCII, &story(), "", 100, 30));
    assert_eq!(screen_in(Theme::MONO, &story(), "", 100, 30), screen(&story(), "", 100, 30));
}

#[test]
fn snapshots_of_charts() {
    let source = ScriptedStore::gateway();
    assert_snapshots!("charts", &source.data(), "");
    assert_snapshot!("ascii_charts", screen_in(ASCII, &source.data(), "", 120, 36));
}

#[test]
fn each_node_with_a_problem_has_a_reason_in_words() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/lint");
    let mut rows = 0;
    for entry in std::fs::read_dir(root).expect("fixtures").flatten() {
        let path = entry.path();
        let Some(text) =
            std::fs::read_to_string(&path).ok().filter(|_| path.to_string_lossy().ends_with(".bad.xds"))
        else {
            continue;
        };
        let source = ScriptedStore::new(&text);
        let model = typed(&source.data(), "");
        let (common, table) = (&model.common, &model.screens.overview.table);
        for problem in common.problems.all.iter().filter(|problem| problem.is_wrong()) {
            let has_problem = |row: &&Row| row.all_streams().any(|stream| stream == problem.stream);
            let Some(row) = table.rows.iter().find(has_problem) else { continue };
            let reason = reason(common, row).text;
            let id = match &problem.problem {
                Problem::Broken(broken) => broken.rule.id,
                _ => "?",
            };
            assert!(!reason.is_empty() && !reason.starts_with(id), "{}: {reason:?}", path.display());
            rows += 1;
        }
    }
    assert!(rows > 100, "{rows} rows");
}

/// Reasons, sparklines and answers of each node.
#[test]
fn columns_give_way_to_the_reason() {
    let source = ScriptedStore::new(REFUSED);
    for (width, height, titles) in [
        (80, 24, &["REASON"][..]),
        (100, 30, &["PUSHES", "REASON"]),
        (120, 36, &["PUSHES", "ACK p50 p99", "STREAM", "REASON"]),
    ] {
        let shown = screen(&source.data(), "", width, height);
        let title = line(&shown, "REASON");
        assert!(titles.iter().all(|word| title.contains(word)), "{width}x{height}\n{shown}");
        assert!(shown.contains("CDS 42 refused"), "{width}x{height}\n{shown}");
    }
}

#[test]
fn columns_stay_while_ages_change() {
    let source = ScriptedStore::gateway();
    let mut model = model(120, 36, PLAIN);
    type_keys(&mut model, &source.data(), "");
    let titles = |model: &Model| line(&drawn_text(model), "REASON").to_owned();
    let before = titles(&model);
    for seconds in [9, 10, 59, 100, 4000, 90_000] {
        model.common.now = Time(model.common.now.0 + seconds * 1_000_000_000);
        assert_eq!(titles(&model), before, "after {seconds}s");
    }
}

#[test]
fn snapshot_without_streams() {
    assert_snapshot!("empty_overview", screen(&empty_story(), "", 80, 24));
}

#[test]
fn sorts_worst_first_and_keeps_the_selected_node() {
    let mut data = story();
    let mut model = typed(&data, "jj");
    let names: Vec<&str> = model.screens.overview.table.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names[..3], ["edge-gw-1", "ratings-v1-77d0", "grpc-cart-0"]);
    assert!(names.contains(&"payments-v3-1c2a"), "{names:?}");
    let key = model.screens.overview.selected;
    for state in &mut data.states {
        if state.summary.stream.0 == 3 {
            state.summary.state = TypeState::Nack;
        }
    }
    update(&mut model, Msg::Changed, &data);
    assert_eq!(model.screens.overview.selected, key);
    // Nodes are in the order of the list of problems, which has none of this node.
    assert_eq!(model.screens.overview.position(), Some(2));
}

#[test]
fn streams_of_a_node_share_a_row() {
    let model = typed(&story(), "");
    let row = |name: &str| model.screens.overview.table.rows.iter().find(|row| row.name == name).unwrap();
    assert_eq!(row("batch-9").streams.len(), 4);
    assert_eq!(row("batch-9").cells.iter().flatten().count(), 4);
    assert_eq!((row("payments-v3-1c2a").reconnects, row("payments-v3-1c2a").key.0), (1, 9));
}

#[test]
fn paused_overview_can_be_sorted_and_filtered() {
    let (mut data, names) = (story(), |model: &Model| -> Vec<String> {
        model.screens.overview.table.rows.iter().map(|row| row.name.clone()).collect()
    });
    let mut model = typed(&data, " ");
    let mut sorted = names(&model);
    data.streams.clear();
    type_keys(&mut model, &data, "s2");
    sorted.sort();
    assert_eq!(names(&model), sorted);
    type_keys(&mut model, &data, "/state:nack<enter>");
    assert!(!names(&model).is_empty() && names(&model).len() < sorted.len(), "{:?}", names(&model));
    type_keys(&mut model, &data, "/state:x<enter>");
    assert_eq!(names(&model), [""; 0]);
    type_keys(&mut model, &data, "<esc>");
    assert_eq!(names(&model), sorted);
    type_keys(&mut model, &data, " ");
    assert_eq!(names(&model), [""; 0], "and then it goes on");
}

/// The story with `count` more healthy nodes.
fn with_nodes(count: u32) -> Story {
    let mut data = story();
    for id in 100..100 + count {
        let stream = stream(id, &format!("node-{id}"), Variant::Ads, "13:53:00");
        data.states.push(state(&stream, xdscope_wire::event::Kind::Lds, TypeState::Synced, "13:53:20"));
        data.streams.push(stream);
    }
    data
}

#[test]
fn folds_healthy_nodes_among_many() {
    let data = with_nodes(100);
    let folded = typed(&data, "");
    assert_eq!((folded.screens.overview.table.rows.len(), folded.screens.overview.table.folded), (4, 102));
    let shown = screen(&data, "", 100, 30);
    assert!(shown.contains("102 more nodes") && shown.contains("101 SYNCED"), "{shown}");
    assert_eq!(typed(&data, "z").screens.overview.table.rows.len(), 106);
}

#[test]
fn typing_is_drawn_before_the_table_of_many_streams() {
    let mut data = with_nodes(250);
    data.moment = Some((data.rows.len(), data.now));
    let mut model = typed(&data, "z");
    let all = model.screens.overview.table.rows.len();
    let press = |model: &mut _, typed: &str| {
        update_all(model, keys(typed).into_iter().map(Msg::Key).collect(), &data);
    };
    press(&mut model, "/type:cds");
    assert_eq!((model.screens.overview.table.rows.len(), model.is_searching()), (all, true));
    update(&mut model, Msg::Changed, &data);
    let some = model.screens.overview.table.rows.len();
    assert!((1..all).contains(&some) && !model.is_searching(), "{some}");
    // Commands act on rows that match.
    press(&mut model, "?<enter>");
    assert_eq!((model.screens.overview.table.rows.len(), model.is_searching()), (0, false));
}

#[test]
fn sorts_lists_as_chosen() {
    let data = story();
    let names = |keys: &str| -> Vec<String> {
        let model = typed(&data, keys);
        assert!(model.overlays.is_empty());
        model.screens.overview.table.rows.iter().map(|row| row.name.clone()).collect()
    };
    let mut sorted = names("");
    assert_eq!(sorted.first().map(String::as_str), Some("edge-gw-1"));
    sorted.sort();
    assert_eq!(names("s2"), sorted);
    assert_eq!(names("s2s1"), names(""));
    let model = typed(&data, "3:sort<enter>");
    assert!(model.common.notice.is_some_and(|notice| notice.contains("screens 1, 2, 6, 7 and 9")));
}

#[test]
fn compares_two_nodes() {
    let source = ScriptedStore::gateway();
    let mut model = typed(&source.data(), "gD");
    let marked = model.screens.overview.marked;
    assert!(marked.is_some() && marked == model.screens.overview.selected);
    assert!(
        model.common.notice.as_ref().is_some_and(|notice| notice.contains("is marked")),
        "{:?}",
        model.common.notice
    );
    type_keys(&mut model, &source.data(), "jD");
    assert_eq!(model.screens.overview.marked, None);
    // The pushed contents are compared, although one client refused them.
    let notice = "edge-gw-2 against edge-gw-1: CDS ~1 -1 +0 (sent; in force 43 against 41)";
    assert_eq!(model.common.notice.as_deref(), Some(notice));
    type_keys(&mut model, &source.data(), "DD");
    assert!(
        model.common.notice.as_ref().is_some_and(|notice| notice.contains("is marked")),
        "a node against itself"
    );
}

#[test]
fn unreachable_server_is_a_problem_without_a_node() {
    let mut source = ScriptedStore::new(REFUSED);
    for (stream, at) in [(5, 5), (6, 6)] {
        source.fail(stream, at, "connect 10.0.0.1:18000 failed: Connection refused");
    }
    let overview = screen(&source.data(), "1", 240, 30);
    let row = line(&overview, " ! DOWN");
    let row = row.split_whitespace().take(5).collect::<Vec<_>>().join(" ");
    assert_eq!(row, "! DOWN 1s 10.0.0.1:18000 -", "{overview}");
    assert!(overview.contains("! 2 problems") && overview.contains("1 of 1 node "), "{overview}");
    assert!(!overview.contains("(connection)"), "{overview}");
}

#[test]
fn shows_problems_that_a_stream_closed_with() {
    let source = ScriptedStore::new(&format!("{REFUSED}+5s 1 close status=14 \"gone\"\n"));
    let shown = screen(&source.data(), "", 100, 30);
    assert!(line(&shown, "before the stream closed").contains("NACK"), "{shown}");
    assert!(line(&shown, "server ended the stream").contains("FAILING"), "{shown}");
    assert!(
        shown.contains("✗ NACK    1s     edge") && shown.contains("UNAVAILABLE gone; last request"),
        "{shown}"
    );
    assert!(shown.contains("! 2 problems ") && !shown.contains("\n none"), "{shown}");
    let accepted: String = REFUSED.lines().take(5).map(|line| format!("{line}\n")).collect();
    let source = ScriptedStore::new(&format!("{accepted}+5s 1 close status=14 \"gone\"\nadvance 5s\n"));
    let shown = screen(&source.data(), "", 100, 30);
    assert!(shown.contains("! 1 problem ") && shown.contains("UNAVAILABLE"), "{shown}");
    let source = ScriptedStore::new(&format!("{accepted}+5s 1 close\n"));
    let shown = screen(&source.data(), "", 100, 30);
    assert!(shown.contains("\n none") && !shown.contains("! 1 problem"), "the client left: {shown}");
}

#[test]
fn overview_shows_filter_result_and_order() {
    let source = ScriptedStore::new(REFUSED);
    let shown = screen(&source.data(), "/node:nobody<enter>", 100, 30);
    assert!(shown.contains("0 of 1 match; Esc clears"), "{shown}");
    assert!(screen(&source.data(), "", 100, 30).contains("· problems first"));
    assert!(screen(&source.data(), "s2", 100, 30).contains("· by name"));
}

#[test]
fn shows_latencies_of_answers_and_tap_and_the_backlog() {
    let source = ScriptedStore::gateway();
    let mut model = model(100, 30, PLAIN);
    let tap = TapFigures {
        added_delay: Some((Duration::from_micros(84), Duration::from_millis(3))),
        backlog: 3 << 20,
    };
    model.common.info = Info { tap: Some(tap), ..info() };
    type_keys(&mut model, &source.data(), "");
    let shown = drawn_text(&model);
    let traffic = line(&shown, "traffic");
    assert!(traffic.contains("ack p50 ") && traffic.contains("tap adds 84us, p99 3ms"), "{traffic}");
    assert!(shown.contains("3.1 MB not analysed yet"), "{shown}");
    assert!(shown.lines().next().is_some_and(|title| title.contains("3.1 MB not analysed yet")), "{shown}");
    model.common.info = Info { tap: Some(TapFigures { backlog: 1000, ..tap }), ..info() };
    type_keys(&mut model, &source.data(), "");
    assert!(!drawn_text(&model).contains("not analysed"), "analysed at once");
}

/// docs/protocol.md#h-05.
#[test]
fn names_what_an_updated_cluster_waits_for() {
    let source = ScriptedStore::new(include_str!("../../../../../tests/fixtures/scripts/S-35f.xds"));
    let shown = screen(&source.data(), "", 240, 40);
    let line = shown.lines().find(|line| line.contains("cluster c waits for EDS c again"));
    assert!(line.is_some_and(|line| line.contains("n1") && line.contains("the server owes it")), "{shown}");
    assert!(shown.contains("WARMING") && !shown.contains("client owes"), "{shown}");
}

#[test]
fn walk_of_problems_goes_on_after_a_visit_and_opens_their_nodes() {
    let data = story();
    let mut model = typed(&data, "}}<enter>");
    assert_ne!(model.screen, ScreenId::Overview);
    type_keys(&mut model, &data, "<esc>");
    assert_eq!((model.common.pane, model.common.problems.index()), (Pane::Second, 1));
    type_keys(&mut model, &data, "}");
    let chosen = model.common.problems.chosen().map(|problem| (problem.stream, problem.node.clone()));
    assert_eq!(model.common.problems.index(), 2);
    type_keys(&mut model, &data, "2");
    assert_eq!(model.common.scope.stream, chosen.map(|(stream, _)| stream));
}

#[test]
fn filter_and_type_narrow_the_list_of_problems() {
    let source = ScriptedStore::gateway();
    let mut model = typed(&source.data(), "");
    let all = model.common.problems.listed().len();
    type_keys(&mut model, &source.data(), "/type:cds<enter>");
    let listed = model.common.problems.listed();
    let is_cds = |at: &usize| model.common.problems.all[*at].type_url.as_str().ends_with(".Cluster");
    assert!(!listed.is_empty() && listed.len() < all && listed.iter().all(is_cds), "{listed:?} of {all}");
    let shown = drawn_text(&model);
    assert!(shown.contains(&format!("{} of {all} in scope", listed.len())), "{shown}");
}

/// Hidden is not absent: a filter chooses rows, and their cells stay.
#[test]
fn filter_hides_no_state_of_a_row_that_matches() {
    let data = story();
    let states = |shown: &str| {
        let row = shown.lines().find(|line| line.starts_with("▌ edge-gw-1 ")).expect("a row").to_owned();
        ["✗ NACK", "∅ 1/119"].map(|state| row.contains(state))
    };
    let shown = screen(&data, "/type:lds<enter>", 120, 36);
    assert_eq!(states(&shown), [true, true], "{shown}");
    assert!(!line(&shown, "CDS   ").contains("idle"), "{shown}");
    // A type in scope leaves out the columns of others, and says so where their problems would be.
    let source = ScriptedStore::new(REFUSED);
    let shown = screen(&source.data(), "/node:edge<enter>", 100, 30);
    assert!(shown.contains("✗ NACK"), "{shown}");
}

#[test]
fn empty_list_of_problems_counts_those_out_of_scope() {
    let source = ScriptedStore::gateway();
    let mut model = typed(&source.data(), "}}");
    // The first type is LDS, which has no problem.
    type_keys(&mut model, &source.data(), "t");
    let shown = drawn_text(&model);
    let all = model.common.problems.all.len();
    assert!(shown.contains(&format!("none in this scope, {all} in all; T shows all types")), "{shown}");
    assert_eq!(model.common.pane, Pane::Main, "an empty list has no focus");
    let selected = model.screens.overview.row().map(Row::full_name).expect("a node");
    assert!(shown.contains(&format!("selected: {selected}")), "{shown}");
}

#[test]
fn closed_node_is_not_drawn_as_healthy() {
    let source = ScriptedStore::new(
        "node edge\nstream 1 ads\n+0s 1 > cds\n+1s 1 < cds v=1 n=a [c]\n+2s 1 > cds v=1 n=a\n\
         +3s 1 close\n",
    );
    for (width, height) in [(80, 24), (100, 30), (200, 60)] {
        let shown = screen(&source.data(), "", width, height);
        let row = line(&shown, "▌ edge");
        assert!(row.contains("#✓") && row.contains("closed"), "{shown}");
    }
}

#[test]
fn unreachable_server_is_named_with_its_reason() {
    let why = "cannot reach 127.0.0.1:18009: Connection refused (os error 111) (attempt 3, next in 1.1s)";
    let lines = ["Cannot reach the control plane", "", why, "", "Try   xdscope doctor 127.0.0.1:18009"];
    let mut model = model(80, 24, PLAIN);
    let empty = lines.map(str::to_owned).to_vec();
    let notice = Some(why.to_owned());
    model.common.info =
        Info { mode: Mode::Disconnected, client: true, notice, empty, recording: None, ..info() };
    type_keys(&mut model, &empty_story(), "j");
    let shown = drawn_text(&model);
    let verdict = shown.lines().nth(1).unwrap_or_default();
    assert!(verdict.starts_with(" ! cannot reach 127.0.0.1:18009: Connection refused"), "{shown}");
    assert!(shown.contains("next in 1.1s)") && shown.contains("R! connects again now"), "{shown}");
    let footer = shown.lines().last().unwrap_or_default();
    assert!(footer.contains("R! reconnect") && footer.contains("q quit"), "{footer}");
    for useless in ["s sort", "Enter open", "/ filter", "} next", "S! "] {
        assert!(!footer.contains(useless), "{footer}");
    }
}

#[test]
fn counts_messages_of_a_problem_that_are_not_listed() {
    let mut data = story();
    data.problems[0].messages = (1..12).map(Seq).collect();
    let shown = screen(&data, "}", 100, 40);
    assert!(line(&shown, "messages #1 ").ends_with("#8 +3 more"), "{shown}");
}

#[test]
fn says_how_many_nodes_are_below() {
    let data = with_nodes(20);
    let shown = screen(&data, "", 100, 30);
    let title = line(&shown, "REASON");
    assert!(title.contains("nodes below"), "{title}");
}

/// The screen columns at which the titles of the nodes begin.
fn title_columns(model: &Model) -> Vec<(String, usize)> {
    let shown = drawn_text(model);
    let titles = line(&shown, "REASON");
    let titles: Vec<char> = titles.chars().collect();
    let starts = (0..titles.len()).filter(|at| titles[*at] != ' ' && (*at == 0 || titles[at - 1] == ' '));
    let word = |at: usize| titles[at..].iter().take_while(|c| **c != ' ').collect();
    starts.map(|at| (word(at), at)).collect()
}

#[test]
fn columns_stay_where_they_are_while_states_come_and_go() {
    let script = "node edge\nstream 1 ads\n+0s 1 > cds\n+1s 1 < cds v=1 n=a [c]\n+1.1s 1 > cds v=1 n=a\n\
                  +1.2s 1 > rds v= n= names=[r]\n+1.3s 1 < rds v=1 n=r [r]\n+1.4s 1 > rds v=1 n=r names=[r]\n";
    let nacks: String = (2..14)
        .map(|n| format!("+{n}s 1 < cds v={n} n=n{n} [c~{n}]\n+{n}.1s 1 > cds v=1 n=n{n} nack=\"no\"\n"))
        .collect();
    let healed = "+20s 1 < cds v=20 n=z [c~20]\n+20.1s 1 > cds v=20 n=z\n";
    let mut model = model(120, 36, PLAIN);
    let columns = |model: &mut Model, script: &str| {
        type_keys(model, &ScriptedStore::new(script).data(), "");
        drawn_text(model);
        title_columns(model)
    };
    columns(&mut model, script);
    let refused = columns(&mut model, &format!("{script}{nacks}"));
    assert_eq!(columns(&mut model, &format!("{script}{nacks}{healed}")), refused, "{}", drawn_text(&model));
    // Also after other screens.
    type_keys(&mut model, &ScriptedStore::new(&format!("{script}{nacks}{healed}")).data(), "231");
    assert_eq!(title_columns(&model), refused);
}

/// The detail of a refusal has the field with both values.
#[test]
fn detail_of_a_refusal_has_the_field_and_both_values() {
    let source = ScriptedStore::gateway();
    let shown = screen(&source.data(), "", 200, 60);
    assert!(line(&shown, " field    ").contains("reviews connect_timeout"), "{shown}");
    assert!(line(&shown, " accepted ").contains("41: 5s"), "{shown}");
    assert!(line(&shown, " refused  ").contains("0s   "), "{shown}");
}

/// Widths do not depend on screens visited meanwhile.
#[test]
fn columns_are_as_wide_after_a_visit_of_other_screens() {
    let source = ScriptedStore::gateway();
    let titles = |keys: &str| line(&screen(&source.data(), keys, 120, 36), "REASON").to_owned();
    assert_eq!(titles("2345678911"), titles(""));
}

#[test]
fn idle_has_one_sign() {
    let source = ScriptedStore::gateway();
    let shown = screen(&source.data(), "", 160, 45);
    let row = shown.lines().find(|line| line.contains("edge-gw-2")).unwrap_or_default();
    let states = row.split("WARMING").next().unwrap_or_default();
    assert!(!states.contains('·') && states.contains(" - "), "{row}");
}

/// docs/protocol.md#h-11
#[test]
fn problem_of_several_nodes_stands_in_the_row_of_each() {
    let script = include_str!("../../../../../tests/fixtures/views/shared-problem.xds");
    let overview = screen(&ScriptedStore::new(script).data(), "1", 200, 40);
    let is_row = |line: &&str| line.contains("ads 2") && line.contains("route r points to cluster zz");
    assert_eq!(overview.lines().filter(is_row).count(), 2, "{overview}");
}
