//! Screen 6.

use insta::assert_snapshot;

use crate::input::screen_id::ScreenId;
use crate::tests::script::{PARTLY_REFUSED, ScriptedStore, resource, selected_resource};
use crate::tests::{ASCII, assert_snapshots, line, screen, screen_in, type_keys, typed};
use xdscope_wire::event::Kind;

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
    let nothing = ScriptedStore::new("node a\nstream 1 ads\n+0s 1 > cds\n");
    assert!(screen(&nothing.data(), "6", 80, 24).contains("nothing was refused"));
}

/// Without a refusal, the screen has the versions in force, and the messages.
#[test]
fn lists_versions_in_force_without_a_refusal() {
    let source = ScriptedStore::new(
        "node a\nstream 1 ads\n+0s 1 > cds\n+1s 1 < cds v=41 n=x [c]\n+2s 1 > cds v=41 n=x\n\
         +2s 1 > eds names=[c]\nadvance 1s\n",
    );
    let shown = screen(&source.data(), "6", 200, 60);
    assert!(shown.contains("nothing was refused: every answer so far is an ACK"), "{shown}");
    let accepted = line(&shown, "  a          CDS");
    assert!(accepted.contains("41") && accepted.contains("✓ SYNCED"), "{accepted}");
    assert!(accepted.contains("#3 at +2s, 1s ago"), "{accepted}");
    assert!(line(&shown, "  a          EDS").contains(" - "), "{shown}");
    assert!(shown.contains("messages of all streams"), "{shown}");
    let filled = shown.lines().skip(4).filter(|line| !line.trim().is_empty()).count();
    assert!(filled > 12, "{filled}");
    let filtered = screen(&source.data(), "6/nosuch<enter>", 100, 30);
    assert!(filtered.contains("no refusal matches") && !filtered.contains("versions in force"), "{filtered}");
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
    let of = subject.rules.as_ref().expect("constraints");
    assert_eq!(
        (of.field.as_str(), of.rules.as_slice()),
        ("connect_timeout", &["duration.gt = 0s".to_owned()][..])
    );
    assert_eq!(subject.good.as_ref().map(|(version, _)| &*version.version), Some("41"));
    assert_eq!(
        (model.screens.nack.group().map(|g| g.nacks.len()), card.same_error, card.same_push),
        (Some(2), true, Some(true))
    );
    assert_eq!(card.partial_use, Some(xdscope_engine::nack::PartialUse::Envoy));
    assert_eq!(card.recovery, None);
    let fixed = typed(&source.data(), "6j");
    assert_eq!(fixed.screens.nack.card.recovery.as_ref().map(|fact| &*fact.version), Some("43"));
}

#[test]
fn card_lists_all_broken_constraints() {
    let source = ScriptedStore::new(PARTLY_REFUSED);
    let card = screen(&source.data(), "6j", 160, 60);
    for part in [
        "breaks    connect_timeout must be greater than 0s   named in the NACK",
        "breaks    health_checks[0].timeout must be set   not named in the NACK",
        "breaks    and ",
        "Envoy uses nothing of this response",
    ] {
        assert!(card.contains(part), "{part} is not in {card}");
    }
    assert!(!card.contains("rule      duration.gt"), "the broken constraint says so: {card}");
    assert!(!card.contains("gte"), "a rule of another field: {card}");
}

#[test]
fn shows_a_nack_without_error_detail() {
    let source = ScriptedStore::new(
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
        screen(&ScriptedStore::new(&script).data(), "6", 120, 30)
    };
    let kept = refused("< cds v=1 n=1 [c]\n> cds v=1 n=1\n");
    assert!(kept.contains("effect    cluster c keeps taking requests with version 1"), "{kept}");
    let missing = refused("");
    assert!(missing.contains("effect    the client has no cluster c"), "{missing}");
}

/// docs/protocol.md#e-20: a client states the version that it uses.
#[test]
fn version_in_force_outlives_a_reconnect() {
    let sotw = ScriptedStore::new(include_str!("../../../../tests/fixtures/tui/refused-after-reconnect.xds"));
    let shown = screen(&sotw.data(), "6", 130, 40);
    let good = line(&shown, "last good");
    assert!(
        good.contains("reviews 41, acked ") && good.contains(" (#3) on the earlier stream #1"),
        "{shown}"
    );
    assert!(line(&shown, "recovery").contains("none yet; 41 is in force"), "{shown}");
    assert!(line(&shown, "▌ edge ").contains(" 41 "), "{shown}");
    let stream = screen(&sotw.data(), "2", 130, 40);
    assert!(line(&stream, " in force").contains("41   as the client states"), "{stream}");

    let delta =
        ScriptedStore::new(include_str!("../../../../tests/fixtures/tui/refused-after-reconnect-delta.xds"));
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
    let shown = screen(&ScriptedStore::new(part).data(), "6", 130, 40);
    assert!(line(&shown, "last good").contains("not seen: the client has version 41 from before"), "{shown}");
    assert!(line(&shown, "recovery").contains("none yet; 41 is in force"), "{shown}");
}

/// Each sentence of the card agrees with the line of the problem.
#[test]
fn card_agrees_with_the_problem() {
    let shown = |script: &str| {
        let source = ScriptedStore::new(&format!("node n1\nstream 1 {script}advance 20s\n"));
        (screen(&source.data(), "1", 140, 40), screen(&source.data(), "6", 160, 40))
    };
    // The removal of a resource is refused.
    let (problem, card) =
        shown("delta cds\n> sub=[*]\n< n=1 [a@1 b@1]\n> n=1\n< n=2 rm=[a]\n> n=2 nack=\"in use\"\n");
    assert!(problem.contains("client refused CDS removal of a; version 1 in force"), "{problem}");
    assert!(line(&card, "▌ n1 ").contains("removal of a"), "{card}");
    assert!(line(&card, "▌ n1 ").contains(" a@1 "), "{card}");
    assert!(line(&card, "effect").contains("cluster a keeps taking requests with version 1"), "{card}");
    assert!(line(&card, "recovery").contains("none yet; a 1 is in force"), "{card}");
    // A later response is accepted, without the refused resource.
    let (problem, card) = shown(
        "ads\n> eds names=[a b]\n< eds v=1 n=1 [a]\n> eds v= n=1 names=[a b] nack=\"bad\"\n\
         < eds v=1 n=2 [b]\n> eds v=1 n=2 names=[a b]\n",
    );
    assert!(problem.contains("client still refuses EDS a 1 (#2)") && problem.contains("none in force"));
    assert!(card.contains("[6 NACK 1]"), "{card}");
    assert!(line(&card, "effect").contains("the client has no endpoints of a"), "{card}");
    assert!(line(&card, "last good").contains("none: no ACK of a was seen"), "{card}");
    assert!(line(&card, "recovery").contains("none yet; no version of a is in force"), "{card}");
    // The client gives up what it refused.
    let (problem, card) = shown(
        "delta cds\n> sub=[*]\n< n=1 [a@1]\n> n=1\n< n=2 [a~2@2]\n> n=2 nack=\"bad\"\n\
         < n=3 [b@1]\n> n=3\n> unsub=[*]\n",
    );
    assert!(problem.contains(" none"), "{problem}");
    assert!(!card.contains("fixed"), "{card}");
    assert!(line(&card, "recovery").contains("over: the client gave up the refused resources"), "{card}");
    // Two responses have the nonce of the NACK.
    let (_, card) = shown(
        "delta eds\n> sub=[a b]\n< n=1 [a@1 b@1]\n> n=1\n< n=1 [a~2@2]\n< n=1 [b~2@2]\n> n=1 nack=\"bad\"\n",
    );
    assert!(line(&card, "recovery").contains("none yet; a 1 is in force"), "{card}");
    // The refused response was sent before the recording.
    let (problem, card) = shown("delta eds\npartial 1\n1 > n=x nack=\"bad\"\n");
    assert!(problem.contains("client refused EDS (unknown version)") && !problem.contains("in force"));
    assert!(line(&card, "messages").contains("pushed before the recording   refused #1"), "{card}");
    assert!(line(&card, "recovery").contains("what is in force was not recorded"), "{card}");
    // A refusal by version has no text.
    let (_, card) =
        shown("ads\n> cds\n< cds v=1 n=1 [a]\n> cds v=1 n=1\n< cds v=2 n=2 [a~2]\n> cds v=1 n=2\n");
    assert!(card.contains("no error_detail ──") && !card.contains("named in the text"), "{card}");
    assert!(line(&card, "effect").contains("version 1 of CDS stays in use"), "{card}");
}

#[test]
fn card_tells_the_times_between_refusals() {
    let source = ScriptedStore::new(
        "node a\nstream 1 ads\n+0s > cds\n+1s < cds v=1 n=1 [c]\n+2s > cds n=1 nack=\"bad\"\n\
         +3s < cds v=1 n=2 [c]\n+9s > cds n=2 nack=\"bad\"\n",
    );
    let card = screen(&source.data(), "6", 120, 40);
    assert!(line(&card, "loop").contains("refused 2 times, 7.0s apart"), "{card}");
}

#[test]
fn card_and_tab_agree_about_what_is_in_force_and_open() {
    let delta = ScriptedStore::new(include_str!("../../../../tests/fixtures/client/delta-refused.xds"));
    let card = screen(&delta.data(), "6", 140, 40);
    assert!(line(&card, "recovery").contains("none yet; x 1 is in force"), "{card}");
    assert!(card.contains("[6 NACK 1]") && card.contains(", 1 open"), "{card}");
    let two =
        ScriptedStore::new(include_str!("../../../../tests/fixtures/misbehave/envoy-ads-endpoints.xds"));
    let card = screen(&two.data(), "6", 140, 40);
    assert!(card.contains("[6 NACK 2]") && card.contains(", 2 open"), "{card}");
    assert!(!card.contains("OK (0)") && !card.contains("\n why "), "{card}");
}

#[test]
fn low_card_shows_the_rejected_line_and_says_each_reason_once() {
    let source = ScriptedStore::gateway();
    let card = screen(&source.data(), "6", 80, 24);
    assert!(line(&card, "connect_timeout: 0s").contains("must be greater than 0s"), "{card}");
    let high = screen(&source.data(), "6", 200, 60);
    let at = |part: &str| high.find(part).unwrap_or_else(|| panic!("no {part} in {high}"));
    assert!(at(" effect ") < at("connect_timeout: 0s"), "a high card has its usual order");
    assert!(!high.contains(" why  ") && !high.contains("more line"), "{high}");
}
