//! Descriptor sets that protoc and buf never write.

use proptest::prelude::*;
use prost::Message;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, EnumValueDescriptorProto, FieldDescriptorProto,
    FileDescriptorProto, FileDescriptorSet, MessageOptions, UninterpretedOption,
    descriptor_proto::ReservedRange,
};

use crate::pools::builtin;
use crate::{MessageFormat, Schema};
use xdscope_wire::pb::put_len_field;

fn message(name: &str) -> DescriptorProto {
    DescriptorProto { name: Some(name.to_owned()), ..DescriptorProto::default() }
}

fn field(name: &str, number: i32, kind: Type, type_name: &str) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(name.to_owned()),
        number: Some(number),
        r#type: Some(kind.into()),
        type_name: Some(type_name.to_owned()).filter(|name| !name.is_empty()),
        label: Some(Label::Optional.into()),
        ..FieldDescriptorProto::default()
    }
}

fn file(name: &str, imports: &[String], messages: Vec<DescriptorProto>) -> FileDescriptorProto {
    FileDescriptorProto {
        name: Some(name.to_owned()),
        syntax: Some("proto3".to_owned()),
        dependency: imports.to_vec(),
        public_dependency: (0..imports.len() as i32).collect(),
        message_type: messages,
        ..FileDescriptorProto::default()
    }
}

fn load(set: &[u8]) -> Result<std::sync::Arc<Schema>, String> {
    let schema = Schema::with(&[("x.bin".to_owned(), set.to_vec())], &[], &[]);
    schema.map_err(|error| {
        let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        assert!(source.len() < 4096, "{} bytes", source.len());
        format!("{error}: {source}")
    })
}

fn encode(files: Vec<FileDescriptorProto>) -> Vec<u8> {
    FileDescriptorSet { file: files }.encode_to_vec()
}

#[track_caller]
fn refuse(set: &[u8], why: &str) {
    let error = load(set).expect_err("a hostile set");
    assert!(error.contains(why), "{error}");
}

#[test]
fn refuses_unknown_syntax() {
    let unknown = FileDescriptorProto { syntax: Some("proto9".into()), ..file("a", &[], vec![message("A")]) };
    let set = encode(vec![unknown]);
    assert!(set.len() < 55);
    refuse(&set, "proto9");
}

#[test]
fn reads_imports_in_a_circle() {
    let circle = |name: &str, import: &str| file(name, &[import.to_owned()], vec![]);
    assert!(load(&encode(vec![circle("a", "a")])).is_ok());
    assert!(load(&encode(vec![circle("a", "b"), circle("b", "a")])).is_ok());
}

#[test]
fn reads_public_imports_of_public_imports() {
    let names: Vec<String> = (0..60).map(|n| format!("{n}.proto")).collect();
    let files = |imports: usize| -> Vec<_> {
        let imports = |n: usize| &names[(n + 1).min(names.len())..(n + 1 + imports).min(names.len())];
        (0..names.len()).map(|n| file(&names[n], imports(n), vec![])).collect()
    };
    let mut chain = files(1);
    chain[59].message_type.push(message("Last"));
    let mut first = message("First");
    first.field.push(field("last", 1, Type::Message, ".Last"));
    chain[0].message_type.push(first);
    assert!(load(&encode(chain)).is_ok());
    // Each file is reached in many ways.
    assert!(load(&encode(files(3))).is_ok());
}

#[test]
fn refuses_names_of_quadratic_cost() {
    let long = "a.".repeat(100_000) + "a";
    refuse(&encode(vec![FileDescriptorProto { package: Some(long), ..file("a", &[], vec![]) }]), "package");
    let mut nested = message("M");
    for _ in 0..50 {
        nested = DescriptorProto { nested_type: vec![nested], ..message("M") };
    }
    refuse(&encode(vec![file("a", &[], vec![nested])]), "nested too deeply");
    refuse(&encode(vec![file("a", &[], vec![message(&"a".repeat(2000))])]), "too long");
    let many = FileDescriptorProto {
        package: Some("a".repeat(1000)),
        ..file("a", &[], (0..100_000).map(|n| message(&format!("m{n}"))).collect())
    };
    refuse(&encode(vec![many]), "bytes of names");
    for name in ["", "a b", "a.b", "1", "a\u{202e}", "ä"] {
        refuse(&encode(vec![file("a", &[], vec![message(name)])]), "is not the name of a message");
    }
}

#[test]
fn refuses_many_entries() {
    let empty = [0x22, 0].repeat(1 << 20);
    let mut set = Vec::new();
    put_len_field(&mut set, 1, &[&b"\x0a\x01a"[..], &empty].concat());
    refuse(&set, "is not the name of a message");
    let oneofs = [0x42, 3, 0x0a, 1, b'a'].repeat(1 << 20);
    let mut inner = b"\x0a\x01M".to_vec();
    inner.extend(oneofs);
    let mut set = Vec::new();
    let mut bytes = b"\x0a\x01a".to_vec();
    put_len_field(&mut bytes, 4, &inner);
    put_len_field(&mut set, 1, &bytes);
    refuse(&set, "more than 500000");
    refuse(&[0x0a, 0].repeat(30_000), "empty");
    refuse(&[0x0a, 3, 0x0a, 1, b'a'].repeat(30_000), "20000 files");
    let imports: Vec<String> = (0..2000).map(|n| format!("{n}")).collect();
    refuse(&encode(imports.iter().map(|name| file(name, &imports, vec![])).collect()), "10000000 ways");
}

#[test]
fn refuses_long_enums_and_many_ranges() {
    let value = |n: i32| EnumValueDescriptorProto {
        name: Some(format!("V{n}")),
        number: Some(-n),
        ..EnumValueDescriptorProto::default()
    };
    let values = EnumDescriptorProto {
        name: Some("E".into()),
        value: (0..100_000).map(value).collect(),
        ..EnumDescriptorProto::default()
    };
    let long = FileDescriptorProto { enum_type: vec![values], ..file("a", &[], vec![]) };
    refuse(&encode(vec![long]), "8192 values");
    let range = ReservedRange { start: Some(1), end: Some(2) };
    let ranges = DescriptorProto { reserved_range: vec![range; 100_000], ..message("M") };
    refuse(&encode(vec![file("a", &[], vec![ranges])]), "1024 ranges");
}

#[test]
fn refuses_options_that_are_not_interpreted() {
    let aggregate_value = Some("a{".repeat(100_000));
    let option = UninterpretedOption { aggregate_value, ..UninterpretedOption::default() };
    let options = MessageOptions { uninterpreted_option: vec![option], ..MessageOptions::default() };
    let mut with_options = DescriptorProto { options: Some(options), ..message("M") };
    refuse(&encode(vec![file("a", &[], vec![with_options.clone()])]), "64 kB of options");
    with_options.options = Some(MessageOptions {
        uninterpreted_option: vec![UninterpretedOption::default()],
        ..MessageOptions::default()
    });
    refuse(&encode(vec![file("a", &[], vec![with_options])]), "not interpreted");
}

#[test]
fn refuses_maps_and_messages_of_protobuf_in_another_form() {
    let map = MessageOptions { map_entry: Some(true), ..MessageOptions::default() };
    let entry = DescriptorProto { options: Some(map), ..message("Entry") };
    let mut items = field("items", 1, Type::Message, ".M.Entry");
    items.label = Some(Label::Repeated.into());
    let holder = |entry: DescriptorProto| {
        let holder = DescriptorProto { nested_type: vec![entry], field: vec![items.clone()], ..message("M") };
        encode(vec![file("a", &[], vec![holder])])
    };
    refuse(&holder(entry.clone()), "M.Entry is not the entry of a map");
    let fields = |key: Type| vec![field("key", 1, key, ""), field("value", 2, Type::Int32, "")];
    refuse(&holder(DescriptorProto { field: fields(Type::Double), ..entry.clone() }), "entry of a map");
    assert!(load(&holder(DescriptorProto { field: fields(Type::Int64), ..entry })).is_ok());

    let timestamp = DescriptorProto {
        field: vec![field("seconds", 1, Type::String, ""), field("nanos", 2, Type::Int32, "")],
        ..message("Timestamp")
    };
    let protobuf = |message: DescriptorProto| {
        let package = Some("google.protobuf".to_owned());
        encode(vec![FileDescriptorProto { package, ..file("a", &[], vec![message]) }])
    };
    refuse(&protobuf(timestamp.clone()), "google.protobuf.Timestamp differs");
    refuse(&protobuf(message("Struct")), "google.protobuf.Struct differs");
    // Options of other versions lack fields or have more.
    assert!(load(&protobuf(message("FieldOptions"))).is_ok());
    let outer = DescriptorProto { nested_type: vec![timestamp], ..message("protobuf") };
    let set = FileDescriptorProto { package: Some("google".into()), ..file("a", &[], vec![outer]) };
    refuse(&encode(vec![set]), "google.protobuf.Timestamp differs");
}

#[test]
fn refuses_escapes_of_more_than_a_byte() {
    let default = |value: &str| {
        let bytes = field("b", 1, Type::Bytes, "");
        let with_default = FieldDescriptorProto { default_value: Some(value.to_owned()), ..bytes };
        let holder = DescriptorProto { field: vec![with_default], ..message("M") };
        encode(vec![FileDescriptorProto { syntax: None, ..file("a", &[], vec![holder]) }])
    };
    assert!(load(&default("\\377\\001x")).is_ok());
    refuse(&default("x\\777"), "default value");
    refuse(&default("\\xa\u{e9}"), "default value");
}

#[test]
fn reads_the_builtin_set_unchanged() {
    for pool in [builtin::v3(), builtin::v2()] {
        let schema = load(&super::set_of(pool)).expect("within all limits");
        let names = |pool: &crate::pools::pool::Pool| -> Vec<String> {
            pool.descriptors.names().map(str::to_owned).collect()
        };
        assert_eq!(names(&schema.user_pools[0]), names(pool));
    }
}

/// A small set with a message of each kind of field.
fn sample() -> Vec<u8> {
    let mut all = message("All");
    let kinds = [(Type::Int32, ""), (Type::String, ""), (Type::Message, ".p.All"), (Type::Enum, ".p.E")];
    for (number, (kind, name)) in (1..).zip(kinds) {
        all.field.push(field(&format!("f{number}"), number, kind, name));
    }
    let map = MessageOptions { map_entry: Some(true), ..MessageOptions::default() };
    let fields = vec![field("key", 1, Type::String, ""), field("value", 2, Type::Message, ".p.All")];
    all.nested_type.push(DescriptorProto { options: Some(map), field: fields, ..message("MEntry") });
    let mut items = field("m", 5, Type::Message, ".p.All.MEntry");
    items.label = Some(Label::Repeated.into());
    all.field.push(items);
    let zero = EnumValueDescriptorProto { name: Some("Z".into()), number: Some(0), ..Default::default() };
    let item = EnumDescriptorProto { name: Some("E".into()), value: vec![zero], ..Default::default() };
    let one = FileDescriptorProto {
        package: Some("p".into()),
        enum_type: vec![item],
        ..file("one", &["two".to_owned()], vec![all])
    };
    encode(vec![one, file("two", &[], vec![message("Two")])])
}

/// Uses each message of a set.
fn exercise(schema: &Schema) {
    for (_, name) in schema.messages().iter().filter(|(origin, _)| *origin == "user") {
        let bytes = b"\x08\x01\x12\x01x\x1a\x02\x08\x02\x20\x01\x2a\x05\x0a\x01k\x12\x00\xff";
        let json = schema.message_to_json(name, bytes);
        let _ = schema.encode(name, &json);
        for format in MessageFormat::ALL {
            let _ = schema.read_as(name, format, b"{\"f1\": 1}");
        }
        let _ = schema.faults(name, bytes);
        let _ = schema.explain(name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn damaged_sets_are_read_or_refused(
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 1..6),
    ) {
        let mut set = sample();
        for (at, byte, kind) in edits {
            let at = at.index(set.len());
            match kind {
                0 => set[at] = byte,
                1 => set[at] ^= 1 << (byte % 8),
                2 => set.truncate(at.max(1)),
                _ => set.insert(at, byte),
            }
        }
        if let Ok(schema) = load(&set) {
            exercise(&schema);
        }
    }
}

#[test]
fn sample_set_is_read() {
    exercise(&load(&sample()).expect("a set"));
}
