use std::collections::HashMap;
use std::sync::LazyLock;

use proptest::prelude::*;
use prost::Message;
use prost_reflect::{DynamicMessage, SerializeOptions};
use serde_json::Value;

use super::field;
use super::packed as pack;
use super::random::Random;
use crate::schema::pool::Pool;
use crate::schema::{FieldNames, Schema, builtin};
use crate::wire::pb::{WIRE_VARINT, put_len_field, put_tag, put_varint};

/// For each name of an enum value that is not the first of its number: the first.
static ALIASES: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
    let mut aliases = HashMap::new();
    for pool in [builtin::v3(), builtin::v2()] {
        for item in pool.messages()[0].parent_pool().all_enums() {
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

/// Numbers that are whole are integers, as the walker writes them; an Empty in an Any is, as C++ has it, no value of
/// its own. Of the names of one enum value the reference takes any; here the first stands for all.
fn normal(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(normal),
        Value::Object(members) => {
            if members.get("@type").is_some_and(|url| url == "type.googleapis.com/google.protobuf.Empty") {
                members.remove("value");
            }
            members.values_mut().for_each(normal);
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

/// Both ways of reading a random message say the same, in both spellings of names; what the walker wrote reads back
/// as the same message.
fn check(pool: &Pool, at: usize, seed: u64) -> Result<(), TestCaseError> {
    let schema = Schema::builtin();
    let messages = pool.messages();
    let message = &messages[at % messages.len()];
    let name = message.full_name();
    // A version 2 type by that name is only asked for if it is Envoy's.
    if message.is_map_entry() || schema.message(name).as_ref() != Some(message) {
        return Ok(());
    }
    let bytes = Random(seed).message(message, 4).encode_to_vec();
    // What the bytes say: the encoder leaves out a negative zero in a map.
    let random = DynamicMessage::decode(message.clone(), &bytes[..]).expect("its own bytes");
    prop_assert_eq!(schema.faults(name, &bytes), vec![], "{} {}", name, seed);
    for names in [FieldNames::Original, FieldNames::Json] {
        let tree = schema.tree(name, &bytes, names);
        let options = SerializeOptions::new()
            .use_proto_field_name(names == FieldNames::Original)
            .stringify_64_bit_integers(true);
        // What its serializer refuses (an infinite number in a Value) it can't be asked about.
        if let Ok(mut expected) = random.serialize_with_options(serde_json::value::Serializer, &options) {
            let mut found = tree.clone();
            normal(&mut found);
            normal(&mut expected);
            prop_assert_eq!(found, expected, "{} {}", name, seed);
        }
        let text = schema.write_json(name, &bytes, names, Vec::new()).expect("a Vec takes every write");
        let read: Value = serde_json::from_slice(&text).expect("JSON");
        // Through text both ways: serde_json does not read every float back to the last bit.
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
    fn any_message_reads_as_prost_reflect_reads_it_and_comes_back(at in 0usize..10_000, seed in any::<u64>()) {
        check(builtin::v3(), at, seed)?;
    }
}

#[test]
fn a_message_of_every_type_reads_as_prost_reflect_reads_it_and_comes_back() {
    for pool in [builtin::v3(), builtin::v2()] {
        for at in 0..pool.messages().len() {
            check(pool, at, at as u64).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

#[test]
fn of_names_for_one_number_the_first_declared_is_shown() {
    // The other name, BEST_COMPRESSION, is declared after it.
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
fn an_any_is_opened_by_name_with_or_without_a_prefix() {
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
fn what_has_no_descriptor_is_shown_by_its_wire_form() {
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
            r#"{"@type":"type.googleapis.com/acme.Widget","@undecoded":"no descriptor for this type","#,
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
fn unknown_fields_and_bad_text_are_named_and_the_rest_is_still_shown() {
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
fn a_message_that_breaks_off_shows_what_came_before() {
    let schema = Schema::builtin();
    let mut bytes = field(1, b"c1");
    bytes.extend([0x12, 0x20, 1]);
    let shown = schema.message_to_json("envoy.config.cluster.v3.Cluster", &bytes);
    assert_eq!(shown.to_string(), r#"{"name":"c1","@damaged_at":4,"@rest":"EiAB"}"#);
}

#[test]
fn pieces_merge_and_the_last_of_a_oneof_stands() {
    let schema = Schema::builtin();
    // Cluster.connect_timeout (4) in two pieces; Cluster.type (2) then cluster_type (38), then type again.
    let mut bytes = field(4, &[0x08, 5]);
    put_len_field(&mut bytes, 38, &field(1, b"x"));
    bytes.extend([0x10, 3]);
    put_len_field(&mut bytes, 4, &[0x10, 0x80, 0xca, 0xb5, 0xee, 0x01]);
    let shown = schema.message_to_json("envoy.config.cluster.v3.Cluster", &bytes);
    assert_eq!(shown.to_string(), r#"{"type":"EDS","connect_timeout":"5.500s"}"#);
}

#[test]
fn meaning_does_not_depend_on_order() {
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
    // The order of a list is part of what it says.
    let (x, y) = (field(2, b"x"), field(2, b"y"));
    let host = |parts: &[&[u8]]| pack("envoy.config.route.v3.VirtualHost", &parts.concat());
    assert!(!schema.same_meaning(&host(&[&x, &y]), &host(&[&y, &x])));
}
