//! The verdict: one sentence about a source, from the list of its problems.

use std::time::Duration;

use crate::text::{Keep, cut};
use xdscope_engine::problems::{Problem, ProblemFact, Urgency};
use xdscope_engine::store::{Debt, FailingStream, OwedAtEnd, StreamFailure};
use xdscope_wire::event::{Clock, Time};
use xdscope_wire::text::{age, count, latency, period, plural, shown_name, type_label};

use super::finding::finding_clause;
use super::problem::{clauses, problem_count, time_of_day};
use super::warming::warming_kind;
use super::{Role, end_words, listed_names, problem_client, problem_word};

/// The nodes of a source, for a verdict without a problem.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Census {
    /// Nodes with an open stream.
    pub open: usize,
    /// Nodes whose streams have all ended.
    pub ended: usize,
    /// Types of open streams that are diverged: xdscope has changed or withheld messages.
    pub diverged: usize,
    /// Lasting findings about routes in force to clusters that their client does not have.
    pub traffic_gaps: usize,
    /// The facts are those of the end of a recording.
    pub is_at_end: bool,
    /// The resources are from files, which have no clients.
    pub is_file: bool,
    /// The newest push of the last minutes.
    pub last_push: Option<Time>,
    /// The 99th percentile of the time from response to verdict, in milliseconds.
    pub slow_answer_ms: Option<f64>,
}

/// One sentence about a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictLine {
    /// The sentence.
    pub text: String,
    /// Sentences for narrow terminals, the longest first: without the version in force, then
    /// without the time at which the problem began, then without the refused version. Empty if
    /// there is only one sentence.
    pub shorter: Vec<String>,
    /// The role of the sentence.
    pub role: Role,
    /// The index of the problem that the sentence is about.
    pub problem: Option<usize>,
    /// The number of further problems.
    pub more: usize,
}

impl VerdictLine {
    fn new(text: impl Into<String>, role: Role) -> VerdictLine {
        VerdictLine { text: text.into(), shorter: Vec::new(), role, problem: None, more: 0 }
    }
}

/// Returns the verdict about a source. `problems` are all problems, the worst first.
pub fn verdict(problems: &[ProblemFact], census: &Census, clock: &Clock, now: Time) -> VerdictLine {
    let wrong = problems.iter().filter(|fact| fact.is_wrong()).count();
    if let Some((at, worst)) = problems.iter().enumerate().find(|(_, fact)| fact.is_wrong()) {
        let since = since(worst, clock);
        let text = headline(worst, clock, &since);
        let shorter = shorter_headlines(worst, clock, &since);
        return VerdictLine {
            text,
            shorter,
            role: problem_word(worst).1,
            problem: Some(at),
            more: wrong - 1,
        };
    }
    let pending = || problems.iter().enumerate().filter(|(_, fact)| fact.urgency == Urgency::Pending);
    if let Some((at, first)) = pending().next() {
        let full = headline(first, clock, "");
        let brief = about_client(first, &clauses(first, clock).main);
        // The client and its wait stand before words that a narrow terminal cuts.
        let (text, shorter) = match no_problem_yet(problems, clock, (now, "the recording ends")) {
            Some(text) if census.is_at_end => (
                format!("{full}; {text}"),
                vec![format!("{brief}; {text}"), format!("{brief}; no problem yet")],
            ),
            Some(_) if clock.untimed => (format!("no problem; {full}"), vec![format!("no problem; {brief}")]),
            Some(_) => (format!("no problem; {full}, still in time"), vec![format!("no problem; {brief}")]),
            None => (format!("no problem; {full}"), vec![format!("no problem; {brief}")]),
        };
        let more = pending().count() - 1;
        let line = VerdictLine::new(text, Role::Pending);
        return VerdictLine { problem: Some(at), more, shorter, ..line };
    }
    if let Some(text) = diverged_types(census.diverged) {
        return VerdictLine::new(text, Role::Warn);
    }
    if census.traffic_gaps > 0 && census.open > 0 {
        let text = "no problem, but routes in force point to clusters that a client does not have";
        return VerdictLine::new(text, Role::Warn);
    }
    in_sync(problems.len(), census, clock, now)
}

/// Returns `no problem yet: the recording ends 1ms after the request`; `None` if nothing is waited
/// for, or if there is a problem. `end`: the end of the source.
///
/// Without a clock `no problem yet: the recording ends before an answer to the request, and has no
/// times to say how late it is`; the dump of a client waits for nothing.
pub fn no_problem_yet(problems: &[ProblemFact], clock: &Clock, (now, end): (Time, &str)) -> Option<String> {
    if problems.iter().any(ProblemFact::is_wrong) {
        return None;
    }
    let pending = problems.iter().filter(|fact| fact.urgency == Urgency::Pending);
    let mut waits = pending.filter(|fact| !(clock.untimed && fact.is_dump)).map(waits_since);
    if clock.untimed {
        let (_, message) = waits.next()?;
        let end = format!("{end} before an answer to the {message}");
        return Some(format!("no problem yet: {end}, and has no times to say how late it is"));
    }
    let (since, message) = waits.min()?;
    Some(format!("no problem yet: {end} {} after the {message}", latency(now.since(since))))
}

/// Returns since when an answer is waited for, and the message that the wait began with.
fn waits_since(fact: &ProblemFact) -> (Time, &'static str) {
    match &fact.problem {
        Problem::Warming(warming) => match warming.first.needs.first() {
            Some(need) if need.asked.is_some() => (need.since, "request"),
            _ => (fact.since, "response"),
        },
        _ => (fact.since, "request"),
    }
}

/// Returns the number of problems, or that types are diverged although there is none: `2 problems`.
/// `diverged`: the number of diverged types of open streams.
pub fn problem_count_line(problems: &[ProblemFact], diverged: usize) -> String {
    let is_wrong = problems.iter().any(ProblemFact::is_wrong);
    diverged_types(diverged).filter(|_| !is_wrong).unwrap_or_else(|| problem_count(problems))
}

/// Returns the verdict of a source without problems but with diverged types; `None` without such
/// types.
fn diverged_types(types: usize) -> Option<String> {
    let count = plural(types as u64, "type");
    let text = format!("no problem, but {count} diverged: xdscope has changed or withheld messages");
    (types > 0).then_some(text)
}

/// `all 6 nodes in sync; last push 3s ago, 99% answered within 9ms`.
fn in_sync(over: usize, census: &Census, clock: &Clock, now: Time) -> VerdictLine {
    let mut text = match (census.open, census.ended) {
        _ if census.is_file => "no problem in the resources".to_owned(),
        (0, 0) => return VerdictLine::new("no stream yet", Role::Muted),
        (0, ended) => format!("no problem; the streams of {} have ended", plural(ended as u64, "node")),
        (1, 0) => "1 node in sync".to_owned(),
        (open, 0) => format!("all {} nodes in sync", count(open as u64)),
        (open, ended) => format!(
            "{} in sync; the streams of {} have ended",
            plural(open as u64, "node"),
            plural(ended as u64, "node")
        ),
    };
    if let Some(at) = census.last_push
        && !clock.untimed
        && census.open > 0
    {
        text.push_str(&format!("; last push {} ago", age(now.since(at))));
        if let Some(time) = census.slow_answer_ms.and_then(|ms| Duration::try_from_secs_f64(ms / 1e3).ok()) {
            text.push_str(&format!(", 99% answered within {}", latency(time)));
        }
    }
    if over > 0 {
        text.push_str(&format!("; {} over", plural(over as u64, "problem")));
    }
    VerdictLine::new(text, Role::Ok)
}

/// Returns a problem as a sentence about its client: `edge-gw-1 refused CDS 42 since 14:02:08:
/// reviews: connect_timeout: value must be greater than 0s; version 41 in force`.
fn headline(fact: &ProblemFact, clock: &Clock, since: &str) -> String {
    about_client(fact, &clauses(fact, clock).with_reason(fact, since))
}

/// Returns a sentence with the client as its subject: `edge-gw-1 refused CDS 42`.
fn about_client(fact: &ProblemFact, sentence: &str) -> String {
    let client = problem_client(fact);
    match sentence.strip_prefix("client ") {
        Some(rest) => format!("{client} {rest}"),
        None => format!("{client}: {sentence}"),
    }
}

/// ` since 14:02:08`; empty without a clock, and unless the problem is a state that lasts.
fn since(fact: &ProblemFact, clock: &Clock) -> String {
    match fact.state() {
        Some(_) if fact.lasts && !clock.untimed => format!(" since {}", time_of_day(fact.since, clock)),
        _ => String::new(),
    }
}

/// Returns shorter forms of the headline, the longest first: without the details, without the time
/// at which the problem began, without the version, and with the last step of each path.
fn shorter_headlines(fact: &ProblemFact, clock: &Clock, since: &str) -> Vec<String> {
    let main = || clauses(fact, clock).main;
    match &fact.problem {
        Problem::Refused(refused) => {
            let Some(reason) = fact.reason() else { return vec![about_client(fact, &main())] };
            let label = type_label(fact.type_url.as_str());
            let times =
                if refused.times > 1 { format!(" ({}×)", count(refused.times)) } else { String::new() };
            let form = |version: &str, since: &str, reason: &str| {
                let what = match refused.is_file {
                    true => format!("file: {label}{version} rejected"),
                    false => format!("client refused {label}{version}"),
                };
                about_client(fact, &format!("{what}{since}{times}: {reason}"))
            };
            let version = format!(" {}", refused.version);
            let brief = refused.faults.brief();
            vec![
                form(&version, since, &reason),
                form(&version, "", &reason),
                form("", "", &reason),
                form("", "", &brief),
            ]
        }
        Problem::Unreachable(peer) => vec![about_client(fact, &format!("{}: {}", main(), peer.reason))],
        Problem::Failing(failing) => {
            let what = streams_fail(failing);
            match end_words(&failing.end) {
                why if why.is_empty() => Vec::new(),
                why => vec![about_client(fact, &format!("{what}: {why}"))],
            }
        }
        Problem::Broken(_) => {
            let sentence = main();
            let brief = |end: &str| {
                let (start, _) = sentence.split_once(end)?;
                let has_mark = !fact.is_guess() || start.ends_with(GUESS);
                Some(format!("{start}{}", if has_mark { "" } else { GUESS }))
            };
            let forms = RULE_DETAILS.iter().filter_map(|end| brief(end));
            let mut forms: Vec<String> = forms.map(|form| about_client(fact, &form)).collect();
            forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
            forms
        }
        _ => {
            let reason = fact.reason().map(|reason| format!(": {reason}")).unwrap_or_default();
            vec![about_client(fact, &format!("{}{reason}", main()))]
        }
    }
}

/// The mark after an uncertain sentence.
const GUESS: &str = " (guess)";

/// Words with which the details begin in the sentence of a broken rule: what stands before them
/// names the resource and what is wrong.
const RULE_DETAILS: [&str; 3] = ["; ", ", which ", ", and "];

/// `streams fail, 4 times`, or `client ends each stream after CDS 5, 4 times`.
fn streams_fail(failing: &FailingStream) -> String {
    let times = count(failing.count);
    if failing.failure == StreamFailure::Aborted
        && let Some(owed) = failing.unanswered_response()
        && let Some(version) = owed.version_hung_up_on()
    {
        let label = type_label(owed.type_url.as_str());
        return format!("client ends each stream after {label} {version}, {times} times");
    }
    match failing.count {
        1 => "the stream failed".to_owned(),
        _ => format!("streams fail, {times} times"),
    }
}

/// Longest text of a client in a row of a table, in cells.
const MAX_REASON_WIDTH: usize = 200;

/// Returns the faults of a NACK in one line: resource, field, and what is wrong. Of a long line,
/// the beginning and the end stay.
pub fn error_reason(faults: &str) -> String {
    cut(faults, MAX_REASON_WIDTH, Keep::Ends, "…").into_owned()
}

/// Returns what is wrong with a client, in a few words beside its name: `CDS 42 refused`.
pub fn problem_reason(fact: &ProblemFact) -> String {
    let label = type_label(fact.type_url.as_str());
    let more = |more: usize| if more > 0 { format!(" +{}", count(more as u64)) } else { String::new() };
    let text = match &fact.problem {
        Problem::Refused(refused) if refused.is_file => format!("{label} {} rejected", refused.version),
        Problem::Refused(refused) => format!("{label} {} refused", refused.version),
        Problem::StillRefused(refused) => {
            format!("{label} {} still refused{}", shown_name(&refused.first.name), more(refused.first.more))
        }
        Problem::Unanswered { version, is_polling: true, .. } => format!("no poll since {label} {version}"),
        Problem::Unanswered { version, .. } => format!("owes an answer to {label} {version}"),
        Problem::Warming(warming) => {
            let kind = warming_kind(warming.first.kind);
            let state = if warming.first.is_used_without { "incomplete" } else { "warms" };
            format!("{kind} {} {state}{}", shown_name(&warming.first.name), more(warming.more))
        }
        Problem::Owed(owed) => match owed.names.first() {
            Some(name) => {
                let others = owed.names.len() - 1 + owed.more;
                format!("waits for {label} {}{}", shown_name(name), more(others))
            }
            None => format!("waits for {label}"),
        },
        Problem::Reported(reported) => {
            let others = reported.names.len().saturating_sub(1) + reported.more;
            let first = reported.names.first().map_or("", |name| &**name);
            format!("{label} {}{} not sent ({})", shown_name(first), more(others), reported.code)
        }
        Problem::Unreachable(peer) => peer.reason.to_string(),
        Problem::Failing(failing) => end_words(&failing.end),
        Problem::OwedAtEnd(owed) => format!("{} at the end", owed_in_brief(owed, &label)),
        Problem::NotApplied(unapplied) => {
            format!(
                "{label} {} not applied",
                count(unapplied.missing + unapplied.differing + unapplied.refused)
            )
        }
        Problem::Broken(broken) => finding_clause(broken),
    };
    let guess = if fact.is_guess() { "?" } else { "" };
    let reason = fact.reason().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{text}{guess}{reason}")
}

/// `client owed an answer to CDS 3`, `server owed EDS ledger-v2`.
fn owed_in_brief(owed: &OwedAtEnd, label: &str) -> String {
    match &owed.debt {
        Debt::Verdict { version, .. } => format!("client owed an answer to {label} {version}"),
        Debt::Warming(warming) => {
            let need = warming.needs.first();
            let need = need.map(|need| format!("{} {}", need.kind.label(), shown_name(&need.name)));
            format!("server owed {}", need.unwrap_or_else(|| label.to_owned()))
        }
        Debt::Resources { names, .. } if names.is_empty() => format!("server owed {label}"),
        Debt::Resources { names, more, .. } => {
            format!("server owed {label} {}", listed_names(names, *more as u64))
        }
    }
}

/// Returns how often the streams of a client have ended, and at which interval: `4 in 20m, 5s`.
/// `None` unless the problem is about that.
pub fn problem_lives(fact: &ProblemFact, clock: &Clock) -> Option<String> {
    let Problem::Failing(failing) = &fact.problem else { return None };
    let times = count(failing.count);
    if clock.untimed || failing.count < 2 {
        return Some(times);
    }
    let every = failing.period.map(|every| format!(", {}", period(every))).unwrap_or_default();
    Some(format!("{times} in {}{every}", age(failing.last.since(failing.first))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_without_a_target_for_its_traffic_is_not_in_sync() {
        let census = Census { open: 1, traffic_gaps: 1, ..Census::default() };
        let line = verdict(&[], &census, &Clock::default(), Time::ZERO);
        assert!(line.text.starts_with("no problem, but routes") && line.role == Role::Warn, "{}", line.text);
    }

    #[test]
    fn count_says_that_types_are_diverged() {
        assert_eq!(problem_count_line(&[], 0), "no problems");
        let (clock, census) = (Clock::default(), Census { diverged: 2, ..Census::default() });
        let line = problem_count_line(&[], 2);
        assert_eq!(line, "no problem, but 2 types diverged: xdscope has changed or withheld messages");
        assert_eq!(line, verdict(&[], &census, &clock, Time::ZERO).text);
    }
}
