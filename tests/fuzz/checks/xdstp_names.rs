use std::sync::Arc;

use xdscope_engine::store::{self, Store};
use xdscope_engine::structured::{NameParts, StructuredNames};
use xdscope_schema::Schema;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Clock, StreamId, Time};
use xdscope_wire::pb::put_len_field;
use xdscope_wire::{Frame, FramePayload, Message, MessageShape, Open};

const DELTA: &str = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";
const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

/// Checks that any names are split into parts of the text, subscribed and delivered, and that each
/// resource is found under its own name.
///
/// Input: names on lines. The first half is subscribed, the others are delivered.
pub fn xdstp_names(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let names: Vec<&str> = text.lines().take(16).collect();
    for name in &names {
        if let Some(parts) = NameParts::parse(name) {
            let places = [&parts.authority, &parts.resource_type, &parts.id].into_iter();
            let places = places.chain(&parts.directives).chain(parts.parameters.iter().map(|(key, _)| key));
            for part in places {
                assert!(name.contains(part.as_str()), "{part:?} is not in {name:?}");
            }
            assert!(!parts.authority.contains('/') && !parts.resource_type.contains('/'), "{parts:?}");
        }
    }
    let (subscribed, delivered) = names.split_at(names.len() / 2);
    let mut request = Vec::new();
    put_len_field(&mut request, 2, CLUSTER.as_bytes());
    subscribed.iter().for_each(|name| put_len_field(&mut request, 3, name.as_bytes()));
    let mut response = Vec::new();
    for name in delivered {
        let (mut any, mut resource) = (Vec::new(), Vec::new());
        put_len_field(&mut any, 1, CLUSTER.as_bytes());
        put_len_field(&mut resource, 2, &any);
        put_len_field(&mut resource, 3, name.as_bytes());
        put_len_field(&mut response, 2, &resource);
    }
    put_len_field(&mut response, 4, CLUSTER.as_bytes());
    put_len_field(&mut response, 5, b"1");
    let store = store(&[(MessageShape::DeltaRequest, request), (MessageShape::DeltaResponse, response)]);
    let schema = Schema::builtin();
    for state in store.states() {
        let structured = StructuredNames::new(&store, &schema, vec![state.summary.stream]);
        for fact in store.resources(state.summary.stream, &state.summary.type_url) {
            structured.of(&fact);
            // A resource without a name is shown under its hash.
            if !names.contains(&&*fact.name) {
                continue;
            }
            let found = store.resource(state.summary.stream, &state.summary.type_url, &fact.name);
            assert_eq!(found.map(|found| found.name), Some(fact.name));
        }
    }
}

fn store(messages: &[(MessageShape, Vec<u8>)]) -> Store {
    let mut store = Store::new(Catalog::in_memory(), Clock::default(), store::Options::default());
    let stream = StreamId(1);
    let open = Open { method: DELTA.to_owned(), ..Open::default() };
    store.handle(Frame { at: Time::ZERO, stream, what: FramePayload::Open(Box::new(open)) });
    for (shape, bytes) in messages {
        let message = Message::try_parse(*shape, bytes, store.catalog_mut()).expect("within the limits");
        store.handle(Frame { at: Time::ZERO, stream, what: FramePayload::Message(Arc::new(message)) });
    }
    store
}
