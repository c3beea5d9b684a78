//! Screen 0.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use insta::assert_snapshot;

use crate::data::EditedText;
use crate::shell::commands::hold::edited;
use crate::shell::effect::{Effect, Msg};
use crate::shell::model::Model;
use crate::shell::overlay::Overlay;
use crate::shell::update::update;
use crate::tests::script::ScriptedStore;
use crate::tests::{ASCII, PLAIN, SIZES, click, drawn_text, line, model, type_keys};
use crate::widgets::theme::Theme;
use xdscope_engine::hold::edit;
use xdscope_engine::hold::{HeldFact, HeldId};
use xdscope_engine::hold::{HeldRow, HoldCommand, HoldStatus};
use xdscope_schema::Schema;
use xdscope_wire::discovery::encode::{ResponseFields, encode_any};
use xdscope_wire::event::{Dir, StreamId, Time};
use xdscope_wire::{Frame, FramePayload, Interference, Intervention, InterventionFacts, MessageShape};

const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

/// A client that has acknowledged version 41, and of which two pushes are held.
fn source() -> ScriptedStore {
    let mut source = ScriptedStore::new(
        "node edge-gw-1\nstream 1 ads\n+0s 1 > cds\n\
         +1s 1 < cds v=41 n=a81e [cart{connect_timeout: 5s} reviews{connect_timeout: 5s}]\n\
         +2s 1 > cds v=41 n=a81e\n",
    );
    for id in [1, 2] {
        let facts = InterventionFacts {
            interference: Interference::Held,
            dir: Dir::Resp,
            is_delta: false,
            type_url: CLUSTER.into(),
            version: "43".into(),
            nonce: "a822".into(),
            by: HeldId(id).by().into(),
        };
        let what = Intervention { facts, original: None, sent: None, sent_dir: Dir::Resp };
        let what = FramePayload::Intercepted(Box::new(what));
        source.handle(Frame { at: Time(3_000_000_000), stream: StreamId(1), what });
    }
    source
}

fn push(version: &str, nonce: &str, timeout: &str) -> Bytes {
    let schema = Schema::builtin();
    let entries = ["cart", "reviews", "ledger-v2"].map(|name| {
        let timeout = if name == "reviews" { timeout } else { "5s" };
        let json = serde_json::json!({ "name": name, "connect_timeout": timeout });
        encode_any(CLUSTER, &schema.encode(CLUSTER, &json).expect("a cluster"))
    });
    ResponseFields { version, type_url: CLUSTER, nonce, ..ResponseFields::default() }
        .encode(false, entries)
        .into()
}

fn row(id: u64, version: &str, nonce: &str, age: u64, waits_for: Option<u64>) -> HeldRow {
    let fact = HeldFact {
        id: HeldId(id),
        shape: MessageShape::SotwResponse,
        is_v2: false,
        type_url: CLUSTER.into(),
        version: version.into(),
        nonce: nonce.into(),
        node: Some("edge-gw-1".into()),
        count: 3,
        bytes: push(version, nonce, "1s"),
    };
    HeldRow {
        fact: Arc::new(fact),
        age: Duration::from_millis(age),
        left: Duration::from_millis(30_000 - age),
        waits_for: waits_for.map(HeldId),
        is_edited: false,
    }
}

fn status() -> HoldStatus {
    HoldStatus {
        armed: Some("type:cds dir:resp node:edge*".into()),
        timeout: Duration::from_secs(30),
        streams: 1,
        passing: 0,
        released: 0,
        held: vec![row(1, "43", "a822", 4200, None), row(2, "44", "a823", 1100, Some(1))],
    }
}

fn holding(size: (u16, u16), theme: Theme, status: HoldStatus) -> Model {
    let mut model = model(size.0, size.1, theme);
    model.common.info.source = "tap 127.0.0.1:18001 → cp.mesh:15010".to_owned();
    model.common.info.hold = Some(Arc::new(status));
    model
}

fn typed(keys: &str) -> (Model, Vec<Effect>) {
    let mut model = holding((100, 30), PLAIN, status());
    let effects = type_keys(&mut model, &source().data(), &format!("0{keys}"));
    (model, effects)
}

#[test]
fn snapshots_of_the_queue() {
    for size in SIZES {
        let mut model = holding(size, PLAIN, status());
        type_keys(&mut model, &source().data(), "0");
        assert_snapshot!(format!("hold_{}x{}", size.0, size.1), drawn_text(&model));
    }
    let mut model = holding((100, 30), ASCII, status());
    type_keys(&mut model, &source().data(), "0");
    assert_snapshot!("ascii_hold", drawn_text(&model));
}

#[test]
fn title_counts_on_every_screen() {
    let (model, _) = typed("3");
    let shown = drawn_text(&model);
    assert!(shown.contains("HOLDING 2, oldest 4.2s") && shown.contains("0 Hold 2"), "{shown}");
}

#[test]
fn says_why_nothing_can_be_held() {
    let mut model = model(100, 30, PLAIN);
    type_keys(&mut model, &source().data(), "0");
    assert!(drawn_text(&model).contains("only a live tap can hold messages"), "{}", drawn_text(&model));
    model.common.info.no_hold = Some("--read-only forbids to hold messages".to_owned());
    for key in ["I", "A", "E", "X", "B", "Z"] {
        assert_eq!(type_keys(&mut model, &source().data(), &format!("0{key}")), []);
        assert!(model.overlays.is_empty(), "{key}");
        assert!(drawn_text(&model).contains("--read-only forbids"), "{key}: {}", drawn_text(&model));
    }
}

#[test]
fn each_key_decides() {
    let (_, effects) = typed("A");
    assert_eq!(effects, [Effect::Hold(HoldCommand::Allow(HeldId(1)))]);
    let (_, effects) = typed("jA");
    assert_eq!(effects, [Effect::Hold(HoldCommand::Allow(HeldId(2)))]);
    let (_, effects) = typed("Z");
    assert_eq!(effects, [Effect::Hold(HoldCommand::Disarm)]);
    for (keys, wanted) in [
        ("X", HoldCommand::Drop(HeldId(1))),
        ("Bnot today<enter>", HoldCommand::Bounce(HeldId(1), "not today".into())),
        ("I^utype:eds<enter>", HoldCommand::Arm("type:eds".into())),
        ("I^u<enter>", HoldCommand::Disarm),
    ] {
        let (model, effects) = typed(keys);
        assert_eq!(effects, [], "{keys} asks");
        assert!(drawn_text(&model).contains("?  y yes"), "{keys}: {}", drawn_text(&model));
        assert_eq!(typed(&format!("{keys}<enter>")).1, [], "Enter does not confirm {keys}");
        assert_eq!(typed(&format!("{keys}n")).1, []);
        assert_eq!(typed(&format!("{keys}y")).1, [Effect::Hold(wanted)], "{keys}");
    }
    let (model, effects) = typed("I^ustream:1<enter>");
    assert_eq!(effects, []);
    assert!(drawn_text(&model).contains("is not known while a message passes"), "{}", drawn_text(&model));
}

/// Every printable character is text in a prompt, also those that are keys of screen 0.
#[test]
fn prompts_take_all_printable_characters() {
    let source = source();
    let text: String = (' '..='~').collect();
    for keys in ["B", "I^u", ":", "/", "r"] {
        let (mut model, _) = typed(keys);
        if !model.overlays.last().is_some_and(Overlay::is_prompt) {
            // The screen has no such prompt.
            continue;
        }
        for c in text.chars() {
            let key = KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE);
            assert_eq!(update(&mut model, Msg::Key(key), &source.data()), [], "{keys} {c}");
        }
        let input = match model.overlays.last() {
            Some(Overlay::ClientPrompt { input, .. } | Overlay::Palette { input, .. }) => input,
            Some(Overlay::Record { input }) => input,
            Some(Overlay::Filter(prompt)) => &prompt.input,
            other => panic!("{keys}: {other:?}"),
        };
        assert_eq!(*input, text, "{keys}");
    }
    let (model, effects) = typed("B!no! (1) :;<enter>y");
    assert_eq!(effects, [Effect::Hold(HoldCommand::Bounce(HeldId(1), "!no! (1) :;".into()))]);
    assert!(model.overlays.is_empty());
}

#[test]
fn connections_from_before_are_named_and_closed() {
    let mut model = holding((100, 30), PLAIN, HoldStatus { passing: 2, ..status() });
    type_keys(&mut model, &source().data(), "0");
    let shown = drawn_text(&model);
    assert!(shown.contains("covers 1 of 1 open stream. Nothing can be held on 2 connections"), "{shown}");
    assert!(shown.contains("R! closes such"), "{shown}");
    assert_eq!(type_keys(&mut model, &source().data(), "R"), []);
    assert!(drawn_text(&model).contains("close the connections that were opened before"));
    assert_eq!(type_keys(&mut model, &source().data(), "y"), [Effect::Hold(HoldCommand::Reconnect)]);
    let (model, effects) = typed("R");
    assert_eq!(effects, []);
    assert!(drawn_text(&model).contains("no connection was opened before"), "{}", drawn_text(&model));
}

#[test]
fn keys_of_the_queue_name_its_screen_elsewhere() {
    let (model, effects) = typed("1A");
    assert_eq!(effects, []);
    assert!(drawn_text(&model).contains("0 shows what is held"), "{}", drawn_text(&model));
    let (_, effects) = typed("1:held-release<enter>");
    assert_eq!(effects, [Effect::Hold(HoldCommand::Disarm)]);
}

#[test]
fn shows_the_difference_or_the_message() {
    let (model, _) = typed("");
    let shown = drawn_text(&model);
    assert!(shown.contains("against the last version that the client acknowledged (41)"), "{shown}");
    assert!(line(&shown, "~ reviews").contains("connect_timeout  5s → 1s"), "{shown}");
    assert!(shown.contains("+ ledger-v2") && shown.contains("waits for h1"), "{shown}");
    assert!(line(&shown, "X! drop   ").contains("the client never sees 43"), "{shown}");
    let (model, _) = typed("<enter>");
    assert!(drawn_text(&model).contains("version_info: \"43\""), "{}", drawn_text(&model));
    let (model, _) = typed("<enter>d");
    assert!(drawn_text(&model).contains("~ reviews"));
}

#[test]
fn holding_one_type_alone_says_what_follows() {
    let mut source = ScriptedStore::new(
        "node edge-gw-1\nstream 1 ads\n+0s 1 > cds\n\
         +1s 1 < cds v=41 n=a81e [reviews{eds}]\n+1s 1 > cds v=41 n=a81e\n\
         +1s 1 > eds names=[reviews]\n+60s 1 < eds v=7 n=e1 [reviews]\n",
    );
    let facts = InterventionFacts {
        interference: Interference::Held,
        dir: Dir::Resp,
        is_delta: false,
        type_url: CLUSTER.into(),
        version: "43".into(),
        nonce: "a822".into(),
        by: HeldId(1).by().into(),
    };
    let what = Intervention { facts, original: None, sent: None, sent_dir: Dir::Resp };
    let what = FramePayload::Intercepted(Box::new(what));
    source.handle(Frame { at: Time(64_000_000_000), stream: StreamId(1), what });
    let shown = |age: u64| {
        let held = vec![row(1, "43", "a822", age, None)];
        let mut model = holding((100, 30), PLAIN, HoldStatus { held, ..status() });
        type_keys(&mut model, &source.data(), "0");
        drawn_text(&model)
    };
    let words = "EDS 7 has passed meanwhile: once h1 is sent, edge-gw-1 asks for EDS again";
    assert!(shown(20_000).contains(words), "{}", shown(20_000));
    assert!(shown(20_000).contains("up to 15s. :hold stream holds all types"), "{}", shown(20_000));
    assert!(!shown(100).contains("has passed"), "{}", shown(100));
}

#[test]
fn all_messages_of_a_client_are_held_by_its_node() {
    let (model, effects) = typed(":hold stream<enter>");
    assert_eq!(effects, []);
    assert!(
        drawn_text(&model).contains("hold messages that match `node:edge-gw-1`?"),
        "{}",
        drawn_text(&model)
    );
    let (_, effects) = typed("1:hold stream<enter>y");
    assert_eq!(effects, [Effect::Hold(HoldCommand::Arm("node:edge-gw-1".into()))]);
    let mut model = crate::tests::model(100, 30, PLAIN);
    assert_eq!(type_keys(&mut model, &source().data(), ":hold stream<enter>"), []);
    assert!(drawn_text(&model).contains("nothing can be held here"), "{}", drawn_text(&model));
}

#[test]
fn quitting_says_which_messages_are_sent() {
    let asked = |held: Vec<HeldRow>| {
        let mut model = holding((100, 30), PLAIN, HoldStatus { held, ..status() });
        model.common.info.streams = 1;
        type_keys(&mut model, &source().data(), "^c");
        drawn_text(&model)
    };
    assert!(asked(status().held).contains(" h1, h2 are sent as they came; 1 stream of clients"));
    assert!(asked(vec![row(1, "43", "a822", 10, None)]).contains(" h1 is sent as it came; 1 stream"));
    assert!(
        asked(Vec::new()).contains(" 1 stream of clients pass through this: quitting ends them.  y quit")
    );
}

#[test]
fn click_selects_a_message() {
    let (mut model, _) = typed("");
    click(&mut model, &source().data(), "h2 ");
    assert_eq!(model.screens.hold.selected().map(|row| row.fact.id), Some(HeldId(2)));
}

#[test]
fn selection_stays_when_others_go() {
    let (mut model, _) = typed("j");
    let mut left = status();
    left.held.remove(0);
    model.common.info.hold = Some(Arc::new(left));
    type_keys(&mut model, &source().data(), "");
    assert_eq!(model.screens.hold.selected().map(|row| row.fact.id), Some(HeldId(2)));
    model.common.info.hold = Some(Arc::new(HoldStatus { held: Vec::new(), ..status() }));
    type_keys(&mut model, &source().data(), "A");
    assert!(drawn_text(&model).contains("nothing is held"), "{}", drawn_text(&model));
}

/// An edited text and what the question after it shows.
fn after_edit(change: (&str, &str)) -> Model {
    let (mut model, effects) = typed("E");
    let Some(Effect::Edit { fact, text: None }) = effects.first() else { panic!("{effects:?}") };
    let schema = Schema::builtin();
    let text = edit::text_of(fact, &schema).replacen(change.0, change.1, 1);
    let edited_text = EditedText { edited: edit::parse(fact, &text, &schema), text };
    assert_eq!(edited(&mut model, fact, Ok(edited_text)), None);
    type_keys(&mut model, &source().data(), "");
    model
}

#[test]
fn edited_message_is_shown_before_it_is_sent() {
    let mut model = after_edit(("connect_timeout: 1s", "connect_timeout: 0s"));
    let shown = drawn_text(&model);
    assert!(shown.contains("what would be sent in place of h1"), "{shown}");
    assert!(shown.contains("connect_timeout  1s → 0s") && shown.contains("! constraint:"), "{shown}");
    assert_snapshot!("edited", shown);
    assert_eq!(type_keys(&mut model, &source().data(), "<enter>"), [], "Enter does not send");
    let again = type_keys(&mut model.clone(), &source().data(), "e");
    assert!(matches!(again.first(), Some(Effect::Edit { text: Some(text), .. }) if text.contains("0s")));
    let not = type_keys(&mut model.clone(), &source().data(), "n");
    assert_eq!(not, [Effect::Hold(HoldCommand::EndEdit(HeldId(1)))]);
    let sent = type_keys(&mut model, &source().data(), "y");
    assert!(matches!(sent.as_slice(), [Effect::Hold(HoldCommand::Replace(HeldId(1), _))]), "{sent:?}");
}

#[test]
fn wrong_edit_names_the_line_and_is_not_sent() {
    let mut model = after_edit(("connect_timeout", "conect_timeout"));
    let shown = drawn_text(&model);
    assert!(shown.contains("h1 cannot be sent as edited") && shown.contains("line "), "{shown}");
    assert_eq!(type_keys(&mut model, &source().data(), "y"), [], "{}", drawn_text(&model));
    assert!(drawn_text(&model).contains("e edit again"));
}
