//! Comparison of nodes: `docs/protocol.md#e-06`.

use std::collections::HashMap;

use twox_hash::XxHash3_128;

use crate::wire::NodeInfo;
use crate::wire::content::{BlobId, Catalog};
use crate::wire::event::DenseHash;
use crate::wire::pb::{Fields, WireField};

/// Digests of nodes by their bytes, independent of field order: of the metadata, and of the rest.
///
/// Each encoding of a node is read once, because some clients send 60 KB with every request.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeDigests(HashMap<BlobId, [u128; 2], DenseHash>);

/// Nodes to remember.
const MAX_NODES: usize = 4096;

impl NodeDigests {
    fn of(&mut self, catalog: &Catalog, blob: Option<BlobId>) -> Option<[u128; 2]> {
        let blob = blob?;
        if let Some(known) = self.0.get(&blob) {
            return Some(*known);
        }
        let bytes = catalog.bytes(blob)?;
        let digest = [true, false].map(|metadata| {
            let fields =
                Fields::new(&bytes).map_while(Result::ok).filter(|field| (field.number == 3) == metadata);
            let mut parts: Vec<Vec<u8>> = fields.map(|field| unordered(&field, 0)).collect();
            parts.sort_unstable();
            let lengths = parts.iter().map(|part| part.len().to_le_bytes()).collect::<Vec<_>>();
            XxHash3_128::oneshot(&[lengths.concat(), parts.concat()].concat())
        });
        if self.0.len() == MAX_NODES {
            self.0.clear();
        }
        self.0.insert(blob, digest);
        Some(digest)
    }
}

/// Names of the fields in which the nodes differ.
pub(super) fn differences(
    catalog: &Catalog,
    digests: &mut NodeDigests,
    a: &NodeInfo,
    b: &NodeInfo,
) -> Vec<&'static str> {
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
    let both = (digests.of(catalog, a.blob), digests.of(catalog, b.blob));
    if let (Some([metadata, rest]), Some([other_metadata, other_rest])) = both {
        if metadata != other_metadata {
            out.push("metadata");
        } else if out.is_empty() && rest != other_rest {
            out.push("another field");
        }
    }
    out
}

/// Levels of nesting to sort.
const MAX_DEPTH: u32 = 16;

/// Returns a field with its nested fields sorted.
///
/// Peers write map entries in any order, and a node has several maps, so everything that parses as
/// a message is compared without its order.
fn unordered(field: &WireField<'_>, depth: u32) -> Vec<u8> {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    let inner = field.bytes();
    if inner.is_empty() || depth == MAX_DEPTH {
        return field.raw.to_vec();
    }
    for part in Fields::new(inner) {
        match part {
            Ok(part) => parts.push(unordered(&part, depth + 1)),
            // Text, not a message.
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
    use crate::wire::pb::put_len_field;

    /// A node with metadata entries in the given order.
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
    fn ignores_order_of_map_entries() {
        let mut catalog = Catalog::in_memory();
        let one = node(&mut catalog, &[("a", "x"), ("b", "y")]);
        let other = node(&mut catalog, &[("b", "y"), ("a", "x")]);
        let third = node(&mut catalog, &[("a", "y"), ("b", "x")]);
        let mut digests = NodeDigests::default();
        let mut differences = |a, b| differences(&catalog, &mut digests, a, b);
        assert!(differences(&one, &other).is_empty());
        assert_eq!(differences(&one, &third), ["metadata"]);
        let renamed = NodeInfo { id: "n2".into(), ..one.clone() };
        assert_eq!(differences(&one, &NodeInfo { blob: None, ..renamed }), ["id"]);
    }
}
