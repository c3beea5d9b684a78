//! Streams end at the same age, one after the other.
//!
//! Why: That is a maximum connection age, set at the server or at a proxy between. It is harmless: clients come
//! back.
//!
//! Example:
//! ```text
//! stream 1 ads
//! +300s 1 close status=14
//! stream 2 ads
//! +600s 2 close status=14
//! stream 3 ads
//! +900s 3 close status=14
//! ```
//!
//! Instead: nothing.
//!
//! Protocol: "gRPC: maximum connection age"; row P.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "regular-stream-age",
    severity: Severity::Info,
    rows: "P",
    source: include_str!("regular_stream_age.rs"),
    on: &[On::Close(check)],
};

use std::time::Duration;

use crate::wire::event::Side;

fn check(case: &mut RuleContext<'_>) {
    let Some((at, end)) = case.stream.closed.as_ref().filter(|_| case.timed()) else { return };
    let by_server = end.by != Some(Side::Client) && !case.stream.open.partial;
    let Some(server) = case.stream.open.server.clone().filter(|_| by_server) else { return };
    let age = at.since(case.stream.opened);
    if age < Duration::from_secs(10) || case.world.ages.len() > 4096 {
        return;
    }
    let ages = case.world.ages.entry(server).or_default();
    ages.push_back(age);
    if ages.len() > 16 {
        ages.pop_front();
    }
    let close = |other: &&Duration| {
        let (a, b) = (age.as_secs_f64(), other.as_secs_f64());
        (a - b).abs() <= 0.05 * a.max(b)
    };
    if ages.iter().filter(close).count() >= 3 {
        let text = format!("streams end at the age of {}s: a maximum connection age", age.as_secs());
        case.raise(&RULE, Found { blame: Blame::Server, text, guess: true, ..Found::default() });
    }
}
