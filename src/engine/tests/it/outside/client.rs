//! The state of a client for one type: resources in use, names, refusals and waits.

use std::collections::{BTreeMap, BTreeSet};

/// A resource name.
pub(super) type Name = &'static str;

/// All names. The last one never exists.
pub(super) const NAMES: [Name; 5] = ["a", "b", "c", "d", "q"];

/// A content that clients refuse.
pub(super) const BAD: u32 = 9;

/// A resource of the server: its content, and its version in delta.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Content {
    pub(super) tag: u32,
    pub(super) version: u32,
}

/// The names that a client wants.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Wants {
    /// Everything, by `*` or by an empty list.
    pub(super) is_wildcard: bool,
    /// Whether the wildcard is the name `*`.
    pub(super) is_explicit: bool,
    pub(super) names: BTreeSet<Name>,
}

impl Wants {
    pub(super) fn covers(&self, name: Name) -> bool {
        self.is_wildcard || self.names.contains(name)
    }

    /// Returns the names as a request lists them.
    pub(super) fn listed(&self) -> Vec<Name> {
        let star = (self.is_wildcard && self.is_explicit).then_some("*");
        star.into_iter().chain(self.names.iter().copied()).collect()
    }
}

/// The state of a client for one type.
#[derive(Clone, Debug, Default)]
pub(super) struct Client {
    pub(super) wants: Wants,
    /// SotW: the version in use.
    pub(super) in_force: Option<u32>,
    /// The resources in use.
    pub(super) held: BTreeMap<Name, Content>,
    /// Refused responses of the stream since the last accepted one.
    pub(super) refusals: u64,
    /// Delta: resources of refused responses that the client does not have.
    pub(super) unaccepted: BTreeSet<Name>,
    /// The names that the server has not sent since they were requested, with the time.
    pub(super) owed: BTreeMap<Name, u64>,
    /// The nonce of the newest response of the stream.
    pub(super) nonce: String,
}

impl Client {
    /// Begins a stream. A restarted process has nothing.
    pub(super) fn reconnect(&mut self, is_restarted: bool, now: u64) {
        (self.refusals, self.nonce) = (0, String::new());
        if is_restarted {
            (self.in_force, self.held) = Default::default();
        }
        self.owed.clear();
        self.unaccepted.clear();
        self.wait_for_missing(now);
    }

    /// Waits for the wanted names that the client does not have.
    pub(super) fn wait_for_missing(&mut self, now: u64) {
        for name in &self.wants.names {
            if !self.held.contains_key(name) {
                self.owed.entry(*name).or_insert(now);
            }
        }
    }

    /// Changes the names. What the client no longer wants, it neither has nor waits for.
    pub(super) fn want(&mut self, wants: Wants, now: u64) {
        let is_new = |name: &&Name| !self.wants.names.contains(*name) && !self.held.contains_key(*name);
        let new: Vec<Name> = wants.names.iter().filter(is_new).copied().collect();
        self.wants = wants;
        self.held.retain(|name, _| self.wants.covers(name));
        self.unaccepted.retain(|name| self.wants.covers(name));
        self.owed.retain(|name, _| self.wants.names.contains(name));
        for name in new {
            self.owed.entry(name).or_insert(now);
        }
    }

    /// Notes that the server has sent or removed a name.
    pub(super) fn answered(&mut self, name: Name) {
        self.owed.remove(name);
    }
}
