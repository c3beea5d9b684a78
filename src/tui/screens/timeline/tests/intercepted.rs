//! Messages that xdscope changed.

use crate::tests::script::ScriptedStore;
use crate::tests::{line, screen};
use xdscope_wire::discovery::encode::ResponseFields;
use xdscope_wire::event::{Dir, StreamId, Time};
use xdscope_wire::{Frame, FramePayload, Interference, Intervention, InterventionFacts};

#[test]
fn intervention_shows_the_original_beside_what_was_sent() {
    let type_url = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
    let mut source = ScriptedStore::new("node edge\nstream 1 ads\n+0s 1 > cds\n");
    let push = |version: &str| {
        let fields = ResponseFields { version, type_url, nonce: "a822", ..ResponseFields::default() };
        Some(fields.encode::<&[u8]>(false, []).into())
    };
    let facts = InterventionFacts {
        interference: Interference::Changed,
        dir: Dir::Resp,
        is_delta: false,
        type_url: type_url.into(),
        version: "43".into(),
        nonce: "a822".into(),
        by: "hand: h1".into(),
    };
    let what = Intervention { facts, original: push("43"), sent: push("44"), sent_dir: Dir::Resp };
    let what = FramePayload::Intercepted(Box::new(what));
    source.handle(Frame { at: Time(1_000_000_000), stream: StreamId(1), what });
    let beside = screen(&source.data(), "3G", 120, 36);
    assert!(beside.contains("push changed by hand: h1"), "{beside}");
    let changed = line(&beside, "version_info: \"43\"");
    assert!(changed.contains(" ~ version_info: \"44\""), "{beside}");
    let below = screen(&source.data(), "3G<enter>", 60, 24);
    assert!(below.contains("original") && below.contains("sent instead"), "{below}");
}
