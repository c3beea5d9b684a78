//! Parts that several screens use.

pub mod missing_answers;
pub mod names;
pub mod pushes;
pub mod variant;
