//! Loops: verdicts and responses that change nothing, and other exchanges that do not end.

use std::time::Duration;

use super::track::EchoRun;
use crate::lint::context::RuleContext;
use crate::lint::exchange::ResponseContext;
use crate::lint::findings::finding::{FindingDraft, Restated};
use crate::lint::rule::{Rule, Severity};
use xdscope_wire::event::Time;

/// Longest time from a verdict to a response that the verdict has caused.
const MAX_REACTION: Duration = Duration::from_millis(100);

/// Longest time between two responses of a loop.
const MAX_INTERVAL: Duration = Duration::from_secs(1);

/// Occurrences in a row that are a loop.
const MIN_OCCURRENCES: u64 = 10;

/// The name of a loop among the causes of a rule.
const CAUSE: &str = "loop";

impl RuleContext<'_> {
    /// Returns the responses in a row that change nothing, up to this one, if they are a loop.
    pub(crate) fn exchange_loop(&self, response: &ResponseContext<'_>) -> Option<EchoRun> {
        self.echoes(response).filter(EchoRun::is_loop)
    }

    /// Whether a response changes nothing, and only a verdict can have caused it.
    pub(crate) fn is_echo(&self, response: &ResponseContext<'_>) -> bool {
        self.echoes(response).is_some()
    }

    /// Whether the server has sent nothing on the stream since the last occurrence of a run.
    pub(crate) fn is_server_silent_since(&self, run: EchoRun) -> bool {
        let mut pushes = self.stream.tracks.iter().filter_map(|track| track.traffic.last_push.as_ref());
        self.has_all_since_time(run.last) && pushes.all(|push| push.at < run.last)
    }

    /// Reports a loop of exchanges as one finding, a problem.
    pub(crate) fn report_loop(&mut self, rule: &'static Rule, run: EchoRun, draft: FindingDraft<'_>) {
        let restated = Restated { text: draft.text.clone(), first: run.first, count: run.count };
        let severity = draft.severity.or(Some(Severity::Warn));
        let draft = FindingDraft { severity, cause: Some(CAUSE), ..draft };
        if let Some(finding) = self.report(rule, draft) {
            self.findings.restate(finding, restated);
        }
    }

    /// Remembers a response for those that follow.
    pub(super) fn note_echo(&mut self, response: &ResponseContext<'_>) {
        self.state.runs.echoes = self.echoes(response).unwrap_or_default();
    }

    /// Returns the responses in a row up to this one; `None` if this one changes something, or has
    /// another cause than a verdict.
    fn echoes(&self, response: &ResponseContext<'_>) -> Option<EchoRun> {
        let track = response.track;
        let before = self.state.responses.newest.as_ref()?;
        if !self.has_timestamps() || !self.is_grpc() {
            return None;
        }
        let is_needed = response.is_heartbeat() || !response.outcome.needed_again.is_empty();
        let is_asked = self.state.requests.has_new_names || !self.has_all_since(before.seq);
        let is_refused = track.verdicts.refusal().is_some();
        if !response.is_unchanged() || is_needed || is_asked || is_refused {
            return None;
        }
        let verdict = track.verdicts.last_at?;
        if self.state.requests.requests_since_response == 0 || self.at.since(verdict) > MAX_REACTION {
            return None;
        }
        Some(self.state.runs.echoes.next(self.at))
    }
}

impl EchoRun {
    /// Returns the run with one more occurrence; a new run if the last occurrence is long ago.
    pub(crate) fn next(self, at: Time) -> EchoRun {
        let is_first = self.count == 0 || at.since(self.last) > MAX_INTERVAL;
        let first = if is_first { at } else { self.first };
        EchoRun { first, last: at, count: if is_first { 1 } else { self.count + 1 } }
    }

    /// Whether the occurrences are so many that they are a loop.
    pub(crate) fn is_loop(&self) -> bool {
        self.count >= MIN_OCCURRENCES
    }
}
