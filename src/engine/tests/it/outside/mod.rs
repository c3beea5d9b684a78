//! A model of sessions from outside: simulated peers, whose own state is the expected one.
//!
//! A client and a server follow the xDS protocol, and write down what they send as an arrow
//! script. Nothing is derived from the messages: the client knows the version that it uses, the
//! responses that it refuses, and the names that it waits for. The facts after the script have to
//! agree, and a session without a fault has no problem.
//!
//! Sources: xDS protocol, "ACK/NACK and resource type instance version", "How the client specifies
//! what resources to return", "Incremental xDS", "REST-JSON polling subscriptions" and "TTL".

mod client;
mod facts;
mod random;
mod session;

use std::collections::BTreeSet;
use std::sync::Arc;

use xdscope_engine::analysis::{Analysis, rules};
use xdscope_engine::problems::ProblemFact;
use xdscope_engine::store::{Options, SchemaSemantics, Store};
use xdscope_schema::Schema;
use xdscope_sources::{SchemaCodec, script};
use xdscope_wire::content::Catalog;

use facts::Truth;
use session::Session;

/// Sessions of a run if the environment names no number.
const DEFAULT_SESSIONS: u64 = 1_500;
const SESSIONS_VARIABLE: &str = "XDSCOPE_OUTSIDE_SESSIONS";
const SEED_VARIABLE: &str = "XDSCOPE_OUTSIDE_SEED";
/// Failing sessions that are reported.
const MAX_FAILURES: usize = 3;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.replace('_', "").parse().ok()
}

#[test]
fn facts_agree_with_the_peers() {
    let schema = Schema::builtin();
    let sessions = number(SESSIONS_VARIABLE).unwrap_or(DEFAULT_SESSIONS);
    let first = number(SEED_VARIABLE).unwrap_or(0);
    let mut failures: Vec<String> = Vec::new();
    for seed in first..first + sessions {
        let session = Session::of(seed);
        let differences = differences(&schema, &session);
        if !differences.is_empty() {
            failures.push(format!("seed {seed}: {}\n{}", differences.join("; "), session.script()));
        }
        if failures.len() == MAX_FAILURES {
            break;
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Returns the facts that differ from what the peers know.
fn differences(schema: &Arc<Schema>, session: &Session) -> Vec<String> {
    let text = session.script();
    let script = script::parse(&text, "outside.xds").unwrap_or_else(|error| panic!("{error}\n{text}"));
    let loaded = script::load_into(&script, &SchemaCodec(schema.clone()), Catalog::in_memory());
    let loaded = loaded.unwrap_or_else(|error| panic!("{error}\n{text}"));
    let end = loaded.end;
    let mut store = Store::new(loaded.catalog, loaded.clock, Options::default());
    store.set_meaning(Arc::new(SchemaSemantics::new(schema.clone())));
    let mut analysis = Analysis::new(store, rules(schema));
    loaded.frames.into_iter().for_each(|frame| analysis.handle(frame));
    analysis.advance(end);
    let mut out: Vec<String> = Vec::new();
    for truth in session.truths() {
        compare(&analysis, &truth, &mut out);
    }
    let problems = analysis.problems();
    // A client may have had before the recording what it refuses now.
    let is_guess = |problem: &ProblemFact| session.is_partial() && problem.is_guess();
    let is_wrong = problems.iter().any(|problem| problem.is_wrong() && !is_guess(problem));
    if is_wrong && !session.is_wrong() && session.is_judged() {
        let found: Vec<String> =
            analysis.findings().iter().map(|of| format!("{}: {}", of.rule.id, of.text)).collect();
        out.push(format!("a problem in a session without one: {found:?} {:?}", problems.first()));
    }
    if !is_wrong && session.is_wrong() && session.is_judged() && !session.is_partial() {
        out.push("no problem in a session with one".to_owned());
    }
    out
}

fn compare(analysis: &Analysis, truth: &Truth, out: &mut Vec<String>) {
    let states = analysis.states();
    let state = states.iter().find(|state| {
        state.summary.stream.0 == truth.stream && state.summary.type_url.as_str().ends_with(truth.type_name)
    });
    let Some(state) = state else {
        if truth.is_recorded {
            out.push(format!("no state of {} on stream {}", truth.type_name, truth.stream));
        }
        return;
    };
    let mut check = |what: &str, expected: String, found: String| {
        if expected != found {
            out.push(format!("{} {what}: expected {expected}, found {found}", truth.type_name));
        }
    };
    if let Some(in_force) = &truth.in_force {
        check(
            "version in force",
            format!("{in_force:?}"),
            format!("{:?}", state.versions.in_force.as_deref()),
        );
    }
    match truth.refusals {
        Some(refusals) if truth.has_all_refusals => {
            check("open refusals", refusals.to_string(), state.summary.open_nacks.to_string());
        }
        Some(refusals) => {
            check("a refusal", (refusals > 0).to_string(), (state.summary.open_nacks > 0).to_string())
        }
        None => {}
    }
    let owed: BTreeSet<&str> = truth.owed.iter().copied().collect();
    let missing = state.subscription.missing.iter().filter(|name| !state.subscription.absent.contains(name));
    let found: BTreeSet<&str> = missing.map(|name| &**name).collect();
    match truth.is_partial {
        true if found.is_subset(&owed) => {}
        _ => check("owed names", format!("{owed:?}"), format!("{found:?}")),
    }
    for (name, version) in &truth.accepted {
        let resource = analysis.resource(state.summary.stream, &state.summary.type_url, name);
        let found = resource.and_then(|fact| Some(fact.in_force?.version.to_string()));
        check(&format!("accepted version of {name}"), format!("{:?}", Some(version)), format!("{found:?}"));
    }
}
