use serde_json::{Value, json};

use crate::{EncodeError, Schema};

const CLUSTER: &str = "envoy.config.cluster.v3.Cluster";

#[test]
fn accepts_both_spellings_of_names() {
    let value = json!({"connectTimeout": "1.5s", "name": "c", "lb_policy": "ROUND_ROBIN", "type": "EDS"});
    let bytes = Schema::builtin().encode(CLUSTER, &value);
    assert_eq!(bytes.as_deref(), Ok(&b"\x0a\x01c\x10\x03\x22\x08\x08\x01\x10\x80\xca\xb5\xee\x01"[..]));
}

#[test]
fn accepts_any_of_empty_without_value() {
    let schema = Schema::builtin();
    let socket = "envoy.config.core.v3.TransportSocket";
    let bare = json!({"typed_config": {"@type": "type.googleapis.com/google.protobuf.Empty"}});
    let mut full = bare.clone();
    full["typed_config"]["value"] = json!({});
    let bytes = schema.encode(socket, &bare).expect("a message");
    assert_eq!(schema.encode(socket, &full), Ok(bytes.clone()));
    assert_eq!(schema.message_to_json(socket, &bytes), bare);
}

#[test]
fn error_names_the_field_or_type() {
    let schema = Schema::builtin();
    let error = |value: Value| schema.encode(CLUSTER, &value).expect_err("an error").to_string();
    assert!(error(json!({"connect_timeut": "1s"})).contains("connect_timeut"));
    assert!(error(json!({"lb_policy": "ROUNDROBIN"})).contains("ROUNDROBIN"));
    let typed = json!({"transport_socket": {"typed_config": {"@type": "type.googleapis.com/acme.Tls"}}});
    assert!(error(typed).contains("acme.Tls"));
    assert_eq!(schema.encode("acme.A", &json!({})), Err(EncodeError::UnknownType("acme.A".into())));
    let mut deep = json!(1);
    for _ in 0..200 {
        deep = json!([deep]);
    }
    // The encoder may refuse values nested deeper than the decoder's limit.
    if let Ok(bytes) = schema.encode("google.protobuf.Value", &deep) {
        assert!(schema.message_to_json("google.protobuf.Value", &bytes).to_string().contains("@too_deep"));
    }
}
