//! Random sessions, compared.

use xdscope_wire::content::Catalog;

use super::compare::run;
use super::generate::session;
use super::script::SessionScript;
use super::shrink::shrink;

/// Steps of a run if the environment names no number.
const DEFAULT_STEPS: usize = 100_000;
const STEPS_VARIABLE: &str = "XDSCOPE_MODEL_STEPS";
const SEED_VARIABLE: &str = "XDSCOPE_MODEL_SEED";
/// Steps of a session: most are short, so that a failing one is easy to read.
const SESSION_STEPS: [usize; 4] = [10, 25, 40, 90];
/// Failing sessions that are reported.
const MAX_FAILURES: usize = 5;
/// Sessions that share a catalog.
const SESSIONS_PER_CATALOG: usize = 200;

fn number(variable: &str) -> Option<usize> {
    std::env::var(variable).ok()?.replace('_', "").parse().ok()
}

#[test]
fn engine_agrees_with_model() {
    let steps = number(STEPS_VARIABLE).unwrap_or(DEFAULT_STEPS);
    let first = number(SEED_VARIABLE).unwrap_or(0);
    let mut catalog = Catalog::in_memory();
    let mut done = 0;
    let mut failures: Vec<String> = Vec::new();
    for at in 0.. {
        if done >= steps || failures.len() == MAX_FAILURES {
            break;
        }
        if at % SESSIONS_PER_CATALOG == 0 {
            catalog = Catalog::in_memory();
        }
        let seed = (first + at) as u64;
        let session = session(seed, SESSION_STEPS[seed as usize % SESSION_STEPS.len()]);
        // Every second catalog drops what is not used after each step.
        let drops = at / SESSIONS_PER_CATALOG % 2 == 1;
        if let Err(difference) = run(&mut catalog, &session, drops) {
            let (session, difference) = shrink(&mut catalog, &session, drops, difference);
            failures.push(format!("seed {seed}: {}\n{}", difference.text, SessionScript(&session)));
        }
        done += session.len();
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
