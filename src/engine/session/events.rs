//! Events of messages: consequences that neither the kind of a message nor its names show.
//!
//! Events are collected while a message is handled, only where something unusual happens, and are
//! kept with the row of the message.

use std::time::Duration;

use xdscope_wire::event::{Sym, Time};
use xdscope_wire::pb::plain::{Put, Take};

use super::{AbsentBy, Wildcard};

/// Events of one message that are kept.
const MAX_EVENTS: usize = 32;
/// Names of one event that are kept; the others are only counted.
const MAX_EVENT_NAMES: usize = 64;

/// The version that a SotW heartbeat repeats (docs/protocol.md#g-10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatchedVersion {
    /// The version of the `Resource` that wraps the entry.
    Wrapper,
    /// The `version_info` of the response.
    Response,
    /// Both versions are the last one sent.
    Both,
    /// Neither: the heartbeat has no effect.
    Neither,
}

/// The kind of an event of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// A wildcard subscription begins.
    WildcardEntered(Wildcard),
    /// A wildcard subscription ends (docs/protocol.md#e-41).
    WildcardDropped(Wildcard),
    /// A name is unsubscribed that was not subscribed (docs/protocol.md#f-24).
    PhantomUnsubscription,
    /// A name is unsubscribed under a wildcard: the server owes the resource or its removal
    /// (docs/protocol.md#f-26).
    PendingReclassification,
    /// Names are requested although no new configuration asks for them (docs/protocol.md#f-33).
    OnDemand,
    /// A resource that did not exist, or was not sent in time, is sent (docs/protocol.md#e-48).
    CameIntoExistence(AbsentBy),
    /// A subscribed name is an alias of a resource, or an unsubscribed name stands for a subscribed
    /// one. The names are the alias and the name for which it stands (docs/protocol.md#f-30).
    AliasResolved,
    /// A resource has a time to live (docs/protocol.md#g-02).
    TtlSet {
        /// The length.
        to: Duration,
    },
    /// A time to live has another length than before (docs/protocol.md#g-04).
    TtlChanged {
        /// The length before.
        from: Duration,
        /// The length from now on.
        to: Duration,
    },
    /// A resource has no time to live any more (docs/protocol.md#g-05).
    TtlRemoved {
        /// The length before.
        from: Duration,
    },
    /// A SotW heartbeat, and the version that it repeats.
    HeartbeatMatched(MatchedVersion),
    /// The control plane changes. The names are the identifiers before and after
    /// (docs/protocol.md#m-13).
    ControlPlaneChanged,
    /// The types that the server has sent together so far, in order. The names are type URLs
    /// (docs/protocol.md#h-08).
    TypeOrder,
    /// An alternative is requested. The names are the first name and the alternative
    /// (docs/protocol.md#k-29).
    Failover,
    /// The node differs from the one before on the stream. The names are the fields that differ
    /// (docs/protocol.md#e-06).
    NodeChanged,
    /// A glob has new members. The names are the glob and the members (docs/protocol.md#k-19).
    MembersAdded,
    /// Members of a glob were removed. The names are the glob and the members
    /// (docs/protocol.md#k-19).
    MembersRemoved,
}

impl EventKind {
    /// The words of all kinds.
    pub const WORDS: [&'static str; 17] = [
        "wildcard_entered",
        "wildcard_dropped",
        "phantom_unsubscription",
        "pending_reclassification",
        "on_demand",
        "came_into_existence",
        "alias_resolved",
        "ttl_set",
        "ttl_changed",
        "ttl_removed",
        "heartbeat_matched",
        "control_plane_changed",
        "type_order",
        "failover",
        "node_changed",
        "members_added",
        "members_removed",
    ];

    /// The word in the JSON contract.
    pub fn word(self) -> &'static str {
        let [
            entered,
            dropped,
            phantom,
            reclassification,
            on_demand,
            came,
            alias,
            set,
            changed,
            removed,
            matched,
            plane,
            order,
            failover,
            node,
            members_added,
            members_removed,
        ] = EventKind::WORDS;
        match self {
            EventKind::WildcardEntered(_) => entered,
            EventKind::WildcardDropped(_) => dropped,
            EventKind::PhantomUnsubscription => phantom,
            EventKind::PendingReclassification => reclassification,
            EventKind::OnDemand => on_demand,
            EventKind::CameIntoExistence(_) => came,
            EventKind::AliasResolved => alias,
            EventKind::TtlSet { .. } => set,
            EventKind::TtlChanged { .. } => changed,
            EventKind::TtlRemoved { .. } => removed,
            EventKind::HeartbeatMatched(_) => matched,
            EventKind::ControlPlaneChanged => plane,
            EventKind::TypeOrder => order,
            EventKind::Failover => failover,
            EventKind::NodeChanged => node,
            EventKind::MembersAdded => members_added,
            EventKind::MembersRemoved => members_removed,
        }
    }

    /// Whether names that are added together are an event of their own.
    fn is_own(self) -> bool {
        matches!(
            self,
            EventKind::AliasResolved
                | EventKind::ControlPlaneChanged
                | EventKind::Failover
                | EventKind::MembersAdded
                | EventKind::MembersRemoved
        )
    }

    fn put(self, put: &mut Put) {
        let ttl =
            |put: &mut Put, ttl: Duration| put.number(u64::try_from(ttl.as_nanos()).unwrap_or(u64::MAX));
        match self {
            EventKind::WildcardEntered(kind) => put_word(put, 0, place(&Wildcard::ALL, kind)),
            EventKind::WildcardDropped(kind) => put_word(put, 1, place(&Wildcard::ALL, kind)),
            EventKind::PhantomUnsubscription => put.number(2),
            EventKind::OnDemand => put.number(3),
            EventKind::CameIntoExistence(by) => put_word(put, 4, place(&AbsentBy::ALL, by)),
            EventKind::AliasResolved => put.number(5),
            EventKind::TtlChanged { from, to } => {
                put.number(6);
                ttl(put, from);
                ttl(put, to);
            }
            EventKind::TtlRemoved { from } => {
                put.number(7);
                ttl(put, from);
            }
            EventKind::HeartbeatMatched(version) => put_word(put, 8, place(&MATCHED, version)),
            EventKind::ControlPlaneChanged => put.number(9),
            EventKind::TypeOrder => put.number(10),
            EventKind::Failover => put.number(11),
            EventKind::NodeChanged => put.number(12),
            EventKind::TtlSet { to } => {
                put.number(13);
                ttl(put, to);
            }
            EventKind::PendingReclassification => put.number(14),
            EventKind::MembersAdded => put.number(15),
            EventKind::MembersRemoved => put.number(16),
        }
    }

    fn take(take: &mut Take<'_>) -> Option<EventKind> {
        let ttl = |take: &mut Take<'_>| take.number().map(Duration::from_nanos);
        Some(match take.number()? {
            0 => EventKind::WildcardEntered(pick(&Wildcard::ALL, take)?),
            1 => EventKind::WildcardDropped(pick(&Wildcard::ALL, take)?),
            2 => EventKind::PhantomUnsubscription,
            3 => EventKind::OnDemand,
            4 => EventKind::CameIntoExistence(pick(&AbsentBy::ALL, take)?),
            5 => EventKind::AliasResolved,
            6 => EventKind::TtlChanged { from: ttl(take)?, to: ttl(take)? },
            7 => EventKind::TtlRemoved { from: ttl(take)? },
            8 => EventKind::HeartbeatMatched(pick(&MATCHED, take)?),
            9 => EventKind::ControlPlaneChanged,
            10 => EventKind::TypeOrder,
            11 => EventKind::Failover,
            12 => EventKind::NodeChanged,
            13 => EventKind::TtlSet { to: ttl(take)? },
            14 => EventKind::PendingReclassification,
            15 => EventKind::MembersAdded,
            16 => EventKind::MembersRemoved,
            _ => return None,
        })
    }
}

const MATCHED: [MatchedVersion; 4] =
    [MatchedVersion::Wrapper, MatchedVersion::Response, MatchedVersion::Both, MatchedVersion::Neither];

fn put_word(put: &mut Put, kind: u64, word: u64) {
    put.number(kind);
    put.number(word);
}

fn place<T: PartialEq>(all: &[T], item: T) -> u64 {
    all.iter().position(|other| *other == item).unwrap_or_default() as u64
}

fn pick<T: Copy>(all: &[T], take: &mut Take<'_>) -> Option<T> {
    all.get(usize::try_from(take.number()?).ok()?).copied()
}

/// Events of one kind, with names of the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventEntry {
    pub(crate) kind: EventKind,
    pub(crate) names: Vec<Sym>,
    /// Number of names, with those that are not kept.
    pub(crate) count: u64,
}

impl EventEntry {
    /// Encodes the entry for [`EventEntry::take`].
    pub(crate) fn put(&self, put: &mut Put) {
        self.kind.put(put);
        put.ids(self.names.iter().map(|name| name.0));
        put.number(self.count);
    }

    /// Decodes an entry of [`EventEntry::put`]; `None` for other bytes.
    pub(crate) fn take(take: &mut Take<'_>) -> Option<EventEntry> {
        let kind = EventKind::take(take)?;
        Some(EventEntry { kind, names: take.ids()?.into_iter().map(Sym).collect(), count: take.number()? })
    }
}

/// The events of one message. An empty list allocates nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EventList(Vec<EventEntry>);

impl EventList {
    /// Adds a name to the event of the kind.
    pub(crate) fn add(&mut self, kind: EventKind, name: Sym) {
        self.add_all(kind, &[name]);
    }

    /// Adds names to the event of the kind, or one event with these names.
    pub(crate) fn add_all(&mut self, kind: EventKind, names: &[Sym]) {
        let known = self.0.iter().position(|entry| entry.kind == kind && !kind.is_own());
        let at = known.unwrap_or(self.0.len());
        if at == self.0.len() && at < MAX_EVENTS {
            self.0.push(EventEntry { kind, names: Vec::new(), count: 0 });
        }
        let Some(entry) = self.0.get_mut(at) else { return };
        entry.count += names.len() as u64;
        let room = MAX_EVENT_NAMES.saturating_sub(entry.names.len());
        entry.names.extend(names.iter().take(room));
    }

    pub(crate) fn into_entries(self) -> Vec<EventEntry> {
        self.0
    }

    /// Adds the begin or end of a wildcard subscription.
    pub(crate) fn add_wildcard(&mut self, was: Wildcard, wildcard: Wildcard) {
        let is_one = |kind: Wildcard| !matches!(kind, Wildcard::None | Wildcard::Unknown);
        // A wildcard from before the recording may continue.
        if is_one(wildcard) && was != wildcard && was != Wildcard::Unknown {
            self.add_all(EventKind::WildcardEntered(wildcard), &[]);
        } else if is_one(was) && !is_one(wildcard) {
            self.add_all(EventKind::WildcardDropped(was), &[]);
        }
    }
}

/// The time to live of a resource, and how it changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct TtlRecord {
    /// The length; `None` once the resource was sent without one.
    pub(crate) ttl: Option<Duration>,
    /// Entries without a payload that extended the time.
    pub(crate) heartbeats: u64,
    /// The newest of them.
    pub(crate) last_heartbeat: Option<Time>,
    /// The first and the newest changes of the length, oldest first.
    pub(crate) changes: Vec<TtlChange>,
}

/// Another length of a time to live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TtlChange {
    /// The response that sets it.
    pub n: xdscope_wire::event::Seq,
    /// Time of the response.
    pub at: Time,
    /// The length; `None` if the resource has no time to live any more.
    pub ttl: Option<Duration>,
}

impl TtlRecord {
    /// Changes of one resource that are kept: the first one and the newest.
    const MAX_CHANGES: usize = 8;

    /// Records the time to live of an entry, and returns the event if its length has changed.
    pub(crate) fn set(&mut self, change: TtlChange, is_heartbeat: bool) -> Option<EventKind> {
        if is_heartbeat {
            self.heartbeats += 1;
            self.last_heartbeat = Some(change.at);
        }
        let (was, now) = (self.ttl, change.ttl);
        self.ttl = now;
        if was == now {
            return None;
        }
        if self.changes.len() == Self::MAX_CHANGES {
            self.changes.remove(1);
        }
        self.changes.push(change);
        match (was, now) {
            (None, Some(to)) => Some(EventKind::TtlSet { to }),
            (Some(from), Some(to)) => Some(EventKind::TtlChanged { from, to }),
            (Some(from), None) => Some(EventKind::TtlRemoved { from }),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xdscope_wire::event::Seq;

    #[test]
    fn entries_are_decoded_as_encoded() {
        let second = Duration::from_secs(1);
        let mut kinds = vec![
            EventKind::PhantomUnsubscription,
            EventKind::OnDemand,
            EventKind::AliasResolved,
            EventKind::TtlSet { to: second },
            EventKind::TtlChanged { from: second, to: second * 3 },
            EventKind::TtlRemoved { from: second },
            EventKind::ControlPlaneChanged,
            EventKind::TypeOrder,
            EventKind::Failover,
            EventKind::NodeChanged,
        ];
        kinds.extend(Wildcard::ALL.map(EventKind::WildcardEntered));
        kinds.extend(Wildcard::ALL.map(EventKind::WildcardDropped));
        kinds.extend(AbsentBy::ALL.map(EventKind::CameIntoExistence));
        kinds.extend(MATCHED.map(EventKind::HeartbeatMatched));
        for (kind, n) in kinds.into_iter().zip(0..) {
            let entry = EventEntry { kind, names: (0..n).map(Sym).collect(), count: n.into() };
            let mut put = Put::default();
            entry.put(&mut put);
            assert_eq!(EventEntry::take(&mut Take::new(&put.0)), Some(entry));
        }
    }

    #[test]
    fn names_and_events_are_bounded() {
        let mut events = EventList::default();
        for name in 0..1000 {
            events.add(EventKind::OnDemand, Sym(name));
            events.add_all(EventKind::AliasResolved, &[Sym(name), Sym(name + 1)]);
        }
        let entries = events.into_entries();
        assert_eq!(entries.len(), MAX_EVENTS);
        assert_eq!((entries[0].names.len(), entries[0].count), (MAX_EVENT_NAMES, 1000));
        assert_eq!(entries[1].names, [Sym(0), Sym(1)], "pairs are not merged");
    }

    #[test]
    fn ttl_changes_are_events() {
        let mut record = TtlRecord::default();
        let change =
            |n, ttl: Option<u64>| TtlChange { n: Seq(n), at: Time(n), ttl: ttl.map(Duration::from_secs) };
        let (short, long) = (Duration::from_secs(10), Duration::from_secs(20));
        assert_eq!(record.set(change(1, Some(10)), false), Some(EventKind::TtlSet { to: short }));
        assert_eq!(record.set(change(2, Some(10)), true), None);
        let changed = EventKind::TtlChanged { from: short, to: long };
        assert_eq!(record.set(change(3, Some(20)), true), Some(changed));
        assert_eq!(record.set(change(4, None), false), Some(EventKind::TtlRemoved { from: long }));
        assert_eq!((record.heartbeats, record.last_heartbeat), (2, Some(Time(3))));
        for n in 5..50 {
            record.set(change(n, Some(n)), false);
        }
        assert_eq!(record.changes.len(), TtlRecord::MAX_CHANGES);
        assert_eq!((record.changes[0].n, record.changes[7].n), (Seq(1), Seq(49)));
    }
}
