//! Why a script can't be turned into frames.

use super::codec::CodecError;
use crate::engine::session::LocatorError;

/// Why a well-formed line can't be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// The target of a redirect is not a resource name.
    #[error(transparent)]
    Locator(#[from] LocatorError),
    #[error("the stream has no method")]
    NoMethod,
    #[error("there is no stream {0}")]
    UnknownStream(u32),
    #[error("there is no `node` line above the stream")]
    NoNode,
    #[error("node field `{0}` must be a text")]
    NodeFieldType(String),
    #[error("node field `locality` has more than three parts")]
    Locality,
    #[error("unknown node field `{0}`: expected id, cluster, locality, agent, feature or meta")]
    UnknownNodeField(String),
    #[error("a SotW entry can be `unset` only within `wrap(…)`")]
    UnsetEntry,
    #[error("`~TAG` is not supported for a collection")]
    TaggedCollection,
    #[error("`~TAG` is not supported for the type {0}")]
    TaggedType(String),
    /// The type URL does not begin with `type.googleapis.com/`.
    #[error("content can't be encoded for the type URL `{0}`")]
    TypeUrl(String),
    #[error("a collection must have the single field `entries: […]`")]
    CollectionFields,
    #[error("inline entries of type `{0}` are not supported")]
    InlineType(String),
    #[error("an entry must be `{{locator: URI}}`, `{{inline: NAME, version: V}}` or `{{}}`")]
    CollectionEntry,
}
