//! Fault plans: stages with faults, one after another.
//!
//! ```text
//! for 5m: type:eds kind:push => delay 2s p=0.05
//!   ack-withheld cds
//! for 30s      # without faults
//! ```

use std::time::Duration;

use super::error::FaultError;
use super::fault::{FaultSet, PlanStage};
use xdscope_wire::text::parse_duration;

/// Most faults of a plan.
const MAX_FAULTS: u64 = 10_000;

/// A plan that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct PlanError {
    /// The line, from 1.
    pub line: usize,
    /// The reason.
    pub what: PlanProblem,
}

/// The reason of a [`PlanError`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanProblem {
    /// A fault comes before the first stage.
    #[error("a fault before the first stage; a stage begins with `for TIME:`")]
    NoStage,
    /// The time of a stage cannot be read.
    #[error("expected `for TIME: [FAULT]`, such as `for 5m: type:eds => drop`")]
    Time,
    /// There is no stage.
    #[error("the plan has no stage")]
    Empty,
    /// The plan has too many faults.
    #[error("more than {MAX_FAULTS} faults")]
    TooLong,
    /// A fault cannot be read.
    #[error(transparent)]
    Fault(#[from] FaultError),
}

impl FaultSet {
    /// Adds the faults of a plan, which begins with the first message of the run.
    ///
    /// # Errors
    ///
    /// A line cannot be read.
    pub fn add_plan(&mut self, text: &str) -> Result<(), PlanError> {
        let mut stage: Option<PlanStage> = None;
        for (i, line) in text.lines().enumerate() {
            let failed = |what: PlanProblem| PlanError { line: i + 1, what };
            let mut line = line.trim();
            if line.starts_with('#') {
                continue;
            }
            if let Some(rest) = line.strip_prefix("for ") {
                let (time, fault) = rest.split_once(':').unwrap_or((rest, ""));
                let time = time.split('#').next().unwrap_or_default().trim();
                let time = parse_duration(time).filter(|time| !time.is_zero());
                let time = time.ok_or_else(|| failed(PlanProblem::Time))?;
                let begin = stage.map_or(Duration::ZERO, |stage| stage.end);
                stage = Some(PlanStage { begin, end: begin.saturating_add(time) });
                line = fault.trim();
            }
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let stage = stage.ok_or_else(|| failed(PlanProblem::NoStage))?;
            if self.len() >= MAX_FAULTS {
                return Err(failed(PlanProblem::TooLong));
            }
            self.add(line, Some(stage)).map_err(|error| failed(error.into()))?;
        }
        let length =
            stage.ok_or(PlanError { line: text.lines().count().max(1), what: PlanProblem::Empty })?;
        self.plan = Some(length.end);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> Result<FaultSet, PlanError> {
        let mut set = FaultSet::parse([], 0).expect("no faults");
        set.add_plan(text).map(|()| set)
    }

    #[test]
    fn reads_stages() {
        let set =
            plan("# a plan\nfor 5m: type:eds => delay 2s p=0.05\n  ack-withheld cds\n\nfor 30s  # quiet\n");
        let set = set.expect("a plan");
        assert_eq!((set.len(), set.plan_length()), (2, Some(Duration::from_secs(330))));
    }

    #[test]
    fn names_the_line_of_an_error() {
        for (text, message) in [
            ("type:cds => drop", "line 1: a fault before the first stage; a stage begins with `for TIME:`"),
            (
                "for 1s\nfor long: => drop",
                "line 2: expected `for TIME: [FAULT]`, such as `for 5m: type:eds => drop`",
            ),
            ("for 1s:\n\n type:cds => delay", "line 3: expected `delay TIME`"),
            ("for 1s: stale-nonce", "line 1: expected `stale-nonce TYPE`"),
            ("for 1s:\n type:cds => drop after=1s", "line 2: `after` is not before the end of the stage"),
            ("for 1s\nfor 2s: => drop after=5s", "line 2: `after` is not before the end of the stage"),
            ("# nothing\n", "line 1: the plan has no stage"),
        ] {
            assert_eq!(plan(text).expect_err(text).to_string(), message);
        }
    }
}
