//! `xdscope check`: each row against a peer that keeps the protocol, and one that breaks it.

mod client_rows;
mod flawed_client;
mod flawed_server;
mod outputs;
mod server_rows;

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use serde_json::Value;

use crate::support::tap::xdscope;
use crate::support::wait::{PATIENCE, wait_within};

/// Resources of every type that rows are about, with a TTL on one of them.
pub const RESOURCES: &str = include_str!("resources.xds");

/// Returns an empty folder for a test.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Runs `check` with JSON lines. Returns the exit code and the results.
fn check(folder: &Path, args: &[&str]) -> (Option<i32>, Vec<Value>, String) {
    let output: Output =
        xdscope(folder).arg("check").args(args).args(["-o", "jsonl"]).output().expect("a run");
    let text = String::from_utf8(output.stdout).expect("text");
    let results = text.lines().map(|line| serde_json::from_str(line).expect("an object"));
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), results.collect(), err)
}

/// Returns a result in one line: `nack-loop ads failed: the reasons`.
fn line(result: &Value) -> String {
    let word = |field: &str| result[field].as_str().unwrap_or("-").to_owned();
    let reasons = result["reasons"].as_array().expect("a list").iter();
    let reasons: Vec<&str> = reasons.filter_map(Value::as_str).collect();
    let head = [word("row"), word("variant"), word("outcome")].join(" ");
    if reasons.is_empty() { head } else { format!("{head}: {}", reasons.join("; ")) }
}

/// Returns the results that have not passed.
fn bad(results: &[Value]) -> Vec<String> {
    results.iter().filter(|of| of["outcome"] != "passed").map(line).collect()
}

/// Changes that the command of `--change` asks for, as a test carries them out.
pub struct Changes {
    /// The command, which ends when the change is made.
    pub command: String,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Changes {
    /// Calls `make` with each word that the command is called with.
    pub fn follow(folder: &Path, mut make: impl FnMut(&str) + Send + 'static) -> Changes {
        let (asked, taken) = (folder.join("asked"), folder.join("taken"));
        let is_over = Arc::new(AtomicBool::new(false));
        let command = format!(
            "echo $XDSCOPE_CHANGE_KIND > {0}.new && mv {0}.new {0} && while test -e {0}; do sleep 0.02; done",
            asked.display()
        );
        let over = is_over.clone();
        let thread = std::thread::spawn(move || {
            let _ = wait_within(PATIENCE, || {
                if let Ok(word) = std::fs::read_to_string(&asked) {
                    make(word.trim());
                    std::fs::rename(&asked, &taken).expect("a file");
                }
                over.load(Ordering::SeqCst).then_some(())
            });
        });
        Changes { command, is_over, thread: Some(thread) }
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has made the check fail.
            let _ = thread.join();
        }
    }
}
