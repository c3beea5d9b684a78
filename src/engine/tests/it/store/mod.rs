//! Tests of the engine through its facts, most of them as arrow scripts.

mod client_marks;
mod delta;
mod events;
mod failing;
mod ledger;
mod nonces;
mod partial;
mod reconnect;
mod refusals;
mod replay;
mod sotw;
mod versions;

use xdscope_sources::script::{self, Codec};
use xdscope_wire::FramePayload;

use xdscope_engine::store::{Options, Store};

/// A codec for scripts that have no resource contents.
pub(crate) struct NoCodec;

impl Codec for NoCodec {
    fn encode(&self, message: &str, _: &serde_json::Value) -> Result<Vec<u8>, script::CodecError> {
        Err(script::CodecError::new(format!("no content for {message}")))
    }
    fn decode(&self, _: &str, _: &[u8]) -> Option<serde_json::Value> {
        None
    }
}

/// Replays a script and checks all of its `expect` lines.
#[track_caller]
fn holds(text: &str) {
    let script = script::parse(text, "test.xds").unwrap_or_else(|error| panic!("{error:?}"));
    let outcomes =
        script::check(&script, &NoCodec, Options::default(), xdscope_engine::lint::Options::default(), None);
    let outcomes = outcomes.unwrap_or_else(|error| panic!("{error}"));
    assert!(outcomes.is_empty(), "{outcomes:#?}");
}

/// Returns the store after a script.
#[track_caller]
pub(crate) fn replay(text: &str) -> Store {
    replay_edited(text, |_| {})
}

/// Returns the store after a script whose frames are edited first.
#[track_caller]
fn replay_edited(text: &str, edit: impl Fn(&mut FramePayload)) -> Store {
    let script = script::parse(text, "test.xds").unwrap_or_else(|error| panic!("{error:?}"));
    let loaded = script::load(&script, &NoCodec).unwrap_or_else(|error| panic!("{error}"));
    let mut store = Store::new(loaded.catalog, loaded.clock, Options::default());
    for mut frame in loaded.frames {
        edit(&mut frame.what);
        store.handle(frame);
    }
    store.advance(loaded.end);
    store
}

#[test]
fn example_scripts_pass() {
    holds(include_str!("../../../../../examples/delta-reconnect.xds"));
    holds(include_str!("../../../../../examples/missing-name.xds"));
    holds(include_str!("../../../../../examples/nack.xds"));
}

#[test]
fn accepts_letter_codes_as_request_classes() {
    holds(
        "node n
         stream 1 ads
         > cds
         expect message 1 class=R1
         < cds v=1 n=a [A]
         > cds v=1 n=a
         expect message 3 class=R7
         stream 2 delta cds
         2 > sub=[a]
         expect message 4 class=Q1",
    );
}

#[test]
fn rejects_letter_code_of_other_variant() {
    let script = script::parse("stream 1 delta cds\n> sub=[a]\nexpect message 1 class=R1", "test.xds");
    let script = script.expect("valid script");
    let lint = xdscope_engine::lint::Options::default();
    let failures = script::check(&script, &NoCodec, Options::default(), lint, None).expect("loadable script");
    assert_eq!(failures[0].found, "class=\"initial\"");
}
