//! The words of rows, the same as on screen.

use std::time::Duration;

use crate::event::{Dir, Time, TypeUrl};
use crate::store::{EndFact, MessageFact, MessageKind, StateFact, TypeState, Wildcard};
use crate::text::{age, count, latency, plural};

use super::io::{Role, Style};
use super::table::Cell;

/// Word of a state, and its colour.
pub(super) fn state_word(state: TypeState) -> (&'static str, Role) {
    match state {
        TypeState::Held => ("HELD", Role::Wire),
        TypeState::Nack => ("NACK", Role::Bad),
        TypeState::Stale => ("STALE", Role::Warn),
        TypeState::Miss => ("MISS", Role::Warn),
        TypeState::Sent => ("SENT", Role::Pending),
        TypeState::Wait => ("WAIT", Role::Pending),
        TypeState::Synced => ("SYNCED", Role::Ok),
        TypeState::Idle => ("idle", Role::Muted),
        TypeState::Closed => ("closed", Role::Muted),
    }
}

/// Someone must act on it.
pub(super) fn is_problem(state: TypeState) -> bool {
    matches!(state, TypeState::Nack | TypeState::Stale | TypeState::Miss)
}

/// How bad a state is for the order of rows; a closed stream is history, so it comes last.
pub(super) fn severity(state: TypeState) -> u8 {
    match state {
        TypeState::Held => 0,
        TypeState::Nack => 1,
        TypeState::Stale => 2,
        TypeState::Miss => 3,
        TypeState::Wait => 4,
        TypeState::Sent => 5,
        TypeState::Synced => 6,
        TypeState::Idle => 7,
        TypeState::Closed => 8,
    }
}

/// How often in a row the newest refused version was refused.
fn refusals(fact: &StateFact) -> usize {
    let Some(last) = fact.nacks.last() else { return 0 };
    fact.nacks.iter().rev().take_while(|nack| nack.version == last.version).count()
}

/// `NACK×3`, `MISS 1/119`: word and count, without the age.
pub(super) fn state_text(fact: &StateFact, state: TypeState, style: Style) -> String {
    let (word, _) = state_word(state);
    match state {
        TypeState::Nack if refusals(fact) > 1 => format!("{word}{}{}", style.pick("×", "x"), refusals(fact)),
        TypeState::Miss => {
            format!("{word} {}/{}", count(fact.missing.len() as u64), count(fact.names.len() as u64))
        }
        _ => word.to_owned(),
    }
}

/// A cell of the matrix: word and age. A closed stream tells what it was.
pub(super) fn state_cell(fact: &StateFact, now: Time, untimed: bool, style: Style) -> Cell {
    let (_, role) = state_word(fact.state);
    let mut text = state_text(fact, fact.state, style);
    if fact.state != TypeState::Idle && !untimed {
        text = format!("{text} {}", age(now.since(fact.since)));
    }
    Cell::role(text, role)
}

/// `push`, `└ NACK #478`, `subscribe +1`.
pub(super) fn kind(fact: &MessageFact, style: Style) -> Cell {
    let role = match fact.kind {
        MessageKind::Nack => Role::Bad,
        MessageKind::Ack => Role::Ok,
        MessageKind::Subscribe | MessageKind::Unsubscribe => Role::Pending,
        MessageKind::Resend => Role::Warn,
        MessageKind::Push => Role::Plain,
        _ => Role::Muted,
    };
    let word = match fact.kind {
        MessageKind::Nack if fact.implied => "NACK by version",
        MessageKind::Nack => "NACK",
        kind => kind.word(),
    };
    let mut text = match fact.answers.filter(|_| fact.dir == Some(Dir::Req)) {
        Some(n) => format!("{} {word} #{}", style.pick("└", "`"), n.0),
        None => word.to_owned(),
    };
    if fact.dir == Some(Dir::Req) {
        for (sign, names) in [('+', &fact.added), ('-', &fact.removed)] {
            if !names.is_empty() {
                text.push_str(&format!(" {sign}{}", count(names.len() as u64)));
            }
        }
    }
    Cell::role(text, role)
}

/// `119 +1 ~1`, `119 =119`, `119 names`.
pub(super) fn resources(fact: &MessageFact) -> String {
    match fact.dir {
        Some(Dir::Req) if fact.count == 0 => String::new(),
        Some(Dir::Req) => plural(fact.count, "name"),
        Some(Dir::Resp) => {
            let mut text = count(fact.count);
            for (sign, n) in [('+', fact.added.len()), ('~', fact.changed.len()), ('-', fact.removed.len())] {
                if n > 0 {
                    text.push_str(&format!(" {sign}{}", count(n as u64)));
                }
            }
            if fact.added.is_empty() && fact.changed.is_empty() && fact.removed.is_empty() && fact.same > 0 {
                text.push_str(&format!(" ={}", count(fact.same)));
            }
            text
        }
        None => String::new(),
    }
}

/// `9ms`, and with a sign what is a second or more: `+9.1s`.
pub(super) fn delta(since: Duration) -> String {
    format!("{}{}", if since.as_secs() > 0 { "+" } else { "" }, latency(since))
}

/// What is subscribed to: `* (legacy)`, `2 names`, `* and 2 names`.
pub(super) fn subscribed(fact: &StateFact) -> String {
    let names = fact.names.len() as u64;
    let star = match fact.wildcard {
        Wildcard::None => return plural(names, "name"),
        Wildcard::Explicit => "*",
        Wildcard::Legacy => "* (legacy)",
        Wildcard::Ambiguous => "* (ambiguous)",
    };
    if names == 0 { star.to_owned() } else { format!("{star} and {}", plural(names, "name")) }
}

/// How a stream ended: status, reset, what else is known.
pub(super) fn end(end: &EndFact) -> String {
    let mut words: Vec<String> = Vec::new();
    words.extend(end.code.map(|code| code.to_string()));
    words.extend(end.message.clone().filter(|message| !message.is_empty()));
    words.extend(end.reset.map(|code| format!("reset with HTTP/2 code {code}")));
    words.extend(end.note.clone());
    words.join(" ")
}

/// In the order of screens: known types first, others after them by name.
pub(super) fn type_order(url: &TypeUrl) -> (usize, String) {
    let kind = crate::event::Kind::of_type_url(url.as_str()).map(|(kind, _)| kind as usize);
    (kind.unwrap_or(usize::MAX), url.to_string())
}
