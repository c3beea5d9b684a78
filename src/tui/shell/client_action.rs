//! Commands that make the client send something, after a question.

use std::sync::Arc;

use crate::engine::store::{StateFact, TypeState};
use crate::peers::client;
use crate::present::json::type_word;
use crate::tui::data::{ClientAction, Data};
use crate::tui::input::command::Command;
use crate::wire::event::{ApiVersion, Kind, TYPE_PREFIX, TypeUrl};
use crate::wire::text::type_label;

use super::model::Model;
use super::overlay::{ClientPrompt, Overlay};

/// A response that waits for a verdict.
struct HeldResponse {
    type_url: TypeUrl,
    nonce: Arc<str>,
}

/// Opens the prompt or the question of a command, or says why it is not available.
pub(crate) fn run(model: &mut Model, command: Command, data: &dyn Data) {
    if !model.common.info.client {
        let notice = "this sends nothing: only xdscope watch SERVER, without --read-only, can";
        return model.say(notice);
    }
    if model.common.info.bar.is_some() {
        return model.say("this is the past, and the client goes on: f returns to now");
    }
    let overlay = match command {
        Command::Resubscribe => {
            let selected = selected_type(model);
            let input = selected.map_or_else(String::new, |url| format!("{}/", type_word(&url)));
            Overlay::ClientPrompt { prompt: ClientPrompt::Subscription, input, error: None }
        }
        Command::Reconnect => Overlay::ConfirmSend(vec![ClientAction::Reconnect]),
        _ => match held_response(model, data) {
            Err(why) => return model.say(why),
            Ok(HeldResponse { type_url, nonce }) if command == Command::AckHeld => {
                Overlay::ConfirmSend(vec![ClientAction::Ack { type_url, nonce }])
            }
            Ok(HeldResponse { type_url, nonce }) => {
                let prompt = ClientPrompt::NackText { type_url, nonce };
                Overlay::ClientPrompt { prompt, input: String::new(), error: None }
            }
        },
    };
    model.overlays.push(overlay);
}

/// Parses the input of the prompt, and asks whether to send it.
pub(crate) fn accept(model: &mut Model) {
    let Some(Overlay::ClientPrompt { prompt, input, .. }) = model.overlays.pop() else { return };
    let actions = match &prompt {
        ClientPrompt::NackText { type_url, nonce } => {
            let text = input.trim();
            let text = if text.is_empty() { "refused by hand" } else { text }.to_owned();
            Ok(vec![ClientAction::Nack { type_url: type_url.clone(), nonce: nonce.clone(), text }])
        }
        ClientPrompt::Subscription => input.split_whitespace().map(parse).collect(),
    };
    match actions {
        Ok(actions) if actions.is_empty() => {}
        Ok(actions) => model.overlays.push(Overlay::ConfirmSend(actions)),
        Err(why) => model.overlays.push(Overlay::ClientPrompt { prompt, input, error: Some(why) }),
    }
}

/// Parses `eds/reviews`, `-eds/reviews`, `cds/*`, `-cds/*` or `xdstp://…`. A type is a short word,
/// a message name or a type URL.
fn parse(word: &str) -> Result<ClientAction, String> {
    let (wanted, what) = match word.strip_prefix('-') {
        Some(rest) => (false, rest),
        None => (true, word.strip_prefix('+').unwrap_or(word)),
    };
    if let Some((type_url, _)) =
        what.starts_with("xdstp:").then(|| client::parse_subscription(what)).flatten()
    {
        return Ok(subscription(type_url, what.to_owned(), wanted));
    }
    let rest = what.strip_prefix(TYPE_PREFIX).unwrap_or(what);
    let (of, name) = rest.split_once('/').unwrap_or((rest, ""));
    let kind = Kind::parse(of).or_else(|| Kind::of_message(of).map(|(kind, _)| kind));
    let type_url = match kind.and_then(|kind| kind.type_url(ApiVersion::V3)) {
        Some(url) => url,
        None if of.contains('.') => TypeUrl::new(format!("{TYPE_PREFIX}{of}")),
        None => return Err(format!("unknown type {of}; type such as eds/reviews, -eds/reviews or cds/*")),
    };
    match name {
        "" => Err(format!("{what} has no name; type {of}/NAME, or {of}/* for all")),
        "*" => Ok(ClientAction::Wildcard { type_url, wanted }),
        name => Ok(subscription(type_url, name.to_owned(), wanted)),
    }
}

fn subscription(type_url: TypeUrl, name: String, wanted: bool) -> ClientAction {
    match wanted {
        true => ClientAction::Subscribe { type_url, name },
        false => ClientAction::Unsubscribe { type_url, name },
    }
}

fn selected_type(model: &Model) -> Option<TypeUrl> {
    model.active().selected_type(&model.common).or_else(|| model.common.scope.type_url.clone())
}

/// The oldest response without a verdict, because verdicts go in order: of the selected type, else
/// of any type.
fn held_response(model: &Model, data: &dyn Data) -> Result<HeldResponse, String> {
    let url = selected_type(model);
    let cells = data.summaries().into_iter().filter(|cell| cell.state != TypeState::Closed);
    let cells = cells.filter(|cell| url.as_ref().is_none_or(|url| *url == cell.type_url));
    let states = cells.filter_map(|cell| data.state(cell.stream, &cell.type_url));
    let oldest = states.filter(|state| !state.pending.is_empty()).min_by_key(|state| state.since);
    let response = |state: StateFact| {
        let nonce = state.pending.into_iter().next()?;
        Some(HeldResponse { type_url: state.type_url, nonce })
    };
    oldest.and_then(response).ok_or_else(|| {
        let of = url.map_or(String::new(), |url| format!(" of {}", type_label(url.as_str())));
        format!("no response{of} waits for a verdict; xdscope watch --ack ask holds them")
    })
}
