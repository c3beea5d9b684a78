use std::time::{Duration, Instant};

use super::random::Random;
use super::{field, packed};
use crate::{FieldNames, Schema};

/// Time limit of each test. Linear work takes far less even in a debug build; quadratic work would
/// take hours.
const BOUND: Duration = Duration::from_secs(20);

#[test]
fn limits_nesting_of_any() {
    let schema = Schema::builtin();
    let mut bytes = field(1, b"core");
    for _ in 0..5_000 {
        bytes = packed("google.protobuf.Any", &bytes);
    }
    let start = Instant::now();
    let shown = schema.any_to_json(&bytes).to_string();
    assert!(start.elapsed() < BOUND);
    assert_eq!(shown.matches(r#""@type""#).count(), 101);
    assert!(shown.contains(r#""@too_deep""#));
    assert!(schema.faults("google.protobuf.Any", &bytes).iter().any(|fault| fault.path.contains("(Any)")));
}

#[test]
fn limits_nesting_of_structs() {
    let schema = Schema::builtin();
    let mut value = field(3, b"x");
    for _ in 0..5_000 {
        value = field(6, &field(1, &value));
    }
    let shown = schema.message_to_json("google.protobuf.Value", &value).to_string();
    assert!(shown.contains(r#""@too_deep""#) && shown.starts_with("[["), "{}", &shown[..80]);
}

#[test]
fn limits_nesting_of_unknown_messages() {
    let schema = Schema::builtin();
    let mut bytes = field(1, &[1, 2, 3]);
    for _ in 0..5_000 {
        bytes = field(1, &bytes);
    }
    let start = Instant::now();
    let shown = schema.message_to_json("acme.Unknown", &bytes).to_string();
    assert!(start.elapsed() < BOUND);
    assert!(shown.matches(r#"{"1":"#).count() <= 102);
    schema.message_to_json("acme.Unknown", &vec![0x0b; 100_000]);
}

#[test]
fn reads_a_million_small_fields_in_linear_time() {
    let schema = Schema::builtin();
    // The ways to make a long run: a list, a map with equal keys, a message in pieces, unknown
    // fields.
    for (name, piece) in [
        ("envoy.config.route.v3.VirtualHost", field(2, b"a")),
        ("envoy.config.cluster.v3.Cluster", field(36, &field(1, b"k"))),
        ("envoy.config.cluster.v3.Cluster", field(4, &[8, 1])),
        ("envoy.config.cluster.v3.Cluster", field(12345, b"u")),
        ("acme.Unknown", field(1, b"u")),
    ] {
        let bytes = piece.repeat(200_000);
        let start = Instant::now();
        assert!(schema.message_to_json(name, &bytes).is_object());
        assert!(start.elapsed() < BOUND, "{name}");
        assert!(schema.faults(name, &bytes).len() <= 100);
    }
}

#[test]
fn shows_damaged_messages_without_panic() {
    let schema = Schema::builtin();
    let mut random = Random(7);
    for name in [
        "envoy.config.cluster.v3.Cluster",
        "envoy.config.listener.v3.Listener",
        "envoy.config.core.v3.Node",
        "google.protobuf.Struct",
        "google.protobuf.Any",
        "google.protobuf.FileDescriptorSet",
    ] {
        let message = schema.message_among_all(name).expect("a built-in type");
        for _ in 0..300 {
            let mut bytes = prost::Message::encode_to_vec(&random.message(&message, 3));
            for _ in 0..=random.below(4) {
                let at = random.below(bytes.len().max(1) as u64) as usize;
                match random.below(3) {
                    0 => bytes.truncate(at),
                    1 => bytes.insert(at.min(bytes.len()), random.next() as u8),
                    _ => {
                        if let Some(byte) = bytes.get_mut(at) {
                            *byte = random.next() as u8;
                        }
                    }
                }
            }
            let tree = schema.tree(name, &bytes, FieldNames::Json);
            let text = schema
                .write_json(name, &bytes, FieldNames::Json, Vec::new())
                .expect("a Vec takes every write");
            let read: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
            // Compare parsed texts, because serde_json does not parse every float exactly.
            let tree: serde_json::Value = serde_json::from_str(&tree.to_string()).expect("JSON");
            assert_eq!(read, tree);
            schema.faults(name, &bytes);
        }
    }
}
