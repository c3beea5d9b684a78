//! Answers that one side owes the other.

pub(super) mod missing_answer;
pub(super) mod pending_name;
