//! The engine through its facts: the scenarios of section N.1 as arrow scripts, and what scripts can't say.

mod bounds;
mod delta;
mod ledger;
mod partial;
mod problems;
mod reconnect;
mod replay;
mod sotw;
mod versions;

use crate::sources::script::{self, Codec};

use super::{Options, Store};

/// Scripts here name resources only by their smallest valid form.
struct NoCodec;

impl Codec for NoCodec {
    fn encode(&self, message: &str, _: &serde_json::Value) -> Result<Vec<u8>, String> {
        Err(format!("no content of {message} here"))
    }
    fn decode(&self, _: &str, _: &[u8]) -> Option<serde_json::Value> {
        None
    }
}

/// Replays a script; every `expect` line in it must hold.
#[track_caller]
fn holds(text: &str) {
    let script = script::parse(text, "test.xds").unwrap_or_else(|error| panic!("{error:?}"));
    let outcomes =
        script::check(&script, &NoCodec, Options::default(), crate::engine::lint::Options::default(), None);
    let outcomes = outcomes.unwrap_or_else(|error| panic!("{error}"));
    assert!(outcomes.is_empty(), "{outcomes:#?}");
}

/// The store after a script.
#[track_caller]
fn replay(text: &str) -> Store {
    let script = script::parse(text, "test.xds").unwrap_or_else(|error| panic!("{error:?}"));
    let loaded = script::load(&script, &NoCodec).unwrap_or_else(|error| panic!("{error}"));
    let mut store = Store::new(loaded.catalog, loaded.clock, Options::default());
    for frame in loaded.frames {
        store.handle(frame);
    }
    store.advance(loaded.end);
    store
}

#[test]
fn the_examples_hold() {
    holds(include_str!("../../../../examples/delta-reconnect.xds"));
    holds(include_str!("../../../../examples/missing-name.xds"));
    holds(include_str!("../../../../examples/nack.xds"));
}
