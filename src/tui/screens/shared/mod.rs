//! Parts that several screens use.

pub(crate) mod lifetimes;
pub(crate) mod list_table;
pub(crate) mod members;
pub(crate) mod message_rows;
pub(crate) mod missing_answers;
pub(crate) mod names;
pub(crate) mod problem_place;
pub(crate) mod pushes;
pub(crate) mod traffic;
pub(crate) mod variant;
