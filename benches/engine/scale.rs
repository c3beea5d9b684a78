//! The time for each item in sources of 1,000 and of 100,000: open streams, types, names, nodes and
//! refused streams. The ratio is 1 if the work is linear.

use std::sync::Arc;

use bytes::Bytes;
use xdscope_schema::Schema;
use xdscope_wire::event::{Code, Side, StreamId, Time};
use xdscope_wire::{End, Frame, FramePayload, MessageShape};

use crate::clusters::{CLUSTER, any, cluster, grpc, message, text};
use crate::{Engine, Judged, median, say, seconds};

const METHOD: &str = "StreamAggregatedResources";
const DELTA_METHOD: &str = "DeltaAggregatedResources";
const ROUTES: &str = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration";

/// A dimension of a source, and the work for one item.
type Dimension = (&'static str, fn(&mut Engine, u32));

const DIMENSIONS: [Dimension; 7] = [
    ("open streams, each of a node", |engine, n| {
        open(engine, n);
        exchange(engine, n, n, CLUSTER, "a");
        exchange(engine, n, n, ROUTES, "a");
    }),
    ("open streams of one node", |engine, n| {
        open(engine, n);
        exchange(engine, n, 0, CLUSTER, "a");
        exchange(engine, n, 0, ROUTES, "a");
    }),
    ("types of one stream", |engine, n| {
        if n == 0 {
            open(engine, n);
        }
        exchange(engine, 0, 0, &format!("type.googleapis.com/example.Type{n}"), "a");
    }),
    ("names of one type", |engine, n| {
        if n == 0 {
            open(engine, n);
        }
        exchange(engine, 0, 0, ROUTES, &format!("route-{n}"));
    }),
    ("names requested, and half of them released, the oldest first", |engine, n| {
        if n == 0 {
            engine.open(StreamId(1), DELTA_METHOD);
        }
        let released = if n % 2 == 1 { text(4, &format!("route-{}", n / 2)) } else { Vec::new() };
        let node = message(1, &text(1, "node"));
        let body = [node, text(2, ROUTES), text(3, &format!("route-{n}")), released].concat();
        engine.message(StreamId(1), MessageShape::DeltaRequest, &grpc(&body));
    }),
    ("nodes, one stream after another", |engine, n| {
        open(engine, n);
        exchange(engine, n, n, CLUSTER, "a");
        end(engine, n, Code(0));
    }),
    ("refused streams of one node", |engine, n| {
        open(engine, n);
        let request = request(0, CLUSTER, "a", "");
        engine.message(StreamId(n + 1), MessageShape::SotwRequest, &request);
        end(engine, n, Code(16));
    }),
];

pub fn run(quick: bool) {
    let (small, large, rounds) = if quick { (500, 5_000, 1) } else { (1_000, 100_000, 3) };
    let schema = Schema::builtin();
    schema.warm();
    for (name, item) in DIMENSIONS {
        let per_item = |size| median((0..rounds).map(|_| time(&schema, size, item)).collect());
        let (of_small, of_large) = (per_item(small), per_item(large));
        say(&format!(
            "scale: {name}: {:.1} us for each of {small}, {:.1} us for each of {large}, ratio {:.2}",
            of_small * 1e6,
            of_large * 1e6,
            of_large / of_small
        ));
    }
}

/// Returns the seconds for each item of a source of `size` items.
fn time(schema: &Arc<Schema>, size: u32, item: fn(&mut Engine, u32)) -> f64 {
    let mut engine = Engine::new(schema, Judged::Live);
    let took = seconds(|| (0..size).for_each(|n| item(&mut engine, n)));
    took / f64::from(size)
}

fn open(engine: &mut Engine, stream: u32) {
    engine.open(StreamId(stream + 1), METHOD);
}

/// Feeds a request, a response and its ACK.
fn exchange(engine: &mut Engine, stream: u32, node: u32, url: &str, name: &str) {
    let id = StreamId(stream + 1);
    engine.message(id, MessageShape::SotwRequest, &request(node, url, name, ""));
    let nonce = format!("{}", engine.now);
    let content = if url == CLUSTER { any(CLUSTER, &cluster(0, 0)) } else { any(url, &text(1, name)) };
    let body = [text(1, "1"), message(2, &content), text(4, url), text(5, &nonce)].concat();
    engine.message(id, MessageShape::SotwResponse, &grpc(&body));
    engine.message(id, MessageShape::SotwRequest, &request(node, url, name, &nonce));
}

fn request(node: u32, url: &str, name: &str, nonce: &str) -> Bytes {
    let node = [text(1, &format!("node-{node}")), text(2, "bench")].concat();
    let version = if nonce.is_empty() { Vec::new() } else { text(1, "1") };
    let names = if url == CLUSTER { Vec::new() } else { text(3, name) };
    let nonce = if nonce.is_empty() { Vec::new() } else { text(5, nonce) };
    grpc(&[version, message(2, &node), names, text(4, url), nonce].concat())
}

fn end(engine: &mut Engine, stream: u32, code: Code) {
    let end = End { by: Some(Side::Server), status: Some((code, String::new())), ..End::default() };
    let what = FramePayload::End(Box::new(end));
    engine.watched.handle(Frame { at: Time(engine.now), stream: StreamId(stream + 1), what });
}
