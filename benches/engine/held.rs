//! Measures resident memory for 100,000 clusters, for each push that repeats them, and for streams
//! that share them; Linux only.

use xdscope_schema::Schema;
use xdscope_wire::MessageShape;
use xdscope_wire::event::StreamId;

use crate::clusters::{self, CLUSTER};
use crate::{Engine, Judged, say};

const METHOD: &str = "StreamAggregatedResources";

pub fn run(quick: bool) {
    let Some(begun) = resident() else { return say("held: this system does not say") };
    let (count, repeats) = if quick { (5_000, 2) } else { (100_000, 20) };
    let schema = Schema::builtin();
    schema.warm();
    let push = clusters::push(count, 1, count);
    let mut engine = Engine::new(&schema, Judged::Live);
    let from = resident().unwrap_or(begun);
    let exchange = |engine: &mut Engine, stream: StreamId, version: usize, push: &[u8]| {
        engine.message(stream, MessageShape::SotwResponse, push);
        engine.message(stream, MessageShape::SotwRequest, &clusters::request(CLUSTER, version));
    };
    let open = |engine: &mut Engine, stream: StreamId| {
        engine.open(stream, METHOD);
        engine.message(stream, MessageShape::SotwRequest, &clusters::request(CLUSTER, 0));
    };
    open(&mut engine, StreamId(1));
    exchange(&mut engine, StreamId(1), 1, &push);
    let held = since(from);
    for version in 2..2 + repeats {
        let again = clusters::push(count, version, count);
        exchange(&mut engine, StreamId(1), version, &again);
    }
    let repeated = (since(from) - held).max(0.0) / repeats as f64;
    let states = engine.watched.states();
    assert_eq!(states.first().map(|state| state.summary.resources), Some(count as u64));
    say(&format!(
        "held: {count} clusters of {} bytes in {:.1} MB; {:.2} MB for each push that repeats them",
        push.len() / count,
        held / 1e6,
        repeated / 1e6
    ));
    drop(engine);

    let (count, streams) = (count / 10, if quick { 20 } else { 1_000 });
    let push = clusters::push(count, 1, count);
    let mut engine = Engine::new(&schema, Judged::Live);
    let from = resident().unwrap_or(begun);
    open(&mut engine, StreamId(1));
    exchange(&mut engine, StreamId(1), 1, &push);
    let one = since(from);
    for stream in 2..=streams {
        open(&mut engine, StreamId(stream));
        exchange(&mut engine, StreamId(stream), 1, &push);
    }
    let more = (since(from) - one).max(0.0);
    assert_eq!(engine.watched.states().len(), streams as usize);
    say(&format!(
        "held: {count} clusters on one stream in {:.1} MB; {:.1} KB more for each of {streams} streams that hold the same",
        one / 1e6,
        more / 1e3 / f64::from(streams - 1)
    ));
}

/// Returns the resident memory in bytes.
pub fn resident() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok().map(|kib| kib * 1024.0)
}

/// Returns the growth of the resident memory in bytes.
pub fn since(from: f64) -> f64 {
    resident().unwrap_or(f64::NAN) - from
}
