//! Commands that make the client send something, after a question.

use std::sync::Arc;

use crate::data::{ClientAction, Data};
use crate::input::command::Command;
use xdscope_engine::hold::HoldCommand;
use xdscope_engine::store::{StateFact, TypeState};
use xdscope_present::json;
use xdscope_wire::event::{ApiVersion, Kind, TYPE_PREFIX, TypeUrl, foreign_type_url};
use xdscope_wire::text::type_label;
use xdscope_wire::xdstp::parse_subscription;

use super::hold;
use crate::shell::model::Model;
use crate::shell::overlay::{ClientPrompt, Overlay};

/// Input of the subscription prompt that cannot be sent.
#[derive(Debug, thiserror::Error)]
enum SubscriptionError {
    #[error("unknown type {0}; type such as eds/reviews, -eds/reviews or cds/*")]
    UnknownType(String),
    #[error("{input} has no name; type {type_word}/NAME, or {type_word}/* for all")]
    MissingName { input: String, type_word: String },
}

/// No response waits for a verdict.
#[derive(Debug, thiserror::Error)]
#[error(
    "no response{} waits for a verdict; xdscope watch --ack ask holds them",
    .type_url.as_ref().map_or(String::new(), |url| format!(" of {}", type_label(url.as_str())))
)]
struct NoHeldResponse {
    /// The selected type.
    type_url: Option<TypeUrl>,
}

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
            let input = selected.map_or_else(String::new, |url| format!("{}/", json::type_word(&url)));
            Overlay::ClientPrompt { prompt: ClientPrompt::Subscription, input, error: None }
        }
        Command::Reconnect => Overlay::ConfirmSend(vec![ClientAction::Reconnect]),
        _ => match held_response(model, data) {
            Err(error) => return model.say(error.to_string()),
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
    let text = |given: &str| if given.is_empty() { "refused by hand" } else { given }.to_owned();
    let actions = match &prompt {
        ClientPrompt::Intercept => {
            return match hold::arm(&input) {
                Ok(command) => model.overlays.push(Overlay::ConfirmHold(command)),
                Err(error) => {
                    let error = Some(error);
                    model.overlays.push(Overlay::ClientPrompt { prompt, input, error });
                }
            };
        }
        ClientPrompt::BounceText { id, .. } => {
            let command = HoldCommand::Bounce(*id, text(input.trim()));
            return model.overlays.push(Overlay::ConfirmHold(command));
        }
        ClientPrompt::NackText { type_url, nonce } => {
            let text = text(input.trim());
            Ok(vec![ClientAction::Nack { type_url: type_url.clone(), nonce: nonce.clone(), text }])
        }
        ClientPrompt::Subscription => input.split_whitespace().map(parse).collect::<Result<Vec<_>, _>>(),
    };
    match actions {
        Ok(actions) if actions.is_empty() => {}
        Ok(actions) => model.overlays.push(Overlay::ConfirmSend(actions)),
        Err(error) => {
            let error = Some(error.to_string());
            model.overlays.push(Overlay::ClientPrompt { prompt, input, error });
        }
    }
}

/// Parses `eds/reviews`, `-eds/reviews`, `cds/*`, `-cds/*` or `xdstp://…`. A type is a short word,
/// a message name or a type URL.
fn parse(word: &str) -> Result<ClientAction, SubscriptionError> {
    let (wanted, input) = match word.strip_prefix('-') {
        Some(rest) => (false, rest),
        None => (true, word.strip_prefix('+').unwrap_or(word)),
    };
    if input.starts_with("xdstp:")
        && let Some((type_url, _)) = parse_subscription(input)
    {
        return Ok(subscription(type_url, input.to_owned(), wanted));
    }
    let rest = input.strip_prefix(TYPE_PREFIX).unwrap_or(input);
    let foreign = foreign_type_url(input);
    let (type_word, name) = match foreign {
        Some((url, name)) => (url, name.unwrap_or_default()),
        None => rest.split_once('/').unwrap_or((rest, "")),
    };
    let kind = Kind::parse(type_word).or_else(|| Kind::of_message(type_word).map(|(kind, _)| kind));
    let type_url = match kind.and_then(|kind| kind.type_url(ApiVersion::V3)) {
        Some(url) => url,
        None if foreign.is_some() => TypeUrl::new(type_word.to_owned()),
        None if type_word.contains('.') => TypeUrl::new(format!("{TYPE_PREFIX}{type_word}")),
        None => return Err(SubscriptionError::UnknownType(type_word.to_owned())),
    };
    match name {
        "" => {
            Err(SubscriptionError::MissingName { input: input.to_owned(), type_word: type_word.to_owned() })
        }
        "*" => Ok(ClientAction::Wildcard { type_url, wanted }),
        name => Ok(subscription(type_url, name.to_owned(), wanted)),
    }
}

fn subscription(type_url: TypeUrl, name: String, wanted: bool) -> ClientAction {
    if wanted {
        ClientAction::Subscribe { type_url, name }
    } else {
        ClientAction::Unsubscribe { type_url, name }
    }
}

fn selected_type(model: &Model) -> Option<TypeUrl> {
    model.active().selected_type(&model.common).or_else(|| model.common.scope.type_url.clone())
}

/// The oldest response without a verdict, because verdicts go in order: of the selected type, else
/// of any type.
fn held_response(model: &Model, data: &dyn Data) -> Result<HeldResponse, NoHeldResponse> {
    let url = selected_type(model);
    let cells = data.summaries().into_iter().filter(|cell| cell.state != TypeState::Closed);
    let cells = cells.filter(|cell| url.as_ref().is_none_or(|url| *url == cell.type_url));
    let states = cells.filter_map(|cell| data.state(cell.stream, &cell.type_url));
    let oldest = states.filter(|state| !state.pending.is_empty()).min_by_key(|state| state.summary.since);
    let response = |state: StateFact| {
        let nonce = state.pending.into_iter().next()?;
        Some(HeldResponse { type_url: state.summary.type_url, nonce })
    };
    oldest.and_then(response).ok_or(NoHeldResponse { type_url: url })
}
