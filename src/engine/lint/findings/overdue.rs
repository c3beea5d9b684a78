//! Names that have waited too long for an answer.

use std::collections::BTreeMap;
use std::time::Duration;

use super::finding::{Blame, FindingDraft};
use super::lasting::{Lasting, LastingState};
use crate::lint::alarm::Alarm;
use crate::lint::context::RuleContext;
use crate::lint::rule::{Rule, Severity};
use crate::session::{Condition, NameRequest, Track};
use xdscope_wire::event::{Seq, Sym, Time};

/// Minimum interval of a timer for more than [`MAX_EXACT_NAMES`] names.
pub(crate) const MIN_TIMER_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum number of waiting names that each get a timer of their own.
pub(crate) const MAX_EXACT_NAMES: usize = 256;

/// A name that has waited too long for an answer.
pub(crate) struct OverdueName {
    pub(crate) name: Sym,
    /// The last request for the name.
    pub(crate) requested_in: Seq,
    /// Whether the client had the resource at the time of the request.
    pub(crate) was_present: bool,
    /// Whether the client had given the resource up with its wildcard or glob, and requests that
    /// again.
    pub(crate) is_member: bool,
    /// When the name was requested first.
    since: Time,
}

impl RuleContext<'_> {
    /// Reports that the server owes names. Names that were overdue on an earlier stream of the
    /// client already belong to the finding about that stream.
    pub(crate) fn report_overdue(
        &mut self,
        rule: &'static Rule,
        text: &str,
        severity: Option<Severity>,
        overdue: impl IntoIterator<Item = OverdueName>,
    ) {
        let mut by_finding: BTreeMap<Option<usize>, Vec<OverdueName>> = BTreeMap::new();
        for overdue in overdue {
            let finding = self.interrupted(rule, overdue.name, overdue.since);
            by_finding.entry(finding).or_default().push(overdue);
        }
        for overdue in by_finding.into_values() {
            let Some(since) = overdue.iter().map(|overdue| overdue.since).min() else { continue };
            let (names, mut evidence): (Vec<Sym>, Vec<Seq>) =
                overdue.into_iter().map(|overdue| (overdue.name, overdue.requested_in)).unzip();
            evidence.dedup();
            let draft = FindingDraft::new(Blame::Server, text, &names).evidence(&evidence).severity(severity);
            self.report_lasting(rule, draft, Lasting::new(LastingState::Unanswered, since));
        }
    }

    /// Returns the answer that the server owes to a request for a name, within `limit`.
    ///
    /// The wait for a name continues over streams, but the server gets the time of a verdict for
    /// the request on each stream.
    fn answer_owed(&self, track: &Track, pending: &NameRequest, limit: Duration) -> Condition {
        let (owed, began) = (pending.condition(), track.traffic.began);
        if owed.since >= began {
            return owed;
        }
        let earlier = limit.saturating_sub(self.options.timers.ack);
        let nanos = u64::try_from(earlier.as_nanos()).unwrap_or(u64::MAX);
        Condition { due_from: owed.since.max(Time(began.0.saturating_sub(nanos))), ..owed }
    }

    /// Returns the names requested after `checked_until` that have waited for at least `limit`.
    pub(crate) fn overdue_names(
        &self,
        track: &Track,
        limit: Duration,
        checked_until: Option<Time>,
    ) -> Vec<OverdueName> {
        let is_new = |owed: &Condition| checked_until.is_none_or(|until| owed.due_from > until);
        let is_due = |pending: &NameRequest| {
            let owed = self.answer_owed(track, pending, limit);
            owed.is_overdue(self.at, limit) && is_new(&owed)
        };
        // `request-name-empty` covers the empty name.
        let overdue = track.waiting.iter().filter(|(name, pending)| *name != Sym::EMPTY && is_due(pending));
        // A lost response may have answered the request. An alternative makes up for the resource.
        // No resource can have a malformed name.
        let can_come = |pending: &NameRequest| !pending.is_served && !pending.is_malformed;
        let overdue = overdue.filter(|(_, pending)| can_come(pending) && self.has_all_since(pending.last));
        let overdue = overdue.map(|(name, pending)| OverdueName {
            name,
            requested_in: pending.last,
            was_present: pending.has_resource,
            is_member: pending.is_member,
            since: pending.since,
        });
        overdue.collect()
    }

    /// Marks the overdue names as checked, and sets the timer for the oldest other name.
    pub(crate) fn rearm_waiting(&mut self, alarm: Alarm, limit: Duration) {
        let Some(track) = self.current_track() else { return };
        let limit_at = self.ago(limit);
        let until = match alarm {
            Alarm::Missing => &mut self.state.checked.existence_checked_until,
            _ => &mut self.state.checked.answers_checked_until,
        };
        *until = limit_at.max(*until);
        let owed = track.waiting.iter().map(|(_, pending)| self.answer_owed(track, pending, limit));
        let in_time = owed.filter(|owed| !owed.is_overdue(self.at, limit));
        if let Some(due) = in_time.map(|owed| owed.due(limit)).min() {
            // Each check visits all waiting names, so check many names at once.
            let earliest = self.at.after(MIN_TIMER_INTERVAL);
            self.arm(alarm, if track.waiting.len() > MAX_EXACT_NAMES { due.max(earliest) } else { due });
        }
    }
}
