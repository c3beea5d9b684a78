//! When to refresh the TTLs of the resources that a client has received.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use xdscope_wire::event::Time;

/// Heartbeats that become due within this time are sent together.
const INTERVAL: Duration = Duration::from_millis(100);

/// A resource is refreshed after this part of its TTL.
const PART_OF_TTL: u32 = 2;

/// The due times of the heartbeats of one type.
#[derive(Debug, Default)]
pub(super) struct Heartbeats {
    due: HashMap<Arc<str>, Time>,
    queue: BTreeMap<Time, Vec<Arc<str>>>,
}

impl Heartbeats {
    /// Plans the next heartbeat of a resource that was sent at `now`.
    pub(super) fn plan(&mut self, now: Time, name: &Arc<str>, ttl: Duration) {
        let interval = INTERVAL.as_nanos() as u64;
        let at = now.after((ttl / PART_OF_TTL).max(INTERVAL));
        // The heartbeat is rather early than late.
        let at = Time(at.0 / interval * interval).max(now.after(INTERVAL));
        if self.due.insert(name.clone(), at) != Some(at) {
            self.queue.entry(at).or_default().push(name.clone());
        }
    }

    /// Plans no heartbeat of a resource until it is sent again.
    pub(super) fn cancel(&mut self, name: &str) {
        self.due.remove(name);
    }

    /// Returns the time of the next heartbeat.
    pub(super) fn next(&self) -> Option<Time> {
        self.queue.keys().next().copied()
    }

    /// Takes the names of the resources whose heartbeat is due.
    pub(super) fn take(&mut self, now: Time) -> BTreeSet<Arc<str>> {
        let mut out = BTreeSet::new();
        while let Some(first) = self.queue.first_entry().filter(|first| *first.key() <= now) {
            let (at, names) = first.remove_entry();
            for name in names {
                // A resource that was sent later has a later heartbeat.
                if self.due.get(&name) == Some(&at) {
                    self.due.remove(&name);
                    out.insert(name);
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_heartbeats_at_half_of_ttl() {
        let mut heartbeats = Heartbeats::default();
        let name = |name: &str| -> Arc<str> { name.into() };
        let at = Time::from_secs_f64;
        heartbeats.plan(at(0.0), &name("a"), Duration::from_secs(4));
        heartbeats.plan(at(0.03), &name("b"), Duration::from_secs(4));
        heartbeats.plan(at(0.0), &name("c"), Duration::from_nanos(1));
        assert_eq!(heartbeats.next(), Some(at(0.1)), "a tiny TTL does not keep the server busy");
        assert_eq!(heartbeats.take(at(1.0)), BTreeSet::from([name("c")]));
        // A later response moves the heartbeat.
        heartbeats.plan(at(1.5), &name("a"), Duration::from_secs(4));
        assert_eq!(heartbeats.take(at(2.0)), BTreeSet::from([name("b")]));
        assert_eq!(heartbeats.next(), Some(at(3.5)));
        assert_eq!(heartbeats.take(at(9.0)), BTreeSet::from([name("a")]));
        assert_eq!(heartbeats.next(), None);
    }
}
