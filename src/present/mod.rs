//! Facts in words, for people and for programs: reports, JSON objects, explanations.

pub mod json;
pub mod logs;
pub mod report;
