//! Tests of the engine with sessions as arrow scripts, and with the words of the views.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

mod activity;
mod analysis;
mod applied;
mod graph;
mod hold;
mod interventions;
mod journal;
mod lint;
mod outside;
mod owners;
mod problems;
mod recovery;
mod store;
mod structured;
