//! Arbitrary traffic: nothing panics, and queries do not change facts.

use proptest::prelude::*;
use xdscope_wire::GapCause;

use xdscope_engine::store::{Options, Store};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Clock, StreamId, Time};
use xdscope_wire::pb::{WIRE_VARINT, put_len_field, put_tag, put_varint};
use xdscope_wire::{Frame, FramePayload, Message, MessageShape, Open};

const TYPES: [&str; 3] = [
    "type.googleapis.com/envoy.config.cluster.v3.Cluster",
    "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
    "type.googleapis.com/acme.Unknown",
];
const NAMES: [&str; 8] = ["a", "b", "c", "*", "", "d", "xdstp://x/T/g/*", "xdstp://x/T/g/a"];

/// A random event.
#[derive(Clone, Debug)]
enum Op {
    Open { stream: u8, partial: bool },
    Request { stream: u8, ty: u8, names: Vec<u8>, other: Vec<u8>, version: u8, nonce: u8, nack: bool },
    Response { stream: u8, ty: u8, items: Vec<(u8, u8, u8)>, removed: Vec<u8>, version: u8, nonce: u8 },
    Garbage { stream: u8, response: bool },
    Gap { stream: u8 },
    End { stream: u8 },
}

fn op() -> impl Strategy<Value = Op> {
    let name = || prop::collection::vec(0..8u8, 0..4);
    prop_oneof![
        1 => (0..4u8, any::<bool>()).prop_map(|(stream, partial)| Op::Open { stream, partial }),
        8 => (0..4u8, 0..3u8, name(), name(), 0..4u8, 0..6u8, prop::bool::weighted(0.2)).prop_map(
            |(stream, ty, names, other, version, nonce, nack)| {
                Op::Request { stream, ty, names, other, version, nonce, nack }
            }
        ),
        8 => (0..4u8, 0..3u8, prop::collection::vec((0..8u8, 0..4u8, 0..6u8), 0..12), name(), 0..4u8, 0..6u8)
            .prop_map(|(stream, ty, items, removed, version, nonce)| {
                Op::Response { stream, ty, items, removed, version, nonce }
            }),
        1 => (0..4u8, any::<bool>()).prop_map(|(stream, response)| Op::Garbage { stream, response }),
        1 => (0..4u8).prop_map(|stream| Op::Gap { stream }),
        1 => (0..4u8).prop_map(|stream| Op::End { stream }),
    ]
}

fn text(number: u8) -> String {
    if number == 0 { String::new() } else { number.to_string() }
}

fn put(out: &mut Vec<u8>, number: u32, texts: &[u8]) {
    for name in texts {
        put_len_field(out, number, NAMES[usize::from(*name)].as_bytes());
    }
}

fn status() -> Vec<u8> {
    let mut out = Vec::new();
    put_tag(&mut out, 1, WIRE_VARINT);
    put_varint(&mut out, 3);
    out
}

fn resource(ty: &str, (name, content, form): (u8, u8, u8), delta: bool) -> Vec<u8> {
    let (name, mut payload, mut any, mut wrapper) =
        (NAMES[usize::from(name)], Vec::new(), Vec::new(), Vec::new());
    put_len_field(&mut payload, 1, name.as_bytes());
    put_len_field(&mut payload, 28, &[content]);
    put_len_field(&mut any, 1, ty.as_bytes());
    put_len_field(&mut any, 2, &payload);
    if !delta && form < 4 {
        return any;
    }
    put_len_field(&mut wrapper, 1, text(content).as_bytes());
    if form != 5 {
        put_len_field(&mut wrapper, 2, &any);
    }
    put_len_field(&mut wrapper, 3, name.as_bytes());
    if form == 4 {
        put_len_field(&mut wrapper, 4, b"d");
    }
    if form >= 3 {
        let mut ttl = Vec::new();
        put_tag(&mut ttl, 1, WIRE_VARINT);
        put_varint(&mut ttl, u64::from(content));
        put_len_field(&mut wrapper, 6, &ttl);
    }
    if delta {
        return wrapper;
    }
    let mut out = Vec::new();
    put_len_field(&mut out, 1, b"type.googleapis.com/envoy.service.discovery.v3.Resource");
    put_len_field(&mut out, 2, &wrapper);
    out
}

fn message(op: &Op, catalog: &mut Catalog) -> Option<(u8, Message)> {
    let mut out = Vec::new();
    let (stream, shape) = match op {
        Op::Request { stream, ty, names, other, version, nonce, nack } => {
            let (ty, nonce) = (TYPES[usize::from(*ty)].as_bytes(), text(*nonce));
            if stream % 2 == 0 {
                put_len_field(&mut out, 1, text(*version).as_bytes());
                put(&mut out, 3, names);
                put_len_field(&mut out, 4, ty);
                put_len_field(&mut out, 5, nonce.as_bytes());
            } else {
                put_len_field(&mut out, 2, ty);
                put(&mut out, 3, names);
                put(&mut out, 4, other);
                for name in other.iter().chain(names).take(usize::from(*version)) {
                    let mut entry = Vec::new();
                    put_len_field(&mut entry, 1, NAMES[usize::from(*name)].as_bytes());
                    put_len_field(&mut entry, 2, b"1");
                    put_len_field(&mut out, 5, &entry);
                }
                put_len_field(&mut out, 6, nonce.as_bytes());
            }
            if *nack {
                put_len_field(&mut out, if stream % 2 == 0 { 6 } else { 7 }, &status());
            }
            (*stream, if stream % 2 == 0 { MessageShape::SotwRequest } else { MessageShape::DeltaRequest })
        }
        Op::Response { stream, ty, items, removed, version, nonce } => {
            let (ty, delta) = (TYPES[usize::from(*ty)], stream % 2 == 1);
            put_len_field(&mut out, 1, text(*version).as_bytes());
            for item in items {
                put_len_field(&mut out, 2, &resource(ty, *item, delta));
            }
            put_len_field(&mut out, 4, ty.as_bytes());
            put_len_field(&mut out, 5, text(*nonce).as_bytes());
            if delta {
                put(&mut out, 6, removed);
            }
            (*stream, if delta { MessageShape::DeltaResponse } else { MessageShape::SotwResponse })
        }
        Op::Garbage { stream, response } => {
            out.extend_from_slice(b"\x0a\xff\xff");
            let shape = match (stream % 2, response) {
                (0, false) => MessageShape::SotwRequest,
                (0, true) => MessageShape::SotwResponse,
                (_, false) => MessageShape::DeltaRequest,
                (_, true) => MessageShape::DeltaResponse,
            };
            (*stream, shape)
        }
        _ => return None,
    };
    Some((stream, Message::parse(shape, &out, catalog)))
}

fn run(ops: &[Op], peek: bool) -> String {
    let mut store = Store::new(Catalog::in_memory(), Clock::default(), Options::default());
    let mut current = [1u32, 2, 3, 4];
    let mut next = 5;
    for (step, op) in ops.iter().enumerate() {
        let at = Time(step as u64 * 700_000_000);
        let id = |stream: &u8| StreamId(current[usize::from(*stream)]);
        let frame = match op {
            Op::Open { stream, partial } => {
                current[usize::from(*stream)] = next;
                next += 1;
                let verb = if stream % 2 == 0 { "Stream" } else { "Delta" };
                let service = "envoy.service.discovery.v3.AggregatedDiscoveryService";
                let method = format!("/{service}/{verb}AggregatedResources");
                let open = Open { method, partial: *partial, ..Open::default() };
                let stream = StreamId(next - 1);
                Frame { at, stream, what: FramePayload::Open(Box::new(open)) }
            }
            Op::Gap { stream } => Frame {
                at,
                stream: id(stream),
                what: FramePayload::Gap { dir: None, messages: 1, bytes: 9, cause: GapCause::Lost },
            },
            Op::End { stream } => Frame { at, stream: id(stream), what: FramePayload::End(Box::default()) },
            _ => match message(op, store.catalog_mut()) {
                Some((stream, message)) => Frame {
                    at,
                    stream: id(&stream),
                    what: FramePayload::Message(std::sync::Arc::new(message)),
                },
                None => continue,
            },
        };
        store.handle(frame);
        if peek {
            facts(&store);
        }
    }
    facts(&store)
}

fn facts(store: &Store) -> String {
    let mut out = String::new();
    for index in 0..store.rows() {
        out += &format!("{:?}\n", store.row(index));
    }
    for state in store.states() {
        out += &format!("{state:?}\n");
        let resources = store.resources(state.summary.stream, &state.summary.type_url);
        // A glob that was requested again has no entry of its own: its members are resources.
        let is_empty_glob = |r: &xdscope_engine::store::ResourceFact| {
            r.is_glob() && r.content.is_none() && r.state.word() == "present" && !r.is_removal_unanswered
        };
        let held = |r: &&xdscope_engine::store::ResourceFact| match &r.refusal {
            _ if !r.is_ignored() && is_empty_glob(r) => false,
            // The client no longer asks for a released resource.
            Some(refusal) if refusal.is_removal && r.state.word() != "released" => r.in_force.is_some(),
            Some(_) if r.in_force.is_none() => false,
            _ if r.is_ignored() => false,
            _ if r.is_removal_unanswered => true,
            _ => matches!(r.state.word(), "present" | "kept" | "redirected"),
        };
        assert_eq!(
            state.summary.resources,
            resources.iter().filter(held).count() as u64,
            "{state:#?}\n{resources:#?}"
        );
        out += &format!("{resources:?}\n");
    }
    out + &format!(
        "{:?}\n{:?}\n{:?}",
        store.streams(),
        xdscope_engine::problems::problems(store, &[]),
        store.summaries()
    )
}

/// A heartbeat among many resources does not bring back an expired one.
#[test]
fn heartbeat_does_not_revive_expired_resource() {
    let response = |items: &[(u8, u8, u8)]| Op::Response {
        stream: 3,
        ty: 0,
        items: items.to_vec(),
        removed: Vec::new(),
        version: 0,
        nonce: 0,
    };
    let request = |names: &[u8]| Op::Request {
        stream: 3,
        ty: 0,
        names: names.to_vec(),
        other: Vec::new(),
        version: 0,
        nonce: 0,
        nack: false,
    };
    let elsewhere = Op::Open { stream: 0, partial: false };
    let (a, d) = ((0, 0, 0), (5, 0, 5));
    let ops = [
        response(&[(5, 1, 3), (0, 1, 4)]),
        request(&[]),
        elsewhere.clone(),
        elsewhere,
        request(&[5]),
        response(&[a, a, a, a, a, a, a, a, d]),
    ];
    assert!(run(&ops, false).contains("Expired"));
}

/// The empty name does not stand for resources without a name.
#[test]
fn counts_unnamed_resources_after_request_for_empty_name() {
    let items: Vec<(u8, u8, u8)> = (0..6).flat_map(|name| [(name, 0, 0), (name, 1, 0)]).collect();
    let request = |names: &[u8]| Op::Request {
        stream: 0,
        ty: 2,
        names: names.to_vec(),
        other: Vec::new(),
        version: 0,
        nonce: 0,
        nack: false,
    };
    let ops = [
        Op::Open { stream: 0, partial: false },
        Op::Response { stream: 0, ty: 2, items, removed: Vec::new(), version: 0, nonce: 0 },
        request(&[6]),
        request(&[6, 4]),
    ];
    assert!(run(&ops, false).contains("resources: 12,"));
}

/// A resource that the client ignores does not count, although the client has refused its removal
/// before.
#[test]
fn ignored_resource_does_not_count_after_refused_removal() {
    let request = |stream: u8, names: &[u8], other: &[u8], version: u8, nonce: u8| Op::Request {
        stream,
        ty: 2,
        names: names.to_vec(),
        other: other.to_vec(),
        version,
        nonce,
        nack: false,
    };
    let response = |item: (u8, u8, u8), nonce: u8| Op::Response {
        stream: 2,
        ty: 2,
        items: vec![item],
        removed: Vec::new(),
        version: 0,
        nonce,
    };
    let ops = [
        request(1, &[1], &[6], 1, 1),
        response((6, 0, 5), 1),
        request(2, &[1, 3], &[], 1, 0),
        request(2, &[], &[], 0, 2),
        response((6, 0, 4), 2),
        request(2, &[], &[], 1, 1),
    ];
    run(&ops, false);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn queries_do_not_change_facts(ops in prop::collection::vec(op(), 0..60)) {
        prop_assert_eq!(run(&ops, true), run(&ops, false));
    }
}
