//! Conditions: answers that one side owes the other on a type of a stream.
//!
//! A condition follows from the messages. A limit makes it due, and a time makes it overdue
//! (docs/decisions/0025-conditions.md).

use std::time::Duration;

use xdscope_wire::event::{Seq, Side, Time};

/// The answer that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConditionKind {
    /// The verdict of the client on a response.
    Verdict,
    /// Resources for which the client has asked the server.
    Answer,
    /// Resources of the server for which others warm, or which others are used without.
    Warming,
    /// The request of the client for what its resources need.
    Request,
}

/// An answer that one side owes the other since a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Condition {
    pub(crate) kind: ConditionKind,
    pub(crate) since: Time,
    /// The message that has no answer.
    pub(crate) message: Seq,
    /// The time from which a limit counts.
    pub(crate) due_from: Time,
}

impl Condition {
    /// Returns the answer that the server owes to a request.
    pub(crate) fn answer(since: Time, message: Seq) -> Condition {
        Condition { kind: ConditionKind::Answer, since, message, due_from: since }
    }

    /// Returns the side that owes the answer.
    pub(crate) fn owed_by(&self) -> Side {
        match self.kind {
            ConditionKind::Verdict | ConditionKind::Request => Side::Client,
            ConditionKind::Answer | ConditionKind::Warming => Side::Server,
        }
    }

    /// Returns when the answer is due within a limit.
    pub(crate) fn due(&self, limit: Duration) -> Time {
        self.due_from.after(limit)
    }

    /// Whether the answer was due within a limit.
    pub(crate) fn is_overdue(&self, now: Time, limit: Duration) -> bool {
        now.since(self.due_from) >= limit
    }
}

/// Time limits of states; none for sources without timestamps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    /// Whether the source has timestamps.
    pub(crate) timed: bool,
    pub(crate) resource_timeout: Option<Duration>,
    pub(crate) stale_after: Option<Duration>,
}

impl Limits {
    /// Returns the limit of a condition.
    fn limit_of(self, condition: &Condition) -> Option<Duration> {
        match condition.kind {
            ConditionKind::Verdict => self.stale_after,
            _ => self.resource_timeout,
        }
    }

    /// Returns when a condition is due. `None` without a limit.
    pub(crate) fn due(self, condition: &Condition) -> Option<Time> {
        self.limit_of(condition).map(|limit| condition.due(limit))
    }

    pub(crate) fn is_overdue(self, condition: &Condition, now: Time) -> bool {
        self.limit_of(condition).is_some_and(|limit| condition.is_overdue(now, limit))
    }

    /// Returns the limit of a condition that is still in time. `None` without a limit.
    pub(crate) fn left(self, condition: &Condition, now: Time) -> Option<Duration> {
        self.limit_of(condition).filter(|limit| !condition.is_overdue(now, *limit))
    }

    /// Whether the server is late with resources for which a client asked at a time.
    pub(crate) fn is_late(self, asked: Time, now: Time) -> bool {
        self.resource_timeout.is_some_and(|limit| now.since(asked) >= limit)
    }
}
