//! Updates below and at the limit of `--memory`: 1,000 open streams, whose facts are never dropped,
//! and contents that are all new. An update at the limit costs little more than one below it.

use xdscope_schema::Schema;
use xdscope_wire::MessageShape;
use xdscope_wire::event::StreamId;

use crate::clusters::{CLUSTER, cluster, grpc, message, text};
use crate::{Engine, Judged, median, say, seconds};

/// Bytes that facts may take. The facts of the open streams take most of them.
const BUDGET: usize = 16 << 20;
const STREAMS: usize = 1_000;
const NAMES: usize = 1_000;
/// Parts of a run that are timed one by one.
const PARTS: usize = 20;
/// The most that an update at the limit may cost, by the cost of an update below the limit.
const MAX_RATIO: f64 = 1.5;

pub fn run(quick: bool) {
    let updates = if quick { 100_000 } else { 1_000_000 };
    let schema = Schema::builtin();
    schema.warm();
    let below = parts(&mut Engine::with_budget(&schema, Judged::Live, usize::MAX / 4), updates);
    let mut engine = Engine::with_budget(&schema, Judged::Live, BUDGET);
    let limited = parts(&mut engine, updates);
    assert!(engine.watched.first_row() > 0, "the limit was reached");
    let half = PARTS / 2;
    let typical = |parts: &[f64]| median(parts.to_vec());
    let (below, first, last) =
        (typical(&below[half..]), typical(&limited[..half]), typical(&limited[half..]));
    let ratio = last / below;
    say(&format!(
        "limit: {updates} updates on {STREAMS} streams: {:.1} us each below the limit, {:.1} us at {} MB, \
         ratio {ratio:.2}, at most {MAX_RATIO} ({}); second half {:.2} of the first",
        below * 1e6,
        last * 1e6,
        BUDGET >> 20,
        if ratio <= MAX_RATIO { "passed" } else { "FAILED" },
        last / first,
    ));
}

/// Feeds updates with their ACKs. Returns the seconds for each update, for each part of them.
fn parts(engine: &mut Engine, updates: usize) -> Vec<f64> {
    for stream in 0..STREAMS {
        engine.open(id(stream), "DeltaAggregatedResources");
        let node = message(1, &text(1, &format!("node-{stream}")));
        let request = [node, text(2, CLUSTER), text(3, "*")].concat();
        engine.message(id(stream), MessageShape::DeltaRequest, &grpc(&request));
    }
    let part = updates / PARTS;
    let time = |part_index: usize| {
        let updates = part_index * part..(part_index + 1) * part;
        seconds(|| updates.for_each(|update| step(engine, update))) / part as f64
    };
    (0..PARTS).map(time).collect()
}

/// Feeds an update and its ACK on the next stream.
fn step(engine: &mut Engine, update: usize) {
    let stream = id(update % STREAMS);
    let name = text(3, &format!("cluster-{}", update / STREAMS % NAMES));
    let nonce = format!("nonce-{update}");
    let content = message(2, &cluster(update, 1));
    let resource = [name, text(1, &format!("version-{update}")), content].concat();
    let response = [message(2, &resource), text(4, CLUSTER), text(5, &nonce)].concat();
    engine.message(stream, MessageShape::DeltaResponse, &grpc(&response));
    let ack = [text(2, CLUSTER), text(6, &nonce)].concat();
    engine.message(stream, MessageShape::DeltaRequest, &grpc(&ack));
    engine.watched.drop_old(|_| {});
}

fn id(stream: usize) -> StreamId {
    StreamId(u32::try_from(stream + 1).unwrap_or(u32::MAX))
}
