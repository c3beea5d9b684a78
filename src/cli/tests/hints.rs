//! Tests of the next step that `status` names: it shows something about the worst problem.

use std::path::PathBuf;

use super::{Exit, run};

/// Dumps of clients with problems.
const DUMPS: [&str; 2] = ["tests/fixtures/cli/csds.json", "tests/fixtures/cli/csds-missing.json"];

/// Returns the arguments in a command as a shell splits it: single quotes keep blanks.
fn arguments(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for letter in command.chars() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            letter => words.last_mut().unwrap().push(letter),
        }
    }
    words
}

/// Returns the command of the next step that `status` names for a source.
fn next_step(path: &str) -> Option<String> {
    let said = run(&["status", path]).err;
    let step = said.lines().find_map(|line| line.strip_prefix("xdscope: next: xdscope "));
    step.map(str::to_owned)
}

/// Returns what is wrong with the output of a next step.
fn complaint(path: &str, step: &str) -> Option<String> {
    let words = arguments(step);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // A server may not be reachable from here.
    if words.first() == Some(&"doctor") {
        return None;
    }
    let output = run(&words);
    // The first line of a table has its titles.
    let has_rows = output.out.lines().nth(1).is_some();
    let is_refused = matches!(output.exit, Exit::Usage | Exit::Unreadable);
    (is_refused || !has_rows).then(|| format!("{path}: xdscope {step}\n{}{}", output.out, output.err))
}

fn fixtures() -> Vec<String> {
    let files = std::fs::read_dir("tests/fixtures/views").unwrap();
    let mut paths: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let dumps = DUMPS.map(str::to_owned);
    paths.iter().map(|path| path.display().to_string()).chain(dumps).collect()
}

#[test]
fn next_step_shows_something_about_the_problem() {
    let steps = fixtures().into_iter().filter_map(|path| Some((next_step(&path)?, path)));
    let complaints: Vec<String> = steps.filter_map(|(step, path)| complaint(&path, &step)).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    for dump in DUMPS {
        assert!(next_step(dump).is_some_and(|step| step.starts_with("get ")), "{dump}");
    }
}
