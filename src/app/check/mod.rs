//! Conformance checks: of a control plane by a client, and of a client by a control plane.
//!
//! A row is data: a stimulus, and what may not happen meanwhile. A run plays the stimulus on a
//! connection of its own and records the exchange; the facts of the engine say what was answered,
//! and the lint rules judge the record. Nothing here decides what the protocol requires.

mod change;
pub mod client;
mod client_rows;
mod content;
mod exchange;
mod player;
pub mod rows;
pub mod server;

use std::time::Duration;

pub use change::ChangeCommand;
pub use client_rows::{CLIENT_ROWS, ClientRow};

/// Messages of one row after which it ends: a peer that sends more is in a loop.
pub(super) const MAX_MESSAGES: u64 = 10_000;

/// Interval at which a waiting row looks for progress.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Times that a row waits.
#[derive(Clone, Copy, Debug)]
pub struct CheckTimes {
    /// For an answer that must come.
    pub answer: Duration,
    /// For a message that must not come.
    pub settle: Duration,
}

/// The outcome of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckOutcome {
    Passed,
    Failed,
    /// The peer did not answer in time, which is no proof that it never would.
    Unanswered,
    /// The row does not apply, or something that it needs is missing.
    NotRun,
}

impl CheckOutcome {
    pub const ALL: [CheckOutcome; 4] =
        [CheckOutcome::Passed, CheckOutcome::Failed, CheckOutcome::Unanswered, CheckOutcome::NotRun];

    /// Returns the word in tables and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            CheckOutcome::Passed => "passed",
            CheckOutcome::Failed => "failed",
            CheckOutcome::Unanswered => "unanswered",
            CheckOutcome::NotRun => "not_run",
        }
    }

    /// Whether the check has not passed because of this row.
    pub fn is_bad(self) -> bool {
        matches!(self, CheckOutcome::Failed | CheckOutcome::Unanswered)
    }
}

/// The result of a row.
#[derive(Clone, Debug)]
pub struct RowResult {
    pub id: &'static str,
    pub title: &'static str,
    /// The word of the variant; `None` if no client has connected.
    pub variant: Option<&'static str>,
    /// The row of `docs/protocol.md`.
    pub protocol: &'static str,
    pub outcome: CheckOutcome,
    /// Why, in sentences without a full stop; also what was noted of a row that has passed.
    pub reasons: Vec<String>,
    /// The exchange as an arrow script; `None` if nothing was exchanged.
    pub script: Option<String>,
    pub took: Duration,
}

/// The reason why a row has ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Failed(String),
    Unanswered(String),
    NotRun(String),
    /// The peer has ended the stream.
    Ended(String),
}

impl Stop {
    fn outcome(&self) -> CheckOutcome {
        match self {
            Stop::Failed(_) | Stop::Ended(_) => CheckOutcome::Failed,
            Stop::Unanswered(_) => CheckOutcome::Unanswered,
            Stop::NotRun(_) => CheckOutcome::NotRun,
        }
    }

    fn into_text(self) -> String {
        match self {
            Stop::Failed(text) | Stop::Unanswered(text) | Stop::NotRun(text) | Stop::Ended(text) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use rows::SERVER_ROWS;

    /// The rows of `docs/protocol.md`.
    const PROTOCOL: &str = include_str!("../../../tests/rows.txt");

    #[test]
    fn rows_have_ids_of_their_own_and_cite_rows_of_the_protocol() {
        let known: BTreeSet<&str> = PROTOCOL.lines().filter_map(|line| line.split(" | ").next()).collect();
        let of_server =
            SERVER_ROWS.iter().flat_map(|row| row.variants.iter().map(|of| (row.id, row.judged(*of))));
        let of_client =
            CLIENT_ROWS.iter().map(|row| (row.id, [row.judged(false), row.judged(true)].concat()));
        for (id, cited) in of_server.chain(of_client) {
            let unknown: Vec<&&str> = cited.iter().filter(|row| !known.contains(*row)).collect();
            assert!(unknown.is_empty(), "{id}: {unknown:?}");
        }
        let ids: BTreeSet<&str> = SERVER_ROWS.iter().map(|row| row.id).collect();
        assert_eq!(ids.len(), SERVER_ROWS.len());
        let ids: BTreeSet<&str> = CLIENT_ROWS.iter().map(|row| row.id).collect();
        assert_eq!(ids.len(), CLIENT_ROWS.len());
    }
}
