//! Screen 6.

use insta::assert_snapshot;

use crate::tui::input::screen_id::ScreenId;
use crate::tui::tests::script::{PARTLY_REFUSED, ScriptedStore, resource, selected_resource};
use crate::tui::tests::{ASCII, assert_snapshots, line, screen, screen_in, type_keys, typed};
use crate::wire::event::Kind;

#[test]
fn nacks() {
    assert_snapshots!("nacks", &ScriptedStore::gateway().data(), "6");
}

#[test]
fn a_recovered_guess() {
    assert_snapshot!(screen(&ScriptedStore::gateway().data(), "6j", 100, 30));
}

#[test]
fn snapshot_in_ascii() {
    assert_snapshot!("ascii_nacks", screen_in(ASCII, &ScriptedStore::gateway().data(), "6", 100, 30));
}

#[test]
fn says_that_nothing_was_refused() {
    let nothing = ScriptedStore::of("node a\nstream 1 ads\n+0s 1 > cds\n");
    assert!(screen(&nothing.data(), "6", 80, 24).contains("nothing was refused"));
}

#[test]
fn nack_leads_to_resource_and_message() {
    let source = ScriptedStore::gateway();
    let mut model = typed(&source.data(), "6<enter>");
    assert_eq!(
        (model.screen, selected_resource(&model)),
        (ScreenId::Resources, resource(Kind::Cds, "reviews"))
    );
    type_keys(&mut model, &source.data(), "<esc>");
    assert_eq!(model.screen, ScreenId::Nack);
    type_keys(&mut model, &source.data(), "3");
    let n = model.screens.timeline.selected_message.as_ref().and_then(|shown| shown.fact.n);
    assert_eq!(
        (model.screen, n),
        (ScreenId::Timeline, model.screens.nack.group().and_then(|g| g.last().map(|nack| nack.n)))
    );
}

#[test]
fn card_has_field_last_good_and_repeats() {
    let source = ScriptedStore::gateway();
    let model = typed(&source.data(), "6");
    let card = &model.screens.nack.card;
    let subject = card.subjects.first().expect("a subject");
    assert_eq!((subject.name.value.as_str(), subject.name.guessed), ("reviews", false));
    assert_eq!(subject.faults[0].0.value, "connect_timeout");
    assert_eq!(subject.rules, ["duration.gt = 0s"]);
    assert_eq!(subject.good.as_ref().map(|(version, _)| &*version.version), Some("41"));
    assert_eq!(
        (model.screens.nack.group().map(|g| g.nacks.len()), card.same_error, card.same_push),
        (Some(2), true, Some(true))
    );
    assert_eq!(card.partial_use, Some(crate::engine::nack::PartialUse::Envoy));
    assert_eq!(card.recovery, None);
    let fixed = typed(&source.data(), "6j");
    assert_eq!(fixed.screens.nack.card.recovery.as_ref().map(|fact| &*fact.version), Some("43"));
}

#[test]
fn card_lists_all_broken_constraints() {
    let source = ScriptedStore::of(PARTLY_REFUSED);
    let card = screen(&source.data(), "6j", 160, 60);
    for part in [
        "breaks    connect_timeout must be greater than 0s   named in the NACK",
        "breaks    health_checks[0].timeout must be set   not named in the NACK",
        "breaks    and ",
        "rule      duration.gt = 0s   of connect_timeout, by the descriptors",
        "Envoy uses nothing of this response",
    ] {
        assert!(card.contains(part), "{part} is not in {card}");
    }
    assert!(!card.contains("gte"), "a rule of another field: {card}");
}

#[test]
fn shows_a_nack_without_error_detail() {
    let source = ScriptedStore::of(
        "node a\nstream 1 ads\n> cds\n< cds v=1 n=a [c]\n> cds v=1 n=a\n< cds v=2 n=b [c~2]\n> cds v=1 n=b\n",
    );
    let shown = screen(&source.data(), "6", 100, 30);
    assert!(shown.contains("refused by its version alone"), "{shown}");
}

#[test]
fn card_says_what_traffic_sees() {
    let refused = |before: &str| {
        let script = format!(
            "node a\nstream 1 ads\n> cds\n{before}< cds v=2 n=2 [c{{connect_timeout: -1s}}]\n\
             > cds v=1 n=2 nack=\"Error adding/updating cluster(s) c: bad\"\n"
        );
        screen(&ScriptedStore::of(&script).data(), "6", 120, 30)
    };
    let kept = refused("< cds v=1 n=1 [c]\n> cds v=1 n=1\n");
    assert!(kept.contains("effect    cluster c keeps taking requests with version 1"), "{kept}");
    let missing = refused("");
    assert!(missing.contains("effect    the client has no cluster c"), "{missing}");
}

/// docs/protocol.md#e-20: a client states the version that it uses.
#[test]
fn version_in_force_outlives_a_reconnect() {
    let sotw = ScriptedStore::of(include_str!("../../../../tests/fixtures/tui/refused-after-reconnect.xds"));
    let shown = screen(&sotw.data(), "6", 130, 40);
    let good = line(&shown, "last good");
    assert!(
        good.contains("reviews 41, acked ") && good.contains(" (#3) on the earlier stream #1"),
        "{shown}"
    );
    assert!(line(&shown, "recovery").contains("none yet; 41 is in force"), "{shown}");
    assert!(line(&shown, "▸ edge ").contains(" 41 "), "{shown}");
    let stream = screen(&sotw.data(), "2", 130, 40);
    assert!(line(&stream, " in force").contains("41   as the client states"), "{stream}");

    let delta =
        ScriptedStore::of(include_str!("../../../../tests/fixtures/tui/refused-after-reconnect-delta.xds"));
    let shown = screen(&delta.data(), "6", 130, 40);
    let good = line(&shown, "last good");
    assert!(
        good.contains("reviews 41, acked ") && good.contains(" (#3) on the earlier stream #1"),
        "{shown}"
    );
    assert!(line(&shown, "recovery").contains("none yet; reviews 41 is in force"), "{shown}");
}

#[test]
fn version_in_force_is_known_in_a_part_of_a_session() {
    let part = include_str!("../../../../tests/fixtures/tui/refused-in-part-of-a-session.xds");
    let shown = screen(&ScriptedStore::of(part).data(), "6", 130, 40);
    assert!(line(&shown, "last good").contains("not seen: the client has version 41 from before"), "{shown}");
    assert!(line(&shown, "recovery").contains("none yet; 41 is in force"), "{shown}");
}
