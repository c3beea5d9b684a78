use crate::content::BlobId;
use crate::pb::Fields;

use super::fields::{build_version, node};
use super::kept_text::identifier;

/// The fields of a `Node` that rules and screens use. The whole message is in [`NodeInfo::blob`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeInfo {
    /// `id`.
    pub id: String,
    /// `cluster`.
    pub cluster: String,
    /// Region, zone, sub-zone.
    pub locality: [String; 3],
    /// `user_agent_name`.
    pub user_agent: String,
    /// Build version or plain version of the user agent, as text.
    pub user_agent_version: String,
    /// The first [`NodeInfo::MAX_FEATURES`] of `client_features`, in order.
    pub client_features: Vec<String>,
    /// The encoded node; `None` if its bytes were never stored, or are more than
    /// [`NodeInfo::MAX_KEPT_BYTES`].
    pub blob: Option<BlobId>,
}

impl NodeInfo {
    /// Limit on the features that are kept as text: each may be empty. Envoy has 10.
    pub const MAX_FEATURES: usize = 1024;
    /// Limit on the bytes of these features.
    pub const MAX_FEATURE_BYTES: usize = 64 << 10;
    /// Limit on the encoded nodes that streams keep. Istio sends 10 to 60 kB.
    pub const MAX_KEPT_BYTES: usize = 256 << 10;

    /// The client feature of clients that honour TTLs (docs/protocol.md#g-03).
    pub const TTL_FEATURE: &str = "xds.config.supports-resource-ttl";
    /// The client feature of clients that unwrap resources in SotW (docs/protocol.md#g-09).
    pub const WRAPPER_FEATURE: &str = "xds.config.supports-resource-in-sotw";

    /// Reads a `Node` of v3 or v2, whose common fields have the same numbers.
    pub fn parse(bytes: &[u8]) -> NodeInfo {
        let (mut info, mut room_for_features) = (NodeInfo::default(), NodeInfo::MAX_FEATURE_BYTES);
        for field in Fields::new(bytes).map_while(Result::ok) {
            match field.number {
                node::ID => info.id = identifier(field.bytes()).into_owned(),
                node::CLUSTER => info.cluster = identifier(field.bytes()).into_owned(),
                node::LOCALITY => {
                    for part in Fields::new(field.bytes()).map_while(Result::ok) {
                        if let Some(slot) = info.locality.get_mut((part.number as usize).wrapping_sub(1)) {
                            *slot = identifier(part.bytes()).into_owned();
                        }
                    }
                }
                node::BUILD_VERSION if info.user_agent.is_empty() => {
                    info.user_agent_version = identifier(field.bytes()).into_owned();
                }
                node::USER_AGENT_NAME => info.user_agent = identifier(field.bytes()).into_owned(),
                node::USER_AGENT_VERSION => info.user_agent_version = identifier(field.bytes()).into_owned(),
                node::USER_AGENT_BUILD_VERSION => {
                    info.user_agent_version = semantic_version(field.bytes());
                }
                node::CLIENT_FEATURES
                    if info.client_features.len() < NodeInfo::MAX_FEATURES
                        && field.bytes().len() <= room_for_features =>
                {
                    room_for_features -= field.bytes().len();
                    info.client_features.push(field.text().into_owned());
                }
                _ => {}
            }
        }
        info
    }
}

/// Returns `BuildVersion.version` as `major.minor.patch`.
fn semantic_version(bytes: &[u8]) -> String {
    let mut parts = [0u64; 3];
    let mut fields = Fields::new(bytes).map_while(Result::ok);
    let version = fields.find(|field| field.number == build_version::VERSION);
    for part in version.iter().flat_map(|field| Fields::new(field.bytes()).map_while(Result::ok)) {
        if let Some(slot) = parts.get_mut((part.number as usize).wrapping_sub(1)) {
            *slot = part.varint();
        }
    }
    format!("{}.{}.{}", parts[0], parts[1], parts[2])
}
