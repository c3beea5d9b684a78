//! Texts that screens and printed tables share: words of states and messages, sentences about
//! problems, and the matrix of nodes by types.
//!
//! Layout, symbols and colours belong to `tui` and `cli`.

mod client_name;
mod constraints;
mod event;
mod expiry;
mod failing;
mod finding;
mod made;
mod matrix;
mod message;
mod missing_answer;
mod not_kept;
mod offer;
mod owner;
mod problem;
mod reading;
mod reconnect;
mod recovery;
mod refusal;
mod refused_version;
mod row_note;
mod state;
mod verdict;
mod warming;

pub use client_name::{client_mark, client_name};
pub use constraints::{broken_constraint_sentences, constraints_of_nack};
pub use event::{event, events, remarks, resource_error, ttl_history, ttl_left};
pub use expiry::{certificate_expiry, expiry};
pub use failing::{failing_stream, owed_at_end};
pub use finding::{finding, place, severity_role};
pub use made::{made_since, outcome_counts, outcome_word};
pub use matrix::{Row, Rows, count_nodes, ended, node_name, type_order};
pub use message::{
    arrow_text, delta, end_words, kind, life, nack_code, note, other_refusal, resources, stream_notes,
};
pub use missing_answer::{missing_answer, missing_answer_reason, missing_answers, missing_answers_of};
pub use not_kept::not_kept;
pub use offer::{offer, offer_change, offer_verdict, offered_set};
pub use owner::{kubectl_command, owner_clause, owner_line, owners};
pub use problem::{
    MARKS, PROBLEM_WORDS, absence, next_step, problem, problem_client, problem_count, problem_kind_word,
    problem_place, problem_since, problem_with_reason, problem_word,
};
pub use reading::open_reading;
pub use reconnect::{claim, claim_outcome, reconnect, stated_versions};
pub use recovery::{recovering_client, recovery};
pub use refusal::{
    ABSENT_BY, REFUSED_STATES, RefusedState, changed_reference, refused_update, sent_after_refusal,
    unanswered_update,
};
pub use refused_version::{kept_version, refused_names, refused_version, versions_of};
pub use row_note::{diverged, intervention, row_note};
pub use state::{
    CLOSED, CLOSED_SIGN, MALFORMED_NAME, NOT_ANSWERED, OWED_AGAIN, RESOURCE_STATES, STATES, UNREADABLE,
    is_problem, listed_names, names, owed_again, resource_count, severity, state_text, state_word,
    subscribed,
};
pub use verdict::{
    Census, VerdictLine, error_reason, no_problem_yet, problem_count_line, problem_lives, problem_reason,
    verdict,
};
pub use warming::{gap_duration, traffic_gap, warming, warming_needs};

/// The role of a piece of text; the theme decides how a role looks.
///
/// No information is in the colour alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Text without emphasis.
    Plain,
    /// Titles of columns, panes and screens.
    Title,
    /// Text that matters less.
    Muted,
    /// A state that needs no action.
    Ok,
    /// A state that is expected to pass.
    Pending,
    /// A state that may need action.
    Warn,
    /// A state that needs action.
    Bad,
    /// Text from the wire, such as versions and nonces.
    Wire,
    /// Keys to press.
    Key,
    /// Names of fields in YAML, JSON and text.
    Name,
    /// Numbers and enums in YAML, JSON and text.
    Value,
    /// Added lines of a comparison.
    Added,
    /// Changed lines of a comparison.
    Changed,
    /// Removed lines of a comparison.
    Removed,
    /// Added words inside a changed line.
    AddedWord,
    /// Removed words inside a changed line.
    RemovedWord,
}
