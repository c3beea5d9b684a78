//! Keys that make the client send something.

use std::sync::Arc;

use crate::data::{ClientAction, Info};
use crate::shell::effect::Effect;
use crate::shell::model::Model;
use crate::shell::overlay::Overlay;
use crate::tests::story::{Story, info, story, url};
use crate::tests::{PLAIN, drawn_text, model, type_keys};
use xdscope_engine::store::TypeState;
use xdscope_wire::event::Kind;

/// A client that holds a push of routes.
fn client() -> (Model, Story) {
    let mut model = model(100, 30, PLAIN);
    model.common.info = Info { client: true, ..info() };
    let mut data = story();
    for state in data.states.iter_mut().filter(|state| state.summary.state == TypeState::Stale) {
        state.pending = vec![Arc::from("b7"), Arc::from("b8")];
    }
    (model, data)
}

#[test]
fn sends_a_subscription_after_confirmation() {
    let (mut model, data) = client();
    assert_eq!(type_keys(&mut model, &data, "Seds/pay -eds/old cds/* -lds/*<enter>"), []);
    assert!(drawn_text(&model).contains("subscribe eds/pay, unsubscribe eds/old, subscribe cds/*"));
    assert_eq!(type_keys(&mut model, &data, "<enter>S"), [], "only y confirms");
    let sent = type_keys(&mut model, &data, "y");
    let actions = [
        ClientAction::Subscribe { type_url: url(Kind::Eds), name: "pay".to_owned() },
        ClientAction::Unsubscribe { type_url: url(Kind::Eds), name: "old".to_owned() },
        ClientAction::Wildcard { type_url: url(Kind::Cds), wanted: true },
        ClientAction::Wildcard { type_url: url(Kind::Lds), wanted: false },
    ];
    assert_eq!(sent, actions.map(Effect::SendAction));
    assert!(model.overlays.is_empty());
}

#[test]
fn reports_a_wrong_subscription() {
    let (mut model, data) = client();
    for (typed, why) in [("nope/x", "unknown type nope"), ("eds/", "has no name"), ("-cds", "has no name")] {
        assert_eq!(type_keys(&mut model, &data, &format!("S^u{typed}<enter>")), []);
        assert!(
            matches!(model.overlays.last(), Some(Overlay::ClientPrompt { input, .. }) if input == typed),
            "{typed}"
        );
        assert!(drawn_text(&model).contains(why), "{typed}: {}", drawn_text(&model));
        // Until something else is typed.
        type_keys(&mut model, &data, "x");
        assert!(!drawn_text(&model).contains(why), "{typed}");
        type_keys(&mut model, &data, "<esc>");
        assert!(model.overlays.is_empty());
    }
}

#[test]
fn verdict_goes_to_the_oldest_held_response() {
    let (mut model, data) = client();
    let (type_url, nonce) = (url(Kind::Rds), Arc::<str>::from("b7"));
    type_keys(&mut model, &data, "A");
    assert!(drawn_text(&model).contains("ACK RDS nonce b7?"), "{}", drawn_text(&model));
    assert_eq!(type_keys(&mut model, &data, "n"), []);
    let acked = type_keys(&mut model, &data, "Ay");
    assert_eq!(
        acked,
        [Effect::SendAction(ClientAction::Ack { type_url: type_url.clone(), nonce: nonce.clone() })]
    );
    let refused = type_keys(&mut model, &data, "Bbad route<enter>y");
    assert_eq!(
        refused,
        [Effect::SendAction(ClientAction::Nack { type_url, nonce, text: "bad route".to_owned() })]
    );
    let none = story();
    assert_eq!(type_keys(&mut model, &none, "A"), []);
    assert!(model.common.notice.as_ref().is_some_and(|notice| notice.contains("--ack ask")));
}

#[test]
fn reconnect_asks_and_ctrl_c_cancels() {
    let (mut model, data) = client();
    assert_eq!(type_keys(&mut model, &data, "R^c"), [], "nothing sent, nothing quit");
    assert!(model.overlays.is_empty());
    assert_eq!(type_keys(&mut model, &data, "Ry"), [Effect::SendAction(ClientAction::Reconnect)]);
}

#[test]
fn client_keys_are_unavailable_without_a_client() {
    let (mut model, data) = client();
    assert!(drawn_text(&model).contains("S! subscribe"));
    model.common.info.client = false;
    assert!(!drawn_text(&model).contains("S! subscribe"));
    for key in ["A", "B", "S", "R"] {
        assert_eq!(type_keys(&mut model, &data, &format!("{key}y<esc>")), [], "{key}");
        type_keys(&mut model, &data, key);
        assert!(model.overlays.is_empty() && model.common.notice.is_some(), "{key}");
    }
}
