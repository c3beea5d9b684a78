//! Tools that check examples and that not every machine has.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

/// Returns the path of a tool, or `None` if it is not on PATH; a note then names `test`.
///
/// The note goes to standard error past the test harness, which hides the output of passing
/// tests.
pub fn find(tool: &str, test: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(tool)).find(|file| file.is_file());
    if found.is_none() {
        let note = format!("left out without {tool} on PATH: a part of {test}\n");
        std::io::stderr().write_all(note.as_bytes()).expect("standard error");
    }
    found
}

/// Runs a command and returns what it prints.
///
/// # Panics
/// Panics if the command fails; the message has all that it printed.
pub fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{printed}{errors}", output.status);
    printed
}
