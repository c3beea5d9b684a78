//! Facts of the store as words and lines.

use xdscope_engine::store::{ResourceFact, ResourceState};
use xdscope_present::report::{self, Role};
use xdscope_wire::Tls;

/// Lists the facts of TLS on each side, and what cannot be kept between them.
pub(crate) fn tls(tls: &Tls) -> Vec<String> {
    let mut out = Vec::new();
    for (leg, facts) in [("client leg", &tls.client), ("server leg", &tls.server)] {
        for (word, text) in facts.iter().flat_map(|facts| facts.words()) {
            out.push(format!("{leg}  {word}  {text}"));
        }
    }
    out.extend(tls.not_kept());
    out
}

/// Names the state of a resource; a NACK of its newest content comes first, with what is in force.
pub(crate) fn resource_state(fact: &ResourceFact) -> (String, Role) {
    let (text, role) = state_of_readable(fact);
    match fact.is_unreadable && fact.state != ResourceState::Waiting {
        true => (format!("{text}, {}", report::UNREADABLE), Role::Bad),
        false => (text, role),
    }
}

fn state_of_readable(fact: &ResourceFact) -> (String, Role) {
    let word = if fact.is_ignored() { "ignored" } else { fact.state.word() };
    let again = fact.owed_again.as_ref().map(|owed| format!(", {}", report::owed_again(owed)));
    let again = again.unwrap_or_default();
    if let Some(refused) = report::RefusedState::of(fact) {
        return (format!("{}{again}", refused.text()), refused.role);
    }
    if let Some(sent) = report::sent_after_refusal(fact) {
        return (sent, Role::Pending);
    }
    if fact.has_malformed_name() {
        return (report::MALFORMED_NAME.to_owned(), Role::Bad);
    }
    if let Some(error) = fact.error.as_ref()
        && fact.state == ResourceState::Waiting
    {
        return (format!("not sent ({})", error.code), Role::Warn);
    }
    if fact.is_missing() {
        return ("missing".to_owned(), Role::Warn);
    }
    let role = match fact.state {
        _ if fact.owed_again.is_some_and(|owed| owed.is_late) => Role::Warn,
        _ if fact.owed_again.is_some() || fact.is_removal_unanswered => Role::Pending,
        ResourceState::Present if fact.is_ignored() => Role::Muted,
        ResourceState::Present | ResourceState::Kept => Role::Ok,
        ResourceState::Waiting => Role::Pending,
        ResourceState::Orphan | ResourceState::Expired | ResourceState::Redirected => Role::Warn,
        ResourceState::Removed | ResourceState::Absent | ResourceState::Empty | ResourceState::Released => {
            Role::Muted
        }
    };
    let by = fact.absent_by.map(|by| format!(" (by {})", by.word())).unwrap_or_default();
    let owed = if fact.unclassified.is_some() { ", pending reclassification" } else { "" };
    let removal = fact.is_removal_unanswered.then(|| format!(", {}", report::NOT_ANSWERED));
    let removal = removal.unwrap_or_default();
    let closed = if fact.is_stream_down { format!(", {}", report::CLOSED) } else { String::new() };
    (format!("{word}{removal}{by}{owed}{again}{closed}"), role)
}
