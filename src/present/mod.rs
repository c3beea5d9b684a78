//! Facts as text for people and programs: reports, JSON objects, explanations of log lines.

#![warn(missing_docs)]

pub mod applied;
pub mod authority;
pub mod bodies;
pub mod body_comparison;
pub mod body_lines;
pub mod explanation;
pub mod graph;
pub mod hold;
pub mod json;
pub mod logs;
pub mod nack_card;
pub mod nack_effect;
pub mod node;
pub mod page;
pub mod partial_use;
pub mod report;
pub mod source_facts;
pub mod structured;
pub mod text;
