//! The work for each message does not grow with the source: streams and types that are visited are
//! counted, not time.

use std::sync::Arc;
use std::time::Duration;

use super::{Lint, Options, Reference};
use crate::session::engine::visits;
use crate::store::{self, Store};
use xdscope_wire::content::Catalog;
use xdscope_wire::discovery::encode::{NodeFields, RequestFields, ResponseFields, encode_any};
use xdscope_wire::event::{Clock, Code, Dir, Kind, Side, StreamId, Time};
use xdscope_wire::limits::MAX_TYPES;
use xdscope_wire::pb::put_len_field;
use xdscope_wire::{End, Frame, FramePayload, Message, MessageShape, Open};

const CDS: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
const RDS: &str = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration";
const ADS: &str = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";

const DELTA_ADS: &str = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";

/// Items whose cost is measured, at the end of a source.
const MEASURED: u32 = 50;

/// A source with all rules.
struct Source {
    store: Store,
    lint: Lint,
    now: Time,
    nonces: u32,
}

impl Source {
    fn new() -> Source {
        let clock = Clock { epoch: Some(1 << 60), untimed: false };
        let store = Store::new(Catalog::in_memory(), clock, store::Options::default());
        // Each resource refers to a cluster that nobody has.
        let reference = Reference {
            kind: Kind::Cds,
            name: "none".into(),
            source: None,
            cluster: None,
            routes: None,
            is_validated: false,
        };
        let links = move |_: &[u8]| vec![reference.clone()];
        let lint = Lint::new(Options { links: Some(Arc::new(links)), ..Options::default() });
        Source { store, lint, now: Time::ZERO, nonces: 0 }
    }

    fn frame(&mut self, stream: u32, what: FramePayload) {
        self.now = self.now.after(Duration::from_millis(1));
        self.lint.handle(&mut self.store, Frame { at: self.now, stream: StreamId(stream), what });
    }

    fn open(&mut self, stream: u32) {
        self.open_method(stream, ADS);
    }

    fn open_method(&mut self, stream: u32, method: &str) {
        let (peer, server) = (format!("10.0.{}.{}:5000", stream / 250, stream % 250), "10.1.0.1:18000");
        let method = method.to_owned();
        let open = Open { method, peer: Some(peer), server: Some(server.into()), ..Open::default() };
        self.frame(stream, FramePayload::Open(Box::new(open)));
    }

    fn message(&mut self, stream: u32, shape: MessageShape, bytes: &[u8]) {
        let message = Message::parse(shape, bytes, self.store.catalog_mut());
        self.frame(stream, FramePayload::Message(Arc::new(message)));
    }

    fn request(&mut self, stream: u32, node: &str, type_url: &str, nonce: &str) {
        let node = NodeFields { id: node, ..NodeFields::default() }.encode();
        let version_info = if nonce.is_empty() { "" } else { "1" };
        let names = if type_url == CDS { Vec::new() } else { vec!["a"] };
        let (node, response_nonce) = (Some(&node[..]), nonce);
        let fields =
            RequestFields { version_info, node, type_url, names, response_nonce, ..RequestFields::default() };
        self.message(stream, MessageShape::SotwRequest, &fields.encode(false));
    }

    /// Sends a request, a response, and the ACK.
    fn exchange(&mut self, stream: u32, node: &str, type_url: &str) {
        self.request(stream, node, type_url, "");
        self.nonces += 1;
        let nonce = self.nonces.to_string();
        let mut value = Vec::new();
        put_len_field(&mut value, 1, b"a");
        let fields = ResponseFields { version: "1", type_url, nonce: &nonce, ..ResponseFields::default() };
        let bytes = fields.encode(false, [encode_any(type_url, &value)]);
        self.message(stream, MessageShape::SotwResponse, &bytes);
        self.request(stream, node, type_url, &nonce);
    }

    fn refuse(&mut self, stream: u32) {
        let status = Some((Code(16), "token expired".to_owned()));
        let end = End { by: Some(Side::Server), status, ..End::default() };
        self.frame(stream, FramePayload::End(Box::new(end)));
    }
}

/// Returns the visits of the last items of a source of `size` items.
fn visits_of(size: u32, item: fn(&mut Source, u32)) -> u64 {
    let mut source = Source::new();
    (0..size - MEASURED).for_each(|n| item(&mut source, n));
    let before = visits::total();
    (size - MEASURED..size).for_each(|n| item(&mut source, n));
    visits::total() - before
}

/// Asserts that an item costs no more in a source ten times as large.
fn assert_flat(what: &str, item: fn(&mut Source, u32)) {
    let (small, large) = (visits_of(400, item), visits_of(4000, item));
    assert!(large <= small * 3 / 2, "{what}: {small} visits, and {large} in a source ten times as large");
}

#[test]
fn open_streams_cost_the_same_however_many_there_are() {
    let exchanges = |source: &mut Source, n: u32, node: &str| {
        source.open(n);
        source.exchange(n, node, CDS);
        source.exchange(n, node, RDS);
    };
    assert_flat("streams of one node each", |source, n| {
        source.open(n);
        source.exchange(n, &format!("node-{n}"), CDS);
        source.exchange(n, &format!("node-{n}"), RDS);
    });
    // A client with more than 1,000 streams is none that rules about clients look at.
    let (some, many) = (|source: &mut Source, n| exchanges(source, n, "node"), 1500);
    let mut small = Source::new();
    (0..450).for_each(|n| some(&mut small, n));
    let before = visits::total();
    (450..500).for_each(|n| some(&mut small, n));
    let of_small = visits::total() - before;
    let mut large = Source::new();
    (0..many).for_each(|n| some(&mut large, n));
    let before = visits::total();
    (many..many + 50).for_each(|n| some(&mut large, n));
    let of_large = visits::total() - before;
    assert!(of_large <= of_small, "streams of one node: {of_small} visits, then {of_large}");
}

#[test]
fn refused_streams_cost_the_same_however_many_there_were() {
    assert_flat("refused streams", |source, n| {
        source.open(n);
        source.request(n, "node", CDS, "");
        source.refuse(n);
    });
}

#[test]
fn types_cost_the_same_however_many_a_stream_has() {
    assert_flat("types of one stream", |source, n| {
        if n == 0 {
            source.open(0);
        }
        source.exchange(0, "node", &format!("type.googleapis.com/example.Type{n}"));
        source.exchange(0, "node", CDS);
    });
}

/// Sends an update of one resource whose payload is no `Any`, and its ACK.
fn update_undecodable(source: &mut Source, n: u32) {
    if n == 0 {
        source.open_method(0, DELTA_ADS);
        let mut request = NodeFields { id: "node", ..NodeFields::default() }.encode();
        request = [len_field(1, &request), len_field(2, CDS.as_bytes()), len_field(3, b"*")].concat();
        source.message(0, MessageShape::DeltaRequest, &request);
    }
    let (nonce, payload) = (format!("n{n}"), [&[0xff, 0xff], &n.to_be_bytes()[..]].concat());
    let name = len_field(3, format!("c{n}").as_bytes());
    let resource = [name, len_field(1, b"1"), len_field(2, &payload)].concat();
    let fields = [len_field(2, &resource), len_field(4, CDS.as_bytes()), len_field(5, nonce.as_bytes())];
    source.message(0, MessageShape::DeltaResponse, &fields.concat());
    let ack = [len_field(2, CDS.as_bytes()), len_field(6, nonce.as_bytes())].concat();
    source.message(0, MessageShape::DeltaRequest, &ack);
}

fn len_field(number: u32, bytes: &[u8]) -> Vec<u8> {
    let mut field = Vec::new();
    put_len_field(&mut field, number, bytes);
    field
}

/// A recording from elsewhere may have any number of types. An open stream keeps what is known of
/// its types, whatever `--memory` says.
#[test]
fn messages_of_further_types_are_counted_only() {
    let mut source = Source::new();
    source.open(0);
    let types = u32::try_from(MAX_TYPES).expect("a number") + 100;
    for round in 0..2 {
        for number in 0..types {
            let url = format!("type.googleapis.com/a.B{number}");
            if round == 0 { source.exchange(0, "a", &url) } else { source.request(0, "a", &url, "") }
        }
    }
    assert_eq!(source.store.states().len(), MAX_TYPES);
    let streams = source.store.streams();
    assert_eq!((streams[0].gaps, streams[0].messages), (100 * 4, u64::from(types) * 4));
}

#[test]
fn undecodable_payloads_cost_the_same_however_many_names_have_them() {
    let mut source = Source::new();
    (0..400).for_each(|n| update_undecodable(&mut source, n));
    let findings = source.lint.findings().iter();
    let about: Vec<_> = findings.filter(|finding| finding.rule.id == "payload-undecodable").collect();
    assert!(about.iter().any(|finding| finding.names.len() > 300), "one finding has most names");
    assert!(about.iter().all(|finding| finding.over.is_none()), "no content was replaced");
    assert_flat("undecodable payloads", update_undecodable);
}

#[test]
fn silent_streams_cost_the_same_however_many_there_are() {
    let visits_of = |streams: u32| {
        let mut source = Source::new();
        (0..streams).for_each(|n| source.open(n));
        for _ in 0..4 {
            source.now = source.now.after(Duration::from_secs(30));
            for n in 0..streams {
                source.frame(n, FramePayload::Opaque { dir: Dir::Req, messages: 0, bytes: 0 });
            }
        }
        let before = visits::total();
        let Source { store, lint, now, .. } = &mut source;
        lint.advance(store, now.after(Duration::from_secs(300)));
        let silent = lint.findings().iter().filter(|finding| finding.rule.id == "stream-silent").count();
        assert!(silent > 0, "the rule was checked");
        (visits::total() - before) / u64::from(streams)
    };
    let (small, large) = (visits_of(100), visits_of(1000));
    assert!(large <= small * 3 / 2 + 1, "{small} visits for each stream, then {large}");
}
