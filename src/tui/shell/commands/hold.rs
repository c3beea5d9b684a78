//! Commands about held messages, most of them after a question.

use std::sync::Arc;

use crate::data::{Data, EditedText, FeedError};
use crate::input::command::Command;
use crate::input::screen_id::ScreenId;
use crate::screens::hold::EditDraft;
use xdscope_engine::filter::quoted_word;
use xdscope_engine::hold::{HeldFact, HeldId};
use xdscope_engine::hold::{HeldRow, HoldCommand};
use xdscope_wire::text::plural;

use crate::shell::effect::Effect;
use crate::shell::model::Model;
use crate::shell::overlay::{ClientPrompt, Overlay};

/// Says why nothing can be held.
fn decline(model: &mut Model) -> Vec<Effect> {
    let reason = model.common.info.no_hold.clone();
    model.decline(reason.unwrap_or_else(|| NO_TAP.to_owned()))
}

/// Asks whether to hold all messages of the client of the selected message, else of the selected
/// stream.
pub(crate) fn hold_client(model: &mut Model, data: &dyn Data) -> Vec<Effect> {
    if model.common.info.hold.is_none() {
        return decline(model);
    }
    let selected = model.screens.hold.selected().filter(|_| model.screen == ScreenId::Hold);
    let node = match selected {
        Some(row) => row.fact.node.clone(),
        None => model.current_stream().and_then(|stream| data.store().node_of(stream)),
    };
    match node {
        Some(node) => {
            let expression = format!("node:{}", quoted_word(&node));
            model.overlays.push(Overlay::ConfirmHold(HoldCommand::Arm(expression)));
            vec![]
        }
        None => model.decline("choose a client with a node id first: hold stream names its messages by it"),
    }
}

/// Runs a command, or opens its prompt or question, or says why it is not available.
pub(crate) fn run(model: &mut Model, command: Command) -> Vec<Effect> {
    let Some(hold) = model.common.info.hold.clone() else { return decline(model) };
    let overlay = match command {
        Command::Intercept => {
            let input = hold.armed.as_deref().unwrap_or_default().to_owned();
            Overlay::ClientPrompt { prompt: ClientPrompt::Intercept, input, error: None }
        }
        Command::ReleaseHeld if hold.armed.is_none() && hold.held.is_empty() => {
            return model.decline("nothing is held, and nothing is armed");
        }
        Command::ReleaseHeld => return vec![Effect::Hold(HoldCommand::Disarm)],
        Command::Reconnect if hold.can_cover_more() => Overlay::ConfirmHold(HoldCommand::Reconnect),
        Command::Reconnect if hold.armed.is_none() => {
            return model.decline("nothing is armed: I! holds messages that match an expression");
        }
        Command::Reconnect => return model.decline("no connection was opened before the tap was armed"),
        command => return decide(model, command),
    };
    model.overlays.push(overlay);
    vec![]
}

/// Decides about the selected message, or opens the prompt or question of the command.
fn decide(model: &mut Model, command: Command) -> Vec<Effect> {
    let fact = match selected(model) {
        Ok(row) => row.fact,
        Err(why) => return model.decline(why),
    };
    let overlay = match command {
        Command::AckHeld => return vec![Effect::Hold(HoldCommand::Allow(fact.id))],
        Command::EditHeld => return vec![Effect::Edit { fact, text: None }],
        Command::DropHeld => Overlay::ConfirmHold(HoldCommand::Drop(fact.id)),
        Command::NackHeld if !fact.is_push() => {
            return model.decline(format!("{}: only a push can be refused", fact.id));
        }
        Command::NackHeld => {
            let prompt = ClientPrompt::BounceText { id: fact.id, nonce: fact.nonce.clone() };
            Overlay::ClientPrompt { prompt, input: String::new(), error: None }
        }
        _ => return vec![],
    };
    model.overlays.push(overlay);
    vec![]
}

/// The reason without a tap.
const NO_TAP: &str = "nothing can be held here: only a live tap can, xdscope tap SERVER";

/// Returns the selected message, or why there is none.
fn selected(model: &Model) -> Result<HeldRow, String> {
    let hold = model.common.info.hold.as_ref();
    match model.screens.hold.selected() {
        _ if hold.is_none_or(|hold| hold.held.is_empty()) => Err("nothing is held".to_owned()),
        _ if model.screen != ScreenId::Hold => Err("0 shows what is held; this works there".to_owned()),
        Some(row) => Ok(row.clone()),
        None => Err("nothing is selected".to_owned()),
    }
}

/// Takes the expression of messages to hold, or the reason why it is wrong.
pub(crate) fn arm(input: &str) -> Result<HoldCommand, String> {
    let input = input.trim();
    if input.is_empty() {
        return Ok(HoldCommand::Disarm);
    }
    xdscope_engine::hold::parse_filter(input).map_err(|error| error.to_string())?;
    Ok(HoldCommand::Arm(input.to_owned()))
}

/// Returns a command in words, for the question.
pub(crate) fn words(command: &HoldCommand) -> String {
    match command {
        HoldCommand::Arm(text) => format!("hold messages that match `{text}`"),
        HoldCommand::Disarm => "send everything held as it is, and hold nothing more".to_owned(),
        HoldCommand::Reconnect => {
            "close the connections that were opened before, so that their clients connect again".to_owned()
        }
        HoldCommand::Allow(id) => format!("send {id} as it is"),
        HoldCommand::Drop(id) => format!("do not send {id}"),
        HoldCommand::Bounce(id, text) => format!("answer {id} with a NACK: {text}"),
        HoldCommand::Replace(id, _) => format!("send the edited message in place of {id}"),
        HoldCommand::BeginEdit(id) => format!("edit {id}"),
        HoldCommand::EndEdit(id) => format!("hold {id} on"),
    }
}

/// Returns what was done, for the notice. `passing` connections were opened before.
pub(crate) fn done(command: &HoldCommand, passing: u64) -> String {
    match command {
        HoldCommand::Arm(text) if passing > 0 => format!(
            "armed: messages that match `{text}` wait on screen 0, but not those of {} from before: R! closes them",
            plural(passing, "connection")
        ),
        HoldCommand::Arm(text) => format!("armed: messages that match `{text}` wait on screen 0"),
        HoldCommand::Disarm => "disarmed: everything that was held is sent as it is".to_owned(),
        HoldCommand::Reconnect => "connections closed: their clients connect again".to_owned(),
        HoldCommand::Allow(id) => format!("{id} is sent as it is"),
        HoldCommand::Drop(id) => format!("{id} is dropped"),
        HoldCommand::Bounce(id, _) => format!("{id} is answered with a NACK"),
        HoldCommand::Replace(id, _) => format!("{id} is sent as edited"),
        HoldCommand::BeginEdit(id) => format!("{id} is open in an editor"),
        HoldCommand::EndEdit(id) => format!("{id} is held on, unchanged"),
    }
}

/// Takes in what the editor returned. Returns a command that follows at once.
pub(crate) fn edited(
    model: &mut Model,
    fact: &Arc<HeldFact>,
    result: Result<EditedText, FeedError>,
) -> Option<HoldCommand> {
    let end = Some(HoldCommand::EndEdit(fact.id));
    let (text, edited) = match result {
        Err(error) => {
            model.say(error.to_string());
            return end;
        }
        Ok(EditedText { edited: Ok(None), .. }) => return end,
        Ok(EditedText { text, edited: Ok(Some(edited)) }) => (text, Ok(edited)),
        Ok(EditedText { text, edited: Err(error) }) => (text, Err(error.to_string())),
    };
    let draft = EditDraft { fact: fact.clone(), text, edited };
    model.overlays.push(Overlay::ConfirmEdit(Arc::new(draft)));
    None
}

/// Answers the question after an edit.
pub(crate) fn answer_edit(model: &mut Model, command: Command) -> Vec<Effect> {
    let Some(Overlay::ConfirmEdit(draft)) = model.overlays.last().cloned() else { return vec![] };
    let id: HeldId = draft.fact.id;
    let effect = match (command, &draft.edited) {
        (Command::Yes, Ok(edited)) => Effect::Hold(HoldCommand::Replace(id, edited.bytes.clone())),
        (Command::Yes, Err(_)) => {
            return model.decline("this text cannot be sent: e opens it again, n keeps the message held");
        }
        (Command::EditHeld, _) => Effect::Edit { fact: draft.fact.clone(), text: Some(draft.text.clone()) },
        _ => Effect::Hold(HoldCommand::EndEdit(id)),
    };
    model.overlays.pop();
    vec![effect]
}
