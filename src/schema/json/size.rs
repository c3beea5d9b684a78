//! Limits on the values of a message: a message of two bytes can need a hundred bytes decoded.

use crate::pools::pool::Pool;
use crate::table::FieldKind;
use xdscope_wire::pb::{Fields, Value};

/// Limit on the values of a message that is checked or compared, about 50 MB decoded.
pub const MAX_CHECKED_VALUES: usize = 1 << 19;
/// Limit on the values of a message that is shown.
pub const MAX_SHOWN_VALUES: usize = 1 << 21;

impl Pool {
    /// Whether a message of the type with this index has more than `limit` values.
    ///
    /// Counts fields, elements of packed fields, and the values of inner messages, but not the
    /// payload of an `Any`. `None` stands for an unknown type.
    pub(crate) fn has_more_values(&self, place: Option<u32>, bytes: &[u8], limit: usize) -> bool {
        // A value has at least one byte.
        if bytes.len() <= limit {
            return false;
        }
        let (mut todo, mut count) = (vec![(place, bytes)], 0);
        while let Some((place, bytes)) = todo.pop() {
            let table = place.and_then(|place| self.table(place));
            for field in Fields::new(bytes).map_while(Result::ok) {
                count += 1;
                let known = table.and_then(|table| table.field(field.number));
                match (known.map(|known| &known.kind), field.value) {
                    (Some(FieldKind::Message(inner)), Value::Len(value) | Value::Group(value)) => {
                        todo.push((Some(*inner), value));
                    }
                    (Some(FieldKind::Map(entry)), Value::Len(value)) => {
                        count += 1;
                        let inner =
                            Fields::new(value).map_while(Result::ok).filter(|inner| inner.number == 2);
                        if let FieldKind::Message(place) = entry.1 {
                            todo.extend(inner.map(|inner| (Some(place), inner.bytes())));
                        }
                    }
                    (Some(kind), Value::Len(value)) if kind.is_packable() => count += value.len(),
                    _ => {}
                }
                if count > limit {
                    return true;
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tests::{field, packed};
    use crate::{Schema, Unchecked};

    const CLUSTER: &str = "envoy.config.cluster.v3.Cluster";

    fn exceeds(name: &str, bytes: &[u8], limit: usize) -> bool {
        let schema = Schema::builtin();
        let (pool, place) = schema.find_message(name).expect("known");
        pool.has_more_values(Some(place), bytes, limit)
    }

    #[test]
    fn counts_values_of_inner_messages() {
        // Filters without content, and a list of filters in them.
        let filters = field(40, b"").repeat(1000);
        assert!(exceeds(CLUSTER, &filters, 999) && !exceeds(CLUSTER, &filters, 1000));
        let metadata = field(1, &[field(1, b"k"), field(2, &field(1, &field(1, b"a")))].concat());
        let nested = field(25, &metadata.repeat(100));
        assert!(exceeds(CLUSTER, &nested, 300) && !exceeds(CLUSTER, &nested, 700));
        let packed = field(1, &[1; 1000]);
        assert!(exceeds("envoy.type.v3.Int64Range", &packed, 999), "a number in packed form");
    }

    #[test]
    fn leaves_huge_messages_unchecked() {
        let bomb = packed(CLUSTER, &field(40, b"").repeat(MAX_SHOWN_VALUES + 1));
        let schema = Schema::builtin();
        assert_eq!(
            schema.violations("google.protobuf.Any", &bomb),
            Err(Unchecked::TooLarge(CLUSTER.to_owned()))
        );
        let other = [&bomb[..], b"\x12\x00"].concat();
        assert!(!schema.same_meaning(&bomb, &other));
        let shown = schema.any_to_json(&bomb);
        assert_eq!(shown["@too_large"], json!(3 * (MAX_SHOWN_VALUES + 1)));
        let unknown = packed("acme.v1.Unknown", &[8, 0].repeat(MAX_SHOWN_VALUES + 1));
        assert_eq!(schema.any_to_json(&unknown)["@too_large"], json!(2 * (MAX_SHOWN_VALUES + 1)));
    }
}
