//! Parts that several screens use.

pub(crate) mod missing_answers;
pub(crate) mod names;
pub(crate) mod problem_place;
pub(crate) mod pushes;
pub(crate) mod variant;
