//! Texts about resources in refused pushes: what is in force, what was refused, and why.

use crate::text::{Keep, cut};
use xdscope_engine::graph::{ChangedReference, GraphNode, RefusedUpdate};
use xdscope_engine::nack::{Nack, RestUse};
use xdscope_engine::store::{RefusalFact, ResourceFact};
use xdscope_wire::text::shown_name;

use super::Role;

/// Longest reason of a client in one line, in columns.
const MAX_REASON_WIDTH: usize = 160;

/// States of resources in refused pushes, and what they mean.
pub const REFUSED_STATES: [(&str, &str); 7] = [
    ("NACK, 41 in force", "the NACK names the resource, or names none; the client keeps version 41"),
    (
        "in a refused push, not named, 41 in force",
        "the NACK names others; the client used nothing of the push",
    ),
    ("in a refused push, not named, accepted", "the NACK names others; the client takes this resource"),
    (
        "in a refused push, not named, may be accepted",
        "the NACK names others; clients differ in what they take",
    ),
    (
        "removed by a refused push, 41 in force",
        "the refused push removes the resource, and the client keeps it",
    ),
    ("sent (42 refused, 41 in force)", "the client refused 42, and has not answered the content sent since"),
    ("keeps 41, not used", "the same on the screens: version 41 stays in force, or nothing is"),
];

/// Words in brackets after a resource that is absent, and what they mean.
pub const ABSENT_BY: [(&str, &str); 3] = [
    ("(by server)", "the server removed the resource, or said that it does not exist"),
    ("(by legacy)", "the server sent an entry without content, as some older servers do"),
    ("(by timer)", "nobody said so: --resource-timeout is over"),
];

/// The state of a resource in a refused push: `NACK, 41 in force`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedState {
    /// `NACK`, `removal refused` or `in a refused push, not named`; `NACK (guess)` if the refused
    /// push is a guess.
    pub what: &'static str,
    /// `41 in force`, `none in force`, `version in force unknown`, `accepted`.
    pub in_force: String,
    /// How the text looks.
    pub role: Role,
}

impl RefusedState {
    /// Returns the state of a resource; `None` if its newest content was not refused.
    pub fn of(fact: &ResourceFact) -> Option<RefusedState> {
        let in_force = fact.in_force.as_ref().map(|known| &*known.version);
        Some(RefusedState::new(fact.refusal.as_ref()?, in_force))
    }

    /// Returns the state of a resource by its refusal and the version in force.
    pub fn new(refusal: &RefusalFact, in_force: Option<&str>) -> RefusedState {
        let (what, role) = match (refusal.is_named, refusal.is_removal, refusal.rest) {
            // A file has no NACK of its own.
            (true, _, _) if refusal.nack == refusal.push => ("REJECTED", Role::Bad),
            (true, _, _) if refusal.is_guess => ("NACK (guess)", Role::Bad),
            (true, _, _) => ("NACK", Role::Bad),
            (false, true, _) => ("removed by a refused push", Role::Warn),
            (false, false, RestUse::Used) => ("in a refused push, not named", Role::Ok),
            (false, false, _) => ("in a refused push, not named", Role::Warn),
        };
        let refused = Some(&*refusal.version).filter(|_| !refusal.is_removal);
        let in_force = match (in_force.map(version), refusal.is_named, refusal.rest) {
            (_, false, RestUse::Used) => "accepted".to_owned(),
            (Some(good), false, RestUse::Unknown) => match refused {
                Some(refused) if !refused.is_empty() => format!("{good} or {refused} in force"),
                _ => format!("{good} may be in force"),
            },
            (None, false, RestUse::Unknown) => "may be accepted".to_owned(),
            (Some(good), _, _) => format!("{good} in force"),
            (None, _, _) if !refusal.knows_in_force => "version in force unknown".to_owned(),
            (None, _, _) => "none in force".to_owned(),
        };
        RefusedState { what, in_force, role }
    }

    /// Returns the text: `NACK, 41 in force`.
    pub fn text(&self) -> String {
        format!("{}, {}", self.what, self.in_force)
    }
}

/// Returns `sent (42 refused, 41 in force)`: the state of a resource whose newest content has no
/// answer, and whose content before was refused.
pub fn sent_after_refusal(fact: &ResourceFact) -> Option<String> {
    let refusal = fact.earlier_refusal.as_ref()?;
    let refused = match refusal.is_removal {
        true => "removal",
        false if refusal.version.is_empty() => "an earlier version",
        false => &refusal.version,
    };
    let none = if refusal.knows_in_force { "none" } else { "unknown version" };
    let in_force = fact.in_force.as_ref().map_or(none, |known| version(&known.version));
    Some(format!("sent ({refused} refused, {in_force} in force)"))
}

fn version(text: &str) -> &str {
    if text.is_empty() { "an earlier version" } else { text }
}

/// Returns `43 refused by #12: connect_timeout must be greater than 0s`.
///
/// `nack` is the parsed text of the NACK, `name` the resource.
pub fn refused_update(update: &RefusedUpdate, nack: Option<&Nack>, name: &str) -> String {
    let RefusedUpdate { refusal, .. } = update;
    let refused = match (refusal.is_removal, Some(&*refusal.version).filter(|version| !version.is_empty())) {
        (true, _) => "removal".to_owned(),
        (false, Some(version)) => version.to_owned(),
        (false, None) => "newest version".to_owned(),
    };
    let mut text = match refusal.is_named {
        true => format!("{refused} refused by #{}", refusal.nack.0),
        false => format!(
            "{refused} in push #{}, refused by #{} for other resources",
            refusal.push.0, refusal.nack.0
        ),
    };
    if let Some(reason) = nack.and_then(|nack| reason(nack, name, refusal.is_named)) {
        let line = reason.split_whitespace().collect::<Vec<_>>().join(" ");
        text.push_str(&format!(": {}", cut(&line, MAX_REASON_WIDTH, Keep::Head, "…")));
    }
    text
}

/// Returns `2 not answered yet, 1 in force`: the newest and the used version of a resource whose
/// update has no verdict; `removal not answered yet, 1 in force`. For a dump `2 warming, 1 in
/// force`.
pub fn unanswered_update(node: &GraphNode) -> String {
    let is_removal = node.unanswered.as_ref().is_some_and(|update| update.content.is_none());
    let version_of_update = node.version.as_deref().filter(|version| !version.is_empty());
    let newest = if is_removal { "removal" } else { version_of_update.unwrap_or("newest version") };
    let in_force = node.in_force.as_deref().map(|known| format!(", {} in force", version(known)));
    // A dump has no verdicts.
    let is_dumped = node.warming.as_ref().is_some_and(|fact| fact.is_dumped);
    let state = if is_dumped { "warming" } else { "not answered yet" };
    format!("{newest} {state}{}", in_force.unwrap_or_default())
}

/// Returns the reason for a resource: its own, or the first one of a NACK about others.
fn reason<'a>(nack: &'a Nack, name: &str, is_named: bool) -> Option<&'a str> {
    let of_name = |fault: &&xdscope_engine::nack::NackFault| {
        fault.name.as_ref().is_some_and(|known| known.value == name)
    };
    let own = nack.entries.iter().find(of_name);
    let first = nack.entries.first();
    let fault = if is_named { own.or(first) } else { first }?;
    Some(fault.reason.trim()).filter(|reason| !reason.is_empty())
}

/// Returns `would add virtual_hosts[0].routes[0].route.cluster → CDS payments`.
pub fn changed_reference(change: &ChangedReference, arrow: &str) -> String {
    let verb = if change.is_added { "would add" } else { "would drop" };
    format!("{verb} {} {arrow} {} {}", change.path, change.kind.label(), shown_name(&change.name))
}
