//! What a client can be told: another subscription, a verdict on what is held, a new stream. Nothing goes on the
//! wire before `y`.

use std::sync::Arc;

use crate::engine::store::TypeState;
use crate::peers::client;
use crate::present::json::type_word;
use crate::wire::event::{ApiVersion, Kind, TYPE_PREFIX, TypeUrl};
use crate::wire::text::type_label;

use crate::tui::data::Data;
use crate::tui::input::command::Command;
use crate::tui::shell::model::{Model, Overlay, Screen};
use crate::tui::shell::update::Effect;

/// What the client is to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientAction {
    Subscribe {
        type_url: TypeUrl,
        name: String,
    },
    Unsubscribe {
        type_url: TypeUrl,
        name: String,
    },
    Wildcard {
        type_url: TypeUrl,
        wanted: bool,
    },
    Ack {
        type_url: TypeUrl,
        nonce: Arc<str>,
    },
    /// With the text of `error_detail`.
    Nack {
        type_url: TypeUrl,
        nonce: Arc<str>,
        text: String,
    },
    Reconnect,
}

impl ClientAction {
    /// What it does, for the question and the notice.
    pub fn words(&self) -> String {
        match self {
            ClientAction::Subscribe { type_url, name } => format!("subscribe {}/{name}", type_word(type_url)),
            ClientAction::Unsubscribe { type_url, name } => {
                format!("unsubscribe {}/{name}", type_word(type_url))
            }
            ClientAction::Wildcard { type_url, wanted: true } => {
                format!("subscribe {}/*", type_word(type_url))
            }
            ClientAction::Wildcard { type_url, wanted: false } => {
                format!("unsubscribe {}/*", type_word(type_url))
            }
            ClientAction::Ack { type_url, nonce } => {
                format!("ACK {} nonce {nonce}", type_label(type_url.as_str()))
            }
            ClientAction::Nack { type_url, nonce, text } => {
                format!("NACK {} nonce {nonce}: {text}", type_label(type_url.as_str()))
            }
            ClientAction::Reconnect => "end the stream and open another".to_owned(),
        }
    }
}

/// What is being typed for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Words such as `eds/reviews -eds/ratings cds/*`.
    Subscription,
    /// The text of the NACK.
    Refusal { type_url: TypeUrl, nonce: Arc<str> },
}

/// The keys that go on the wire. Says why where they can't.
pub fn act(model: &mut Model, command: Command, data: &dyn Data) {
    if !model.info.client {
        return model
            .say("nothing is sent from here: only xdscope watch SERVER, without --read-only, can be told");
    }
    if model.info.bar.is_some() {
        return model.say("this is the past, and the client goes on: f returns to now");
    }
    match command {
        Command::Resubscribe => {
            let input = type_here(model).map_or_else(String::new, |url| format!("{}/", type_word(&url)));
            model.overlays.push(Overlay::Tell { ask: Ask::Subscription, input, wrong: None });
        }
        Command::Reconnect => model.overlays.push(Overlay::ConfirmTell(vec![ClientAction::Reconnect])),
        Command::AckHeld | Command::NackHeld => match held(model, data) {
            Err(why) => model.say(why),
            Ok((type_url, nonce)) => model.overlays.push(match command {
                Command::AckHeld => Overlay::ConfirmTell(vec![ClientAction::Ack { type_url, nonce }]),
                _ => {
                    let ask = Ask::Refusal { type_url, nonce };
                    Overlay::Tell { ask, input: String::new(), wrong: None }
                }
            }),
        },
        _ => {}
    }
}

/// Reads what was typed, and asks whether it is to be sent.
pub fn accept(model: &mut Model) {
    let Some(Overlay::Tell { ask, input, .. }) = model.overlays.pop() else { return };
    let tells = match &ask {
        Ask::Refusal { type_url, nonce } => {
            let text = input.trim();
            let text = if text.is_empty() { "refused by hand" } else { text }.to_owned();
            Ok(vec![ClientAction::Nack { type_url: type_url.clone(), nonce: nonce.clone(), text }])
        }
        Ask::Subscription => input.split_whitespace().map(read).collect(),
    };
    match tells {
        Ok(tells) if tells.is_empty() => {}
        Ok(tells) => model.overlays.push(Overlay::ConfirmTell(tells)),
        Err(why) => model.overlays.push(Overlay::Tell { ask, input, wrong: Some(why) }),
    }
}

/// `y`: sends.
pub fn send(tells: Vec<ClientAction>) -> Vec<Effect> {
    tells.into_iter().map(Effect::Tell).collect()
}

/// `eds/reviews`, `-eds/reviews`, `cds/*`, `-cds/*`, `xdstp://…`, with a type's word, message or URL.
fn read(word: &str) -> Result<ClientAction, String> {
    let (wanted, what) = match word.strip_prefix('-') {
        Some(rest) => (false, rest),
        None => (true, word.strip_prefix('+').unwrap_or(word)),
    };
    if let Some((type_url, _)) = what.starts_with("xdstp:").then(|| client::asked(what)).flatten() {
        let name = what.to_owned();
        return Ok(if wanted {
            ClientAction::Subscribe { type_url, name }
        } else {
            ClientAction::Unsubscribe { type_url, name }
        });
    }
    let rest = what.strip_prefix(TYPE_PREFIX).unwrap_or(what);
    let (of, name) = rest.split_once('/').unwrap_or((rest, ""));
    let kind = Kind::parse(of).or_else(|| Kind::of_message(of).map(|(kind, _)| kind));
    let type_url = match kind.and_then(|kind| kind.type_url(ApiVersion::V3)) {
        Some(url) => url,
        None if of.contains('.') => TypeUrl::new(format!("{TYPE_PREFIX}{of}")),
        None => return Err(format!("{of} is no type; type such as eds/reviews, -eds/reviews or cds/*")),
    };
    let name = name.to_owned();
    match (name.as_str(), wanted) {
        ("", _) => Err(format!("{what} names nothing; type {of}/NAME, or {of}/* for all")),
        ("*", wanted) => Ok(ClientAction::Wildcard { type_url, wanted }),
        (_, true) => Ok(ClientAction::Subscribe { type_url, name }),
        (_, false) => Ok(ClientAction::Unsubscribe { type_url, name }),
    }
}

/// The type that is looked at.
fn type_here(model: &Model) -> Option<TypeUrl> {
    let of_message = || model.timeline.current.as_ref().map(|shown| shown.fact.type_url.clone());
    match model.screen {
        Screen::Overview => {
            let column = model.overview.column.checked_sub(1);
            column.and_then(|at| model.overview.table.types.get(at)).cloned()
        }
        Screen::Stream => model.stream.selected.clone(),
        Screen::Timeline => of_message(),
        Screen::Subs => model.subs.selected.clone(),
        _ => None,
    }
    .or_else(|| model.scope.type_url.clone())
}

/// Type and nonce of the oldest response without a verdict, for verdicts go in order: of the type that is looked
/// at, else of any type.
fn held(model: &Model, data: &dyn Data) -> Result<(TypeUrl, Arc<str>), String> {
    let url = type_here(model);
    let cells = data.summaries().into_iter().filter(|cell| cell.state != TypeState::Closed);
    let cells = cells.filter(|cell| url.as_ref().is_none_or(|url| *url == cell.type_url));
    let states = cells.filter_map(|cell| data.state(cell.stream, &cell.type_url));
    let waiting =
        states.filter_map(|state| Some((state.since, state.type_url, state.pending.into_iter().next()?)));
    let oldest = waiting.min_by_key(|(since, ..)| *since).map(|(_, url, nonce)| (url, nonce));
    oldest.ok_or_else(|| {
        let of = url.map_or(String::new(), |url| format!(" of {}", type_label(url.as_str())));
        format!("no response{of} waits for a verdict; xdscope watch --ack ask holds them")
    })
}
