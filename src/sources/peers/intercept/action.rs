use std::time::Duration;

use serde_json::Value;

use super::FaultError;
use xdscope_engine::filter::WIRE_KINDS;
use xdscope_engine::store::MessageKind;
use xdscope_wire::event::{CODE_NAMES, Code, Dir};
use xdscope_wire::text::near::nearest;
use xdscope_wire::text::{parse_bytes, parse_duration};

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
    /// All armed streams of the tap are reset on both sides.
    ResetAll,
    /// The stream ends with this status for the client, and is reset for the server.
    Status(Code, String),
    /// The client is told to open no more streams on the connection. The message is sent.
    ///
    /// With a time, the client is told only then, and the stream ends.
    GoAway(Option<Duration>),
    /// The server gets a NACK with this text. The client never sees the push.
    Bounce(String),
    /// The push is sent, its answer is not.
    DropAck,
    /// The request carries the nonce before its own; on a push, its answer does.
    StaleNonce,
    /// The push is sent, and a copy with another nonce: after it, or before it without a resource.
    Reannounce(Option<String>),
    /// The first request of a type on a stream states no versions.
    Forget,
    /// A resource or name is sent under another name.
    Rename {
        /// The name in the message; `*` also stands for a request without names.
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
    /// A resource is not in the push, and the client is not told that it does not exist. A push of
    /// this resource alone is not sent.
    Omit(String),
    /// A resource is in the push twice.
    Repeat(String),
    /// The push has at least this many bytes.
    Pad(u64),
    /// No byte of the connection is passed on any more.
    Blackhole,
}

/// How long a message waits for the next one that it is exchanged with.
pub const REORDER_TIME: Duration = Duration::from_secs(5);

const REQUEST_KINDS: [MessageKind; 5] = [
    MessageKind::Ack,
    MessageKind::Nack,
    MessageKind::Subscribe,
    MessageKind::Unsubscribe,
    MessageKind::Repeat,
];

/// Status codes or actions that are listed for a mistyped one.
const MAX_NEAR_WORDS: usize = 3;

/// Longest push that `pad` makes, in bytes.
const MAX_PAD_BYTES: u64 = 64 << 20;

/// The forms of all actions, for help and messages.
pub const ACTION_FORMS: [&str; 23] = [
    "drop",
    "delay TIME",
    "hold TIME",
    "duplicate",
    "reorder",
    "truncate",
    "corrupt",
    "throttle RATE",
    "reset [all]",
    "status CODE [TEXT]",
    "goaway [TIME]",
    "bounce TEXT",
    "drop-ack",
    "stale-nonce",
    "reannounce [NAME]",
    "forget",
    "rename OLD NEW",
    "set PATH=VALUE",
    "remove NAME",
    "omit NAME",
    "repeat NAME",
    "pad SIZE",
    "blackhole",
];

/// The options of a fault.
pub(super) const OPTION_FORMS: [&str; 5] = ["nth=N", "every=N", "after=TIME", "times=N", "p=0..1"];

/// The effect of each action of [`ACTION_FORMS`], in one line.
pub const ACTION_DOCS: [&str; 23] = [
    "do not send the message",
    "send the message this much later",
    "hold the message, and send it unmodified after this time",
    "send the message twice; only one answer reaches the server",
    "send the message after the next one, or after 5s",
    "send the first half of the message",
    "send the message with one wrong byte",
    "send messages at this rate, such as 10kB/s",
    "reset the stream on both sides, or all armed streams",
    "end the stream with a status for the client",
    "GOAWAY: no more streams on the connection; at TIME, the stream ends too",
    "answer the push with a NACK; the client never sees it",
    "send the push, but not its answer",
    "send the request, or the answer to the push, with the nonce before",
    "send the push and a copy with another nonce, first without NAME",
    "send the first request of a type without versions",
    "send a resource or name under another name; * is a wildcard request",
    "send resources with another value in a field; nonce and version too",
    "send the push without a resource; in delta, as removed",
    "send the push without a resource, and not as removed",
    "send the push with a resource in it twice",
    "send the push with an unknown field, of this size in all",
    "pass on nothing of the connection any more",
];

/// Returns the error of a status code that does not exist, with those that resemble it.
fn unknown_code(word: &str) -> FaultError {
    let near = nearest(word, CODE_NAMES, MAX_NEAR_WORDS);
    FaultError::UnknownCode { word: word.to_owned(), near: near.into_iter().map(str::to_owned).collect() }
}

/// Returns the error of an action that does not exist, with those that resemble it.
fn unknown_action(word: &str) -> FaultError {
    let names = ACTION_FORMS.map(|form| form.split(' ').next().unwrap_or_default());
    let near = nearest(word, names, MAX_NEAR_WORDS);
    FaultError::UnknownAction { word: word.to_owned(), near: near.into_iter().map(str::to_owned).collect() }
}

impl Action {
    /// Parses an action and its arguments.
    pub(super) fn parse(words: &[String]) -> Result<Action, FaultError> {
        let (word, args) = words.split_first().ok_or(FaultError::NoAction)?;
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let form = ACTION_FORMS.iter().find(|form| form.split(' ').next() == Some(word));
        let form = form.ok_or_else(|| unknown_action(word))?;
        let wrong = || FaultError::Arguments { form };
        Ok(match (word.as_str(), args.as_slice()) {
            ("drop", []) => Action::Drop,
            ("delay", [time]) => Action::Delay(parse_duration(time).ok_or_else(wrong)?),
            ("hold", [time]) => Action::Hold(parse_duration(time).ok_or_else(wrong)?),
            ("duplicate", []) => Action::Duplicate,
            ("reorder", []) => Action::Reorder,
            ("truncate", []) => Action::Truncate,
            ("corrupt", []) => Action::Corrupt,
            ("throttle", [rate]) => {
                let rate = parse_bytes(rate.strip_suffix("/s").unwrap_or(rate)).filter(|rate| *rate > 0);
                Action::Throttle(rate.ok_or_else(wrong)?)
            }
            ("reset", []) => Action::Reset,
            ("reset", ["all"]) => Action::ResetAll,
            ("status", [code, text @ ..]) => {
                let number = code.parse().ok().map(Code).filter(|number| number.name().is_some());
                let found = number.or_else(|| Code::parse(&code.to_ascii_uppercase()));
                let found = found.filter(|found| found.name().is_some()).ok_or_else(|| unknown_code(code))?;
                Action::Status(found, text.join(" "))
            }
            ("goaway", []) => Action::GoAway(None),
            ("goaway", [time]) => Action::GoAway(Some(parse_duration(time).ok_or_else(wrong)?)),
            ("bounce", text @ [_, ..]) => Action::Bounce(text.join(" ")),
            ("drop-ack", []) => Action::DropAck,
            ("stale-nonce", []) => Action::StaleNonce,
            ("reannounce", []) => Action::Reannounce(None),
            ("reannounce", [name]) => Action::Reannounce(Some((*name).to_owned())),
            ("forget", []) => Action::Forget,
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
            ("omit", [name]) => Action::Omit((*name).to_owned()),
            ("repeat", [name]) => Action::Repeat((*name).to_owned()),
            ("pad", [size]) => {
                let size = parse_bytes(size).ok_or_else(wrong)?;
                if size > MAX_PAD_BYTES {
                    return Err(FaultError::LargePad(MAX_PAD_BYTES));
                }
                Action::Pad(size)
            }
            ("blackhole", []) => Action::Blackhole,
            (action, [.., word]) if word.contains('=') => {
                return Err(FaultError::UnknownOption {
                    word: (*word).to_owned(),
                    action: action.to_owned(),
                });
            }
            _ => return Err(wrong()),
        })
    }

    /// Returns the only direction that the action is for.
    pub(super) fn dir(&self) -> Option<Dir> {
        match self {
            Action::Bounce(_)
            | Action::Remove(_)
            | Action::Omit(_)
            | Action::Repeat(_)
            | Action::Set { .. }
            | Action::Reannounce(_)
            | Action::Pad(_) => Some(Dir::Resp),
            Action::Forget => Some(Dir::Req),
            // Names of pushes are whole.
            Action::Rename { from, .. } if from == "*" => Some(Dir::Req),
            _ => None,
        }
    }

    /// Returns the kinds of messages that the action is for.
    pub(super) fn kinds(&self) -> &'static [MessageKind] {
        use MessageKind as K;
        match (self, self.dir()) {
            (Action::DropAck, _) => &[K::Push, K::Ack, K::Nack],
            (Action::Forget, _) => &[K::Subscribe],
            (_, Some(Dir::Resp)) => &[K::Push],
            (_, Some(Dir::Req)) => &REQUEST_KINDS,
            (_, None) => &WIRE_KINDS,
        }
    }

    /// Returns the only resource that the action is for.
    pub(super) fn resource(&self) -> Option<&str> {
        match self {
            Action::Remove(name)
            | Action::Omit(name)
            | Action::Repeat(name)
            | Action::Reannounce(Some(name)) => Some(name),
            _ => None,
        }
    }

    /// Returns the word of the action.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Action::Drop => "drop",
            Action::Delay(_) => "delay",
            Action::Hold(_) => "hold",
            Action::Duplicate => "duplicate",
            Action::Reorder => "reorder",
            Action::Truncate => "truncate",
            Action::Corrupt => "corrupt",
            Action::Throttle(_) => "throttle",
            Action::Reset | Action::ResetAll => "reset",
            Action::Status(..) => "status",
            Action::GoAway(_) => "goaway",
            Action::Bounce(_) => "bounce",
            Action::DropAck => "drop-ack",
            Action::StaleNonce => "stale-nonce",
            Action::Reannounce(_) => "reannounce",
            Action::Forget => "forget",
            Action::Rename { .. } => "rename",
            Action::Set { .. } => "set",
            Action::Remove(_) => "remove",
            Action::Omit(_) => "omit",
            Action::Repeat(_) => "repeat",
            Action::Pad(_) => "pad",
            Action::Blackhole => "blackhole",
        }
    }
}
