//! Words and sentences about problems.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;

use crate::text::shell_word;
use xdscope_engine::lint::{Blame, Finding, Severity, Subject};
use xdscope_engine::nack::StatedFaults;
use xdscope_engine::problems::{
    OwedResources, Problem, ProblemFact, ProblemKind, RefusedPush, RefusedResources, ReportedErrors,
    StrayAnswer, UnappliedResources, Urgency, WarmingResources, count_wrong,
};
use xdscope_engine::store::{
    AbsenceFact, ClientMark, PushedVersion, RequestSpan, UnreachablePeer, WarmingUser,
};
use xdscope_wire::event::{ApiVersion, Clock, Code, Kind, Time};
use xdscope_wire::text::{age, count, period, plural, shown_name, time_of_day_secs, type_label};

use super::failing::hung_up;
use super::{
    Role, client_mark, error_reason, failing_stream, finding, listed_names, owed_at_end, row_note,
    row_note::caused_by, state_word,
};

/// Words of problems that are not states, and what they mean.
pub const PROBLEM_WORDS: [(&str, &str); 8] = [
    ("FAILING", "the streams of a client end with errors, and none has been healthy since"),
    ("OWED", "the stream closed before a request or a response was answered"),
    ("DIFFERS", "a dump of the client lacks or refuses what it accepted, or differs from it (--applied)"),
    ("REFUSED", "a resource stays refused although a later response was accepted"),
    ("ERROR", "a rule of severity error was broken"),
    ("WARN", "a rule of severity warn was broken"),
    ("APPLIED", "for a file: read and valid, as no client acknowledges a file"),
    ("over", "a rule was broken, and the consequence has ended"),
];

/// The words for a refusal on a stream that has closed since.
const BEFORE_CLOSE: &str = " before the stream closed";

/// Resources that the sentence about a refused extension configuration lists.
const MAX_USERS: usize = 3;

/// Clients that the sentence about a problem lists.
const MAX_CLIENTS: usize = 8;

/// Versions that the sentence about nodes with different ones lists, and nodes of each.
const MAX_VERSIONS: usize = 4;
const MAX_NODES_OF_VERSION: usize = 2;

/// The code of gRPC for a resource that does not exist.
const NOT_FOUND: Code = Code(5);
/// Names of resources that do not exist to list; the others are counted.
const MAX_ABSENT_NAMES: usize = 3;

/// Marks after findings and states, and what they mean.
pub const MARKS: [(&str, &str); 2] = [
    (
        "(guess)",
        "rests on what is likely, not on the wire alone: a bootstrap may have more clusters, or a nonce fits two responses",
    ),
    ("OK", "SYNCED, where there is little room"),
];

/// Returns the word of a problem, and its role: `NACK`, `FAILING`, `ERROR`.
pub fn problem_word(fact: &ProblemFact) -> (&'static str, Role) {
    // The request is in error, and the wait for an answer is its consequence.
    let is_in_error =
        |owed: &OwedResources| owed.broken.first().is_some_and(|broken| broken.severity == Severity::Error);
    let kind = match &fact.problem {
        Problem::Owed(owed) if fact.urgency == Urgency::Error && is_in_error(owed) => {
            ProblemKind::Rule(Severity::Error)
        }
        _ => fact.kind,
    };
    problem_kind_word(kind, fact.urgency)
}

/// Returns the word and the role of a kind of problem.
pub fn problem_kind_word(kind: ProblemKind, urgency: Urgency) -> (&'static str, Role) {
    let role = if urgency == Urgency::Error { Role::Bad } else { Role::Warn };
    match kind {
        _ if urgency == Urgency::Over => ("over", Role::Muted),
        ProblemKind::State(state) => state_word(state),
        ProblemKind::Failing => ("FAILING", role),
        ProblemKind::Owed => ("OWED", role),
        ProblemKind::NotApplied => ("DIFFERS", role),
        ProblemKind::StillRefused => ("REFUSED", role),
        ProblemKind::Rule(Severity::Error) => ("ERROR", role),
        ProblemKind::Rule(_) => ("WARN", role),
    }
}

/// Returns the client of a problem, and the stream if the client has such a problem on several:
/// `edge-gw-1`, `edge-gw-1 cluster=b`, `edge-gw-1 #7`.
///
/// A problem of several clients has their number: `2 nodes`.
pub fn problem_client(fact: &ProblemFact) -> String {
    let clients = problem_clients(fact).len() as u64;
    if clients > 1 {
        return plural(clients, "node");
    }
    let Some(node) = &fact.node else { return format!("#{}", fact.stream.0) };
    let mark = client_mark(fact.mark.as_ref(), fact.stream);
    let has_stream = fact.mark == Some(ClientMark::Stream);
    let stream = client_mark(Some(&ClientMark::Stream).filter(|_| fact.has_twin && !has_stream), fact.stream);
    format!("{node}{mark}{stream}")
}

/// Returns the clients that a problem is about, by name.
fn problem_clients(fact: &ProblemFact) -> BTreeSet<Arc<str>> {
    let names = fact.places().map(|place| match &place.node {
        Some(node) => format!("{node}{}", client_mark(place.mark.as_ref(), place.stream)).into(),
        None => format!("#{}", place.stream.0).into(),
    });
    names.collect()
}

/// Returns the client and the type of a problem: `edge-gw-1 CDS`, `edge-gw-1 #7 CDS`.
pub fn problem_place(fact: &ProblemFact) -> String {
    let node = problem_client(fact);
    match fact.type_url.is_empty() {
        true => node,
        false => format!("{node} {}", type_label(fact.type_url.as_str())),
    }
}

/// Returns one sentence that says who owes what to whom, or which rule was broken:
/// `server owes EDS ledger-v2, asked twice (#489 #491)`.
pub fn problem(fact: &ProblemFact, clock: &Clock) -> String {
    let Clauses { main, details } = clauses(fact, clock);
    main + &details
}

/// Returns the sentence of [`problem`] and the reason of the client, if the client gave one:
/// `client refused CDS 42; version 41 in force: reviews: connect_timeout: value must be greater
/// than 0s`.
pub fn problem_with_reason(fact: &ProblemFact, clock: &Clock) -> String {
    let reason = fact.reason().map(|reason| format!(": {reason}")).unwrap_or_default();
    problem(fact, clock) + &reason
}

/// The parts of a sentence about a problem.
pub(super) struct Clauses {
    /// The side and its fault: `client refused CDS 42`.
    pub(super) main: String,
    /// Numbers, times and what is in force: `, 3 times since 14:01:58; version 41 in force`.
    pub(super) details: String,
}

impl Clauses {
    fn main(main: impl Into<String>) -> Clauses {
        Clauses { main: main.into(), details: String::new() }
    }

    /// Returns the sentence with the reason of the client before the details. `since`: when the
    /// problem began, unless the details say so.
    pub(super) fn with_reason(self, fact: &ProblemFact, since: &str) -> String {
        let Clauses { main, details } = self;
        let is_dated = details.contains(" since ") || main.ends_with(BEFORE_CLOSE);
        let since = if is_dated { "" } else { since };
        match (fact.reason(), details.strip_prefix(", ")) {
            (Some(reason), Some(details)) => format!("{main}{since}: {reason}; {details}"),
            // The words of the client end before those of the sentence.
            (Some(reason), None) if details.starts_with(' ') => {
                format!("{main}{since}: {reason};{details}")
            }
            (Some(reason), None) => format!("{main}{since}: {reason}{details}"),
            (None, _) => format!("{main}{since}{details}"),
        }
    }
}

/// Returns the parts of the sentence about a problem.
pub(super) fn clauses(fact: &ProblemFact, clock: &Clock) -> Clauses {
    let label = type_label(fact.type_url.as_str());
    let mut clauses = match &fact.problem {
        Problem::Refused(refused) => refused_push(&label, refused, fact, clock),
        Problem::StillRefused(refused) => still_refused(&label, refused),
        Problem::Unanswered { version, response, is_polling: true, .. } => {
            Clauses::main(format!("client has not polled since {label} {version} (#{})", response.0))
        }
        Problem::Unanswered { version, response, stray, is_guess, left, .. } => {
            let guess = if *is_guess { " (guess)" } else { "" };
            let response = format!("{label} {version} (#{}){guess}", response.0);
            let mut clauses = unanswered(&response, stray.as_ref());
            let left = left.map(|n| format!("; it left #{} without one too, when a stream closed", n.0));
            clauses.details.push_str(&left.unwrap_or_default());
            clauses
        }
        Problem::Warming(warming) => warming_resources(warming, clock),
        Problem::Owed(owed) => owed_resources(&label, owed, (fact.blame, clock)),
        Problem::Reported(reported) => Clauses::main(reported_errors(&label, reported)),
        Problem::Unreachable(peer) => unreachable_peer(peer, clock),
        Problem::Failing(failing) => Clauses::main(failing_stream(failing, clock)),
        Problem::OwedAtEnd(owed) => {
            let hung_up = if fact.others.is_empty() { None } else { hung_up(owed) };
            Clauses::main(hung_up.unwrap_or_else(|| owed_at_end(owed)))
        }
        Problem::NotApplied(unapplied) => Clauses::main(unapplied_resources(&label, unapplied)),
        Problem::Broken(broken)
            if broken.rule.subject == Subject::MalformedName && fact.blame == Blame::Client =>
        {
            Clauses::main(malformed_names(broken))
        }
        Problem::Broken(broken) => Clauses::main(broken_rule(broken.blame, &finding(broken, "×"))),
    };
    if !fact.others.is_empty() {
        let clients: Vec<Arc<str>> = problem_clients(fact).into_iter().collect();
        let place = match clients.len() {
            1 => plural(fact.streams, "stream"),
            _ => super::names(&clients, MAX_CLIENTS),
        };
        clauses.details.push_str(&format!(", on {place}"));
    }
    clauses.details.push_str(&caused_by(fact.diverged.as_deref()));
    clauses
}

/// `client owes an answer to CDS 42 (#7), neither ACK nor NACK`, or `client refuses CDS 42 (#7),
/// but not by a valid NACK: reviews: no endpoints (#8: no nonce, after one was used)`.
fn unanswered(response: &str, stray: Option<&StrayAnswer>) -> Clauses {
    if let Some(StrayAnswer { n, note, faults: Some(faults) }) = stray {
        let note = note.as_deref().map_or_else(|| "no nonce".to_owned(), row_note);
        let details = format!(", but not by a valid NACK: {faults} (#{}: {note})", n.0);
        return Clauses { main: format!("client refuses {response}"), details };
    }
    let stray = stray.map(|stray| format!("; #{} carries another nonce", stray.n.0)).unwrap_or_default();
    let main = format!("client owes an answer to {response}");
    Clauses { main, details: format!(", neither ACK nor NACK{stray}") }
}

/// Returns when a problem began, and how often it was seen: `14:01:58, 12m ago; 3 times, last
/// 14:02:08, every 10s`.
pub fn problem_since(fact: &ProblemFact, clock: &Clock, now: Time, zone: &TimeZone) -> String {
    let time = |at| time_of_day_secs(at, *clock, zone);
    let ago = if clock.untimed { "-".to_owned() } else { age(now.since(fact.since)) };
    let mut text = format!("{}, {ago} ago", time(fact.since));
    if let (Some(last), 2..) = (fact.last, fact.count) {
        text.push_str(&format!("; {} times, last {}", count(fact.count), time(last)));
        if let Some(every) = fact.period
            && !clock.untimed
        {
            text.push_str(&format!(", every {}", period(every)));
        }
    }
    text
}

/// Returns the number of problems: `no problems`, `1 problem`, `no problems, 2 over`.
pub fn problem_count(problems: &[ProblemFact]) -> String {
    let over = problems.iter().filter(|problem| problem.urgency == Urgency::Over).count() as u64;
    match (count_wrong(problems) as u64, over) {
        (0, 0) => "no problems".to_owned(),
        (0, over) => format!("no problems, {} over", count(over)),
        (n, _) => plural(n, "problem"),
    }
}

/// Returns the command that shows more about a problem of `source`.
pub fn next_step(fact: &ProblemFact, source: &str) -> String {
    let source = shell_word(source);
    let node = format!("--stream '#{}'", fact.stream.0);
    let log_of_type = || {
        let word = match Kind::of_type_url(fact.type_url.as_str()) {
            Some((kind, _)) => kind.label().to_lowercase(),
            None => fact.type_url.as_str().to_owned(),
        };
        format!("xdscope log {source} {node} --filter {}", shell_word(&format!("type:{word}")))
    };
    let type_word = match Kind::of_type_url(fact.type_url.as_str()) {
        Some((kind, ApiVersion::V3)) => kind.label().to_lowercase(),
        _ => shell_word(fact.type_url.as_str()),
    };
    match &fact.problem {
        Problem::Warming(_) => format!("xdscope get {source} {node} -o tree"),
        Problem::Broken(broken) => format!("xdscope explain {}", broken.rule.id),
        // A dump has no messages.
        _ if fact.is_dump => format!("xdscope get {source} {type_word} {node} -o wide"),
        // No client refuses a file, and nobody names the resources of a wildcard.
        Problem::Refused(refused) if refused.is_file => log_of_type(),
        Problem::Owed(owed) if owed.names.is_empty() => log_of_type(),
        Problem::StillRefused(refused) if refused.is_earlier => {
            format!("xdscope log {source} --filter 'kind:nack' --body")
        }
        Problem::Refused(_) | Problem::StillRefused(_) => {
            format!("xdscope log {source} {node} --filter 'kind:nack' --body")
        }
        Problem::Unanswered { .. }
        | Problem::OwedAtEnd(_)
        | Problem::NotApplied(_)
        | Problem::Reported(_) => log_of_type(),
        Problem::Owed(_) => format!("xdscope get {source} {type_word} {node} --subscriptions"),
        Problem::Unreachable(peer) if !peer.is_client => {
            format!("xdscope doctor {}", shell_word(&peer.address))
        }
        Problem::Unreachable(_) => format!("xdscope log {source}"),
        Problem::Failing(_) => format!("xdscope log {source} {node}"),
    }
}

/// `client asked for names not in the form xdstp://AUTHORITY/TYPE/ID: xdstp://a, xdstp://b`.
fn malformed_names(broken: &Finding) -> String {
    let names = super::names(&broken.names, 3);
    let what = if broken.names.len() == 1 { "a name" } else { "names" };
    format!("client asked for {what} {}: {names}", broken.text)
}

/// `server: reviews: sent again without a change ×3`.
fn broken_rule(blame: Blame, text: &str) -> String {
    let side = match blame {
        Blame::Both => "client and server",
        side => side.word(),
    };
    match text.strip_prefix(side) {
        Some(rest) if rest.starts_with(' ') => text.to_owned(),
        _ => format!("{side}: {text}"),
    }
}

/// `client refused CDS 42, 3 times since 14:01:58, every 10s; pushed again; version 41 in force`.
///
/// For a file `file: CDS 42 rejected; version 41 in force`.
fn refused_push(label: &str, refused: &RefusedPush, fact: &ProblemFact, clock: &Clock) -> Clauses {
    let what = format!("{label} {}", refused.version);
    let mut main = match refused.is_file {
        true => format!("file: {what} rejected"),
        false => format!("client refused {what}"),
    };
    if refused.is_guess {
        main.push_str(" (guess)");
    }
    if refused.implied && !refused.is_explained {
        main.push_str(" by version alone");
    }
    if fact.closed.is_some() && refused.times == 1 {
        main.push_str(BEFORE_CLOSE);
    }
    let mut text = String::new();
    if refused.times > 1 {
        let since = time_of_day(refused.first, clock);
        text.push_str(&match refused.is_resent {
            true => format!(", {} times since {since}", count(refused.times)),
            // The earlier ones refuse other content.
            false => format!("; {} since {since}", plural(refused.times, "refusal")),
        });
        if let Some(every) = fact.period
            && !clock.untimed
        {
            text.push_str(&format!(", every {}", period(every)));
        }
    }
    if refused.implied && refused.is_explained {
        text.push_str(", the last by version alone");
    }
    if fact.closed.is_some() && refused.times > 1 {
        text.push_str(BEFORE_CLOSE);
    }
    match refused.unanswered {
        Some(n) => text.push_str(&format!("; pushed again, not answered yet (#{})", n.0)),
        None if refused.is_resent => text.push_str("; pushed again"),
        None => {}
    }
    match &refused.in_force {
        None if refused.version == PushedVersion::Empty || !refused.knows_in_force => {}
        Some(version) => text.push_str(&format!("; {}", in_force(version))),
        None => text.push_str("; none in force"),
    }
    text.push_str(&nodes_by_version(refused));
    if refused.unused > 0 {
        let others = if refused.unused == 1 { "other resource" } else { "other resources" };
        text.push_str(&format!("; {} {others} in the response not used", count(refused.unused as u64)));
    }
    if let Some(broken) = &refused.broken {
        text.push_str(&format!("; {}", broken_rule(Blame::Server, &super::finding(broken, "×"))));
    }
    if !refused.users.is_empty() {
        text.push_str(&format!("; affects {}", super::names(&refused.users, MAX_USERS)));
    }
    Clauses { main, details: text }
}

/// `; 42 on edge-1, edge-3 and 2 more, 43 on edge-2`: the versions that nodes refuse, if they
/// differ.
fn nodes_by_version(refused: &RefusedPush) -> String {
    let mut versions: Vec<(&PushedVersion, Vec<Arc<str>>)> = Vec::new();
    for group in &refused.by_version {
        match versions.iter_mut().find(|known| *known.0 == group.version) {
            Some((_, nodes)) => nodes.extend(group.nodes.iter().cloned()),
            None => versions.push((&group.version, group.nodes.clone())),
        }
    }
    if versions.len() < 2 {
        return String::new();
    }
    let words = |(version, nodes): &(&PushedVersion, Vec<Arc<str>>)| {
        format!("{version} on {}", super::names(nodes, MAX_NODES_OF_VERSION))
    };
    let listed: Vec<String> = versions.iter().take(MAX_VERSIONS).map(words).collect();
    match versions.len().saturating_sub(MAX_VERSIONS) as u64 {
        0 => format!("; {}", listed.join(", ")),
        more => format!("; {} and {} more", listed.join(", "), count(more)),
    }
}

/// `client still refuses EDS b 2 (#5), though it accepted a later response; version 1 in force`.
fn still_refused(label: &str, refused: &RefusedResources) -> Clauses {
    let RefusedResources { first, response, is_guess, .. } = refused;
    let name = shown_name(&first.name);
    let what = match first.is_removal {
        true => format!("removal of {name}"),
        false => format!("{name} {}", shown(&first.version)),
    };
    let mut main = format!("client still refuses {label} {what} (#{})", response.0);
    if *is_guess {
        main.push_str(" (guess)");
    }
    if first.more > 0 {
        main.push_str(&format!(" and {}", plural(first.more as u64, "other")));
    }
    if !refused.is_named {
        main.push_str(", which came with a refused resource");
    }
    let in_force = first.in_force.as_deref().map_or_else(|| "none in force".to_owned(), in_force);
    Clauses { main, details: format!(", though it accepted a later response; {in_force}") }
}

/// `cluster ledger waits for EDS ledger-v2 again (updated in #4): the server owes it; 2 more`.
fn warming_resources(warming: &WarmingResources, clock: &Clock) -> Clauses {
    let (main, mut text) = super::warming::warming_clauses(&warming.first);
    match warming.more {
        0 => {}
        more if warming.first.is_used_without => text.push_str(&format!("; {more} more such")),
        more => text.push_str(&format!("; {more} more warming")),
    }
    text.push_str(&limit(warming.limit, clock));
    Clauses { main, details: text }
}

/// ` (limit 15s)`; empty without a limit, and without times.
fn limit(limit: Option<Duration>, clock: &Clock) -> String {
    match limit {
        Some(limit) if !clock.untimed => format!(" (limit {}s)", limit.as_secs_f64()),
        _ => String::new(),
    }
}

/// `server owes EDS ledger-v2, asked twice (#489 #491)`.
fn owed_resources(label: &str, owed: &OwedResources, (blame, clock): (Blame, &Clock)) -> Clauses {
    // The server cannot send what a name in error stands for.
    let is_asked = blame == Blame::Client;
    let what = match blame {
        _ if owed.is_dumped => "client has requested and not received",
        Blame::Client => "client asked for",
        Blame::Xdscope => "client waits for",
        _ => "server owes",
    };
    let removal = if owed.is_removal { "the removal of " } else { "" };
    let mut main = format!("{what} {removal}{label} ");
    match &owed.names[..] {
        [] if owed.is_guess => main.push_str("for the wildcard (guess)"),
        [] => main.push_str("for the wildcard"),
        names => main.push_str(&listed_names(names, owed.more as u64)),
    }
    if owed.is_resend {
        main.push_str(" again");
    }
    let mut text = String::new();
    match &owed.requests {
        Some(span) if owed.is_removal => {
            let it = if owed.names.len() == 1 { "it" } else { "them" };
            text.push_str(&format!(": the client stated {it} in #{}", span.first.0));
        }
        Some(span) if owed.has_older => {
            text.push_str(&format!(": the client stated another version in #{}", span.first.0));
        }
        _ if is_asked => {}
        Some(span) => {
            let earlier = owed.earlier.map(|n| format!("in #{}, and on this stream ", n.0));
            let asked = match owed.newest_request {
                // The names were requested one after the other.
                Some(newest) => format!("in #{} … #{}", span.first.0, newest.0),
                None => asked_times(span),
            };
            text.push_str(&format!(", asked {}{asked}", earlier.unwrap_or_default()));
        }
        None if owed.is_dumped => {}
        None if owed.is_first && owed.unreadable.is_none() && !owed.has_gap && blame != Blame::Xdscope => {
            text.push_str(", nothing sent yet");
        }
        None => {}
    }
    if let Some(unreadable) = owed.unreadable {
        text.push_str(&format!("; #{} {}", unreadable.0, super::UNREADABLE));
    }
    if owed.has_gap {
        text.push_str("; a missing message may be the answer (guess)");
    }
    text.push_str(&limit(owed.limit, clock));
    if let Some(user) = &owed.needed_by {
        text.push_str(&needed_by(user));
    }
    for broken in &owed.broken {
        let is_only = owed.more == 0 && owed.names == broken.names;
        let sentence = if is_only { broken.text.clone() } else { finding(broken, "×") };
        text.push_str(&format!("; {}", broken_rule(broken.blame, &sentence)));
        text.extend(broken.at.map(|at| format!(" (#{})", at.0)));
    }
    Clauses { main, details: text }
}

/// `; needed by cluster ledger and 2 more resources, which warm`, or `which are in use without it`.
fn needed_by(user: &WarmingUser) -> String {
    let kind = super::warming::warming_kind(user.kind);
    let name = shown_name(&user.name);
    let mut text = match user.more {
        0 => format!("; needed by {kind} {name}"),
        more => {
            let others = if more == 1 { "resource" } else { "resources" };
            format!("; needed by {kind} {name} and {} more {others}", count(more as u64))
        }
    };
    text.push_str(match (user.is_used_without, user.more) {
        (false, 0) => ", which warms",
        (false, _) => ", which warm",
        (true, 0) => ", which is in use without it",
        (true, _) => ", which are in use without them",
    });
    if let Some(withheld) = user.withheld {
        text.push_str(&format!("; the client withholds its answer to #{} until then", withheld.0));
    }
    text
}

/// `EDS b is not sent, "no such service" (NOT_FOUND)`.
pub fn absence(fact: &AbsenceFact) -> String {
    let names = fact.names.iter().take(MAX_ABSENT_NAMES).cloned().collect();
    let more = fact.names.len().saturating_sub(MAX_ABSENT_NAMES);
    let (code, message) = (NOT_FOUND, fact.text.clone());
    let reported = ReportedErrors { names, more, code, message, is_kept: false };
    reported_errors(&type_label(fact.type_url.as_str()), &reported)
}

/// `LDS audit:80 is not sent, "tenant pay may not see audit" (PERMISSION_DENIED)`, or
/// `server says that LDS audit:80 does not exist`.
fn reported_errors(label: &str, reported: &ReportedErrors) -> String {
    let is_one = reported.names.len() + reported.more == 1;
    let verb = if is_one { "is" } else { "are" };
    let message = error_reason(&StatedFaults::read(&reported.message, &[]).to_string());
    let reason = match message.is_empty() {
        true => String::new(),
        false => format!(", \"{message}\""),
    };
    let kept = if reported.is_kept { "; the client keeps what it has" } else { "" };
    let names = listed_names(&reported.names, reported.more as u64);
    if message.is_empty() && reported.code == NOT_FOUND {
        let exist = if is_one { "does not exist" } else { "do not exist" };
        return format!("server says that {label} {names} {exist}");
    }
    format!("{label} {names} {verb} not sent{reason} ({}){kept}", reported.code)
}

/// `client accepted CDS ledger, mint and 2 more: 3 missing, 1 with different content`.
fn unapplied_resources(label: &str, unapplied: &UnappliedResources) -> String {
    let text = format!("client accepted {label} {}", listed_names(&unapplied.names, unapplied.more as u64));
    let parts = [
        (unapplied.refused, "refused"),
        (unapplied.missing, "missing"),
        (unapplied.differing, "with different content"),
    ];
    let parts = parts.iter().filter(|(number, _)| *number > 0);
    let parts: Vec<String> = parts.map(|(number, state)| format!("{} {state}", count(*number))).collect();
    format!("{text}, but its dump differs: {}", parts.join(", "))
}

/// `twice (#489 #491)`.
fn asked_times(span: &RequestSpan) -> String {
    match span.count {
        1 => format!("in #{}", span.first.0),
        2 => format!("twice (#{} #{})", span.first.0, span.last.0),
        n => format!("{n} times (#{} … #{})", span.first.0, span.last.0),
    }
}

/// `server can't be reached, 11 attempts since 14:02:08: connect failed: connection refused`.
fn unreachable_peer(peer: &UnreachablePeer, clock: &Clock) -> Clauses {
    let who = if peer.is_client { "client can't connect" } else { "server can't be reached" };
    let times = match peer.attempts {
        1 => String::new(),
        n => format!(", {n} attempts since {}", time_of_day(peer.first, clock)),
    };
    Clauses { main: who.to_owned(), details: format!("{times}: {}", peer.reason) }
}

/// The time of day in UTC, or seconds from the start of a source without dates: `14:02:08`,
/// `+12.0s`.
pub(super) fn time_of_day(at: Time, clock: &Clock) -> String {
    let stamp = clock.epoch.map(|epoch| epoch.saturating_add(i128::from(at.0)));
    match stamp.and_then(|stamp| jiff::Timestamp::from_nanosecond(stamp).ok()) {
        Some(stamp) => stamp.to_zoned(jiff::tz::TimeZone::UTC).strftime("%H:%M:%S").to_string(),
        None => format!("+{:.1}s", at.as_secs_f64()),
    }
}

/// `version 41 in force`.
fn in_force(version: &str) -> String {
    match version {
        "" => "(no version) in force".to_owned(),
        version => format!("version {version} in force"),
    }
}

fn shown(version: &str) -> &str {
    if version.is_empty() { "(no version)" } else { version }
}
