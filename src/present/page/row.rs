//! The cells of a message, in the words of `log`.

use jiff::tz::TimeZone;

use crate::json;
use crate::report::{self, Role};
use xdscope_engine::store::{MessageFact, Store};
use xdscope_wire::event::{Dir, Time};
use xdscope_wire::text::{latency, size, time_of_day, type_label};

use super::html::cell;

/// A row of the timeline.
#[derive(Clone, Debug)]
pub(super) struct RowCells {
    /// Number of the message; `None` for the start and the end of a stream.
    pub n: Option<u64>,
    pub time: String,
    /// Time since the row before.
    pub delta: String,
    pub node: String,
    pub stream: u64,
    pub dir: Option<Dir>,
    pub label: String,
    /// The word of the type in JSON and in filters.
    pub type_word: String,
    pub kind: String,
    /// The word of the kind in JSON and in filters.
    pub kind_word: &'static str,
    pub role: Role,
    pub version: String,
    pub nonce: String,
    pub resources: String,
    pub size: String,
    pub latency: String,
    pub note: String,
    /// The response that a request answers, or the request that a response answers.
    pub answers: Option<u64>,
    /// The text on an arrow between client and server.
    pub arrow: String,
}

impl RowCells {
    /// Returns the cells of a message. `before` is the time of the row before.
    pub(super) fn of(fact: &MessageFact, before: Option<Time>, store: &Store) -> RowCells {
        let line = fact.line();
        let (kind, role) = report::kind(&line, "└");
        let delta = before.filter(|_| !store.clock().untimed);
        let has_type = fact.dir.is_some();
        RowCells {
            n: fact.n.map(|n| n.0),
            time: time_of_day(fact.at, store.clock(), &TimeZone::UTC),
            delta: delta.map(|before| report::delta(fact.at.since(before))).unwrap_or_default(),
            node: cell(fact.node.as_deref().unwrap_or("-")),
            stream: u64::from(fact.stream.0),
            dir: fact.dir,
            label: if has_type { cell(&type_label(fact.type_url.as_str())) } else { String::new() },
            type_word: if has_type { cell(json::type_word(&fact.type_url)) } else { String::new() },
            kind,
            kind_word: fact.kind.word(),
            role,
            version: cell(&fact.version),
            nonce: cell(&fact.nonce),
            resources: report::resources(&line),
            size: fact.n.map(|_| size(fact.size)).unwrap_or_default(),
            latency: fact.latency.filter(|_| fact.dir == Some(Dir::Req)).map(latency).unwrap_or_default(),
            note: cell(&report::remarks(fact, &line, false)),
            answers: fact.answers.map(|n| n.0),
            arrow: cell(&report::arrow_text(&line)),
        }
    }
}
