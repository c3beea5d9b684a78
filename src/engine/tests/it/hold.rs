use std::sync::Arc;

use xdscope_engine::diff::Op;
use xdscope_engine::hold::*;
use xdscope_engine::store::{Options, SchemaSemantics, Store};
use xdscope_schema::Schema;
use xdscope_sources::{SchemaCodec, script};
use xdscope_wire::MessageShape;
use xdscope_wire::content::Catalog;
use xdscope_wire::discovery::encode::{ResponseFields, encode_any};
use xdscope_wire::event::StreamId;

const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

fn store() -> Store {
    let text = "node edge\nstream 1 ads\n+0s 1 > cds\n\
                +1s 1 < cds v=41 n=a [cart{connect_timeout: 5s} reviews{connect_timeout: 5s} old]\n\
                +2s 1 > cds v=41 n=a\n";
    let schema = Schema::builtin();
    let script = script::parse(text, "a test").expect("a script");
    let loaded = script::load_into(&script, &SchemaCodec(schema.clone()), Catalog::in_memory());
    let loaded = loaded.expect("content");
    let mut store = Store::new(loaded.catalog, loaded.clock, Options::default());
    store.set_meaning(Arc::new(SchemaSemantics::new(schema)));
    loaded.frames.into_iter().for_each(|frame| store.handle(frame));
    store
}

fn push(resources: &[(&str, &str)]) -> HeldFact {
    let schema = Schema::builtin();
    let entries = resources.iter().map(|(name, timeout)| {
        let json = serde_json::json!({ "name": name, "connect_timeout": timeout });
        encode_any(CLUSTER, &schema.encode(CLUSTER, &json).expect("a cluster"))
    });
    let fields = ResponseFields { version: "43", type_url: CLUSTER, nonce: "c", ..ResponseFields::default() };
    HeldFact {
        id: HeldId(1),
        shape: MessageShape::SotwResponse,
        is_v2: false,
        type_url: CLUSTER.into(),
        version: "43".into(),
        nonce: "c".into(),
        node: None,
        count: resources.len() as u64,
        bytes: fields.encode(false, entries).into(),
    }
}

#[test]
fn compares_with_what_the_client_acknowledged() {
    let store = store();
    let fact = push(&[("cart", "5s"), ("reviews", "1s"), ("ledger", "5s")]);
    let diff = compare_held(&store, &Schema::builtin(), &fact, Some(StreamId(1)));
    assert_eq!(diff.base.as_deref(), Some("41"));
    assert_eq!(diff.counts(), [1, 1, 1]);
    let changed = diff.changed.first().expect("reviews");
    let changes = changed.changes.as_ref().expect("its fields");
    assert!(
        changes.iter().any(|change| change.path.to_string() == "connect_timeout" && change.op == Op::Changed)
    );
    assert_eq!(diff.removed, [Arc::from("old")]);
    let unknown = compare_held(&store, &Schema::builtin(), &fact, None);
    assert_eq!((unknown.base, unknown.added.len()), (None, 3));
}
