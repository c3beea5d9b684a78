//! Our client against a server that plays scripts, for what real control planes never do.

use std::fs;
use std::path::PathBuf;

use crate::support::scripted::play;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/client")
}

/// One thread each: they mostly wait.
#[test]
fn the_client_says_what_the_scripts_say() {
    let only = std::env::var("XDSCOPE_SCRIPT").ok();
    let mut running = Vec::new();
    for entry in fs::read_dir(folder()).expect("the scripts").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        let text = fs::read_to_string(entry.path()).expect("a script");
        let thread = std::thread::Builder::new().name(name.clone());
        let thread = thread.spawn(move || play(&name, &text)).expect("a thread");
        running.push(thread);
    }
    let failed: Vec<String> = running
        .into_iter()
        .filter_map(|thread| {
            let name = thread.thread().name().unwrap_or_default().to_owned();
            thread.join().err().map(|_| name)
        })
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
}
