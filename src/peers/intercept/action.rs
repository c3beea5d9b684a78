use std::time::Duration;

use serde_json::Value;

use super::FaultError;
use crate::engine::filter::{bytes, duration};
use crate::wire::event::Code;

/// The effect of a fault on a message or its stream.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// The message is not sent.
    Drop,
    /// The message is sent later.
    Delay(Duration),
    /// The message is held, and sent unmodified after this time.
    Hold(Duration),
    /// The message is sent twice.
    Duplicate,
    /// The message is sent after the next one of its direction, or after [`REORDER_TIME`].
    Reorder,
    /// The second half of the message is missing.
    Truncate,
    /// A byte of the message is changed.
    Corrupt,
    /// Messages are sent at this rate, in bytes per second.
    Throttle(u64),
    /// The stream is reset on both sides.
    Reset,
    /// The stream ends with this status for the client, and is reset for the server.
    Status(Code, String),
    /// The client is told to open no more streams on the connection. The message is sent.
    GoAway,
    /// The server gets a NACK with this text. The client never sees the push.
    Bounce(String),
    /// The push is sent, its answer is not.
    DropAck,
    /// The request carries the nonce before its own; on a push, its answer does.
    StaleNonce,
    /// A resource or name is sent under another name.
    Rename {
        /// The name in the message.
        from: String,
        /// The name that is sent.
        to: String,
    },
    /// A field of the resources, or `nonce` or `version`, is sent with another value.
    Set {
        /// The path from the resource.
        path: Vec<String>,
        /// The value, as JSON.
        value: Value,
    },
    /// A resource is not in the push: it does not exist, for the client.
    Remove(String),
    /// No byte of the connection is passed on any more.
    Blackhole,
}

/// How long a message waits for the next one that it is exchanged with.
pub const REORDER_TIME: Duration = Duration::from_secs(5);

/// The forms of all actions, for help and messages.
pub const ACTION_FORMS: [&str; 18] = [
    "drop",
    "delay TIME",
    "hold TIME",
    "duplicate",
    "reorder",
    "truncate",
    "corrupt",
    "throttle RATE",
    "reset",
    "status CODE [TEXT]",
    "goaway",
    "bounce TEXT",
    "drop-ack",
    "stale-nonce",
    "rename OLD NEW",
    "set PATH=VALUE",
    "remove NAME",
    "blackhole",
];

/// The effect of each action of [`ACTION_FORMS`], in one line.
pub const ACTION_DOCS: [&str; 18] = [
    "do not send the message",
    "send the message this much later",
    "hold the message, and send it unmodified after this time",
    "send the message twice; only one answer reaches the server",
    "send the message after the next one, or after 5s",
    "send the first half of the message",
    "send the message with one wrong byte",
    "send messages at this rate, such as 10kB/s",
    "reset the stream on both sides",
    "end the stream with a status for the client",
    "tell the client to open no more streams on the connection",
    "answer the push with a NACK; the client never sees it",
    "send the push, but not its answer",
    "send the request, or the answer to the push, with the nonce before",
    "send a resource or name under another name",
    "send resources with another value in a field; nonce and version too",
    "send the push without a resource; in delta, as removed",
    "pass on nothing of the connection any more",
];

impl Action {
    /// Parses an action and its arguments.
    pub(super) fn parse(words: &[String]) -> Result<Action, FaultError> {
        let (word, args) = words.split_first().ok_or(FaultError::NoAction)?;
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let form = ACTION_FORMS.iter().find(|form| form.split(' ').next() == Some(word));
        let form = form.ok_or_else(|| FaultError::UnknownAction { word: word.clone() })?;
        let wrong = || FaultError::Arguments { form };
        Ok(match (word.as_str(), args.as_slice()) {
            ("drop", []) => Action::Drop,
            ("delay", [time]) => Action::Delay(duration(time).ok_or_else(wrong)?),
            ("hold", [time]) => Action::Hold(duration(time).ok_or_else(wrong)?),
            ("duplicate", []) => Action::Duplicate,
            ("reorder", []) => Action::Reorder,
            ("truncate", []) => Action::Truncate,
            ("corrupt", []) => Action::Corrupt,
            ("throttle", [rate]) => {
                let rate = bytes(rate.strip_suffix("/s").unwrap_or(rate)).filter(|rate| *rate > 0);
                Action::Throttle(rate.ok_or_else(wrong)?)
            }
            ("reset", []) => Action::Reset,
            ("status", [code, text @ ..]) => {
                let number = code.parse().ok().map(Code);
                let code = number.or_else(|| Code::parse(code)).filter(|code| code.name().is_some());
                let code = code.ok_or_else(wrong)?;
                Action::Status(code, text.join(" "))
            }
            ("goaway", []) => Action::GoAway,
            ("bounce", text @ [_, ..]) => Action::Bounce(text.join(" ")),
            ("drop-ack", []) => Action::DropAck,
            ("stale-nonce", []) => Action::StaleNonce,
            ("rename", [from, to]) => Action::Rename { from: (*from).to_owned(), to: (*to).to_owned() },
            ("set", [text @ .., last]) => {
                let text = text.iter().chain([last]).copied().collect::<Vec<_>>().join(" ");
                let (path, value) = text.split_once('=').ok_or_else(wrong)?;
                let path: Vec<String> = path.split('.').map(str::to_owned).collect();
                if path.iter().any(String::is_empty) {
                    return Err(wrong());
                }
                let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
                Action::Set { path, value }
            }
            ("remove", [name]) => Action::Remove((*name).to_owned()),
            ("blackhole", []) => Action::Blackhole,
            _ => return Err(wrong()),
        })
    }

    /// Whether the action is for pushes only.
    pub(super) fn is_for_pushes(&self) -> bool {
        matches!(self, Action::Bounce(_) | Action::Remove(_) | Action::Set { .. })
    }
}
