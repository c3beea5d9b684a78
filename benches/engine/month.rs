//! Measures resident memory under a budget while nodes come and go and all content is new; Linux
//! only. The figures are flat if nothing is kept for each message, node or name.

use xdscope_schema::Schema;
use xdscope_wire::event::{Side, StreamId, Time};
use xdscope_wire::{End, Frame, FramePayload, MessageShape};

use crate::clusters::{CLUSTER, cluster, grpc, message, text};
use crate::held::{resident, since};
use crate::{Engine, Judged, say};

/// Bytes that facts may take.
const BUDGET: usize = 64 << 20;
/// Streams that are open at a time.
const OPEN: u64 = 200;
/// Nodes that come again and again.
const NODES: u64 = 10_000;
/// Updates of a stream, from its opening to its end.
const UPDATES: u64 = 100;
/// Names that are seen once. Later updates repeat [`REPEATED_NAMES`] names.
const NAMES_SEEN_ONCE: u64 = 1_000_000;
const REPEATED_NAMES: u64 = 1_000;
/// Nanoseconds between updates: 100 messages a second, half of them requests.
const INTERVAL: u64 = 20_000_000;

pub fn run(quick: bool) {
    if resident().is_none() {
        return say("month: this system does not say");
    }
    let updates = if quick { 100_000 } else { 4_000_000 };
    let schema = Schema::builtin();
    schema.warm();
    let mut engine = Engine::with_budget(&schema, Judged::Live, BUDGET);
    let from = resident().unwrap_or_default();
    let mut tenths = Vec::new();
    for update in 0..updates {
        engine.now = update * INTERVAL;
        step(&mut engine, update);
        engine.watched.drop_old(|_| {});
        if (update + 1) % (updates / 10) == 0 {
            tenths.push(since(from));
        }
    }
    let hours = (updates * INTERVAL) as f64 / 3.6e12;
    let megabytes: Vec<String> = tenths.iter().map(|bytes| format!("{:.0}", bytes / 1e6)).collect();
    say(&format!(
        "month: {hours:.1} simulated hours, {} messages: {} MB after each tenth; highest {:.2} of the budget, \
         the last {:.2} of the fourth",
        2 * updates,
        megabytes.join(" "),
        tenths.iter().copied().fold(0.0, f64::max) / BUDGET as f64,
        tenths.last().unwrap_or(&f64::NAN) / tenths.get(3).unwrap_or(&f64::NAN),
    ));
}

/// Feeds an update and its ACK on the next stream. Each stream ends after its last update.
fn step(engine: &mut Engine, update: u64) {
    let (round, slot) = (update / OPEN, update % OPEN);
    let (generation, turn) = (round / UPDATES, round % UPDATES);
    let visit = generation * OPEN + slot;
    let id = StreamId(u32::try_from(visit + 1).unwrap_or(u32::MAX));
    if turn == 0 {
        engine.open(id, "DeltaAggregatedResources");
        let node = text(1, &format!("node-{}", visit % NODES));
        let request = [message(1, &node), text(2, CLUSTER), text(3, "*")].concat();
        engine.message(id, MessageShape::DeltaRequest, &grpc(&request));
    }
    let name = match update {
        0..NAMES_SEEN_ONCE => format!("cluster-{update}"),
        _ => format!("repeated-{}", update % REPEATED_NAMES),
    };
    let nonce = format!("nonce-{update}");
    let content = cluster(usize::try_from(update).unwrap_or_default(), 1);
    let resource = [text(3, &name), text(1, &format!("version-{update}")), message(2, &content)].concat();
    let response = [message(2, &resource), text(4, CLUSTER), text(5, &nonce)].concat();
    engine.message(id, MessageShape::DeltaResponse, &grpc(&response));
    let ack = [text(2, CLUSTER), text(6, &nonce)].concat();
    engine.message(id, MessageShape::DeltaRequest, &grpc(&ack));
    if turn == UPDATES - 1 {
        let end = End { by: Some(Side::Client), ..End::default() };
        let what = FramePayload::End(Box::new(end));
        engine.watched.handle(Frame { at: Time(engine.now), stream: id, what });
    }
}
