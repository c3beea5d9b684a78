use crate::engine::store::{Debt, FailingStream, OwedAtEnd, StreamFailure};
use crate::wire::event::{Clock, Side};
use crate::wire::text::{count, period, plural, shown_name, type_label};

use super::problem::{shown, time_of_day};
use super::{end_words, listed_names};

/// Returns who ends the streams of a client, how often and why: `server rejects the stream: 240
/// times since 14:02:08, every 250ms: UNAUTHENTICATED token expired; last request EDS #12`.
pub fn failing_stream(fact: &FailingStream, clock: &Clock) -> String {
    let who = if fact.by() == Side::Client { "client" } else { "server" };
    let mut text = match fact.failure {
        StreamFailure::Rejected if fact.is_graceful => format!("{who} ends the stream before a response"),
        StreamFailure::Rejected => format!("{who} rejects the stream"),
        StreamFailure::Lost => format!("{who} ended the stream, and no later stream was answered"),
        StreamFailure::Cut => format!("{who} cuts off each stream"),
    };
    if fact.failure == StreamFailure::Cut {
        text.push_str(&format!(": {}", cut_point(fact)));
    } else if fact.count > 1 {
        text.push_str(&format!(": {} times since {}", count(fact.count), time_of_day(fact.first, clock)));
        if let Some(every) = fact.period {
            text.push_str(&format!(", every {}", period(every)));
        }
    }
    let end = end_words(&fact.end);
    if !end.is_empty() {
        text.push_str(&format!(": {end}"));
    }
    if let Some((n, type_url)) = &fact.last_request {
        text.push_str(&format!("; last request {} #{}", type_label(type_url.as_str()), n.0));
    }
    text
}

/// `4 × 300s after the last message`.
fn cut_point(fact: &FailingStream) -> String {
    let times = count(fact.count);
    match (fact.cut_idle, fact.cut_age) {
        (Some(idle), Some(age)) => {
            format!("{times} × {} after the last message, at an age of {}", period(idle), period(age))
        }
        (Some(idle), None) => format!("{times} × {} after the last message", period(idle)),
        (None, Some(age)) => format!("{times} × at an age of {}", period(age)),
        (None, None) => format!("{times} times"),
    }
}

/// Returns the answer that was owed when a stream closed: `client owed an answer to CDS 3 (#12)
/// when the stream closed`.
pub fn owed_at_end(fact: &OwedAtEnd) -> String {
    let label = type_label(fact.type_url.as_str());
    let at = fact.at.0;
    match &fact.debt {
        Debt::Verdict { version, responses } => {
            let more = if *responses > 1 { format!(" and {} more", responses - 1) } else { String::new() };
            let version = shown(version);
            format!("client owed an answer to {label} {version} (#{at}){more} when the stream closed")
        }
        Debt::Warming(warming) => {
            let needs =
                warming.needs.iter().map(|need| format!("{} {}", need.kind.label(), shown_name(&need.name)));
            let resource =
                format!("{} {}", super::warming::warming_kind(warming.kind), shown_name(&warming.name));
            let needs = needs.collect::<Vec<_>>().join(", ");
            format!("server owed {needs} for {resource} (#{at}) when the stream closed")
        }
        Debt::Resources { names, .. } if names.is_empty() => {
            format!("server owed {label} for the wildcard (#{at}) when the stream closed")
        }
        Debt::Resources { names, more } => {
            let more =
                if *more > 0 { format!(" and {}", plural(*more as u64, "other")) } else { String::new() };
            format!("server owed {label} {}{more} (#{at}) when the stream closed", listed_names(names, 0))
        }
    }
}
