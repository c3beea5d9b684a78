//! Small messages: delta updates of one resource with their ACKs, over ten streams.

use bytes::Bytes;
use xdscope_schema::Schema;
use xdscope_wire::MessageShape;
use xdscope_wire::event::StreamId;
use xdscope_wire::pb::{put_len_field, put_tag, put_varint};

use crate::clusters::{CLUSTER, any, cluster, grpc, message, text};
use crate::{Engine, Judged, median, say, seconds, split_and_hash};

const STREAMS: usize = 10;
const NAMES: usize = 1000;
const ENDPOINTS: &str = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";

type Sent = (StreamId, MessageShape, Bytes);

pub fn run(quick: bool) {
    let pairs = if quick { 5_000 } else { 100_000 };
    let rounds = if quick { 1 } else { 5 };
    let schema = Schema::builtin();
    schema.warm();
    let flip = |i: usize| endpoints(i % NAMES, (i / NAMES % 2) as u64);
    let scale = |i: usize| endpoints(i % NAMES, i as u64);
    let update = |i: usize| cluster(i % NAMES, i as u64);
    let mixes: [(&str, &str, Vec<Sent>); 3] = [
        ("endpoints that come and go", ENDPOINTS, traffic(pairs, ENDPOINTS, flip)),
        ("endpoints never seen before", ENDPOINTS, traffic(pairs, ENDPOINTS, scale)),
        ("clusters never seen before", CLUSTER, traffic(pairs, CLUSTER, update)),
    ];
    for (name, url, sent) in &mixes {
        for (judged, rules) in [(Judged::Live, "as live"), (Judged::All, "all rules")] {
            let (mut own, mut reference) = (Vec::new(), Vec::new());
            for _ in 0..rounds {
                reference.push(seconds(|| {
                    let sum = sent.iter().fold(0, |sum, (_, _, bytes)| sum ^ split_and_hash(bytes));
                    std::hint::black_box(sum);
                }));
                let mut engine = Engine::new(&schema, judged);
                for stream in 1..=STREAMS {
                    let stream = StreamId(stream as u32);
                    engine.open(stream, "DeltaAggregatedResources");
                    engine.message(stream, MessageShape::DeltaRequest, &subscribe(url));
                }
                own.push(seconds(|| {
                    for (stream, shape, bytes) in sent {
                        engine.message(*stream, *shape, bytes);
                    }
                }));
                let errors: Vec<_> = engine.watched.findings().iter().map(|finding| finding.rule).collect();
                assert_eq!(engine.watched.messages(), (sent.len() + STREAMS) as u64);
                assert!(errors.len() < 20, "well-behaved traffic: {errors:?}");
            }
            let (own, reference) = (median(own), median(reference));
            let (rate, size) = (sent.len() as f64 / own, sent.iter().map(|(_, _, b)| b.len()).sum::<usize>());
            say(&format!(
                "small: {name}, {rules}: {rate:.0} messages/s of {} bytes on average, {:.1}x splitting and hashing",
                size / sent.len(),
                own / reference
            ));
        }
    }
}

fn subscribe(url: &str) -> Bytes {
    let mut body = message(1, &[text(1, "bench"), text(2, "bench")].concat());
    body.extend(text(2, url));
    body.extend(text(3, "*"));
    grpc(&body)
}

/// Returns updates of one resource each, with their ACKs.
fn traffic(pairs: usize, url: &str, resource: impl Fn(usize) -> Vec<u8>) -> Vec<Sent> {
    let mut out = Vec::with_capacity(2 * pairs);
    for i in 0..pairs {
        let stream = StreamId(1 + (i % STREAMS) as u32);
        let nonce = text(5, &format!("{i:08x}"));
        let resource =
            [text(1, &format!("v{i}")), message(2, &resource(i)), text(3, &name_of(url, i))].concat();
        let mut push = text(1, &format!("v{i}"));
        put_len_field(&mut push, 2, &resource);
        push.extend(text(4, url));
        push.extend_from_slice(&nonce);
        let mut ack = text(2, url);
        put_len_field(&mut ack, 6, nonce.get(2..).unwrap_or_default());
        out.push((stream, MessageShape::DeltaResponse, grpc(&push)));
        out.push((stream, MessageShape::DeltaRequest, grpc(&ack)));
    }
    out
}

/// Returns the names used by [`cluster`] and [`endpoints`].
fn name_of(url: &str, i: usize) -> String {
    let i = i % NAMES;
    match url {
        CLUSTER => format!("outbound|{}||service-{i:06}.ns-{}", 8000 + i % 100, i % 37),
        _ => format!("service-{i:06}"),
    }
}

/// Returns a `ClusterLoadAssignment` with one endpoint, whose address depends on `version`.
fn endpoints(i: usize, version: u64) -> Vec<u8> {
    let mut socket = text(2, &format!("10.{}.{}.{}", version >> 16 & 255, version >> 8 & 255, version & 255));
    put_tag(&mut socket, 3, 0);
    put_varint(&mut socket, 8080);
    // locality_lb_endpoints.lb_endpoints.endpoint.address.socket_address
    let inner = message(2, &message(1, &message(1, &message(1, &socket))));
    any(ENDPOINTS, &[text(1, &format!("service-{i:06}")), message(2, &inner)].concat())
}
