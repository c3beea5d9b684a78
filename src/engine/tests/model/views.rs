//! The resources as the server and as the client see them.

use crate::session::{MessageKind, Wildcard};

use super::script::{Entry, Push, Text};
use super::track::{Fate, Known, Response, Stamp, Status, Track};

/// The facts of one response.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ResponseFacts {
    pub(super) kind: MessageKind,
    pub(super) answers: Option<u64>,
    pub(super) added: Vec<Text>,
    pub(super) changed: Vec<Text>,
    pub(super) removed: Vec<Text>,
}

/// The entries of a response without those that repeat a name (docs/protocol.md#e-43).
pub(super) fn unique(push: &Push) -> Vec<Entry> {
    let mut out: Vec<Entry> = Vec::new();
    for entry in &push.entries {
        match out.iter_mut().find(|other| other.name == entry.name) {
            Some(other) => *other = *entry,
            None => out.push(*entry),
        }
    }
    out
}

impl Track {
    pub(super) fn version_of(&self, push: &Push, entry: &Entry) -> Text {
        if self.delta { entry.version } else { push.version }
    }

    pub(super) fn response(&mut self, stamp: Stamp, push: &Push) -> ResponseFacts {
        let mut facts = ResponseFacts {
            kind: MessageKind::Push,
            answers: None,
            added: Vec::new(),
            changed: Vec::new(),
            removed: Vec::new(),
        };
        let entries = unique(push);
        let mut is_answer = self.mentions_asked(push, &entries);
        let says_nothing = push.entries.is_empty() && push.removed.is_empty();
        let answers_wildcard = self.wildcard_owed.take().is_some() && says_nothing;
        for name in &push.removed {
            self.remove(name, &mut facts);
        }
        if self.is_full_state() {
            self.drop_missing(&entries, &mut facts);
        }
        for entry in &entries {
            let version = self.version_of(push, entry);
            let old = self.find(entry.name).copied().filter(Known::is_present);
            match old {
                None => facts.added.push(entry.name),
                // Known by its version only: the content counts as equal at an equal version.
                Some(Known { content: None, version: old, .. }) if old == version => {}
                Some(known) if known.content == Some(entry.content) => {}
                Some(_) => facts.changed.push(entry.name),
            }
            let content = Some(entry.content);
            self.put(Known { name: entry.name, fate: Fate::Sent, version, content });
            self.deliver(entry.name);
        }
        self.note_unrequested(&facts);
        let quiet = facts.added.is_empty() && facts.changed.is_empty() && facts.removed.is_empty();
        if quiet && !entries.is_empty() {
            facts.kind = MessageKind::Resend;
        }
        // A request has caused a response that changes nothing.
        is_answer |= quiet;
        facts.answers = self.unanswered.filter(|_| is_answer).map(|asked| asked.seq);
        self.unanswered = self.unanswered.filter(|_| !is_answer);
        if self.is_full_state() || !facts.added.is_empty() || answers_wildcard {
            self.give_up_members();
        }
        self.responses.push(Response {
            seq: stamp.seq,
            at: stamp.at,
            push: push.clone(),
            status: Status::Pending,
            settled_by: None,
            refused: Vec::new(),
            refused_removals: Vec::new(),
            has_refused_names: false,
            is_given_up: false,
            removed: facts.removed.iter().chain(&push.removed).copied().collect(),
            dropped: Vec::new(),
        });
        facts
    }

    /// Whether a response answers the last request for something new: a push of other names does
    /// not (docs/protocol.md#e-03).
    fn mentions_asked(&self, push: &Push, entries: &[Entry]) -> bool {
        let Some(asked) = self.unanswered else { return false };
        let is_asked =
            |name: Text| self.owed.iter().any(|owed| owed.name == name && owed.is_asked_by(asked.seq));
        let is_wildcard = self.wildcard_owed == Some(asked.at);
        let sends_asked = entries.iter().any(|entry| is_asked(entry.name));
        !self.asks_for_owed || is_wildcard || sends_asked || push.removed.iter().any(|name| is_asked(name))
    }

    /// Handles `removed_resources` (docs/protocol.md#f-27, docs/protocol.md#f-28).
    fn remove(&mut self, name: Text, facts: &mut ResponseFacts) {
        let old = self.find(name).copied();
        let is_owed = self.owed.iter().any(|owed| owed.name == name);
        let is_carried = self.carried.iter().any(|known| known.name == name);
        if old.is_none() && !self.wants.covers(name) && !is_owed && !is_carried {
            // The client ignores the removal.
            return;
        }
        let is_stated = self.carried.iter().any(|known| known.name == name);
        let held = self.owed.iter().any(|owed| owed.name == name && (owed.held || is_stated));
        let had = old.is_some_and(|old| old.is_present()) || held;
        let fate = match old {
            _ if had => Fate::Removed,
            Some(Known { fate: Fate::Removed, .. }) => Fate::Removed,
            _ => Fate::DoesNotExist,
        };
        if had || self.wants.covers(name) {
            facts.removed.push(name);
        }
        let bare = Known { name, fate, version: "", content: None };
        self.put(Known { fate, ..old.unwrap_or(bare) });
        self.deliver(name);
        self.unrequested.retain(|other| *other != name);
    }

    /// A response with full state deletes what it leaves out (docs/protocol.md#e-44).
    fn drop_missing(&mut self, entries: &[Entry], facts: &mut ResponseFacts) {
        for known in self.known.clone() {
            if !known.is_present() || entries.iter().any(|entry| entry.name == known.name) {
                continue;
            }
            let wanted = self.wants.covers(known.name);
            let fate = if wanted { Fate::Removed } else { Fate::Released };
            self.put(Known { fate, ..known });
            self.unrequested.retain(|other| *other != known.name);
            if wanted {
                facts.removed.push(known.name);
                self.deliver(known.name);
            }
        }
    }

    fn note_unrequested(&mut self, facts: &ResponseFacts) {
        let unasked: Vec<Text> =
            facts.added.iter().copied().filter(|name| !self.wants.names.contains(name)).collect();
        if self.wants.wildcard == Wildcard::Ambiguous && !unasked.is_empty() {
            // The server reads the first request as a wildcard (docs/protocol.md#f-21).
            self.wants.wildcard = Wildcard::Legacy;
        }
        if self.wants.wildcard == Wildcard::None {
            self.unrequested.extend(unasked);
        }
    }

    /// The resources that the client has accepted: the accepted responses in the order in which
    /// they were sent (docs/protocol.md#e-20, docs/protocol.md#f-34).
    pub(super) fn accepted(&self) -> Vec<Known> {
        let mut have: Vec<Known> = self.carried.clone();
        for response in self.responses.iter().filter(|response| response.status == Status::Acked) {
            let entries = unique(&response.push);
            let removed = &response.push.removed;
            have.retain(|known| !removed.contains(&known.name));
            if self.is_full_state() {
                have.retain(|known| entries.iter().any(|entry| entry.name == known.name));
            }
            for entry in entries {
                let version = self.version_of(&response.push, &entry);
                have.retain(|known| known.name != entry.name);
                if response.dropped.contains(&entry.name) {
                    continue;
                }
                let content = Some(entry.content);
                have.push(Known { name: entry.name, fate: Fate::Sent, version, content });
            }
        }
        have
    }

    /// Names whose newest content was refused, until an accepted response has them
    /// (docs/protocol.md#f-34).
    pub(super) fn refused(&self) -> Vec<Text> {
        let mut out = Vec::new();
        for (at, response) in self.responses.iter().enumerate() {
            if !matches!(response.status, Status::Nacked { .. }) {
                continue;
            }
            for name in &response.refused {
                let later = self.responses.iter().skip(at + 1);
                let mut accepted = later.filter(|later| later.status == Status::Acked);
                let replaced = accepted.any(|later| {
                    let entries = &later.push.entries;
                    let has = entries.iter().any(|entry| entry.name == *name);
                    has || later.push.removed.contains(name) || self.is_full_state()
                });
                if !replaced && !out.contains(name) {
                    out.push(*name);
                }
            }
        }
        out
    }
}
