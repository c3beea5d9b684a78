use std::time::Duration;

/// Mistakes that a control plane makes on purpose, for demonstrations. The default makes none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Send a rejected response again this long after each NACK.
    pub resend_refused: Option<Duration>,
    /// End each stream with UNAVAILABLE this long after it was opened.
    pub stream_lifetime: Option<Duration>,
    /// SotW: push a type at each new version, even if no resource that the client wants has
    /// changed.
    pub push_unchanged: bool,
    /// Leave requests for unknown names unanswered.
    pub ignore_unknown_names: bool,
}
