//! Whether two nodes say the same, and if not where they differ (row E-06).

use crate::content::Catalog;
use crate::pb::{Field, Fields};
use crate::wire::NodeInfo;

/// What of the node differs; empty if nothing does.
pub(super) fn differences(catalog: &Catalog, a: &NodeInfo, b: &NodeInfo) -> Vec<&'static str> {
    if a.blob.is_some() && a.blob == b.blob {
        return Vec::new();
    }
    let mut out = Vec::new();
    let pairs = [
        ("id", a.id == b.id),
        ("cluster", a.cluster == b.cluster),
        ("locality", a.locality == b.locality),
        ("user_agent_name", a.user_agent == b.user_agent),
        ("user_agent_version", a.user_agent_version == b.user_agent_version),
        ("client_features", a.client_features == b.client_features),
    ];
    out.extend(pairs.iter().filter(|(_, same)| !same).map(|(field, _)| *field));
    let bytes = |node: &NodeInfo| node.blob.and_then(|blob| catalog.bytes(blob));
    if let (Some(a), Some(b)) = (bytes(a), bytes(b)) {
        if field(&a, 3) != field(&b, 3) {
            out.push("metadata");
        } else if out.is_empty() && field(&a, 0) != field(&b, 0) {
            out.push("another field");
        }
    }
    out
}

/// One field of a node without the order of things in it; 0 for all that is neither metadata nor known by name.
fn field(node: &[u8], wanted: u32) -> Vec<Vec<u8>> {
    let fields = Fields::new(node).map_while(Result::ok);
    let meant = |number: u32| if wanted == 0 { number != 3 } else { number == wanted };
    let mut out: Vec<Vec<u8>> =
        fields.filter(|field| meant(field.number)).map(|field| unordered(&field, 0)).collect();
    out.sort_unstable();
    out
}

/// Levels that are put in order.
const DEPTH: u32 = 16;

/// A field with everything in it in order. Peers write maps in any order, anew each time, and there are maps in
/// several places of a node; so whatever parses as a message is compared without its order.
fn unordered(field: &Field<'_>, depth: u32) -> Vec<u8> {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    let inner = field.bytes();
    if inner.is_empty() || depth == DEPTH {
        return field.raw.to_vec();
    }
    for part in Fields::new(inner) {
        match part {
            Ok(part) => parts.push(unordered(&part, depth + 1)),
            // A text, not a message.
            Err(_) => return field.raw.to_vec(),
        }
    }
    parts.sort_unstable();
    let mut out = field.number.to_le_bytes().to_vec();
    for part in parts {
        out.extend_from_slice(&(part.len() as u64).to_le_bytes());
        out.extend_from_slice(&part);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pb::put_len_field;

    /// A node with metadata of these entries, in this order.
    fn node(catalog: &mut Catalog, entries: &[(&str, &str)]) -> NodeInfo {
        let (mut bytes, mut metadata) = (Vec::new(), Vec::new());
        put_len_field(&mut bytes, 1, b"n1");
        for (key, value) in entries {
            let (mut entry, mut text) = (Vec::new(), Vec::new());
            put_len_field(&mut text, 3, value.as_bytes());
            put_len_field(&mut entry, 1, key.as_bytes());
            put_len_field(&mut entry, 2, &text);
            put_len_field(&mut metadata, 1, &entry);
        }
        put_len_field(&mut bytes, 3, &metadata);
        NodeInfo { blob: Some(catalog.intern_other(&bytes)), ..NodeInfo::parse(&bytes) }
    }

    #[test]
    fn the_order_of_a_map_is_no_difference() {
        let mut catalog = Catalog::in_memory();
        let one = node(&mut catalog, &[("a", "x"), ("b", "y")]);
        let other = node(&mut catalog, &[("b", "y"), ("a", "x")]);
        let third = node(&mut catalog, &[("a", "y"), ("b", "x")]);
        assert!(differences(&catalog, &one, &other).is_empty());
        assert_eq!(differences(&catalog, &one, &third), ["metadata"]);
        let renamed = NodeInfo { id: "n2".into(), ..one.clone() };
        assert_eq!(differences(&catalog, &one, &NodeInfo { blob: None, ..renamed }), ["id"]);
    }
}
