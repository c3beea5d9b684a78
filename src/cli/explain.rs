//! `explain`: a field, a message, a rule, a state, a kind of message or a pasted log line, offline.

use std::io::Write as _;

use crate::engine::lint;
use crate::engine::store::{MessageKind, ResourceState, TypeState};
use crate::present::logs;
use crate::wire::text::display_safe;

use super::args::ExplainArgs;
use super::error::{CliError, Exit};
use super::io::Io;
use super::schema_flags;

/// Fewer letters are in everything.
const SHORTEST: usize = 4;

pub(super) fn run(args: &ExplainArgs, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let word = args.word.trim();
    let known = word_of_ours(word);
    for (title, text) in &known {
        writeln!(io.stdout, "{title}\n  {text}")?;
    }
    let lines = logs::explain(word);
    for meaning in &lines {
        log_line(meaning, io)?;
    }
    if !known.is_empty() || !lines.is_empty() {
        return Ok(Exit::Yes);
    }
    if let Some(text) = lint_rule(word) {
        writeln!(io.stdout, "{text}")?;
        return Ok(Exit::Yes);
    }
    if word.contains(char::is_whitespace) || word.is_empty() {
        return if own_words(word, io)? { Ok(Exit::Yes) } else { Err(unknown_line(word)) };
    }
    let schema = schema_flags::schema(&args.descriptors)?;
    match schema.explain(word) {
        Ok(text) => {
            writeln!(io.stdout, "{}", text.trim_end())?;
            Ok(Exit::Yes)
        }
        Err(_) if own_words(word, io)? => Ok(Exit::Yes),
        Err(error) => Err(CliError::usage(format!("nothing is known of `{word}`"))
            .because(error)
            .next("xdscope explain Cluster.connect_timeout")
            .next("xdscope lint --list-rules")
            .next("xdscope help states")),
    }
}

/// Words out of the meaning of a state or the text of a peer, or by which people look for a screen; false: they are none.
fn own_words(words: &str, io: &mut Io<'_>) -> Result<bool, CliError> {
    let wanted = words.to_lowercase();
    let mut found = false;
    if wanted.len() < SHORTEST {
        return Ok(false);
    }
    for (state, meaning) in STATES.iter().filter(|(_, meaning)| meaning.contains(&wanted)) {
        found = true;
        writeln!(io.stdout, "{} (state of a type)\n  {meaning}", state.word())?;
    }
    for (state, meaning) in RESOURCE_STATES.iter().filter(|(_, meaning)| meaning.contains(&wanted)) {
        found = true;
        writeln!(io.stdout, "{} (state of a resource)\n  {meaning}", state.word())?;
    }
    for meaning in logs::with_words(&wanted) {
        found = true;
        log_line(&meaning, io)?;
    }
    if let Some((screen, others)) = crate::tui::answering(&wanted) {
        found = true;
        let (title, number) = (screen.title(), screen.number());
        writeln!(io.stdout, "{title} (screen {number})\n  it answers: {others}")?;
        writeln!(io.stdout, "  see  xdscope replay FILE --view {}", title.to_lowercase())?;
    }
    Ok(found)
}

/// Whose words it is, what it means, what its parts say, and where to look.
fn log_line(meaning: &logs::Meaning, io: &mut Io<'_>) -> Result<(), CliError> {
    writeln!(io.stdout, "{}: {}\n  {}", meaning.who, meaning.title, meaning.means)?;
    for note in &meaning.notes {
        writeln!(io.stdout, "  - {note}")?;
    }
    for look in &meaning.look {
        writeln!(io.stdout, "  see  {look}")?;
    }
    Ok(())
}

/// A line that none of the forms fits, and which ones there are.
fn unknown_line(word: &str) -> CliError {
    let mut texts = Vec::new();
    for (who, title) in logs::known() {
        texts.push(format!("  {who}: {title}"));
    }
    CliError::usage(format!("no known log line: `{}`", display_safe(word)))
        .because(format!("known are these, with their variable parts in capitals:\n{}", texts.join("\n")))
        .next("xdscope explain 'gRPC config stream closed: 14, ...'")
        .next("xdscope explain WORD, for a field, a rule, a state or a kind of message")
}

/// The manual of a rule.
fn lint_rule(id: &str) -> Option<String> {
    let rule = lint::rule(id)?;
    let head = format!("{id} (lint rule, {}, rows {})", rule.severity.word(), rule.rows);
    Some(format!("{head}\n\n{}", rule.manual().trim_end()))
}

/// States and kinds of that name, with what they mean.
fn word_of_ours(word: &str) -> Vec<(String, &'static str)> {
    let word = word.to_ascii_lowercase();
    let mut found = Vec::new();
    for (state, meaning) in STATES {
        if state.word() == word {
            found.push((format!("{} (state of a type)", state.word()), meaning));
        }
    }
    for (state, meaning) in RESOURCE_STATES {
        if state.word() == word {
            found.push((format!("{} (state of a resource)", state.word()), meaning));
        }
    }
    for kind in MessageKind::ALL.into_iter().filter(|kind| kind.word() == word) {
        found.push((format!("{} (kind of message)", kind.word()), kind_meaning(kind)));
    }
    found
}

/// States of a type, as `help states` lists them.
pub(super) const STATES: [(TypeState, &str); 10] = [
    (TypeState::Synced, "the last push was acknowledged"),
    (TypeState::Sent, "pushed, no answer yet"),
    (TypeState::Stale, "pushed, and no answer for --stale-after"),
    (TypeState::Nack, "the last push was refused; the version before it is in force"),
    (TypeState::Wait, "asked for, nothing sent yet"),
    (TypeState::Miss, "names asked for were not delivered within --resource-timeout"),
    (TypeState::Held, "a message is held in the tap"),
    (TypeState::Idle, "not subscribed"),
    (TypeState::Closed, "the stream has ended; its last state is kept"),
    (
        TypeState::Down,
        "not of a type: connections come to nothing, and none since the first has had a stream",
    ),
];

/// States of one resource on one stream, by what was sent so far, accepted or not.
pub(super) const RESOURCE_STATES: [(ResourceState, &str); 9] = [
    (ResourceState::Waiting, "asked for, not sent yet"),
    (ResourceState::Present, "sent on this stream, and not removed since"),
    (ResourceState::Kept, "held from an earlier stream, not sent again on this one"),
    (ResourceState::Removed, "sent, then removed by the server"),
    (ResourceState::Absent, "said not to exist: by the server, or by the client's own timer"),
    (ResourceState::Expired, "its time to live ran out"),
    (ResourceState::Redirected, "the server named another resource in its place"),
    (ResourceState::Released, "the client does not ask for it any more"),
    (ResourceState::Orphan, "in force, and nothing that the client was sent refers to it any more"),
];

/// What a kind of message does.
pub(super) fn kind_meaning(kind: MessageKind) -> &'static str {
    match kind {
        MessageKind::Nack => {
            "a request that refuses a response: it has an error_detail, or goes back a version"
        }
        MessageKind::Ack => "a request that accepts the response whose nonce it carries",
        MessageKind::Subscribe => "a request that asks for more names",
        MessageKind::Unsubscribe => "a request that asks for fewer names",
        MessageKind::Repeat => "a request that changes nothing and answers nothing new",
        MessageKind::Push => "a response with content that is new or changed",
        MessageKind::Resend => "a response with the same content as the one before",
        MessageKind::Heartbeat => "a response that only prolongs a time to live",
        MessageKind::Open => "a stream was opened",
        MessageKind::Close => "a stream ended",
    }
}
