//! Large pushes: the first one, and repetitions with one changed resource.

use bytes::Bytes;
use xdscope_schema::Schema;
use xdscope_wire::MessageShape;
use xdscope_wire::event::StreamId;

use crate::clusters::{self, CLUSTER};
use crate::{Engine, Judged, median, say, seconds, split_and_hash};

const STREAM: StreamId = StreamId(1);

fn count(quick: bool) -> usize {
    if quick { 5_000 } else { 100_000 }
}

fn opened(schema: &std::sync::Arc<Schema>) -> Engine {
    let mut engine = Engine::new(schema, Judged::Live);
    engine.open(STREAM, "StreamAggregatedResources");
    engine.message(STREAM, MessageShape::SotwRequest, &clusters::request(CLUSTER, 0));
    engine
}

/// Measures the time from bytes to names and states.
pub fn first(quick: bool) {
    let (count, schema) = (count(quick), Schema::builtin());
    schema.warm();
    let push = clusters::push(count, 1, count);
    let (mut own, mut reference) = (Vec::new(), Vec::new());
    for _ in 0..if quick { 1 } else { 7 } {
        reference.push(seconds(|| {
            std::hint::black_box(split_and_hash(&push));
        }));
        let mut engine = opened(&schema);
        own.push(seconds(|| {
            engine.message(STREAM, MessageShape::SotwResponse, &push);
            assert_eq!(
                engine.watched.states().first().map(|state| state.summary.resources),
                Some(count as u64)
            );
        }));
    }
    let (own, reference) = (median(own), median(reference));
    say(&format!(
        "first: {count} clusters of {} bytes: {:.1} ms, {:.1}x splitting and hashing ({:.1} ms)",
        push.len() / count,
        own * 1e3,
        own / reference,
        reference * 1e3
    ));
}

/// Measures the time from bytes to the changed resource.
pub fn repeated(quick: bool) {
    let (count, schema) = (count(quick), Schema::builtin());
    schema.warm();
    let rounds = if quick { 2 } else { 15 };
    for (name, shuffled) in [("the same order", false), ("random order", true)] {
        let mut engine = opened(&schema);
        engine.message(STREAM, MessageShape::SotwResponse, &clusters::push(count, 1, count));
        engine.message(STREAM, MessageShape::SotwRequest, &clusters::request(CLUSTER, 1));
        let mut clusters: Vec<Vec<u8>> = (0..count).map(|i| clusters::cluster(i, 5)).collect();
        let mut order: Vec<usize> = (0..count).collect();
        let (mut own, mut reference) = (Vec::new(), Vec::new());
        for version in 2..2 + rounds {
            let changed = version * 7919 % count;
            clusters[changed] = clusters::cluster(changed, 5 + version as u64);
            if shuffled {
                shuffle(&mut order, version as u64);
            }
            let push: Bytes =
                clusters::response(CLUSTER, version, order.iter().filter_map(|i| clusters.get(*i)));
            reference.push(seconds(|| {
                std::hint::black_box(split_and_hash(&push));
            }));
            own.push(seconds(|| engine.message(STREAM, MessageShape::SotwResponse, &push)));
            let row = engine.watched.rows().checked_sub(1).and_then(|row| engine.watched.row(row));
            assert_eq!(row.map(|row| (row.changed.len(), row.same)), Some((1, count as u64 - 1)));
            engine.message(STREAM, MessageShape::SotwRequest, &clusters::request(CLUSTER, version));
        }
        let (own, reference) = (median(own), median(reference));
        say(&format!(
            "repush: {count} clusters, 1 changed, in {name}: {:.1} ms, {:.2}x splitting and hashing ({:.1} ms)",
            own * 1e3,
            own / reference,
            reference * 1e3
        ));
    }
}

fn shuffle(order: &mut [usize], seed: u64) {
    let mut state = seed;
    for i in (1..order.len()).rev() {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        order.swap(i, (state >> 33) as usize % (i + 1));
    }
}
