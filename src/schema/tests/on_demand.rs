//! Types are loaded when they are needed.

use std::sync::{Arc, OnceLock};

use serde_json::json;

use super::{bytes, set_of};
use crate::links::ReferenceFinder;
use crate::pools::builtin;
use crate::pools::descriptors::Descriptors;
use crate::pools::pool::Pool;
use crate::redact::Redactor;
use crate::{NamedTypes, Schema};
use xdscope_wire::content::Redact;

const CLUSTER: &str = "envoy.config.cluster.v3.Cluster";
const ANY: &str = "google.protobuf.Any";

/// Returns the built-in types, with files of their own: other tests load those of the program.
fn unloaded() -> Arc<Schema> {
    let v3 = Pool::new(Arc::new(Descriptors::of_set(set_of(builtin::v3()))));
    let named = Some(Box::new(NamedTypes { v3, v2: OnceLock::new() }));
    Arc::new(Schema { named, ..Schema::default() })
}

fn loaded_files(schema: &Schema) -> usize {
    schema.v3().descriptors.loaded_files()
}

/// Returns a cluster with a secret and a broken constraint, as JSON.
fn cluster() -> serde_json::Value {
    json!({
        "name": "c1",
        "connect_timeout": "0s",
        "type": "EDS",
        "eds_cluster_config": {"service_name": "s1", "eds_config": {"ads": {}}},
        "transport_socket": {"name": "tls", "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
            "common_tls_context": {"tls_certificates": [{"password": {"inline_string": "hunter2-of-the-tests"}}]},
        }},
    })
}

#[test]
fn resources_load_the_files_of_their_types() {
    let schema = unloaded();
    assert!(schema.has_message(CLUSTER) && !schema.has_message("acme.v1.Widget"));
    assert_eq!(loaded_files(&schema), 0, "names need no file");
    schema.warm();
    let warm = loaded_files(&schema);
    assert!((1..40).contains(&warm), "{warm} files for the first request");

    let any = bytes(CLUSTER, &cluster());
    let clean = Redactor::new(schema.clone(), 1).resource(&any).expect("a secret");
    let links = ReferenceFinder::new(schema.clone()).references(&clean);
    let violations = schema.violations(ANY, &clean);
    let shown = schema.any_to_json(&clean);
    let used = loaded_files(&schema);
    assert!(warm < used && used < 100, "{used} files for a cluster");
    assert_eq!(schema.encode(ANY, &shown).as_ref(), Ok(&clean));
    assert_eq!(loaded_files(&schema), used, "nothing else is needed");

    let builtin = Schema::builtin();
    assert_eq!(Some(&clean), Redactor::new(builtin.clone(), 1).resource(&any).as_ref());
    assert_eq!(links, ReferenceFinder::new(builtin.clone()).references(&clean));
    assert_eq!((links.len(), violations.as_ref().map(Vec::len)), (1, Ok(1)));
    assert_eq!(violations, builtin.violations(ANY, &clean));
    assert_eq!(shown, builtin.any_to_json(&clean));
}

#[test]
fn encoding_loads_the_payloads_of_all_any() {
    let schema = unloaded();
    let encoded = schema.encode(CLUSTER, &cluster());
    assert_eq!(encoded, Schema::builtin().encode(CLUSTER, &cluster()));
    assert!(encoded.is_ok() && loaded_files(&schema) < 100);
    let unknown = json!({"transport_socket": {"typed_config": {"@type": "x/acme.v1.Widget"}}});
    assert_eq!(schema.encode(CLUSTER, &unknown), Schema::builtin().encode(CLUSTER, &unknown));
}

#[test]
fn texts_with_any_load_all_types() {
    let schema = unloaded();
    let any = bytes(CLUSTER, &cluster());
    assert_eq!(schema.text_format(&any), Schema::builtin().text_format(&any));
    assert_eq!(schema.v3().descriptors.files().len(), loaded_files(&schema));
}

#[test]
fn documentation_loads_the_files_of_a_message() {
    let schema = unloaded();
    for path in ["Cluster.connect_timeout", "Node", "RingHash", "NoSuch"] {
        assert_eq!(schema.explain(path).ok(), Schema::builtin().explain(path).ok(), "{path}");
    }
    let all = schema.v3().descriptors.names().len();
    assert!(loaded_files(&schema) < 150 && all > 1_500);
}
