//! What a recording costs: sizes against zstd over the same traffic, and how long 1 GB of traffic takes to open.
//!
//! `cargo bench --bench record` prints one line a figure. `-- --quick` runs less of each, to see that it works;
//! `-- churn|acks|deltas|open|pcap` runs one group. Sizes are of the file as the recorder leaves it: flushed each tenth
//! of a second of the traffic's own time. Openings run in processes of their own, for their time and peak memory.

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

/// A line of the report.
fn say(line: &str) {
    use std::io::Write;
    writeln!(std::io::stdout(), "{line}").expect("somebody reads");
}
