//! The one list of problems, on every screen.

use crate::common::Scope;
use crate::data::{Info, TapFigures};
use crate::input::screen_id::ScreenId;
use crate::shell::effect::Msg;
use crate::shell::model::Model;
use crate::shell::tests::places::PROBLEMS;
use crate::shell::update::update;
use crate::tests::script::ScriptedStore;
use crate::tests::story::{info, story};
use crate::tests::{PLAIN, drawn_text, line, model, type_keys, typed};

const OTHER_SCREENS: [&str; 8] = ["2", "3", "4", "5", "6", "7", "8", "9"];

fn place(model: &Model) -> (ScreenId, Scope) {
    (model.screen, model.common.scope.clone())
}

#[test]
fn next_problem_opens_the_same_place_from_every_screen() {
    let source = ScriptedStore::gateway();
    let count = typed(&source.data(), "").common.problems.count();
    assert!(count > 2);
    let visit = |from: &str| {
        let mut model = typed(&source.data(), from);
        let mut seen = Vec::new();
        for at in 1..=count {
            type_keys(&mut model, &source.data(), "}");
            let notice = model.common.notice.clone().expect("a notice");
            assert!(notice.starts_with(&format!("problem {at} of {count}: ")), "{notice}");
            seen.push((place(&model), notice));
        }
        type_keys(&mut model, &source.data(), "}");
        assert_eq!(model.common.notice.as_deref(), Some("no further problem this way"));
        type_keys(&mut model, &source.data(), "{");
        assert_eq!(place(&model), seen[count - 2].0);
        seen
    };
    let seen = visit("2");
    assert_eq!(seen[0].0.0, ScreenId::Nack);
    for from in OTHER_SCREENS {
        assert_eq!(visit(from), seen, "{from}");
    }
}

#[test]
fn way_back_leads_to_the_start_of_the_walk() {
    let source = ScriptedStore::gateway();
    for from in OTHER_SCREENS {
        let mut model = typed(&source.data(), from);
        let before = place(&model);
        type_keys(&mut model, &source.data(), "}}}<esc>");
        assert_eq!(place(&model), before, "{from}");
    }
}

#[test]
fn chosen_problem_stays_chosen_when_others_come() {
    let mut data = story();
    let mut model = typed(&data, "}}");
    let chosen = |model: &Model| model.common.problems.chosen().map(|problem| problem.kind);
    let before = chosen(&model);
    data.problems.remove(0);
    update(&mut model, Msg::Changed, &data);
    assert_eq!(chosen(&model), before);
    type_keys(&mut model, &data, "2}");
    let node = model.common.problems.chosen().and_then(|problem| problem.node.clone());
    assert_eq!(node.as_deref(), Some("ratings-v1-77d0"), "the next one, also on another screen");
    data.problems.clear();
    type_keys(&mut model, &data, "}");
    assert_eq!(model.common.notice.as_deref(), Some("no problems"));
}

#[test]
fn every_title_tells_lag_and_losses() {
    let source = ScriptedStore::gateway();
    let tap = TapFigures { added_delay: None, backlog: 3 << 20 };
    for keys in ["1"].into_iter().chain(OTHER_SCREENS) {
        for (width, lag, lost) in
            [(80, "3.1 MB behind", "7 lost"), (130, "3.1 MB not analysed yet", "7 messages lost")]
        {
            let mut model = model(width, 30, PLAIN);
            model.common.info = Info { tap: Some(tap), dropped: 7, ..info() };
            type_keys(&mut model, &source.data(), keys);
            let shown = drawn_text(&model);
            let title = shown.lines().next().expect("a title");
            assert!(title.contains(lag) && title.contains(lost), "{keys} {title}");
        }
    }
}

#[test]
fn title_has_the_figures_of_a_tap_that_keeps_up() {
    let source = ScriptedStore::gateway();
    let delay = (std::time::Duration::from_micros(21), std::time::Duration::from_micros(140));
    let tap = TapFigures { added_delay: Some(delay), backlog: 0 };
    let title = |width| {
        let mut model = model(width, 30, PLAIN);
        model.common.info = Info { tap: Some(tap), ..info() };
        type_keys(&mut model, &source.data(), "1");
        drawn_text(&model).lines().next().unwrap_or_default().to_owned()
    };
    assert!(title(140).contains("lag 0  adds 21us, p99 140us  "), "{}", title(140));
    assert!(!title(100).contains("lag"), "{}", title(100));
}

#[test]
fn title_counts_what_the_list_has() {
    let source = ScriptedStore::gateway();
    let model = typed(&source.data(), "");
    let wrong = model.common.problems.all.iter().filter(|problem| problem.is_wrong()).count();
    let shown = drawn_text(&model);
    assert!(line(&shown, "xdscope  ").contains(&format!("! {wrong} problems")), "{shown}");
}

#[test]
fn next_problem_goes_on_after_a_return_by_number() {
    let source = ScriptedStore::new(PROBLEMS);
    let mut model = typed(&source.data(), "");
    let mut seen = Vec::new();
    for _ in 0..3 {
        type_keys(&mut model, &source.data(), "}");
        seen.push(model.common.problems.index());
        type_keys(&mut model, &source.data(), "<enter>1");
    }
    assert_eq!(seen, [0, 1, 2]);
}

#[test]
fn diff_shows_no_push_of_another_stream_in_scope() {
    let source = ScriptedStore::new(
        "node edge\nstream 1 ads\n+0s 1 > cds\n+1s 1 < cds v=1 n=a [c]\n+2s 1 > cds v=1 n=a\n\
         node quiet\nstream 2 ads\n+3s 2 > cds\n",
    );
    let shown = drawn_text(&typed(&source.data(), ":quiet<enter>25"));
    assert!(shown.contains("No push changed anything on this stream"), "{shown}");
    assert!(shown.contains("the newest elsewhere is #2 (edge CDS)"), "{shown}");
    // All streams are in scope on Overview.
    let shown = drawn_text(&typed(&source.data(), ":quiet<enter>2515"));
    assert!(!shown.contains("elsewhere"), "{shown}");
}
