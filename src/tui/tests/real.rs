//! A store built from a script, for the screens that decode contents.

use std::sync::Arc;

use crate::app::analysis::{Analysis, rules};
use crate::app::decoded::Decoded;
use crate::engine::store::{Options, Store};
use crate::schema::Schema;
use crate::schema::redact::Redactor;
use crate::sources::{SchemaCodec, script};
use crate::tui::data::StoreData;
use crate::wire::content::{Catalog, MemoryBodies};
use crate::wire::event::{Side, StreamId, Time};
use crate::wire::{End, Frame, FramePayload, Open};

pub struct Real {
    store: Analysis,
    end: Time,
    bodies: Decoded,
}

impl Real {
    /// The store of a script, with secrets redacted.
    pub fn of(text: &str) -> Real {
        let (mut real, rest) = Real::begun(text);
        rest.into_iter().for_each(|frame| real.store.handle(frame));
        real.store.advance(real.end);
        real
    }

    /// The store before the first frame, and the frames.
    pub fn begun(text: &str) -> (Real, Vec<Frame>) {
        let schema = Schema::builtin();
        let redact = Arc::new(Redactor::new(schema.clone(), 7));
        let catalog = Catalog::new(7, Some(redact), Box::new(MemoryBodies::default()));
        let script = script::parse(text, "a test").expect("a script");
        let loaded = script::load_into(&script, &SchemaCodec(schema.clone()), catalog).expect("content");
        let store = Store::new(loaded.catalog, loaded.clock, Options::default());
        let store = Analysis::new(store, rules(&schema));
        (Real { store, end: loaded.end, bodies: Decoded(schema) }, loaded.frames)
    }

    pub fn handle(&mut self, frame: Frame) {
        self.store.handle(frame);
    }

    pub fn gateway() -> Real {
        Real::of(include_str!("../../../tests/fixtures/tui/gateway.xds"))
    }

    /// Adds a failed connection to the server.
    pub fn fail(&mut self, stream: u32, at: u64, note: &str) {
        let [peer, server] = ["10.0.0.9:5000", "10.0.0.1:18000"].map(|address| Some(address.into()));
        let open = Open { method: Open::NOTHING.into(), peer, server, ..Open::default() };
        let end = End { by: Some(Side::Server), note: Some(note.into()), ..End::default() };
        for what in [FramePayload::Open(Box::new(open)), FramePayload::End(Box::new(end))] {
            let frame = Frame { at: Time(at * 1_000_000_000), stream: StreamId(stream), what };
            self.store.handle(frame);
        }
    }

    pub fn data(&self) -> StoreData<'_> {
        StoreData { store: &self.store, findings: self.store.findings(), bodies: &self.bodies, applied: None }
    }
}
