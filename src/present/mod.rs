//! Facts in words, for people and for programs: reports, JSON objects, explanations.

pub mod applied;
pub mod authority;
pub mod json;
pub mod logs;
pub mod partial_use;
pub mod report;
