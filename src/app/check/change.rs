//! The command that makes a server change something.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::POLL_INTERVAL;
use super::rows::ChangeKind;

/// The name of the variable that tells the command what to change.
const VARIABLE: &str = "XDSCOPE_CHANGE_KIND";

/// How long the command may run.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(60);

/// A command of the shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeCommand(pub String);

impl ChangeCommand {
    /// Runs the command to its end. An error says why the change may not have happened.
    ///
    /// The output of the command goes to stderr, so that results stay readable by programs.
    pub(super) fn run(&self, kind: ChangeKind) -> Result<(), String> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(&self.0).env(VARIABLE, kind.word());
        command.stdin(Stdio::null()).stdout(std::io::stderr());
        let mut child = command.spawn().map_err(|error| format!("--change cannot be run: {error}"))?;
        match wait(&mut child) {
            Ok(Some(status)) if status.success() => Ok(()),
            Ok(Some(status)) => Err(format!("--change failed with {}: {status}", kind.word())),
            Ok(None) => Err(format!("--change did not end within {CHANGE_TIMEOUT:?}")),
            Err(error) => Err(format!("--change cannot be run: {error}")),
        }
    }
}

/// Waits for a command; `None` if it had to be ended.
fn wait(child: &mut Child) -> std::io::Result<Option<std::process::ExitStatus>> {
    let begun = Instant::now();
    while begun.elapsed() < CHANGE_TIMEOUT {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_learns_the_change_and_its_failure_is_reported() {
        let command = |text: &str| ChangeCommand(text.to_owned());
        assert_eq!(command("test \"$XDSCOPE_CHANGE_KIND\" = remove").run(ChangeKind::Remove), Ok(()));
        let failed = command("exit 3").run(ChangeKind::Update).expect_err("a failure");
        assert!(failed.starts_with("--change failed with update: exit status: 3"), "{failed}");
    }
}
