//! The end of a run that a condition, a time or a fault plan ends, and its summary.

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::app::process::signals;
use crate::app::recording::recording_file;
use crate::app::recording::recording_file::Replaces;
use crate::net::tap::SharedFaults;
use xdscope_engine::analysis::Analysis;
use xdscope_engine::recovery::{RecoveryFact, recoveries};
use xdscope_engine::store::Store;
use xdscope_present::{json, report};
use xdscope_wire::text::display_safe;

use crate::cli::args::{EndFlags, Format, Global};
use crate::cli::error::{CliError, Exit};
use crate::cli::output::junit::{JunitCase, write_junit};
use crate::cli::output::output_file;
use crate::cli::read::wait::Condition;
use crate::cli::terminal::io::Io;

/// Time for clients to recover after a fault plan, unless `--max-time` says otherwise.
const RECOVERY_TIME: Duration = Duration::from_secs(60);

/// When a run ends by itself.
pub(crate) struct Ending<'a> {
    flags: &'a EndFlags,
    until: Option<Condition>,
    /// The length of the fault plan, which begins with the first message.
    plan: Option<Duration>,
    faults: Option<SharedFaults>,
    started: Instant,
    first_message: Option<Instant>,
    reason: Reason,
}

/// Why a run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// From outside.
    Stopped,
    Met,
    TimedOut,
}

impl<'a> Ending<'a> {
    /// Returns the end that flags and plan ask for; `None` for a run that lasts until stopped.
    pub(crate) fn read(
        flags: &'a EndFlags,
        faults: Option<&SharedFaults>,
        global: &Global,
        io: &mut Io<'_>,
    ) -> Result<Option<Ending<'a>>, CliError> {
        let plan = faults.and_then(|faults| faults.lock().plan_length());
        if flags.until.is_none() && flags.max_time.is_none() && plan.is_none() {
            return match &flags.junit {
                Some(_) => Err(CliError::usage("--junit needs a run that ends").next("--until synced")),
                None => Ok(None),
            };
        }
        if let Some(path) = &flags.junit {
            // Fails now rather than at the end of the run.
            recording_file::check_not_recording(path).map_err(|error| {
                CliError::unreadable(format!("--junit: cannot write {}", path.display())).because(error)
            })?;
        }
        let until = flags.until.as_deref().map(|text| Condition::read(text, global, io)).transpose()?;
        let (started, first_message) = (Instant::now(), None);
        let (faults, reason) = (faults.cloned(), Reason::Stopped);
        Ok(Some(Ending { flags, until, plan, faults, started, first_message, reason }))
    }

    /// Whether the run is over.
    pub(crate) fn is_over(&mut self, store: &Analysis) -> bool {
        if self.first_message.is_none() && store.messages() > 0 {
            self.first_message = Some(Instant::now());
        }
        let plan_over =
            self.plan.is_none_or(|plan| self.first_message.is_some_and(|at| at.elapsed() >= plan));
        let is_met = plan_over
            && match (&self.until, self.plan) {
                (Some(until), _) => until.is_met(store, None),
                (None, Some(_)) => {
                    Condition::Synced.is_met(store, None)
                        && recoveries(store).iter().all(RecoveryFact::is_recovered)
                }
                (None, None) => false,
            };
        let after_plan = || {
            let length = self.plan?.saturating_add(RECOVERY_TIME);
            Some(self.first_message?.elapsed() >= length)
        };
        let is_late = match self.flags.max_time {
            Some(time) => self.started.elapsed() >= time,
            None => after_plan().unwrap_or(false),
        };
        if is_met {
            self.reason = Reason::Met;
        } else if is_late {
            self.reason = Reason::TimedOut;
        }
        self.reason != Reason::Stopped
    }

    /// Returns what the run waits for, and what to say if it never comes; `None` if the run only
    /// waits for a time.
    fn goal(&self) -> Option<(String, String)> {
        match (&self.flags.until, self.plan) {
            (Some(until), _) => Some((format!("`{until}`"), format!("`{until}` did not hold"))),
            (None, Some(_)) if self.first_message.is_none() => Some((
                "recovery after the plan".to_owned(),
                "no message came, and the plan did not begin".to_owned(),
            )),
            (None, Some(_)) => {
                Some(("recovery after the plan".to_owned(), "not all clients have recovered".to_owned()))
            }
            (None, None) => None,
        }
    }

    /// Prints the summary, writes the JUnit file, and returns the exit code.
    pub(crate) fn conclude(
        &self,
        store: &Store,
        format: Option<Format>,
        global: &Global,
        io: &mut Io<'_>,
    ) -> Result<Exit, CliError> {
        let clients = recoveries(store);
        if format == Some(Format::Jsonl) {
            for client in &clients {
                writeln!(io.stdout, "{}", crate::cli::output::json_out::line(&json::recovery(client)))?;
            }
        } else if !global.quiet {
            for client in &clients {
                writeln!(io.stdout, "{}", display_safe(&report::recovery(client)))?;
            }
        }
        io.flush()?;
        for fault in self.idle_faults() {
            io.say(&display_safe(&format!("{fault}: never acted")));
        }
        let waited = self.started.elapsed();
        let failed = self.goal().filter(|_| self.reason == Reason::TimedOut);
        let failed =
            failed.map(|(_, never)| format!("timed out: {never} within {:.1}s", waited.as_secs_f64()));
        if let Some(path) = &self.flags.junit {
            self.write_junit(path, &clients, failed.as_deref())?;
        }
        match (failed, self.reason) {
            (Some(failed), _) => Err(CliError::new(Exit::Never, failed).next("xdscope status -o wide")),
            (None, Reason::Met) => {
                if let Some((goal, _)) = self.goal()
                    && !global.quiet
                {
                    io.say(&format!("condition met: {goal}"));
                }
                Ok(Exit::Yes)
            }
            (None, Reason::Stopped) if signals::is_interrupted() && self.goal().is_some() => {
                Ok(Exit::Interrupted)
            }
            (None, _) => Ok(Exit::Yes),
        }
    }

    /// Returns the faults that have acted on nothing.
    fn idle_faults(&self) -> Vec<String> {
        self.faults.as_ref().map(|faults| faults.lock().idle()).unwrap_or_default()
    }

    /// Writes a test case for the condition, one for each client that met a fault, and one for each
    /// fault that has acted on nothing, which counts as skipped.
    ///
    /// A client has to recover only if nothing else is waited for, as for the exit code.
    fn write_junit(
        &self,
        path: &Path,
        clients: &[RecoveryFact],
        failed: Option<&str>,
    ) -> Result<(), CliError> {
        let mut cases = Vec::new();
        if let Some((goal, _)) = self.goal() {
            let failed =
                failed.or((self.reason == Reason::Stopped).then_some("stopped before the condition held"));
            let failures = failed.map(|text| ("timeout".to_owned(), text.to_owned())).into_iter().collect();
            cases.push(JunitCase { name: goal, failures, skipped: None, output: None });
        }
        let is_awaited = self.until.is_none() && self.plan.is_some();
        for client in clients {
            let text = report::recovery(client);
            let name = format!("recovery of {}", report::recovering_client(client));
            let (failure, skipped) = match client.is_recovered() {
                true => (None, None),
                false if is_awaited => (Some(("recovery".to_owned(), text)), None),
                false => (None, Some(text)),
            };
            cases.push(JunitCase { name, failures: failure.into_iter().collect(), skipped, output: None });
        }
        let idle = self.idle_faults().into_iter().map(|name| JunitCase {
            name,
            failures: Vec::new(),
            skipped: Some("never acted".to_owned()),
            output: None,
        });
        cases.extend(idle);
        let mut out = Vec::new();
        write_junit("faults", "xdscope.faults", &cases, &mut out)?;
        output_file::write(path, Replaces::OtherFiles, &out)
    }
}
