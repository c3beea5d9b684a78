//! Fates of the resources that a client had before it opened a new stream.

use xdscope_engine::store::{ClaimFact, ClaimOutcome, ReconnectCounts, ReconnectFact};
use xdscope_wire::text::{count, display_safe, shown_name, type_label};

/// Names of left resources in a line.
const MAX_LISTED: usize = 5;

/// Returns the outcome of a stated resource: `kept`, `re-sent`, `removed`, `left behind`, `owed`.
pub fn claim_outcome(outcome: ClaimOutcome) -> &'static str {
    match outcome {
        ClaimOutcome::Kept => "kept",
        ClaimOutcome::Resent => "re-sent",
        ClaimOutcome::Removed => "removed",
        ClaimOutcome::LeftBehind => "left behind",
        ClaimOutcome::Owed => "owed",
    }
}

/// Returns an entry of `initial_resource_versions`: `states version 1, last known 2: re-sent`.
pub fn claim(fact: &ClaimFact) -> String {
    let known = match &fact.known {
        Some(known) if *known == fact.version => "the last known one".to_owned(),
        Some(known) => format!("last known {}", shown_name(known)),
        None => "last known none".to_owned(),
    };
    let outcome = match fact.outcome {
        ClaimOutcome::Kept => "kept: the server has not mentioned the resource",
        ClaimOutcome::Resent => "re-sent by the server",
        ClaimOutcome::Removed => "removed by the server",
        ClaimOutcome::LeftBehind => "left behind: stated, but not subscribed",
        ClaimOutcome::Owed if fact.known.is_none() => "owed: the server had removed the resource",
        ClaimOutcome::Owed => "owed: the server had sent another version",
    };
    format!("states version {}, {known}; {outcome}", shown_name(&fact.version))
}

/// Returns the counts: `claimed 4: kept 1, re-sent 1, removed 1, left behind 1`.
///
/// The parts add up to the first number. The names of resources that were left behind follow.
fn counts_text(counts: &ReconnectCounts) -> String {
    let mut text = format!(
        "claimed {}: kept {}, re-sent {}, removed {}",
        count(counts.claimed),
        count(counts.kept()),
        count(counts.resent),
        count(counts.removed),
    );
    if counts.owed > 0 {
        text.push_str(&format!(", owed {}", count(counts.owed)));
    }
    text.push_str(&format!(", left behind {}", count(counts.left_behind)));
    text
}

/// Returns what became of the versions that a request states: `3: kept 1, re-sent 1, removed 1`.
pub fn stated_versions(counts: &ReconnectCounts) -> String {
    let parts = [
        ("kept", counts.kept()),
        ("re-sent", counts.resent),
        ("removed", counts.removed),
        ("owed", counts.owed),
        ("left behind", counts.left_behind),
    ];
    let parts = parts.into_iter().filter(|(_, n)| *n > 0);
    let parts: Vec<String> = parts.map(|(word, n)| format!("{word} {}", count(n))).collect();
    format!("{}: {}", count(counts.claimed), parts.join(", "))
}

/// Returns the account of a reconnect with the names of what was left behind.
pub fn reconnect(fact: &ReconnectFact) -> String {
    let mut text = counts_text(&fact.counts);
    if fact.counts.unclaimed > 0 {
        text.push_str(&format!("; {} more not requested again", count(fact.counts.unclaimed)));
    }
    let all = fact.counts.left_behind + fact.counts.unclaimed;
    if all > 0 && !fact.left.is_empty() {
        let names = fact.left.iter().take(MAX_LISTED);
        let names: Vec<String> = names
            .map(|left| format!("{} {}", type_label(left.type_url.as_str()), shown_name(&left.name)))
            .collect();
        let more = all.saturating_sub(names.len() as u64);
        let more = if more > 0 { format!(" and {} more", count(more)) } else { String::new() };
        text.push_str(&format!(" ({}{more})", names.join(", ")));
    }
    display_safe(&text).into_owned()
}
