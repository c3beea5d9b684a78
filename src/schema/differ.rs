use super::table::{FieldInfo, FieldKind, JsonForm, MessageTable};
use super::{MAX_DEPTH, Schema, message_name};
use crate::json::walk::message_bytes;
use crate::json::wellknown::{duration, pair, timestamp};
use crate::pools::pool::Pool;
use xdscope_wire::pb::{Fields, Value};

impl Schema {
    /// Whether two serialized `Any`s are known to decode to different JSON, without decoding them.
    ///
    /// Most updates of a resource change a value or an element and keep the order of the other
    /// bytes. A result of `false` is inconclusive.
    pub(super) fn definitely_differ(&self, a: &[u8], b: &[u8]) -> bool {
        any(self, a, b, 0)
    }
}

fn any(schema: &Schema, a: &[u8], b: &[u8], depth: u32) -> bool {
    let (Some(a), Some(b)) = (split_any(a), split_any(b)) else { return false };
    if a.0 != b.0 {
        return true;
    }
    let Some((pool, table)) = std::str::from_utf8(a.0).ok().and_then(|url| schema.find(message_name(url)))
    else {
        return false;
    };
    message(schema, pool, table, a.1, b.1, depth + 1)
}

/// Splits an `Any` into type URL and value. Returns `None` if the `Any` has other fields or lacks
/// one of the two.
fn split_any(any: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut fields = Fields::new(any);
    let (url, value) = (fields.next()?.ok()?, fields.next()?.ok()?);
    match (url.number, url.value, value.number, value.value, fields.next()) {
        (1, Value::Len(url), 2, Value::Len(value), None) if !url.is_empty() => Some((url, value)),
        _ => None,
    }
}

/// Compares the first field in which two messages differ.
fn message(schema: &Schema, pool: &Pool, table: &MessageTable, a: &[u8], b: &[u8], depth: u32) -> bool {
    if depth > MAX_DEPTH {
        return false;
    }
    match table.form {
        JsonForm::Any => return any(schema, a, b, depth),
        JsonForm::Plain | JsonForm::Wrapper => {}
        JsonForm::Duration => return times_differ(a, b, duration),
        JsonForm::Timestamp => return times_differ(a, b, timestamp),
        // The JSON forms of the other types combine several fields.
        _ => return false,
    }
    let (mut rest_a, mut rest_b) = (Fields::new(a), Fields::new(b));
    let (first, second) = loop {
        let before = (rest_a.clone(), rest_b.clone());
        match (rest_a.next(), rest_b.next()) {
            (Some(Ok(a)), Some(Ok(b))) if a.raw == b.raw => {}
            (Some(Ok(a)), Some(Ok(b))) if a.number == b.number => break (a, b),
            (a, b) => return list_lengths_differ(table, before, [a, b].into_iter().flatten()),
        }
    };
    let Some(field) = table.field(first.number) else { return false };
    if !field.fits(&first.value) || !field.fits(&second.value) || matches!(field.kind, FieldKind::Map(_)) {
        return false;
    }
    // A later occurrence replaces a singular value or merges with it, so only unique occurrences
    // are conclusive.
    let is_unique = |message| {
        let same = |other: &FieldInfo| {
            other.number == field.number || other.oneof.is_some() && other.oneof == field.oneof
        };
        let all = Fields::new(message).flatten();
        all.filter(|one| table.field(one.number).is_some_and(same)).count() == 1
    };
    if !(field.repeated || is_unique(a) && is_unique(b)) {
        return false;
    }
    value(schema, pool, field, first.value, second.value, depth)
}

/// Whether two durations or timestamps have different texts.
fn times_differ(a: &[u8], b: &[u8], text: fn((i64, i32)) -> Option<String>) -> bool {
    let text = |bytes| pair(bytes).and_then(text);
    text(a).zip(text(b)).is_some_and(|(a, b)| a != b)
}

/// Whether the first field that differs is a list with different lengths in the two messages.
fn list_lengths_differ<'a>(
    table: &MessageTable,
    (a, b): (Fields<'_>, Fields<'_>),
    ends: impl Iterator<Item = Result<xdscope_wire::pb::WireField<'a>, xdscope_wire::pb::FieldError>>,
) -> bool {
    let counted = |fields: Fields<'_>, field: &FieldInfo| {
        fields.flatten().filter(|one| one.number == field.number && field.fits(&one.value)).count()
    };
    let list = |field: &&FieldInfo| {
        field.repeated && !field.kind.is_packable() && !matches!(field.kind, FieldKind::Map(_))
    };
    ends.flatten()
        .filter_map(|end| table.field(end.number).filter(list))
        .any(|field| counted(a.clone(), field) != counted(b.clone(), field))
}

fn value(schema: &Schema, pool: &Pool, field: &FieldInfo, a: Value<'_>, b: Value<'_>, depth: u32) -> bool {
    match (&field.kind, a, b) {
        (FieldKind::Message(place), a, b) => pool.table(*place).is_some_and(|table| {
            message(schema, pool, table, message_bytes(&a), message_bytes(&b), depth + 1)
        }),
        (FieldKind::String | FieldKind::Bytes, Value::Len(a), Value::Len(b)) => a != b,
        // Packed and unpacked lists have different numbers of fields.
        _ if field.repeated => false,
        (FieldKind::Bool, Value::Varint(a), Value::Varint(b)) => (a != 0) != (b != 0),
        (FieldKind::Enum(values), Value::Varint(a), Value::Varint(b)) => {
            !values.is_null && a as u32 != b as u32
        }
        (FieldKind::Int32 | FieldKind::Uint32 | FieldKind::Sint32, Value::Varint(a), Value::Varint(b)) => {
            a as u32 != b as u32
        }
        (FieldKind::Int64 | FieldKind::Uint64 | FieldKind::Sint64, Value::Varint(a), Value::Varint(b)) => {
            a != b
        }
        (FieldKind::Fixed32 | FieldKind::Sfixed32, Value::I32(a), Value::I32(b)) => a != b,
        (FieldKind::Fixed64 | FieldKind::Sfixed64, Value::I64(a), Value::I64(b)) => a != b,
        // Different bits of a float can have the same text.
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{field, packed, random::Random};
    use super::*;
    use prost_reflect::prost::Message as _;

    const TYPES: [&str; 4] = [
        "envoy.config.cluster.v3.Cluster",
        "envoy.config.endpoint.v3.ClusterLoadAssignment",
        "envoy.config.listener.v3.Listener",
        "envoy.config.core.v3.Node",
    ];

    fn pair(random: &mut Random, name: &str) -> (Vec<u8>, Vec<u8>) {
        let schema = Schema::builtin();
        let of = schema.message_among_all(name).expect("a type");
        let first = random.message(&of, 3);
        let a = first.encode_to_vec();
        let mut b = a.clone();
        match random.below(4) {
            // Damages the message or changes values.
            0 | 1 if !b.is_empty() => {
                for _ in 0..=random.below(2) {
                    let at = random.below(b.len() as u64) as usize;
                    b[at] = random.next() as u8;
                }
            }
            2 => b.extend(random.message(&of, 2).encode_to_vec()),
            _ => {
                let fields: Vec<_> = Fields::new(&a).flatten().map(|field| field.raw.to_vec()).collect();
                let turn = random.below(fields.len().max(1) as u64) as usize;
                b = [&fields[turn..], &fields[..turn]].concat().concat();
            }
        }
        (packed(name, &a), packed(name, &b))
    }

    #[test]
    fn differs_only_if_the_json_differs() {
        let schema = Schema::builtin();
        let mut random = Random(7);
        let (mut decided, mut differing) = (0, 0);
        for round in 0..4_000 {
            let (a, b) = pair(&mut random, TYPES[round % TYPES.len()]);
            let differ = schema.any_to_json(&a) != schema.any_to_json(&b);
            differing += u32::from(differ);
            if schema.definitely_differ(&a, &b) {
                decided += 1;
                assert!(differ, "{}\n{}", schema.any_to_json(&a), schema.any_to_json(&b));
            }
            assert!(!schema.definitely_differ(&a, &a));
        }
        // Most of these pairs are damaged or reordered, which the shortcut does not decide.
        assert!(decided > differing / 5, "{decided} of {differing}");
    }

    #[test]
    fn detects_a_changed_duration() {
        let schema = Schema::builtin();
        let cluster = |timeout: &[u8]| packed("envoy.config.cluster.v3.Cluster", &field(4, timeout));
        assert!(schema.definitely_differ(&cluster(&[0x08, 5]), &cluster(&[0x08, 6])));
        assert!(schema.definitely_differ(&cluster(&[0x08, 5]), &cluster(&[0x08, 5, 0x10, 1])));
        assert!(!schema.definitely_differ(&cluster(&[0x08, 5]), &cluster(&[0x10, 0, 0x08, 5])));
    }

    #[test]
    fn detects_changed_values_and_elements() {
        let schema = Schema::builtin();
        let endpoint = |port: u8| {
            let address = field(1, &field(1, &[field(2, b"10.0.0.1"), vec![0x18, port]].concat()));
            field(2, &field(1, &address))
        };
        let assignment = |endpoints: &[&[u8]]| {
            let value = [field(1, b"reviews"), field(2, &endpoints.concat())].concat();
            packed("envoy.config.endpoint.v3.ClusterLoadAssignment", &value)
        };
        let (one, other) = (endpoint(80), endpoint(81));
        let before = assignment(&[&one]);
        assert!(schema.definitely_differ(&before, &assignment(&[&other])));
        assert!(schema.definitely_differ(&before, &assignment(&[&one, &other])));
        assert!(schema.definitely_differ(&before, &assignment(&[])));
        // A duration in two occurrences.
        let timeout = |pieces: &[&[u8]]| {
            let value: Vec<u8> = pieces.iter().flat_map(|piece| field(4, piece)).collect();
            packed("envoy.config.cluster.v3.Cluster", &value)
        };
        let (single, pieces) = (timeout(&[&[0x08, 5], &[0x08, 5]]), timeout(&[&[0x08, 5], &[]]));
        assert!(!schema.definitely_differ(&single, &pieces));
        assert!(schema.same_meaning(&single, &pieces));
        // The port occurs twice; the last occurrence counts.
        let again =
            |port: u8| assignment(&[&field(2, &field(1, &field(1, &field(1, &[0x18, port, 0x18, 80]))))]);
        assert!(!schema.definitely_differ(&again(1), &again(2)));
        assert!(schema.same_meaning(&again(1), &again(2)));
    }
}
