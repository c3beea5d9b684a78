//! `explain`: documentation of a field, message, rule, state or kind of message, or of a line of a
//! log; works offline.

use std::io::Write as _;

use xdscope_engine::lint;
use xdscope_engine::problems::ProblemKind;
use xdscope_engine::store::{MessageKind, RequestClass};
use xdscope_present::printed_line::{self, PrintedLine};
use xdscope_present::{explanation, logs, report};
use xdscope_schema::{ExplainError, Schema};
use xdscope_wire::event::{ApiVersion, Kind};
use xdscope_wire::text::display_safe;

use super::protocol_rows::{ProtocolRow, protocol_row};
use crate::cli::args::ExplainArgs;
use crate::cli::command::suggest;
use crate::cli::error::{CliError, Exit};
use crate::cli::source::schema_flags;
use crate::cli::terminal::io::Io;

/// Shortest text that is looked up in log lines; shorter ones match everywhere.
const SHORTEST: usize = 4;

pub(crate) fn run(args: &ExplainArgs, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let word = args.word.trim();
    let known = word_of_ours(word);
    for (title, text) in &known {
        writeln!(io.stdout, "{title}\n  {text}")?;
    }
    if let Some(row) = protocol_row(word) {
        let ProtocolRow { id, statement, source } = row;
        writeln!(io.stdout, "{id} (rule of the protocol)\n  {statement}\n  {source}")?;
        for rule in lint::rules().filter(|rule| rule.rows.split(", ").any(|row| row == id)) {
            writeln!(io.stdout, "  see  xdscope explain {}", rule.id)?;
        }
        return Ok(Exit::Yes);
    }
    let printed = printed_line::read(word);
    if let Some(line) = &printed {
        own_line(line, io)?;
    }
    let mut lines = logs::explain(word);
    if printed.is_some() {
        // A table of istioctl has some of the words of `status`.
        lines.retain(|meaning| meaning.who != logs::ISTIO);
    }
    for meaning in &lines {
        log_line(meaning, io)?;
    }
    let rule = lint_rule(word);
    if let Some(text) = &rule {
        writeln!(io.stdout, "{text}")?;
    }
    if !known.is_empty() || printed.is_some() || !lines.is_empty() || rule.is_some() {
        return Ok(Exit::Yes);
    }
    if word.contains(char::is_whitespace) || word.is_empty() {
        return if own_words(word, io)? { Ok(Exit::Yes) } else { Err(unknown_line(word)) };
    }
    let schema = schema_flags::descriptors(&args.descriptors)?;
    match schema.explain(word) {
        Ok(found) => {
            writeln!(io.stdout, "{}", explanation::text(&found).trim_end())?;
            Ok(Exit::Yes)
        }
        Err(_) if own_words(word, io)? => Ok(Exit::Yes),
        Err(error) => match &fields_of_resources(word, &schema)[..] {
            [] => Err(unknown_word(word, error)),
            [path] => {
                let found = schema.explain(path).map_err(|error| unknown_word(word, error))?;
                writeln!(io.stdout, "{}", explanation::text(&found).trim_end())?;
                Ok(Exit::Yes)
            }
            paths => Err(CliError {
                next: paths.iter().map(|path| format!("xdscope explain {path}")).collect(),
                ..CliError::usage(format!("several types of resources have a field {word}"))
            }),
        },
    }
}

/// Returns the paths of the fields with this name in types of resources: `Cluster.connect_timeout`.
fn fields_of_resources(name: &str, schema: &Schema) -> Vec<String> {
    let messages = Kind::all().filter_map(|kind| kind.message(ApiVersion::V3)?.rsplit('.').next());
    let mut paths: Vec<String> = messages.map(|message| format!("{message}.{name}")).collect();
    paths.retain(|path| !name.contains('.') && schema.explain(path).is_ok());
    paths.dedup();
    paths
}

/// Explains words from a description, a peer's message or a screen; returns false if there are
/// none.
fn own_words(words: &str, io: &mut Io<'_>) -> Result<bool, CliError> {
    let wanted = words.to_lowercase();
    let mut found = false;
    if wanted.len() < SHORTEST {
        return Ok(false);
    }
    for (state, meaning) in report::STATES.iter().filter(|(_, meaning)| meaning.contains(&wanted)) {
        found = true;
        writeln!(io.stdout, "{} (state of a type)\n  {meaning}", state.word())?;
    }
    for (state, meaning) in report::RESOURCE_STATES.iter().filter(|(_, meaning)| meaning.contains(&wanted)) {
        found = true;
        writeln!(io.stdout, "{} (state of a resource)\n  {meaning}", state.word())?;
    }
    for meaning in logs::with_words(&wanted) {
        found = true;
        log_line(&meaning, io)?;
    }
    if let Some(screen) = xdscope_tui::ScreenId::answering(&wanted) {
        found = true;
        let (title, number, words) = (screen.title(), screen.number(), screen.search_words());
        writeln!(io.stdout, "{title} (screen {number})\n  it answers: {words}")?;
        writeln!(io.stdout, "  see  xdscope replay FILE --view {}", title.to_lowercase())?;
    }
    Ok(found)
}

/// Prints the states and problems that a line of xdscope is about, or the manuals of its rules.
fn own_line(line: &PrintedLine, io: &mut Io<'_>) -> Result<(), CliError> {
    for rule in line.rules.iter().filter_map(|rule| lint_rule(rule)) {
        writeln!(io.stdout, "{rule}")?;
    }
    for word in &line.words {
        for (title, text) in states_and_problems(word) {
            writeln!(io.stdout, "{title}\n  {text}")?;
        }
        for look in printed_line::looks(word, line.kind) {
            writeln!(io.stdout, "  see  {look}")?;
        }
    }
    Ok(())
}

/// Prints who logs the line, what it means, what its parts say, and where to look.
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

/// The error for a word without a meaning, with words that resemble it.
fn unknown_word(word: &str, error: ExplainError) -> CliError {
    let mut near: Vec<String> = match (&error, word.rsplit_once('.')) {
        (ExplainError::NoField { field, known, .. }, Some((head, _))) => {
            suggest::near(field, known.split(", "))
                .into_iter()
                .map(|field| format!("{head}.{field}"))
                .collect()
        }
        _ => Vec::new(),
    };
    if let (ExplainError::NoField { message, field, .. }, false) = (&error, near.is_empty()) {
        let error = CliError::usage(format!("{message} has no field {field}"));
        return CliError {
            next: near.iter().map(|word| format!("xdscope explain {word}")).collect(),
            ..error
        };
    }
    if near.is_empty() {
        let states = report::STATES.iter().map(|(state, _)| state.word());
        let states = states.chain(report::RESOURCE_STATES.iter().map(|(state, _)| state.word()));
        let kinds = MessageKind::ALL.into_iter().map(MessageKind::word);
        let words = states.chain(kinds).chain(lint::rules().map(|rule| rule.id));
        let messages = Kind::all().filter_map(|kind| kind.message(ApiVersion::V3)?.rsplit('.').next());
        near = suggest::near(word, messages).into_iter().map(str::to_owned).collect();
        near.extend(suggest::near(&word.to_ascii_lowercase(), words).into_iter().map(str::to_owned));
        near.dedup();
    }
    let next: Vec<String> = near.iter().map(|word| format!("xdscope explain {word}")).collect();
    let unknown = CliError { next, ..CliError::usage(format!("unknown word `{word}`")).because(error) };
    match near.is_empty() {
        true => unknown
            .next("xdscope explain Cluster.connect_timeout")
            .next("xdscope lint --list-rules")
            .next("xdscope help states"),
        false => unknown,
    }
}

/// The error for a line of no known form, with the forms that are known.
fn unknown_line(word: &str) -> CliError {
    let mut texts = Vec::new();
    for (who, title) in logs::known() {
        texts.push(format!("  {who}: {title}"));
    }
    let known =
        report::STATES.into_iter().map(|(state, _)| state.word()).chain(lint::rules().map(|rule| rule.id));
    let near = match word.contains(' ') {
        true => Vec::new(),
        false => suggest::near(word, known),
    };
    let next = near.into_iter().map(|word| format!("xdscope explain {word}")).collect();
    CliError { next, ..CliError::usage(format!("no known log line: `{}`", display_safe(word))) }
        .because(format!("known are these, with their variable parts in capitals:\n{}", texts.join("\n")))
        .next("xdscope explain 'gRPC config stream closed: 14, ...'")
        .next("xdscope explain WORD, for a field, a rule, a state or a kind of message")
}

/// Prints the manual of a rule.
fn lint_rule(id: &str) -> Option<String> {
    let rule = lint::rule(id)?;
    let head = format!("{id} (lint rule, {})", rule.severity.word());
    Some(format!("{head}\n\n{}", rule.manual().trim_end()))
}

/// Finds states, kinds and classes by name, with their descriptions.
fn word_of_ours(word: &str) -> Vec<(String, &'static str)> {
    let code = word.to_ascii_uppercase();
    let word = word.to_ascii_lowercase();
    let mut found = Vec::new();
    let by_code = |is_delta| RequestClass::from_code(&code, is_delta);
    let is_kind = MessageKind::ALL.into_iter().any(|kind| kind.word() == word);
    let named = RequestClass::ALL.into_iter().filter(|class| class.word() == word && !is_kind);
    for class in named.chain([false, true].into_iter().filter_map(by_code)) {
        found.push((format!("{} (class of a request)", class.word()), class_meaning(class)));
    }
    found.extend(states_and_problems(&word));
    for (mark, meaning) in report::MARKS {
        let is_guess = mark == "(guess)" && (word == "(?)" || word == "?");
        if word.trim_matches(['(', ')']).eq_ignore_ascii_case(mark.trim_matches(['(', ')'])) || is_guess {
            found.push((format!("{mark} (mark)"), meaning));
        }
    }
    for (state, meaning) in report::RESOURCE_STATES {
        if state.word() == word {
            found.push((format!("{} (state of a resource)", state.word()), meaning));
        }
    }
    for kind in MessageKind::ALL.into_iter().filter(|kind| kind.word() == word) {
        found.push((format!("{} (kind of message)", kind.word()), kind_meaning(kind)));
    }
    if found.is_empty() {
        found.extend(term(&word).map(|meaning| (format!("{word} (glossary)"), meaning)));
    }
    found
}

/// Finds states of types and kinds of problems by name, with their descriptions.
fn states_and_problems(word: &str) -> Vec<(String, &'static str)> {
    let word = word.to_ascii_lowercase();
    let mut found = Vec::new();
    for (state, meaning) in report::STATES {
        if state.word() == word {
            found.push((format!("{} (state of a type)", state.word()), meaning));
        }
    }
    for (problem, meaning) in report::PROBLEM_WORDS {
        if problem.eq_ignore_ascii_case(&word) || problem_json(problem) == word {
            found.push((format!("{problem} (problem)"), meaning));
        }
    }
    found
}

/// Returns the meaning of a term of the glossary.
fn term(word: &str) -> Option<&'static str> {
    let rows = include_str!("../../../docs/glossary.md").lines();
    let mut rows = rows.filter_map(|row| row.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
    rows.find(|(term, _)| *term == word && word != "term").map(|(_, meaning)| meaning)
}

/// Returns how JSON spells the word of a problem.
fn problem_json(word: &str) -> String {
    match word {
        "DIFFERS" => ProblemKind::NotApplied.word().to_owned(),
        word => word.to_lowercase(),
    }
}

/// Describes a class of requests.
fn class_meaning(class: RequestClass) -> &'static str {
    match class {
        RequestClass::Initial => "the first request for the type on the stream",
        RequestClass::UnknownNonce => {
            "a request whose nonce the server never issued for the type on the stream"
        }
        RequestClass::BeforeFirstResponse => {
            "a request without a nonce, sent before the client had a response for the type"
        }
        RequestClass::NonceDropped => {
            "a request without a nonce, although the client has used one before for the type"
        }
        RequestClass::OlderNonce => {
            "a request with the nonce of an older response than one that the client has answered"
        }
        RequestClass::StaleNonce => {
            "a request with the nonce of a response that a newer response had replaced already"
        }
        RequestClass::NewestNonce => "a request with the nonce of the newest response",
        RequestClass::Ack => "delta: the nonce of a response without a verdict, and no error_detail",
        RequestClass::Nack => "delta: the nonce of a response without a verdict, and an error_detail",
        RequestClass::Spontaneous => "delta: a request without a nonce, which changes the subscription",
        RequestClass::SettledNonce => "delta: a request with the nonce of a response that has its verdict",
    }
}

/// Describes a kind of message.
pub(crate) fn kind_meaning(kind: MessageKind) -> &'static str {
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
        MessageKind::Unchanged => "a REST poll was answered with 304: nothing has changed",
        MessageKind::Intercepted => "an armed tap did something to a message, as its faults say",
        MessageKind::Gap => "messages are missing here: they cannot be read, or are not kept",
    }
}
