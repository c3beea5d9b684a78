use std::collections::HashMap;
use std::sync::LazyLock;

use proptest::prelude::*;
use prost::Message;
use prost_reflect::{DynamicMessage, MessageDescriptor, SerializeOptions};
use serde_json::Value;

use super::field;
use super::packed as pack;
use super::random::Random;
use crate::pools::builtin;
use crate::{FieldNames, Schema};
use xdscope_wire::pb::{WIRE_VARINT, put_len_field, put_tag, put_varint};

/// Maps each alias of an enum value to the first name of its number.
static ALIASES: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
    let mut aliases = HashMap::new();
    for pool in [builtin::v3(), builtin::v2()] {
        for item in pool.descriptors.all().all_enums() {
            let declared = &item.enum_descriptor_proto().value;
            for value in declared {
                let first = declared.iter().find(|first| first.number() == value.number());
                if let Some(first) = first.filter(|first| first.name() != value.name()) {
                    aliases.insert(value.name().to_owned(), first.name().to_owned());
                }
            }
        }
    }
    aliases
});

/// Converts the JSON of prost-reflect to the conventions of the walker.
///
/// Whole numbers become integers, the `value` of an `Any` of an `Empty` is removed as in C++, and
/// aliases of enum values become the first name.
fn normalize(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(normalize),
        Value::Object(members) => {
            if members.get("@type").is_some_and(|url| url == "type.googleapis.com/google.protobuf.Empty") {
                members.remove("value");
            }
            members.values_mut().for_each(normalize);
        }
        Value::String(text) => {
            if let Some(first) = ALIASES.get(text) {
                first.clone_into(text);
            }
        }
        Value::Number(number) => {
            if let Some(float) =
                number.as_f64().filter(|f| number.is_f64() && f.fract() == 0.0 && f.abs() < 9e15)
                && !(float == 0.0 && float.is_sign_negative())
            {
                *value = Value::from(float as i64);
            }
        }
        _ => {}
    }
}

/// Checks that the walker and prost-reflect decode a random message to equal JSON, and that the
/// JSON encodes back.
fn check(message: &MessageDescriptor, seed: u64) -> Result<(), TestCaseError> {
    let schema = Schema::builtin();
    let name = message.full_name();
    // The schema searches the v2 pool for Envoy's types only.
    if message.is_map_entry() || schema.message(name).as_ref() != Some(message) {
        return Ok(());
    }
    let bytes = Random(seed).message(message, 4).encode_to_vec();
    // Decode the bytes again, because the encoder omits a negative zero in a map.
    let random = DynamicMessage::decode(message.clone(), &bytes[..]).expect("its own bytes");
    prop_assert_eq!(schema.faults(name, &bytes), vec![], "{} {}", name, seed);
    for names in [FieldNames::Original, FieldNames::Json] {
        let tree = schema.tree(name, &bytes, names);
        let options = SerializeOptions::new()
            .use_proto_field_name(names == FieldNames::Original)
            .stringify_64_bit_integers(true);
        // prost-reflect refuses some values, such as an infinite number in a Value.
        if let Ok(mut expected) = random.serialize_with_options(serde_json::value::Serializer, &options) {
            let mut found = tree.clone();
            normalize(&mut found);
            normalize(&mut expected);
            prop_assert_eq!(found, expected, "{} {}", name, seed);
        }
        let text = schema.write_json(name, &bytes, names, Vec::new()).expect("a Vec takes every write");
        let read: Value = serde_json::from_slice(&text).expect("JSON");
        // Compare parsed texts, because serde_json does not parse every float exactly.
        let same: Value = serde_json::from_str(&tree.to_string()).expect("JSON");
        prop_assert_eq!(read, same, "{} {}", name, seed);
        let again = match schema.encode(name, &tree) {
            Ok(again) => again,
            Err(error) => return Err(TestCaseError::fail(format!("{name} {seed}: {error}\n{tree:#}"))),
        };
        prop_assert_eq!(schema.tree(name, &again, names), tree, "{} {}", name, seed);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn random_messages_match_prost_reflect_and_round_trip(at in 0usize..10_000, seed in any::<u64>()) {
        let messages = builtin::v3().messages();
        check(&messages[at % messages.len()], seed)?;
    }
}

#[test]
fn all_types_match_prost_reflect_and_round_trip() {
    for pool in [builtin::v3(), builtin::v2()] {
        for (message, seed) in pool.messages().iter().zip(0..) {
            check(message, seed).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

#[test]
fn shows_the_first_name_of_an_enum_number() {
    // The declaration of the alias BEST_COMPRESSION comes later.
    let name = "envoy.extensions.compression.gzip.compressor.v3.Gzip";
    let message = Schema::builtin().message(name).expect("in the set");
    let field = message.get_field_by_name("compression_level").expect("a field");
    let mut bytes = Vec::new();
    put_tag(&mut bytes, field.number(), WIRE_VARINT);
    put_varint(&mut bytes, 9);
    let shown = Schema::builtin().message_to_json(name, &bytes);
    assert_eq!(shown.to_string(), r#"{"compression_level":"COMPRESSION_LEVEL_9"}"#);
}

#[test]
fn decodes_any_with_and_without_type_url_prefix() {
    let schema = Schema::builtin();
    let cluster = field(1, b"reviews");
    let opened = schema.any_to_json(&pack("envoy.config.cluster.v3.Cluster", &cluster));
    let expected = r#"{"@type":"type.googleapis.com/envoy.config.cluster.v3.Cluster","name":"reviews"}"#;
    assert_eq!(opened.to_string(), expected);
    let mut bare = field(1, b"envoy.api.v2.Cluster");
    put_len_field(&mut bare, 2, &cluster);
    assert_eq!(schema.any_to_json(&bare).to_string(), r#"{"@type":"envoy.api.v2.Cluster","name":"reviews"}"#);
    assert_eq!(schema.any_to_json(b"").to_string(), "{}");
}

#[test]
fn shows_fields_of_unknown_types() {
    let schema = Schema::builtin();
    let mut inner = field(1, b"text");
    put_tag(&mut inner, 2, WIRE_VARINT);
    put_varint(&mut inner, 7);
    put_len_field(&mut inner, 3, &field(1, b"deep"));
    put_len_field(&mut inner, 3, &[0xff, 0xfe]);
    let shown = schema.any_to_json(&pack("acme.Widget", &inner));
    assert_eq!(
        shown.to_string(),
        concat!(
            r#"{"@type":"type.googleapis.com/acme.Widget","@undecoded":"no descriptor for this type: --protoset adds one","#,
            r#""@size":20,"@wire":{"1":"text","2":7,"3":[{"1":"deep"},{"@bytes":"//4="}]}}"#
        )
    );
    let faults = schema.faults("google.protobuf.Any", &pack("acme.Widget", &inner));
    assert_eq!(
        faults.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["no descriptor for type.googleapis.com/acme.Widget"]
    );
}

#[test]
fn marks_unknown_fields_and_invalid_utf8() {
    let schema = Schema::builtin();
    let mut address = field(2, &[b'h', 0xff]);
    put_tag(&mut address, 3, WIRE_VARINT);
    put_varint(&mut address, 80);
    put_len_field(&mut address, 99, b"new");
    let bytes = field(1, &address);
    let shown = schema.message_to_json("envoy.config.core.v3.Address", &bytes);
    assert_eq!(
        shown.to_string(),
        concat!(
            r#"{"socket_address":{"address":{"@invalid_utf8":"h�","@bytes":"aP8="},"#,
            r#""port_value":80,"@unknown":{"99":"new"}}}"#
        )
    );
    let faults = schema.faults("envoy.config.core.v3.Address", &bytes);
    assert_eq!(
        faults.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["socket_address.address: invalid UTF-8", "socket_address: 1 fields that the descriptor lacks"]
    );
}

#[test]
fn shows_the_fields_before_damage() {
    let schema = Schema::builtin();
    let mut bytes = field(1, b"c1");
    bytes.extend([0x12, 0x20, 1]);
    let shown = schema.message_to_json("envoy.config.cluster.v3.Cluster", &bytes);
    assert_eq!(shown.to_string(), r#"{"name":"c1","@damaged_at":4,"@rest":"EiAB"}"#);
}

#[test]
fn merges_message_pieces_and_keeps_the_last_oneof_member() {
    let schema = Schema::builtin();
    // Cluster.connect_timeout (4) in two pieces; Cluster.type (2) then cluster_type (38), then type
    // again.
    let mut bytes = field(4, &[0x08, 5]);
    put_len_field(&mut bytes, 38, &field(1, b"x"));
    bytes.extend([0x10, 3]);
    put_len_field(&mut bytes, 4, &[0x10, 0x80, 0xca, 0xb5, 0xee, 0x01]);
    let shown = schema.message_to_json("envoy.config.cluster.v3.Cluster", &bytes);
    assert_eq!(shown.to_string(), r#"{"type":"EDS","connect_timeout":"5.500s"}"#);
}

#[test]
fn same_meaning_ignores_order_of_fields_and_map_entries() {
    let schema = Schema::builtin();
    let entry = |key: &[u8], value: &[u8]| {
        let mut entry = field(1, key);
        put_len_field(&mut entry, 2, value);
        field(36, &entry)
    };
    let inner = pack("envoy.extensions.upstreams.http.v3.HttpProtocolOptions", b"");
    let (a, b) = (entry(b"a", &inner), entry(b"b", &inner));
    let name = field(1, b"c1");
    let cluster = |parts: &[&[u8]]| pack("envoy.config.cluster.v3.Cluster", &parts.concat());
    assert!(schema.same_meaning(&cluster(&[&name, &a, &b]), &cluster(&[&b, &name, &a])));
    assert!(!schema.same_meaning(&cluster(&[&name, &a, &b]), &cluster(&[&name, &a])));
    // The order of a list matters.
    let (x, y) = (field(2, b"x"), field(2, b"y"));
    let host = |parts: &[&[u8]]| pack("envoy.config.route.v3.VirtualHost", &parts.concat());
    assert!(!schema.same_meaning(&host(&[&x, &y]), &host(&[&y, &x])));
}
