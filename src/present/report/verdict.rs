//! The verdict: one sentence about a source, from the list of its problems.

use std::time::Duration;

use crate::text::width;
use xdscope_engine::problems::{Problem, ProblemFact, Urgency};
use xdscope_wire::event::{Clock, Time};
use xdscope_wire::text::{age, count, latency, period, plural, shown_name, type_label};

use super::finding::finding_clause;
use super::problem::{problem_count, time_of_day};
use super::warming::warming_kind;
use super::{Role, end_words, problem, problem_client, problem_word};

/// Cells of a version that narrow terminals show in a verdict.
const MAX_SHORT_VERSION: usize = 12;

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
    /// without the time at which the problem began, then without a long refused version. Empty if
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
        let mut shorter =
            [since.as_str(), ""].map(|since| short_headline(worst, clock, since, true)).to_vec();
        if let Problem::Refused(refused) = &worst.problem
            && width(&refused.version.to_string()) > MAX_SHORT_VERSION
        {
            shorter.push(short_headline(worst, clock, "", false));
        }
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
        let text = match no_problem_yet(problems, clock, (now, "the recording ends")) {
            Some(text) if census.is_at_end => format!("{text}: {}", headline(first, clock, "")),
            Some(_) => format!("no problem; {}, still in time", headline(first, clock, "")),
            None => format!("no problem; {}", headline(first, clock, "")),
        };
        let more = pending().count() - 1;
        return VerdictLine { problem: Some(at), more, ..VerdictLine::new(text, Role::Pending) };
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
/// for, if there is a problem, or without a clock. `end`: the end of the source.
pub fn no_problem_yet(problems: &[ProblemFact], clock: &Clock, (now, end): (Time, &str)) -> Option<String> {
    if clock.untimed || problems.iter().any(ProblemFact::is_wrong) {
        return None;
    }
    let pending = problems.iter().filter(|fact| fact.urgency == Urgency::Pending);
    let (since, message) = pending.map(waits_since).min()?;
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
    if let Some(at) = census.last_push.filter(|_| !clock.untimed && census.open > 0) {
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

/// Returns a problem as a sentence about its client: `edge-gw-1 refused CDS 42 since 14:02:08;
/// version 41 in force: reviews: connect_timeout …`.
fn headline(fact: &ProblemFact, clock: &Clock, since: &str) -> String {
    let (client, mut sentence) = (problem_client(fact), problem(fact, clock));
    if !sentence.contains(" since ") {
        let clauses = [", ", "; ", ": "].iter().filter_map(|end| sentence.find(end));
        sentence.insert_str(clauses.min().unwrap_or(sentence.len()), since);
    }
    let mut text = match sentence.strip_prefix("client ") {
        Some(rest) => format!("{client} {rest}"),
        None => format!("{client}: {sentence}"),
    };
    if let Some(quote) = fact.quote() {
        text.push_str(&format!(": {}", brief_error(quote)));
    }
    text
}

/// ` since 14:02:08`; empty without a clock, and unless the problem is a state that lasts.
fn since(fact: &ProblemFact, clock: &Clock) -> String {
    match fact.state() {
        Some(_) if fact.lasts && !clock.untimed => format!(" since {}", time_of_day(fact.since, clock)),
        _ => String::new(),
    }
}

/// Returns a problem as a sentence that has its reason in the first columns: `edge-gw-1 refused CDS
/// 42 since 14:02:08 (4×): reviews: ConnectTimeout: value must be greater than 0s`.
fn short_headline(fact: &ProblemFact, clock: &Clock, since: &str, has_version: bool) -> String {
    let client = problem_client(fact);
    match (&fact.problem, fact.quote()) {
        (Problem::Refused(refused), Some(quote)) => {
            let times =
                if refused.times > 1 { format!(" ({}×)", count(refused.times)) } else { String::new() };
            let label = type_label(fact.type_url.as_str());
            let version = if has_version { format!(" {}", refused.version) } else { String::new() };
            format!("{client} refused {label}{version}{since}{times}: {}", shortest_error(quote))
        }
        (Problem::Failing(failing), _) => {
            let what = match failing.count {
                1 => "the stream failed".to_owned(),
                times => format!("streams fail, {} times", count(times)),
            };
            match end_words(&failing.end) {
                why if why.is_empty() => headline(fact, clock, since),
                why => format!("{client}: {what}: {why}"),
            }
        }
        _ => headline(fact, clock, since),
    }
}

/// Returns an error text without the words of Envoy that say only that a constraint is broken.
pub fn shortest_error(text: &str) -> String {
    let text = brief_error(text);
    let text = text.strip_prefix("cluster(s) ").or(text.strip_prefix("listener(s) ")).unwrap_or(&text);
    let text = text.replace("Proto constraint validation failed ", "");
    match text.split_once("ValidationError.") {
        Some((head, rest)) => {
            let head = head.rsplit_once('(').map_or(head, |(head, _)| head);
            format!("{head}{}", rest.strip_suffix(')').unwrap_or(rest))
        }
        None => text,
    }
}

/// Returns an error text in one line, without the words that every such text begins with.
pub fn brief_error(text: &str) -> String {
    let text = text.trim();
    let heads = ["Error adding/updating ", "xDS response validation errors: ", "error parsing "];
    let text = heads.iter().find_map(|head| text.strip_prefix(head)).unwrap_or(text);
    let end = text.char_indices().nth(200).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text).split_whitespace().collect::<Vec<_>>().join(" ")
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
        Problem::OwedAtEnd(_) => "an answer was owed at the end".to_owned(),
        Problem::NotApplied(unapplied) => {
            format!(
                "{label} {} not applied",
                count(unapplied.missing + unapplied.differing + unapplied.refused)
            )
        }
        Problem::Broken(broken) => finding_clause(broken),
    };
    if fact.is_guess() { format!("{text}?") } else { text }
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
