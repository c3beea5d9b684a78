//! A store built from a script, for the screens that decode contents.

use std::path::Path;
use std::sync::Arc;

use crate::Decoded;
use crate::data::{BodyRenderer, StoreData};
use crate::shell::model::Model;
use xdscope_engine::analysis::{Analysis, rules};
use xdscope_engine::store::{Options, SchemaSemantics, Store};
use xdscope_schema::Schema;
use xdscope_schema::redact::Redactor;
use xdscope_sources::{SchemaCodec, Spec, script};
use xdscope_wire::content::{Catalog, MemoryBodies};
use xdscope_wire::event::{Kind, Side, StreamId, Time};
use xdscope_wire::{End, Frame, FramePayload, Open};

use super::{type_keys, typed};

/// A script with two clients of a gateway.
/// Pushes that Envoy refuses in part or entirely.
pub const PARTLY_REFUSED: &str = include_str!("../../../tests/fixtures/tui/refused.xds");

pub const GATEWAY: &str = include_str!("../../../tests/fixtures/tui/gateway.xds");

/// A store built from a script, with its findings.
pub struct ScriptedStore {
    store: Analysis,
    end: Time,
    bodies: Decoded,
}

impl ScriptedStore {
    /// The store of a script, with secrets redacted.
    pub fn new(text: &str) -> ScriptedStore {
        let (mut scripted, rest) = ScriptedStore::before_first_frame(text);
        for frame in rest {
            scripted.store.handle(frame);
        }
        scripted.store.advance(scripted.end);
        scripted
    }

    /// The store before the first frame, and the frames.
    pub fn before_first_frame(text: &str) -> (ScriptedStore, Vec<Frame>) {
        let schema = Schema::builtin();
        let redact = Arc::new(Redactor::new(schema.clone(), 7));
        let catalog = Catalog::new(7, Some(redact), Box::new(MemoryBodies::default()));
        let script = script::parse(text, "a test").expect("a script");
        let loaded = script::load_into(&script, &SchemaCodec(schema.clone()), catalog).expect("content");
        let mut store = Store::new(loaded.catalog, loaded.clock, Options::default());
        store.set_meaning(Arc::new(SchemaSemantics::new(schema.clone())));
        let store = Analysis::new(store, rules(&schema));
        (ScriptedStore { store, end: loaded.end, bodies: Decoded(schema) }, loaded.frames)
    }

    pub fn handle(&mut self, frame: Frame) {
        self.store.handle(frame);
    }

    /// The store of a file of the repository, such as `examples/healthy/grpc.xdsrec`.
    pub fn recorded(path: &str) -> ScriptedStore {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
        let spec = Spec { seed: 7, ..Spec::new(&path) };
        let source = xdscope_sources::open(&spec, &Default::default()).expect("a recording");
        let (schema, loaded) = (source.schema, source.loaded);
        let store = xdscope_sources::store(Options::default(), loaded.catalog, loaded.clock, &schema);
        let mut store = Analysis::new(store, rules(&schema));
        loaded.frames.into_iter().for_each(|frame| store.handle(frame));
        store.advance(loaded.end);
        ScriptedStore { store, end: loaded.end, bodies: Decoded(schema) }
    }

    pub fn gateway() -> ScriptedStore {
        ScriptedStore::new(GATEWAY)
    }

    /// Adds a failed connection to the server.
    pub fn fail(&mut self, stream: u32, at: u64, note: &str) {
        let [peer, server] = ["10.0.0.9:5000", "10.0.0.1:18000"].map(|address| Some(address.into()));
        let open = Open { method: Open::NOTHING.into(), peer, server, ..Open::default() };
        let end = End { by: Some(Side::Server), note: Some(note.into()), ..End::default() };
        for payload in [FramePayload::Open(Box::new(open)), FramePayload::End(Box::new(end))] {
            let frame = Frame { at: Time(at * 1_000_000_000), stream: StreamId(stream), what: payload };
            self.store.handle(frame);
        }
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    pub fn bodies(&self) -> &dyn BodyRenderer {
        &self.bodies
    }

    pub fn data(&self) -> StoreData<'_> {
        StoreData { store: &self.store, findings: self.store.findings(), bodies: &self.bodies, applied: None }
    }
}

/// Cluster version 42 is refused.
pub const REFUSED: &str = "node edge\nstream 1 ads\n+0s 1 > cds\n\
    +1s 1 < cds v=41 n=a [cart reviews{connect_timeout: 5s}]\n+2s 1 > cds v=41 n=a\n\
    +3s 1 < cds v=42 n=b [cart reviews{connect_timeout: 0s}]\n\
    +4s 1 > cds v=41 n=b nack=\"reviews: no\" code=13\n";

/// A number of clusters, and routes that refer to the first one.
pub fn large(clusters: usize, routes: usize) -> ScriptedStore {
    let list = |n: usize, one: &dyn Fn(usize) -> String| (0..n).map(one).collect::<Vec<_>>().join(" ");
    let names = list(routes, &|i| format!("r{i}"));
    let script = [
        "node edge cluster=edge agent=\"envoy/1.40.0\"\nstream 1 ads\n+0s 1 > cds\n".to_owned(),
        format!("+10ms 1 < cds v=1 n=c1 [{}]\n", list(clusters, &|i| format!("c{i}"))),
        "+20ms 1 > cds v=1 n=c1\n".to_owned(),
        format!("+30ms 1 > rds v= n= names=[{names}]\n"),
        format!("+40ms 1 < rds v=1 n=r1 [{}]\n", list(routes, &|i| format!("r{i}{{to: [c0]}}"))),
        format!("+50ms 1 > rds v=1 n=r1 names=[{names}]\n"),
    ];
    ScriptedStore::new(&script.concat())
}

/// Returns the resource that is selected on screen 4.
pub fn selected_resource(model: &Model) -> (Kind, Option<String>) {
    let place = model.screens.resources.tree.selected.as_ref().expect("a selection");
    let kind = Kind::of_type_url(place.type_url.as_str()).expect("a known type").0;
    (kind, place.name.as_ref().map(|name| name.to_string()))
}

/// Returns a resource as [`selected_resource`] does.
pub fn resource(kind: Kind, name: &str) -> (Kind, Option<String>) {
    (kind, Some(name.to_owned()))
}

/// The keys that select a resource of the gateway on screen 4.
pub fn select_resource(resource: &str) -> String {
    select_resource_of(&ScriptedStore::gateway(), resource)
}

/// The keys that select a resource of a source on screen 4.
pub fn select_resource_of(source: &ScriptedStore, resource: &str) -> String {
    format!("4g{}", "j".repeat(row_of(source, resource)))
}

fn row_of(source: &ScriptedStore, resource: &str) -> usize {
    let mut model = typed(&source.data(), "4g");
    for row in 0..40 {
        let (kind, name) = selected_resource(&model);
        if format!("{}/{}", kind.word(), name.unwrap_or_default()) == resource {
            return row;
        }
        type_keys(&mut model, &source.data(), "j");
    }
    panic!("{resource} is not in the tree");
}
