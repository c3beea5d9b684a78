//! What screens and printed tables say alike: roles of texts, words of states and messages, and the matrix of
//! nodes by types. Pure text; layout, symbols and colours belong to `tui` and `cli`.

mod finding;
mod matrix;
mod message;
mod missing_answer;
mod problem;
mod state;
mod warming;

pub use finding::{finding, place, severity_role};
pub use matrix::{LastWord, Row, Rows, ended, node_name, type_order};
pub use message::{delta, end_words, kind, life, note, resources, said};
pub use missing_answer::{silence, silences, silences_of};
pub use problem::problem;
pub use state::{
    RESOURCE_STATES, STATES, age_from, is_problem, names, severity, state_text, state_word, subscribed,
};
pub use warming::{Waits, Warming, warming};

/// What a piece of text is; a theme decides how that looks. Nothing is told by colour alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    Plain,
    Title,
    Muted,
    Ok,
    Pending,
    Warn,
    Bad,
    Wire,
    Key,
    Added,
    Changed,
    Removed,
    /// Words that changed inside a line.
    AddedWord,
    RemovedWord,
}
