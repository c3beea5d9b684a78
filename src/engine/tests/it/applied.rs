//! Dumps compared with what was sent.

use std::sync::Arc;

use serde_json::{Value, json};
use xdscope_engine::applied::{AppliedDiff, AppliedState, Dump, read};
use xdscope_engine::store::{Options, Store};
use xdscope_schema::Schema;

const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
const SECRET: &str = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret";

fn section(name: &str, mut fields: Value) -> Value {
    fields["@type"] = json!(format!("type.googleapis.com/envoy.admin.v3.{name}"));
    fields
}

fn dump(configs: &[Value]) -> Dump {
    let text = json!({ "configs": configs }).to_string();
    read("dump.json", text.as_bytes(), &Schema::builtin()).unwrap()
}

fn sent(script: &str) -> Store {
    let schema = Schema::builtin();
    let script = xdscope_sources::script::parse(script, "sent.xds").unwrap();
    let codec = xdscope_sources::SchemaCodec(schema);
    let loaded = xdscope_sources::script::load(&script, &codec).unwrap();
    let mut store = Store::new(loaded.catalog, loaded.clock, Options::default());
    loaded.frames.into_iter().for_each(|frame| store.handle(frame));
    store.advance(loaded.end);
    store
}

#[test]
fn compares_with_all_open_streams_of_a_client() {
    let mut store = sent(
        "node edge-1\n\
         stream 1 sotw sds\n> names=[old]\n< v=1 n=1 [old]\n> v=1 n=1 names=[old]\n1 close\n\
         stream 2 sotw sds\n> names=[own]\n< v=1 n=1 [own]\n> v=1 n=1 names=[own]\n\
         stream 3 sotw sds\n> names=[other both]\n< v=1 n=1 [other both~2]\n> v=1 n=1 names=[other both]\n\
         stream 4 sotw sds\n> names=[both late]\n< v=1 n=1 [both late]\n> v=1 n=1 names=[both late]\n\
         node edge-2\n\
         stream 5 sotw sds\n> names=[foreign]\n< v=1 n=1 [foreign]\n> v=1 n=1 names=[foreign]\n",
    );
    let secret =
        |name: &str| json!({"name": name, "version_info": "1", "secret": {"@type": SECRET, "name": name}});
    let active = ["old", "own", "other", "both", "foreign"].map(secret);
    let has = dump(&[
        section("BootstrapConfigDump", json!({"bootstrap": {"node": {"id": "edge-1"}}})),
        section("SecretsConfigDump", json!({"dynamic_active_secrets": active})),
    ]);
    let applied = AppliedState::new(has, Schema::builtin());
    let diffs = |store: &Store| -> Vec<Option<AppliedDiff>> {
        store.states().iter().map(|state| applied.compare(state, store)).collect()
    };
    let whole = |total| AppliedDiff { total, applied: total, ..AppliedDiff::default() };
    let with_extra = |extra: &[&str]| AppliedDiff { extra: names(extra), ..whole(1) };
    let last = AppliedDiff { applied: 1, missing: names(&["late"]), ..whole(2) };
    let expected = [
        // A closed stream is not compared, and its resources count no more.
        None,
        Some(with_extra(&["old", "foreign"])),
        Some(whole(2)),
        Some(last.clone()),
        None,
    ];
    // Stream 3 has another content of `both`, and the content of stream 4 is in use.
    assert_eq!(diffs(&store), expected);
    assert_eq!(diffs(&store), expected, "from the cache");
    // Once a stream closes, its resources are on no open stream.
    let what = xdscope_wire::FramePayload::End(Box::default());
    store.handle(xdscope_wire::Frame { at: store.now(), stream: xdscope_wire::event::StreamId(4), what });
    let after = diffs(&store);
    assert_eq!((&after[1], &after[3]), (&Some(with_extra(&["old", "foreign"])), &None));
    let third = AppliedDiff { applied: 1, differing: names(&["both"]), ..whole(2) };
    assert_eq!(after[2], Some(third));
}

#[test]
fn rejection_of_an_accepted_resource_is_a_difference() {
    let store = sent("node n1\nstream 1 ads\n> cds\n< cds v=1 n=1 [a]\n> cds v=1 n=1\n");
    let state = &store.states()[0];
    let compare = |rejected: &str| {
        let error = json!({"details": "bad", "version_info": rejected});
        let entry =
            json!({"type_url": CLUSTER, "name": "a", "client_status": "NACKED", "error_state": error});
        let config = json!({"node": {"id": "n1"}, "generic_xds_configs": [entry]});
        let text = json!({"config": [config]}).to_string();
        let dump = read("csds.json", text.as_bytes(), &Schema::builtin()).unwrap();
        AppliedState::new(dump, Schema::builtin()).compare(state, &store).unwrap()
    };
    let (accepted, other) = (compare("1"), compare("2"));
    assert_eq!(
        (accepted.missing.len(), accepted.refused_accepted.len(), accepted.is_problem()),
        (0, 1, true)
    );
    assert!(accepted.refused.iter().map(|name| &**name).eq(["a"]), "{:?}", accepted.refused);
    assert_eq!((other.refused.len(), other.refused_accepted.len(), other.is_problem()), (1, 0, false));
}

fn names(names: &[&str]) -> Vec<Arc<str>> {
    names.iter().map(|name| Arc::from(*name)).collect()
}

#[test]
fn response_that_an_envoy_refuses_whole_is_not_missing() {
    let nack = "goo.gle/debugstr  \\nname: \\\"bad\\\"\\n: Proto constraint validation failed (X)";
    let store = sent(&format!(
        "node n1 agent=\"envoy/1.40.0\"\nstream 1 delta cds\n> sub=[*]\n< n=1 [bad@1 a@1 b@1]\n> n=1 nack=\"{nack}\"\n"
    ));
    let dump = dump(&[section("ClustersConfigDump", json!({"version_info": ""}))]);
    let applied = AppliedState::new(dump, Schema::builtin());
    let diff = applied.compare(&store.states()[0], &store).expect("a comparison");
    let mut refused = diff.refused.clone();
    refused.sort();
    assert_eq!((diff.missing.len(), refused, diff.is_problem()), (0, names(&["a", "b", "bad"]), false));
}

#[test]
fn first_extension_configuration_that_an_envoy_refuses_is_not_in_use() {
    let extension = "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig";
    let empty = json!({"@type": "type.googleapis.com/google.protobuf.Empty"});
    let filter = json!({"@type": extension, "name": "f", "typed_config": empty});
    let filter = json!({"version_info": "1", "ecds_filter": filter});
    let dump = || dump(&[section("EcdsConfigDump", json!({"ecds_filters": [filter.clone()]}))]);
    let compare = |script: &str| {
        let store = sent(script);
        AppliedState::new(dump(), Schema::builtin())
            .compare(&store.states()[0], &store)
            .expect("a comparison")
    };
    let start = "node n1 agent=\"envoy/1.40.0\"\nstream 1 sotw ecds\n> names=[f]\n< v=1 n=1 [f]\n";
    let refused = compare(&format!("{start}> v= n=1 names=[f] nack=\"unknown filter\"\n"));
    assert_eq!((refused.refused, refused.despite_nack), (names(&["f"]), Vec::new()));
    let accepted = compare(&format!("{start}> v=1 n=1 names=[f]\n"));
    assert_eq!((accepted.applied, accepted.refused), (1, Vec::new()));
}
