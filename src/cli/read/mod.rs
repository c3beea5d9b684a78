//! Verbs that read a source and print facts.

pub(super) mod blame;
pub(super) mod diff;
pub(super) mod explain;
pub(super) mod get;
pub(super) mod graphs;
pub(super) mod info;
pub(super) mod ladder;
pub(super) mod lint;
pub(super) mod log;
pub(super) mod nodes;
pub(crate) mod protocol_rows;
pub(super) mod refusal_reasons;
pub(super) mod refusals;
pub(super) mod status;
pub(super) mod subscriptions;
pub(super) mod tree;
pub(super) mod wait;
