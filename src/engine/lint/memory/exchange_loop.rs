//! Loops of verdicts and responses that change nothing.

use std::time::Duration;

use super::state::EchoRun;
use crate::lint::context::RuleContext;
use crate::lint::exchange::ResponseContext;
use crate::lint::findings::finding::{FindingDraft, Restated};
use crate::lint::rule::{Rule, Severity};

/// Longest time from a verdict to a response that the verdict has caused.
const MAX_REACTION: Duration = Duration::from_millis(100);

/// Longest time between two responses of a loop.
const MAX_INTERVAL: Duration = Duration::from_secs(1);

/// Responses in a row that are a loop.
const MIN_RESPONSES: u64 = 10;

/// The name of a loop among the causes of a rule.
const CAUSE: &str = "loop";

impl RuleContext<'_> {
    /// Returns the responses in a row that change nothing, up to this one, if they are a loop.
    pub(crate) fn exchange_loop(&self, response: &ResponseContext<'_>) -> Option<EchoRun> {
        self.echoes(response).filter(|run| run.count >= MIN_RESPONSES)
    }

    /// Reports a loop of exchanges as one finding, a problem.
    pub(crate) fn report_loop(&mut self, rule: &'static Rule, run: EchoRun, draft: FindingDraft<'_>) {
        let restated = Restated { text: draft.text.clone(), first: run.first, count: run.count };
        let draft =
            FindingDraft { severity: draft.severity.or(Some(Severity::Warn)), cause: Some(CAUSE), ..draft };
        if let Some(finding) = self.report(rule, draft) {
            self.findings.restate(finding, restated);
        }
    }

    /// Remembers a response for those that follow.
    pub(super) fn note_echo(&mut self, response: &ResponseContext<'_>) {
        self.state.echoes = self.echoes(response).unwrap_or_default();
    }

    /// Returns the responses in a row up to this one; `None` if this one changes something, or has
    /// another cause than a verdict.
    fn echoes(&self, response: &ResponseContext<'_>) -> Option<EchoRun> {
        let track = response.track;
        let before = self.state.newest.as_ref().filter(|_| self.has_timestamps() && self.is_grpc())?;
        let is_needed = response.is_heartbeat() || !response.outcome.needed_again.is_empty();
        let is_asked = self.state.has_new_names || !self.has_all_since(before.seq);
        let is_refused = track.verdicts.refusal().is_some();
        if !response.is_unchanged() || is_needed || is_asked || is_refused {
            return None;
        }
        let verdict = track.verdicts.last_at.filter(|_| self.state.requests_since_response > 0)?;
        if self.at.since(verdict) > MAX_REACTION {
            return None;
        }
        let run = self.state.echoes;
        let is_first = run.count == 0 || self.at.since(run.last) > MAX_INTERVAL;
        let first = if is_first { self.at } else { run.first };
        Some(EchoRun { first, last: self.at, count: if is_first { 1 } else { run.count + 1 } })
    }
}
