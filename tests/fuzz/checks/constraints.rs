use std::sync::OnceLock;

use xdscope_schema::Schema;
use xdscope_wire::pb::put_len_field;

use super::Input;

/// Checks that any rules in the options of a field, and any value, are validated or left out.
///
/// Input: a byte with the type of the field (also repeated, or in a oneof), a byte with the length of
/// the rules, the rules (`validate.FieldRules`), then the message.
pub fn constraints(data: &[u8]) {
    let mut input = Input(data);
    let (kind, len) = (input.byte(), input.byte());
    let (rules, value) = (input.bytes(len.into()), input.0);
    let set = set(kind, rules);
    let Ok(schema) = Schema::with(&[("set".to_owned(), set)], &[], &[]) else { return };
    let Ok(violations) = schema.violations("M", value) else { return };
    assert!(violations.len() <= 100);
    for violation in &violations {
        assert!(!violation.to_string().is_empty());
    }
    let again = schema.violations("M", value).expect("as before");
    assert_eq!(format!("{again:?}"), format!("{violations:?}"));
    let _ = schema.explain("M.f");
}

/// Returns a set with a message whose field has these rules.
fn set(kind: u8, rules: &[u8]) -> Vec<u8> {
    static IMPORTS: OnceLock<Vec<u8>> = OnceLock::new();
    let imports = IMPORTS.get_or_init(|| {
        const FILES: [&str; 4] = [
            "google/protobuf/descriptor.proto",
            "google/protobuf/duration.proto",
            "google/protobuf/timestamp.proto",
            "validate/validate.proto",
        ];
        let mut set = Vec::new();
        for file in FILES {
            put_len_field(&mut set, 1, &Schema::builtin_file(file).expect("a built-in file"));
        }
        set
    });
    // Types 1 to 18 of descriptor.proto; messages are of the type itself, or durations.
    let (number, name) = match kind % 18 + 1 {
        number @ 10..=11 => (11, if number == 10 { ".M" } else { ".google.protobuf.Duration" }),
        14 => (14, ".E"),
        number => (number, ""),
    };
    let mut options = Vec::new();
    put_len_field(&mut options, 1071, rules);
    let mut field = vec![0x0a, 1, b'f', 0x18, 1, 0x28, number, 0x20, if kind & 0x80 == 0 { 1 } else { 3 }];
    if !name.is_empty() {
        put_len_field(&mut field, 6, name.as_bytes());
    }
    put_len_field(&mut field, 8, &options);
    let mut message = vec![0x0a, 1, b'M'];
    put_len_field(&mut message, 2, &field);
    let mut file = b"\x0a\x01a\x2a\x0a\x0a\x01E\x12\x05\x0a\x01Z\x10\x00".to_vec();
    put_len_field(&mut file, 3, b"validate/validate.proto");
    put_len_field(&mut file, 3, b"google/protobuf/duration.proto");
    put_len_field(&mut file, 4, &message);
    put_len_field(&mut file, 12, b"proto3");
    let mut set = imports.clone();
    put_len_field(&mut set, 1, &file);
    set
}
