use std::sync::Arc;

use xdscope_engine::store::{OwedAgainFact, ResourceState, StateFact, SummaryFact, TypeState, Wildcard};
use xdscope_wire::event::Variant;
use xdscope_wire::text::{count, plural, shown_name};
use xdscope_wire::xdstp::is_glob;

use super::Role;

/// The word for a stream that has closed, and for the resources that its client keeps meanwhile.
pub const CLOSED: &str = "closed";

/// The sign of a stream that has closed, before its last state.
pub const CLOSED_SIGN: &str = "#";

/// The words for the state of a resource whose name cannot be that of a resource.
pub const MALFORMED_NAME: &str = "malformed name";

/// The words for a response, a resource or a removal without a verdict.
pub const NOT_ANSWERED: &str = "not answered yet";

/// The words for resources that a client has, and the server owes again.
pub const OWED_AGAIN: &str = "owed again";

/// The words for a message or a resource that cannot be decoded as its type.
pub const UNREADABLE: &str = "cannot be read";

/// States of a type, and what they mean.
pub const STATES: [(TypeState, &str); 12] = [
    (TypeState::Synced, "the client accepted the last push"),
    (TypeState::Sent, "pushed, no answer yet"),
    (TypeState::Stale, "pushed, no answer for --stale-after"),
    (TypeState::Nack, "the client refused the last push and keeps the old one"),
    (TypeState::Rejected, "for a file: the last update is not valid, and the content before stays in force"),
    (TypeState::Wait, "requested, nothing sent yet"),
    (TypeState::Miss, "requested, not sent within --resource-timeout, or reported as an error"),
    (TypeState::Expired, "the times to live of all its resources have run out"),
    (TypeState::Warming, "sent, and not in use until what it refers to has been requested and sent"),
    (TypeState::Idle, "not subscribed, or by requests that no server must answer"),
    (TypeState::Closed, "the stream has ended; # stands before its last state: # SYNCED"),
    (TypeState::Down, "the server or the client cannot be reached"),
];

/// States of one resource on one stream, and what they mean.
pub const RESOURCE_STATES: [(ResourceState, &str); 10] = [
    (ResourceState::Waiting, "requested, not sent yet"),
    (ResourceState::Present, "sent on this stream, and not removed since"),
    (ResourceState::Kept, "sent on an earlier stream, and not again on this one"),
    (ResourceState::Removed, "removed by the server"),
    (
        ResourceState::Absent,
        "requested, but does not exist, according to the server or to the client's timer",
    ),
    (ResourceState::Empty, "a glob collection without members"),
    (ResourceState::Expired, "its time to live has run out"),
    (ResourceState::Redirected, "the server named another resource in its place"),
    (ResourceState::Released, "no longer requested by the client"),
    (ResourceState::Orphan, "in force, but nothing that the client was sent refers to it"),
];

/// Returns the word of a state as tables show it, and its role.
///
/// States that need attention are in capitals.
pub fn state_word(state: TypeState) -> (&'static str, Role) {
    match state {
        TypeState::Down => ("DOWN", Role::Bad),
        TypeState::Nack => ("NACK", Role::Bad),
        TypeState::Rejected => ("REJECTED", Role::Bad),
        TypeState::Stale => ("STALE", Role::Warn),
        TypeState::Miss => ("MISS", Role::Warn),
        TypeState::Expired => ("EXPIRED", Role::Warn),
        TypeState::Warming => ("WARMING", Role::Warn),
        TypeState::Sent => ("SENT", Role::Pending),
        TypeState::Wait => ("WAIT", Role::Pending),
        TypeState::Synced => ("SYNCED", Role::Ok),
        TypeState::Idle => ("idle", Role::Muted),
        TypeState::Closed => (CLOSED, Role::Muted),
    }
}

/// Whether the state needs attention.
pub fn is_problem(state: TypeState) -> bool {
    use TypeState::{Down, Expired, Miss, Nack, Rejected, Stale};
    matches!(state, Down | Nack | Rejected | Stale | Miss | Expired)
}

/// Returns the rank of a state in sorted rows, 0 for the worst. Closed streams come last.
pub fn severity(state: TypeState) -> u8 {
    match state {
        TypeState::Down => 0,
        TypeState::Nack | TypeState::Rejected => 1,
        TypeState::Stale => LOST_SEVERITY + 1,
        TypeState::Miss | TypeState::Expired => 4,
        TypeState::Warming => 5,
        TypeState::Wait => 6,
        TypeState::Sent => 7,
        TypeState::Synced => 8,
        TypeState::Idle => 9,
        TypeState::Closed => 10,
    }
}

/// The rank of a client that is gone with an error.
pub(super) const LOST_SEVERITY: u8 = 2;

/// Counts that stand beside the word of a state.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// Rejected responses that no later ACK supersedes.
    pub open_nacks: u64,
    /// Requested names whose resources are overdue, or not sent because of an error, and that the
    /// client does not have.
    pub missing: u64,
    /// Resources that the client has, and the server owes again.
    pub owed_again: u64,
    /// Requested names.
    pub names: u64,
    /// Resources from a file, which no client acknowledges (docs/protocol.md#c-04).
    pub file: bool,
    /// The state before the stream closed, if it has.
    pub last: Option<TypeState>,
}

impl From<&SummaryFact> for Counts {
    fn from(fact: &SummaryFact) -> Counts {
        let file = fact.variant == Variant::File;
        let (missing, owed_again) = (fact.overdue + fact.errors, fact.owed_again);
        let (open_nacks, names, last) = (fact.open_nacks, fact.names, fact.last_state);
        Counts { open_nacks, missing, owed_again, names, file, last }
    }
}

impl From<&StateFact> for Counts {
    fn from(fact: &StateFact) -> Counts {
        let (missing, owed_again) =
            (fact.summary.overdue + fact.summary.errors, fact.subscription.owed_again.len() as u64);
        let (names, file) = (fact.subscription.names.len() as u64, fact.summary.variant == Variant::File);
        Counts {
            open_nacks: fact.summary.open_nacks,
            missing,
            owed_again,
            names,
            file,
            last: fact.summary.last_state,
        }
    }
}

/// Returns the word and the count of a state: `NACK×3`, `MISS 1/119`, `MISS *` for a wildcard, for
/// a file `APPLIED`. The last state of a closed stream stands behind a sign: `# SYNCED`.
///
/// `times` is the sign before a count.
pub fn state_text(state: TypeState, counts: impl Into<Counts>, times: &str) -> String {
    let (word, _) = state_word(state);
    let counts = counts.into();
    if let (TypeState::Closed, Some(last)) = (state, counts.last) {
        return format!("{CLOSED_SIGN} {}", state_text(last, Counts { last: None, ..counts }, times));
    }
    match state {
        TypeState::Synced if counts.file => "APPLIED".to_owned(),
        TypeState::Nack if counts.open_nacks > 1 => format!("{word}{times}{}", count(counts.open_nacks)),
        // The client has all resources, some of them at an older version.
        TypeState::Miss if counts.missing == 0 && counts.owed_again > 0 => word.to_owned(),
        TypeState::Miss if counts.missing == 0 => format!("{word} *"),
        TypeState::Miss if counts.missing > counts.names => format!("{word} {}", count(counts.missing)),
        TypeState::Miss => format!("{word} {}/{}", count(counts.missing), count(counts.names)),
        _ => word.to_owned(),
    }
}

/// Returns the subscription in words: `* (legacy)`, `2 names`, `* and 2 names`,
/// `1 name and 3 globs`, `2 names, wildcard unknown`.
pub fn subscribed(fact: &StateFact) -> String {
    let names = fact.subscription.names.iter().filter(|name| &***name != "*");
    let (globs, names): (Vec<&Arc<str>>, Vec<_>) = names.partition(|name| is_glob(name));
    let (globs, names) = (globs.len() as u64, names.len() as u64);
    let named = match (names, globs) {
        (names, 0) => plural(names, "name"),
        (0, globs) => plural(globs, "glob"),
        (names, globs) => format!("{} and {}", plural(names, "name"), plural(globs, "glob")),
    };
    let star = match fact.subscription.wildcard {
        Wildcard::None => return named,
        Wildcard::Explicit => "*",
        Wildcard::Legacy => "* (legacy)",
        Wildcard::Ambiguous => "* (ambiguous)",
        Wildcard::Unknown if names + globs == 0 => return "wildcard unknown".to_owned(),
        Wildcard::Unknown => return format!("{named}, wildcard unknown"),
    };
    match (names, globs) {
        (0, 0) => star.to_owned(),
        (0, _) | (_, 0) => format!("{star} and {named}"),
        _ => format!("{star}, {named}"),
    }
}

/// Returns the number of resources that the client uses, with the number of names if each stands
/// for one resource, `2 of 3`, and with the number of those that the server owes again, `2, 1 owed
/// again`. A wildcard or a glob stands for any number.
pub fn resource_count(fact: &StateFact) -> String {
    let has_names_only = fact.subscription.wildcard == Wildcard::None
        && !fact.subscription.names.is_empty()
        && !fact.subscription.names.iter().any(|name| is_glob(name));
    let used = match has_names_only {
        true => format!("{} of {}", count(fact.summary.resources), count(fact.subscription.named_resources)),
        false => count(fact.summary.resources),
    };
    match fact.subscription.owed_again.len() {
        0 => used,
        again => format!("{used}, {} {OWED_AGAIN}", count(again as u64)),
    }
}

/// Returns what the server owes of a resource that the client has: `waiting for resend`,
/// `update missing`.
pub fn owed_again(owed: &OwedAgainFact) -> &'static str {
    match (owed.is_newer, owed.is_late) {
        (_, false) if owed.is_removal => "waiting for removal",
        (_, true) if owed.is_removal => "removal missing",
        (true, false) => "waiting for update",
        (true, true) => "update missing",
        (false, false) => "waiting for resend",
        (false, true) => "resend missing",
    }
}

/// Returns the first `most` names and the number of the others: `a, b and 12 more`.
pub fn names(names: &[Arc<str>], most: usize) -> String {
    let (shown, rest) = names.split_at(names.len().min(most));
    listed_names(shown, rest.len() as u64)
}

/// Returns names and the number of others: `a, "" and 12 more`.
pub fn listed_names<T: AsRef<str>>(names: &[T], more: u64) -> String {
    let shown = names.iter().map(|name| shown_name(name.as_ref())).collect::<Vec<_>>().join(", ");
    match more {
        0 => shown,
        more => format!("{shown} and {} more", count(more)),
    }
}
