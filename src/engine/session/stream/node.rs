//! Comparison of nodes: `docs/protocol.md#e-06`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use twox_hash::XxHash3_128;

use xdscope_wire::NodeInfo;
use xdscope_wire::content::{BlobId, Catalog};
use xdscope_wire::event::DenseHash;
use xdscope_wire::pb::{Fields, WireField};

/// The digests of a node, independent of the order of fields and map entries.
#[derive(Clone, Copy, Debug)]
struct NodeDigest {
    metadata: u128,
    /// All fields except the metadata.
    rest: u128,
}

impl NodeDigest {
    fn from_bytes(node: &[u8]) -> NodeDigest {
        let is_metadata = |field: &WireField<'_>| field.number == METADATA_FIELD;
        NodeDigest { metadata: digest(node, is_metadata), rest: digest(node, |field| !is_metadata(field)) }
    }
}

/// The number of `Node.metadata`.
const METADATA_FIELD: u32 = 3;

/// Digests of nodes by their content.
///
/// Each encoding of a node is read once, because some clients send 60 KB with every request. Clones
/// share the digests, because a content never changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeDigests(Arc<Mutex<HashMap<BlobId, NodeDigest, DenseHash>>>);

/// Maximum number of nodes to remember.
const MAX_NODES: usize = 4096;

impl NodeDigests {
    /// Forgets the nodes that `is_used` does not accept.
    pub(crate) fn retain(&self, is_used: impl Fn(BlobId) -> bool) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|blob, _| is_used(*blob));
    }

    fn digest(&self, catalog: &Catalog, blob: Option<BlobId>) -> Option<NodeDigest> {
        let blob = blob?;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&blob) {
            return Some(*known);
        }
        let digest = NodeDigest::from_bytes(&catalog.bytes(blob)?);
        if known.len() == MAX_NODES {
            known.clear();
        }
        known.insert(blob, digest);
        Some(digest)
    }
}

/// Returns the digest of the fields of a message that `includes` selects.
fn digest(message: &[u8], includes: impl Fn(&WireField<'_>) -> bool) -> u128 {
    let fields = Fields::new(message).map_while(Result::ok).filter(includes);
    let mut parts: Vec<Vec<u8>> = fields.map(|field| unordered(&field, 0)).collect();
    parts.sort_unstable();
    let lengths = parts.iter().map(|part| part.len().to_le_bytes()).collect::<Vec<_>>();
    XxHash3_128::oneshot(&[lengths.concat(), parts.concat()].concat())
}

/// Returns the names of the fields in which two nodes differ.
pub(crate) fn differences(
    catalog: &Catalog,
    digests: &NodeDigests,
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
    if let Some((a, b)) = digests.digest(catalog, a.blob).zip(digests.digest(catalog, b.blob)) {
        if a.metadata != b.metadata {
            out.push("metadata");
        } else if out.is_empty() && a.rest != b.rest {
            out.push("another field");
        }
    }
    out
}

/// Maximum depth of nested fields to sort.
const MAX_DEPTH: u32 = 16;

/// Returns a field with its nested fields sorted.
///
/// Peers write map entries in any order, and a node has several maps, so the order is ignored in
/// all content that parses as a message.
fn unordered(field: &WireField<'_>, depth: u32) -> Vec<u8> {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    let inner = field.bytes();
    if inner.is_empty() || depth == MAX_DEPTH {
        return field.raw.to_vec();
    }
    for part in Fields::new(inner) {
        match part {
            Ok(part) => parts.push(unordered(&part, depth + 1)),
            // The content is text.
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
    use xdscope_wire::pb::put_len_field;

    /// Returns a node with metadata entries in the given order.
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
        let digests = NodeDigests::default();
        let differences = |a, b| differences(&catalog, &digests, a, b);
        assert!(differences(&one, &other).is_empty());
        assert_eq!(differences(&one, &third), ["metadata"]);
        let renamed = NodeInfo { id: "n2".into(), ..one.clone() };
        assert_eq!(differences(&one, &NodeInfo { blob: None, ..renamed }), ["id"]);
    }
}
