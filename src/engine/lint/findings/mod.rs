//! Findings: how they are merged, how long they last, and what ends them.

pub(super) mod contents;
pub(super) mod failed_series;
pub(super) mod finding;
pub(super) mod followed;
pub(super) mod lasting;
pub(super) mod overdue;
pub(super) mod past_events;
pub(super) mod past_streams;
pub(super) mod traffic_gaps;
