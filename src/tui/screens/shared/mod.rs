//! Parts that several screens use.

pub mod missing_answers;
pub mod names;
