use crate::engine::store::{
    OwedResources, Problem, ProblemFact, RefusedPush, RequestSpan, UnreachablePeer, WarmingResources,
};
use crate::wire::event::{Clock, Kind, Time};

/// One sentence that says who owes what to whom: `server owes EDS ledger-v2, asked twice (#489
/// #491)`.
pub fn problem(fact: &ProblemFact, clock: &Clock) -> String {
    let label = label(fact.type_url.as_str());
    match &fact.problem {
        Problem::Refused(refused) => refused_push(&label, refused, clock),
        Problem::Unanswered { version, response } => {
            let version = shown(version);
            format!("client owes an answer to {label} {version} (#{}), neither ACK nor NACK", response.0)
        }
        Problem::Warming(warming) => warming_resources(warming),
        Problem::Owed(owed) => owed_resources(&label, owed),
        Problem::Unreachable(peer) => unreachable_peer(peer, clock),
    }
}

/// `CDS 42 refused 3 times since 14:01:58; pushed again; 41 in force`.
fn refused_push(label: &str, refused: &RefusedPush, clock: &Clock) -> String {
    let mut text = format!("{label} {} refused", shown(&refused.version));
    if refused.implied {
        text.push_str(" by version alone");
    }
    if refused.times > 1 {
        text.push_str(&format!(" {} times since {}", refused.times, time_of_day(refused.first, clock)));
    }
    if refused.is_resent {
        text.push_str("; pushed again");
    }
    match &refused.in_force {
        Some(version) => text.push_str(&format!("; {} in force", shown(version))),
        None => text.push_str("; none in force"),
    }
    text
}

/// `cluster ledger waits for EDS ledger-v2 again (updated in #4): the server owes it; 2 more`.
fn warming_resources(warming: &WarmingResources) -> String {
    let mut text = super::warming(&warming.first, None);
    match warming.more {
        0 => {}
        more => text.push_str(&format!("; {more} more warming")),
    }
    if let Some(limit) = warming.limit {
        text.push_str(&format!(" (limit {}s)", limit.as_secs_f64()));
    }
    text
}

/// `server owes EDS ledger-v2, asked twice (#489 #491)`.
fn owed_resources(label: &str, owed: &OwedResources) -> String {
    let mut text = format!("server owes {label} ");
    match &owed.names[..] {
        [] => text.push_str("for the wildcard"),
        names => text.push_str(&names.join(", ")),
    }
    if owed.more > 0 {
        text.push_str(&format!(" and {} more", owed.more));
    }
    match &owed.requests {
        Some(span) => text.push_str(&format!(", asked {}", asked_times(span))),
        None if owed.is_first => text.push_str(", nothing sent yet"),
        None => {}
    }
    if let Some(limit) = owed.limit {
        text.push_str(&format!(" (limit {}s)", limit.as_secs_f64()));
    }
    text
}

/// `twice (#489 #491)`.
fn asked_times(span: &RequestSpan) -> String {
    match span.count {
        1 => format!("once (#{})", span.first.0),
        2 => format!("twice (#{} #{})", span.first.0, span.last.0),
        n => format!("{n} times (#{} … #{})", span.first.0, span.last.0),
    }
}

/// `server can't be reached, 11 attempts since 14:02:08: connect failed: connection refused`.
fn unreachable_peer(peer: &UnreachablePeer, clock: &Clock) -> String {
    let who = if peer.is_client { "client can't connect" } else { "server can't be reached" };
    let times = match peer.attempts {
        1 => String::new(),
        n => format!(", {n} attempts since {}", time_of_day(peer.first, clock)),
    };
    format!("{who}{times}: {}", peer.reason)
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

fn label(type_url: &str) -> String {
    match Kind::of_type_url(type_url) {
        Some((kind, _)) => kind.label().to_owned(),
        None => type_url.rsplit(['/', '.']).next().unwrap_or(type_url).to_owned(),
    }
}

pub(super) fn shown(version: &str) -> &str {
    if version.is_empty() { "(no version)" } else { version }
}
