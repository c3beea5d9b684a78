//! The protocol: sessions, streams, subscriptions and verdicts, the store and its queries, and
//! everything that is derived from them.
//!
//! The engine has no I/O, no clock and no threads. Time is an argument, and equal input gives equal
//! facts.

pub mod activity;
pub mod analysis;
pub mod applied;
pub mod constraints;
pub mod diff;
pub mod filter;
pub mod graph;
pub mod hold;
pub mod lint;
pub mod nack;
pub mod problems;
pub mod recovery;
mod relay;
pub mod session;
pub mod store;
pub mod structured;

#[cfg(test)]
mod model;
