//! Measures the size of recordings against zstd over the same traffic, and the time to open 1 GB of
//! traffic.
//!
//! `cargo bench --bench record` prints one line per figure. `-- --quick` runs less, to check that
//! the bench works; `-- churn|acks|deltas|open|pcap` runs one group. Sizes are those of the
//! recorder's file, flushed every tenth of a second of the traffic's time. Files are opened in
//! separate processes, which report time and peak memory.

#[path = "../../tests/it/support/capture.rs"]
mod capture;
mod captures;
#[path = "../clusters/mod.rs"]
mod clusters;
mod large;
mod sizes;
mod traffic;

use std::process::ExitCode;

/// A group of measurements; the flag asks for a quick run.
type Group = fn(bool);

const GROUPS: [(&str, Group); 5] = [
    ("churn", sizes::churn),
    ("acks", sizes::acks),
    ("deltas", sizes::deltas),
    ("open", large::open),
    ("pcap", captures::open),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    if let ["child", work, file] = words.as_slice() {
        return large::child(work, file);
    }
    let quick = words.contains(&"--quick");
    let any = words.iter().any(|word| GROUPS.iter().any(|(name, _)| name == word));
    for (name, run) in GROUPS {
        if !any || words.contains(&name) {
            run(quick);
        }
    }
    ExitCode::SUCCESS
}

/// Prints one line of the report.
fn say(line: &str) {
    use std::io::Write;
    writeln!(std::io::stdout(), "{line}").expect("somebody reads");
}
