//! Screen 7.

use insta::assert_snapshot;

use crate::input::screen_id::ScreenId;
use crate::shell::effect::Effect;
use crate::tests::script::{ScriptedStore, large};
use crate::tests::{
    ASCII, PLAIN, assert_snapshots, drawn_text, line, model, screen, screen_in, type_keys, typed,
};

#[test]
fn snapshots_of_subscriptions() {
    assert_snapshots!("subs", &ScriptedStore::gateway().data(), "7");
}

#[test]
fn snapshot_in_ascii() {
    assert_snapshot!("ascii_subs", screen_in(ASCII, &ScriptedStore::gateway().data(), "7", 100, 30));
}

#[test]
fn says_that_nothing_was_asked_for() {
    let empty = ScriptedStore::new("node a\nstream 1 ads\n");
    assert!(screen(&empty.data(), "7", 80, 24).contains("nothing was asked for"));
}

#[test]
fn lists_missing_names_first() {
    let source = ScriptedStore::gateway();
    let mut model = typed(&source.data(), "7");
    let row = model.screens.subscriptions.row().expect("a name");
    assert_eq!((&*row.name, row.waits.map(|waits| waits.requests.first.0)), ("ledger-v2", Some(7)));
    assert!(drawn_text(&model).contains("missing"));
    let copied = type_keys(&mut model, &source.data(), "yc");
    let Some(Effect::Copy(line)) = copied.first() else { panic!("{copied:?}") };
    assert!(line.contains("eds --subscriptions"), "{line}");
    type_keys(&mut model, &source.data(), "3");
    let at = model.screens.timeline.selected_message.as_ref().and_then(|current| current.fact.n);
    assert_eq!((model.screen, at.map(|n| n.0)), (ScreenId::Timeline, Some(7)));
}

#[test]
fn explains_missing_names_as_a_guess() {
    let source = ScriptedStore::new(
        "node a\nstream 1 ads\n> cds\n< cds v=1 n=1 [c]\n> cds v=1 n=1\n> eds names=[stranger]\nadvance 5s\n",
    );
    let why = "stranger: no cluster of this client refers to it";
    for (keys, says) in [("7", "perhaps"), ("2jjj", why)] {
        let text = drawn_text(&typed(&source.data(), keys));
        assert!(
            text.contains(says) && text.contains("no cluster of this client refers to it"),
            "{keys}: {text}"
        );
    }
}

#[test]
fn loads_only_visible_names() {
    let names: Vec<String> = (0..100_000).map(|i| format!("c-{i:06}")).collect();
    let names = names.join(" ");
    let source = ScriptedStore::new(&format!(
        "node a\nstream 1 ads\n+0s 1 > eds names=[{names} late]\n1 < eds v=1 n=a [{names}]\n\
         1 > eds v=1 n=a names=[{names} late]\nadvance 20s\n"
    ));
    let mut model = typed(&source.data(), "7<tab>");
    assert_eq!(model.screens.subscriptions.len(), 100_001);
    assert_eq!(model.screens.subscriptions.row().map(|row| &*row.name), Some("late"));
    assert!(model.screens.subscriptions.window.len() < 30);
    type_keys(&mut model, &source.data(), "G");
    assert_eq!(model.screens.subscriptions.row().map(|row| &*row.name), Some("c-099999"));
    type_keys(&mut model, &source.data(), "/name:c-05000*<enter>");
    assert_eq!(model.screens.subscriptions.len(), 10);
}

const ASKED: &str = "node edge\nstream 1 ads\n+0s 1 > eds v= n= names=[e]\n+1s 1 > rds v= n= names=[r]\n";

#[test]
fn name_is_missing_after_the_timeout() {
    let source = ScriptedStore::new(ASKED);
    let subs = screen(&source.data(), "7j", 100, 30);
    assert!(subs.contains("1 waiting") && subs.contains("waiting 1"), "{subs}");
    assert!(!subs.contains("1 missing") && !subs.contains("missing 1"), "{subs}");
    assert!(
        line(&subs, "▌ EDS  by name").split('│').next().unwrap().trim_end().ends_with("1     0"),
        "{subs}"
    );
    assert!(!line(&screen(&source.data(), "2", 100, 30), "not sent").contains("missing"));
    let source = ScriptedStore::new(&format!("{ASKED}+20s 1 > sds v= n= names=[s]\n"));
    let subs = screen(&source.data(), "7j", 100, 30);
    assert!(subs.contains("0 answered, 1 missing") && subs.contains("missing 20"), "{subs}");
    let resources = screen(&source.data(), "4", 100, 30);
    let row = resources.lines().find(|line| line.contains(" e ")).unwrap();
    assert!(row.contains("∅ missing") && !resources.contains("absent"), "nobody said so: {resources}");
}

#[test]
fn sorts_names_by_the_last_choice() {
    let orders = ["s1", "s2", "s3"];
    for source in [ScriptedStore::gateway(), large(20, 3)] {
        let shown = |typed: &str| {
            let mut model = model(200, 60, PLAIN);
            type_keys(&mut model, &source.data(), typed);
            let rows = &model.screens.subscriptions.window;
            rows.iter().map(|row| row.name.to_string()).collect::<Vec<_>>()
        };
        for types in ["", "j", "jj"] {
            for (before, last) in orders.iter().flat_map(|a| orders.iter().map(move |b| (a, b))) {
                let at_once = shown(&format!("7{types}{last}"));
                assert!(!at_once.is_empty());
                assert_eq!(shown(&format!("7{types}{before}{last}")), at_once, "{types} {before} {last}");
            }
        }
    }
}

#[test]
fn says_that_the_wildcard_waits_and_that_nothing_was_sent() {
    let wild = ScriptedStore::new(include_str!("../../../../tests/fixtures/rows/L-17.xds"));
    let shown = screen(&wild.data(), "7", 120, 30);
    assert!(shown.contains("0 names, the wildcard is not answered"), "{shown}");
    let absent = ScriptedStore::new(include_str!(
        "../../../../tests/fixtures/lint/delta-subscribe-unanswered.good.xds"
    ));
    let shown = screen(&absent.data(), "7", 120, 30);
    assert!(!shown.contains(" sent, nothing accepted"), "{shown}");
}
