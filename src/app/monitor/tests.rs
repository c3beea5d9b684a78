//! The figures of every script are those of the facts that `status`, `lint` and `log` print.

use std::collections::BTreeMap;

use super::*;
use crate::app::live::tests::{empty, load, scripts};
use xdscope_engine::analysis::Analysis;
use xdscope_engine::metrics::{Figures, direction};
use xdscope_engine::store::{MessageFact, MessageKind, ResourceFact, ResourceState, StateFact};
use xdscope_present::json::type_word;
use xdscope_schema::Schema;
use xdscope_sources::record::Loaded;

type Counts = BTreeMap<String, u64>;

/// Plays a script, counted from its start or after half of its frames.
fn play(script: Loaded, schema: &Arc<Schema>, is_late: bool) -> (Analysis, Figures) {
    let mut analysis = empty(script.catalog, script.clock, schema);
    let first = if is_late { script.frames.len() / 2 } else { 0 };
    for (at, frame) in script.frames.into_iter().enumerate() {
        if at == first {
            drop(analysis.figures());
        }
        analysis.handle(frame);
    }
    analysis.advance(script.end);
    let figures = analysis.figures();
    (analysis, figures)
}

fn count(counts: &mut Counts, key: String, number: u64) {
    *counts.entry(key).or_default() += number;
}

fn nonzero(mut counts: Counts) -> Counts {
    counts.retain(|_, count| *count > 0);
    counts
}

fn word(url: &xdscope_wire::event::TypeUrl) -> &str {
    if url.is_empty() { "none" } else { type_word(url) }
}

/// The counters as facts of rows and states have them.
fn expected_counters(analysis: &Analysis) -> Counts {
    let mut counts = Counts::new();
    let rows: Vec<MessageFact> = (0..analysis.rows()).filter_map(|row| analysis.row(row)).collect();
    for row in rows.iter().filter(|row| row.n.is_some()) {
        let dir = row.dir.expect("a message").word();
        count(&mut counts, format!("{dir} {} {}", word(&row.type_url), row.kind.word()), 1);
        count(&mut counts, "bytes".into(), row.size);
        if row.kind == MessageKind::Nack {
            count(&mut counts, format!("nacks {}", word(&row.type_url)), 1);
        }
    }
    count(&mut counts, "lost".into(), analysis.gaps());
    for finding in analysis.findings() {
        count(&mut counts, format!("{} {}", finding.rule.id, finding.severity.word()), finding.count);
    }
    nonzero(counts)
}

fn counters(figures: &Figures) -> Counts {
    let mut counts = Counts::new();
    for (label, kind, number) in figures.counters.messages() {
        let dir = direction(kind).expect("a message").word();
        count(&mut counts, format!("{dir} {} {}", label.word(), kind.word()), number);
    }
    count(&mut counts, "bytes".into(), figures.counters.bytes());
    for (label, number) in figures.counters.nacks() {
        count(&mut counts, format!("nacks {}", label.word()), number);
    }
    count(&mut counts, "lost".into(), figures.counters.lost());
    for ((rule, severity), number) in &figures.gauges.findings {
        count(&mut counts, format!("{rule} {}", severity.word()), *number);
    }
    nonzero(counts)
}

/// The state of a resource in the cache of the client, read from its fact. `None` for a name that
/// the client may not want.
fn cache_state(fact: &ResourceFact, is_missing: bool) -> Option<&'static str> {
    let is_refused_removal = fact.refusal.as_ref().is_some_and(|refusal| refusal.is_removal);
    let is_refused = fact.refused || (fact.is_in_unused_push() && !is_refused_removal);
    match fact.state {
        _ if is_refused && fact.in_force.is_some() => Some("nacked_but_cached"),
        _ if is_refused => Some("nacked"),
        ResourceState::Removed if fact.is_removal_unanswered || is_refused_removal => Some("acked"),
        ResourceState::Released | ResourceState::Expired | ResourceState::Empty => None,
        ResourceState::Absent | ResourceState::Removed => None,
        ResourceState::Waiting => is_missing.then_some("requested"),
        _ if fact.is_ignored() || (fact.is_glob() && fact.content.is_none()) => None,
        _ if fact.in_force.is_none() && fact.is_unanswered => Some("requested"),
        _ => Some("acked"),
    }
}

fn expected_resources(analysis: &Analysis) -> Counts {
    let is_open = |state: &StateFact| {
        analysis.stream(state.summary.stream).is_some_and(|stream| stream.closed.is_none())
    };
    let mut counts = Counts::new();
    for state in analysis.states().iter().filter(|state| is_open(state)) {
        let word = word(&state.summary.type_url);
        for fact in analysis.resources(state.summary.stream, &state.summary.type_url) {
            let is_missing = state.subscription.missing.contains(&fact.name);
            if let Some(cache) = cache_state(&fact, is_missing) {
                count(&mut counts, format!("{word} {cache}"), 1);
            }
        }
        let is_gone = |name: &&Arc<str>| {
            let fact = analysis.resource(state.summary.stream, &state.summary.type_url, name);
            fact.is_none_or(|fact| fact.in_force.is_none())
        };
        let absent = state.subscription.absent.iter().filter(is_gone).count() as u64;
        count(
            &mut counts,
            format!("{word} does_not_exist"),
            absent + state.summary.overdue + state.summary.malformed,
        );
    }
    nonzero(counts)
}

fn resources(figures: &Figures) -> Counts {
    let mut counts = Counts::new();
    for (label, of) in &figures.gauges.types {
        for (state, number) in [
            ("requested", of.resources.requested),
            ("does_not_exist", of.resources.does_not_exist),
            ("acked", of.resources.acked),
            ("nacked", of.resources.nacked),
            ("nacked_but_cached", of.resources.nacked_but_cached),
        ] {
            count(&mut counts, format!("{} {state}", label.word()), number);
        }
    }
    nonzero(counts)
}

#[test]
fn figures_of_scripts_are_their_facts() {
    let schema = Schema::builtin();
    let mut wrong = Vec::new();
    let mut compared = 0;
    for file in scripts() {
        for is_late in [false, true] {
            let Some(script) = load(&file, &schema) else { continue };
            let (analysis, figures) = play(script, &schema, is_late);
            let (found, expected) = (counters(&figures), expected_counters(&analysis));
            if found != expected {
                wrong.push(format!("{}: {}", file.display(), difference(&found, &expected)));
            }
            let (found, expected) = (resources(&figures), expected_resources(&analysis));
            if found != expected {
                wrong.push(format!("{}: {}", file.display(), difference(&found, &expected)));
            }
        }
        compared += 1;
    }
    assert!(wrong.is_empty(), "{}\n{} of {compared}", wrong.join("\n"), wrong.len());
    assert!(compared > 200, "{compared} scripts");
}

fn difference(found: &Counts, expected: &Counts) -> String {
    let keys: std::collections::BTreeSet<_> = found.keys().chain(expected.keys()).collect();
    let lines = keys.into_iter().filter(|key| found.get(*key) != expected.get(*key));
    lines
        .map(|key| format!("{key}: {:?} not {:?}", found.get(key), expected.get(key)))
        .collect::<Vec<_>>()
        .join(", ")
}

#[test]
fn facts_are_not_read_again_at_once() {
    let state = MonitorState::default();
    drop(state.metrics(ExpositionFormat::Prometheus));
    let far = Instant::now() + Duration::from_secs(3600);
    state.scrape().next = Some(far);
    drop(state.metrics(ExpositionFormat::OpenMetrics));
    assert_eq!(state.scrape().next, Some(far), "the figures of the scrape before");
    state.scrape().next = None;
    drop(state.metrics(ExpositionFormat::OpenMetrics));
    assert_ne!(state.scrape().next, None);
}

#[test]
fn runs_are_ready_between_start_and_end() {
    let is_forwarding = Arc::new(AtomicBool::new(true));
    let monitor = Monitor::start("127.0.0.1:0".parse().expect("an address")).expect("a port");
    let state = monitor.state.clone();
    assert_eq!((state.live(), state.ready()), (Ok(()), Err("the run is starting")));
    let tap = is_forwarding.clone();
    monitor.set_run(MonitoredRun {
        shared: None,
        tap: None,
        spool: None,
        recording: None,
        is_forwarding: Arc::new(move || tap.load(Ordering::Relaxed)),
    });
    assert_eq!((state.live(), state.ready()), (Ok(()), Ok(())));
    is_forwarding.store(false, Ordering::Relaxed);
    let dead = Err("connections are not forwarded any more");
    assert_eq!((state.live(), state.ready()), (dead, dead));
    monitor.stop();
    assert_eq!((state.live(), state.ready()), (Ok(()), Err("the run is ending")));
}
