//! Measures the cost of the tap as ratios to a plain TCP relay in the same run.
//!
//! `cargo bench --bench tap` prints one table per scenario. `-- --quick` runs less, to check that
//! the bench works; `-- ping|delta|push|churn|windows|fleet|flood` runs those; `-- tls` uses TLS on
//! both legs, also of the relay; `-- free` runs everything on all CPUs and `-- pinned` on one, while
//! the usual choice is one CPU for ping and delta; `-- soak MINUTES` runs a tap under load and
//! attacks, and prints how its memory, descriptors, threads and latency develop.
//!
//! Each hop is a separate process; the two ends share one, with a thread for each. Rounds alternate
//! between the hops; figures are medians over rounds.

mod child;
#[path = "../clusters/mod.rs"]
mod clusters;
mod data;
mod ends;
mod hop;
mod measure;
mod secure;
mod soak;

use std::process::ExitCode;

use measure::{Plan, Scenario};
use secure::Certs;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["soak"] => soak::run(soak::MINUTES),
        ["soak", minutes] => soak::run(minutes.parse().expect("a number of minutes")),
        ["soak-tap", folder, upstreams @ ..] => soak::tap(folder, upstreams),
        ["hop", kind, upstream] => hop::run(kind, upstream, None),
        ["hop", kind, upstream, certs] => hop::run(kind, upstream, Some(Certs::of(certs))),
        ["one-cpu", word, quick, tls] => {
            let chosen: Vec<_> = Scenario::ALL.into_iter().filter(|s| s.word() == *word).collect();
            measure::run(&chosen, Plan::new(*quick == "quick", *tls == "tls"))
        }
        _ => {
            let quick = words.contains(&"--quick");
            let chosen: Vec<_> = Scenario::ALL.into_iter().filter(|s| words.contains(&s.word())).collect();
            let chosen = if chosen.is_empty() { Scenario::ALL.to_vec() } else { chosen };
            let mut plan = Plan::new(quick, words.contains(&"tls"));
            if words.contains(&"free") || words.contains(&"pinned") {
                plan.one_cpu = Some(words.contains(&"pinned"));
            }
            measure::all(&chosen, plan)
        }
    }
}
