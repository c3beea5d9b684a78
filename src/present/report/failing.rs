use xdscope_engine::store::{Debt, FailingStream, OwedAtEnd, StreamFailure};
use xdscope_wire::DEFAULT_RECEIVE_LIMIT;
use xdscope_wire::event::{Clock, Side};
use xdscope_wire::text::{count, period, plural, shown_name, size, type_label};

use super::problem::time_of_day;
use super::{end_words, listed_names};

/// Answers owed at the end of a failing stream that its sentence lists.
const MAX_LISTED_DEBTS: usize = 2;

/// The remedy for a client that sends more PINGs than its server allows.
const PINGS_REMEDY: &str = "raise the keepalive interval of the client, or lower the minimum that the server \
                            enforces";

/// Returns who ends the streams of a client, how often and why: `server rejects the stream: 240
/// times since 14:02:08, every 250ms: UNAUTHENTICATED token expired; last request EDS #12`.
pub fn failing_stream(fact: &FailingStream, clock: &Clock) -> String {
    if fact.failure == StreamFailure::Aborted {
        return aborted_streams(fact);
    }
    if fact.failure == StreamFailure::Left {
        return left_streams(fact);
    }
    let mut text = match ender(fact) {
        Some(who) => ended_by(fact, &who),
        None => ended(fact),
    };
    if fact.failure == StreamFailure::Cut {
        text.push_str(&format!(": {}", cut_point(fact)));
    } else if fact.count > 1 {
        text.push_str(&format!(": {} times since {}", count(fact.count), time_of_day(fact.first, clock)));
        text.push_str(&pace(fact));
        // A poll that fails has no response, whatever the polls before had.
        if is_partly_answered(fact) && !fact.is_polling {
            text.push_str(&format!(", {} of them before a response", count(fact.rejected)));
        }
    }
    text.push_str(&ends(fact));
    text
}

/// Whether some of the streams were answered before their ends.
fn is_partly_answered(fact: &FailingStream) -> bool {
    fact.rejected > 0 && fact.rejected < fact.count
}

/// Returns what a side does to the streams.
fn ended_by(fact: &FailingStream, who: &str) -> String {
    match fact.failure {
        _ if fact.end.is_keepalive_timeout() => format!("{who} does not answer PINGs"),
        StreamFailure::Rejected | StreamFailure::Lost if fact.is_given_up => {
            "server is late with an answer, and the client gives up the stream".to_owned()
        }
        StreamFailure::Rejected if fact.is_polling => "server fails every poll".to_owned(),
        StreamFailure::Lost if fact.is_polling => {
            format!("{who} failed a poll, and answered no later one")
        }
        StreamFailure::Rejected if fact.is_graceful => format!("{who} ends the stream before a response"),
        StreamFailure::Rejected if is_partly_answered(fact) => format!("{who} ends the stream with an error"),
        StreamFailure::Rejected => format!("{who} rejects the stream"),
        StreamFailure::Lost => format!("{who} ended the stream, and {}", after_end(fact)),
        StreamFailure::Cut | StreamFailure::Aborted | StreamFailure::Left => {
            format!("{who} cuts off each stream")
        }
    }
}

/// Returns what becomes of the streams, if the source does not say which side ends them.
fn ended(fact: &FailingStream) -> String {
    let text = match fact.failure {
        _ if fact.end.is_keepalive_timeout() => "PINGs are not answered",
        StreamFailure::Rejected if fact.is_polling => "every poll fails",
        StreamFailure::Lost if fact.is_polling => "a poll failed, and no later one was answered",
        StreamFailure::Rejected if is_partly_answered(fact) => "the stream ends with an error",
        StreamFailure::Rejected => "the stream ends before a response",
        StreamFailure::Lost => return format!("the stream ended, and {}", after_end(fact)),
        StreamFailure::Cut | StreamFailure::Aborted | StreamFailure::Left => "each stream is cut off",
    };
    text.to_owned()
}

/// Returns what the client has done since its stream ended.
fn after_end(fact: &FailingStream) -> &'static str {
    match (fact.has_come_back, fact.has_other_server) {
        (true, _) => "no later stream was answered",
        (false, true) => "the client has opened none to it since",
        (false, false) => "the client has opened none since",
    }
}

/// Returns the side that ends the streams or does not answer PINGs, if it is known: `server`, or
/// `server cp1` if the client has streams to several.
fn ender(fact: &FailingStream) -> Option<String> {
    // A fault has ended the stream itself. Otherwise a peer did because of one.
    if fact.caused_by.is_some() && fact.end.by.is_none() {
        return Some("xdscope".to_owned());
    }
    let side = if fact.end.is_keepalive_timeout() { fact.at_fault() } else { fact.by() };
    Some(match (side?, fact.server.as_deref().filter(|_| fact.has_other_server)) {
        (Side::Client, _) => "client".to_owned(),
        (Side::Server, None) => "server".to_owned(),
        (Side::Server, Some(server)) => format!("server {}", shown_name(server)),
    })
}

/// `client ended 12 streams, each after a push, the last CDS 5 (#24), every 2.0s: RST_STREAM
/// CANCEL; last request CDS #23`, or `client ended 12 streams, each in the middle of a response of
/// 5.0 MB (the default receive limit of gRPC is 4 MiB), every 2.0s: RST_STREAM CANCEL; last request
/// CDS #23`.
fn aborted_streams(fact: &FailingStream) -> String {
    let (times, bytes) = (count(fact.count), fact.cut_responses.bytes);
    let mut text = format!("client ended {times} streams, each ");
    match fact.cut_responses.count {
        0 => text.push_str(&format!("after a push{}", last_push(fact))),
        _ if fact.is_in_response() => {
            text.push_str(&format!("in the middle of a response of {}", size(bytes)))
        }
        _ => text.push_str(&format!("after a push or in the middle of one, the last of {}", size(bytes))),
    }
    if bytes > DEFAULT_RECEIVE_LIMIT {
        text.push_str(" (the default receive limit of gRPC is 4 MiB)");
    }
    text + &pace(fact) + &ends(fact)
}

/// `, the last CDS 5 (#24)`: the push on which the client has ended its newest stream.
fn last_push(fact: &FailingStream) -> String {
    match fact.unanswered_response() {
        Some(OwedAtEnd { debt: Debt::Verdict { version, .. }, type_url, at, .. }) => {
            format!(", the last {} {version} (#{})", type_label(type_url.as_str()), at.0)
        }
        _ => String::new(),
    }
}

/// `client ended 180 streams in a row, and opened the next one at once, each at an age of 900ms,
/// every 1.0s: RST_STREAM CANCEL; last request CDS #23`.
fn left_streams(fact: &FailingStream) -> String {
    let times = count(fact.count);
    let mut text = format!("client ended {times} streams in a row, and opened the next one at once");
    if let Some(age) = fact.cut_age {
        text.push_str(&format!(", each at an age of {}", period(age)));
    }
    text + &pace(fact) + &ends(fact)
}

/// Returns the interval between ends: `, every 250ms`, `, with back-off, last after 16s`.
fn pace(fact: &FailingStream) -> String {
    match (fact.period, fact.back_off) {
        (Some(every), _) => format!(", every {}", period(every)),
        (None, Some(last)) => format!(", with back-off, last after {}", period(last)),
        (None, None) => String::new(),
    }
}

/// Returns how often the streams ended with each cause, if there is more than one: `3
/// UNAUTHENTICATED, 2 UNAVAILABLE`.
fn causes(fact: &FailingStream) -> Option<String> {
    let counted = fact.causes.iter().map(|(cause, times)| format!("{} {cause}", count(*times)));
    let counted: Vec<String> = counted.collect();
    (!counted.is_empty()).then(|| counted.join(", "))
}

/// Returns the causes, the last request, and what was owed.
fn ends(fact: &FailingStream) -> String {
    let mut text = String::new();
    let end = end_words(&fact.end);
    match causes(fact) {
        Some(causes) if end.is_empty() => text.push_str(&format!(": {causes}")),
        Some(causes) => text.push_str(&format!(": {causes}; last {end}")),
        None if end.is_empty() => {}
        None => text.push_str(&format!(": {end}")),
    }
    if fact.end.is_too_many_pings() {
        text.push_str(&format!(": {PINGS_REMEDY}"));
    }
    if let Some((n, type_url)) = &fact.last_request {
        text.push_str(&format!("; last request {} #{}", type_label(type_url.as_str()), n.0));
    }
    // The last request tells that it has no answer.
    let is_last = |owed: &&OwedAtEnd| fact.last_request.as_ref().is_some_and(|(n, _)| *n == owed.at);
    let is_wildcard =
        |owed: &&OwedAtEnd| matches!(&owed.debt, Debt::Resources { names, .. } if names.is_empty());
    let mut owed: Vec<&OwedAtEnd> =
        fact.owed.iter().filter(|owed| !(is_last(owed) && is_wildcard(owed))).collect();
    if !last_push(fact).is_empty() && fact.cut_responses.count == 0 && fact.failure == StreamFailure::Aborted
    {
        // The sentence begins with the push.
        owed.retain(|owed| Some(*owed) != fact.unanswered_response());
    }
    for owed in owed.iter().take(MAX_LISTED_DEBTS) {
        text.push_str(&format!("; {}", owed_answer(owed)));
    }
    match owed.len().saturating_sub(MAX_LISTED_DEBTS) as u64 {
        0 => {}
        more => text.push_str(&format!("; {} more owed", count(more))),
    }
    text
}

/// `4 times, each 300s after the last message`.
fn cut_point(fact: &FailingStream) -> String {
    let times = count(fact.count);
    match (fact.cut_idle, fact.cut_age) {
        (Some(idle), Some(age)) => format!(
            "{times} times, each {} after the last message and at an age of {}",
            period(idle),
            period(age)
        ),
        (Some(idle), None) => format!("{times} times, each {} after the last message", period(idle)),
        (None, Some(age)) => format!("{times} times, each at an age of {}", period(age)),
        (None, None) => format!("{times} times"),
    }
}

/// Returns the answer that was owed when a stream closed: `client owed an answer to CDS 3 (#12)
/// when the stream closed`.
pub fn owed_at_end(fact: &OwedAtEnd) -> String {
    format!("{} when the stream closed", owed_answer(fact))
}

/// Returns what several clients did on one response: `client closed the stream after CDS 5 (#24),
/// without an answer`. `None` if they did not end the streams themselves.
pub(super) fn hung_up(fact: &OwedAtEnd) -> Option<String> {
    let version = fact.version_hung_up_on()?;
    let label = type_label(fact.type_url.as_str());
    Some(format!("client closed the stream after {label} {version} (#{}), without an answer", fact.at.0))
}

/// `client owed an answer to CDS 3 (#12)`.
fn owed_answer(fact: &OwedAtEnd) -> String {
    let label = type_label(fact.type_url.as_str());
    let at = fact.at.0;
    match &fact.debt {
        Debt::Verdict { version, responses } => {
            let more = if *responses > 1 { format!(" and {} more", responses - 1) } else { String::new() };
            format!("client owed an answer to {label} {version} (#{at}){more}")
        }
        Debt::Warming(warming) => {
            let needs =
                warming.needs.iter().map(|need| format!("{} {}", need.kind.label(), shown_name(&need.name)));
            let resource =
                format!("{} {}", super::warming::warming_kind(warming.kind), shown_name(&warming.name));
            let needs = needs.collect::<Vec<_>>().join(", ");
            format!("server owed {needs} for {resource} (#{at})")
        }
        Debt::Resources { names, .. } if names.is_empty() => {
            format!("server owed {label} for the wildcard (#{at})")
        }
        Debt::Resources { names, more, needed_by } => {
            let more =
                if *more > 0 { format!(" and {}", plural(*more as u64, "other")) } else { String::new() };
            let user = needed_by.as_ref().map(|user| {
                let kind = super::warming::warming_kind(user.kind);
                let others = if user.more > 0 { format!(" and {} more", user.more) } else { String::new() };
                format!(" for {kind} {}{others}", shown_name(&user.name))
            });
            let user = user.unwrap_or_default();
            format!("server owed {label} {}{more}{user} (#{at})", listed_names(names, 0))
        }
    }
}
