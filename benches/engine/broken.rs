//! Delta updates whose payloads cannot be decoded, against the same updates with payloads that can:
//! ten streams, 1,000 names. A finding with many names costs an update no more than one with few.

use std::sync::Arc;

use bytes::Bytes;
use xdscope_schema::Schema;
use xdscope_wire::MessageShape;
use xdscope_wire::event::StreamId;
use xdscope_wire::pb::put_len_field;

use crate::clusters::{CLUSTER, any, cluster, grpc, message, text};
use crate::{Engine, Judged, median, say, seconds};

const STREAMS: usize = 10;
const NAMES: usize = 1_000;
/// The most that an undecodable update may cost, by the cost of a decodable one.
const MAX_RATIO: f64 = 3.0;

pub fn run(quick: bool) {
    let (updates, rounds) = if quick { (20_000, 1) } else { (100_000, 3) };
    let schema = Schema::builtin();
    schema.warm();
    let (mut sound, mut broken) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        sound.push(time(&schema, updates, |update| cluster(update, 1)));
        // The field `connect_timeout` ends in the middle of a tag.
        broken.push(time(&schema, updates, |update| {
            let name = text(1, &format!("broken-{update}"));
            any(CLUSTER, &[name, message(4, &[0xff, 0xff])].concat())
        }));
    }
    let (sound, broken) = (median(sound), median(broken));
    let ratio = broken / sound;
    say(&format!(
        "broken: {:.1} us for each of {updates} updates, {:.1} us if undecodable, ratio {ratio:.2}, at most \
         {MAX_RATIO} ({})",
        sound * 1e6,
        broken * 1e6,
        if ratio <= MAX_RATIO { "passed" } else { "FAILED" },
    ));
}

/// Returns the seconds for each update with its ACK.
fn time(schema: &Arc<Schema>, updates: usize, payload: impl Fn(usize) -> Vec<u8>) -> f64 {
    let mut engine = Engine::new(schema, Judged::Live);
    for stream in 1..=STREAMS {
        engine.open(StreamId(stream as u32), "DeltaAggregatedResources");
        let node = message(1, &text(1, &format!("node-{stream}")));
        let request = [node, text(2, CLUSTER), text(3, "*")].concat();
        engine.message(StreamId(stream as u32), MessageShape::DeltaRequest, &grpc(&request));
    }
    let sent: Vec<(StreamId, Bytes, Bytes)> = (0..updates).map(|update| exchange(update, &payload)).collect();
    let took = seconds(|| {
        for (stream, update, ack) in &sent {
            engine.message(*stream, MessageShape::DeltaResponse, update);
            engine.message(*stream, MessageShape::DeltaRequest, ack);
        }
    });
    took / updates as f64
}

/// Returns an update of one resource, and its ACK.
fn exchange(update: usize, payload: &impl Fn(usize) -> Vec<u8>) -> (StreamId, Bytes, Bytes) {
    let stream = StreamId(1 + (update % STREAMS) as u32);
    let name = text(3, &format!("cluster-{}", update / STREAMS % NAMES));
    let nonce = format!("nonce-{update}");
    let resource = [name, text(1, &format!("version-{update}")), message(2, &payload(update))].concat();
    let mut response = Vec::new();
    put_len_field(&mut response, 2, &resource);
    response.extend([text(4, CLUSTER), text(5, &nonce)].concat());
    (stream, grpc(&response), grpc(&[text(2, CLUSTER), text(6, &nonce)].concat()))
}
