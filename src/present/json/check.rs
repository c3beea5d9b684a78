use serde_json::Value;

use super::object::Object;

/// The parts of a `check` object.
pub struct CheckOf<'a> {
    /// One of `PEERS`: the side that was checked.
    pub peer: &'static str,
    /// The id of the row.
    pub row: &'static str,
    /// The behaviour of a peer that passes.
    pub title: &'static str,
    /// The protocol variant, if a stream was open.
    pub variant: Option<&'static str>,
    /// One of [`CHECK_OUTCOMES`].
    pub outcome: &'static str,
    /// Why the row has not passed, and notes.
    pub reasons: &'a [String],
    /// The number of the rule of the protocol.
    pub protocol_row: &'static str,
    /// The rule of the protocol in one sentence.
    pub statement: &'static str,
    /// The public documents that state the rule.
    pub source: &'a str,
    /// The duration in milliseconds.
    pub ms: f64,
    /// The exchange as an arrow script.
    pub script: Option<&'a str>,
}

/// Outcomes of a row of `check`.
pub const CHECK_OUTCOMES: [&str; 4] = ["passed", "failed", "unanswered", "not_run"];

/// Sides that `check` examines.
pub(super) const PEERS: [&str; 2] = ["server", "client"];

/// The `check` object: one row of a conformance check.
pub fn check(of: &CheckOf<'_>) -> Value {
    let mut out = Object::new("check");
    out.put("peer", of.peer);
    out.put("row", of.row);
    out.put("title", of.title);
    out.put("variant", of.variant);
    out.put("outcome", of.outcome);
    out.put("reasons", of.reasons.to_vec());
    out.put("protocol_row", of.protocol_row);
    out.put("statement", of.statement);
    out.put("source", of.source);
    out.put("ms", of.ms);
    out.put("script", of.script);
    out.done()
}
