//! Why a script can't be turned into frames.

use super::codec::CodecError;
use xdscope_wire::xdstp::LocatorError;

/// Why a well-formed line can't be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The content does not fit its message, or the message is unknown.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// The target of a redirect is not a resource name.
    #[error(transparent)]
    Locator(#[from] LocatorError),
    /// The variant and type of a stream have no published method.
    #[error("the stream has no method")]
    NoMethod,
    /// A line refers to a stream that was not opened.
    #[error("there is no stream {0}")]
    UnknownStream(u32),
    /// A stream has no client.
    #[error("there is no `node` line above the stream")]
    NoNode,
    /// A field of the node has a value of a wrong type.
    #[error("node field `{0}` must be a text")]
    NodeFieldType(String),
    /// A locality is more than region, zone and sub-zone.
    #[error("node field `locality` has more than three parts")]
    Locality,
    /// A field that a node does not have.
    #[error("unknown node field `{0}`: expected id, cluster, locality, agent, feature or meta")]
    UnknownNodeField(String),
    /// A SotW response cannot hold an entry without payload.
    #[error("a SotW entry can be `unset` only within `wrap(…)`")]
    UnsetEntry,
    /// Tags are not supported for collections.
    #[error("`~TAG` is not supported for a collection")]
    TaggedCollection,
    /// Tags are not supported for a type.
    #[error("`~TAG` is not supported for the type {0}")]
    TaggedType(String),
    /// The type URL does not begin with `type.googleapis.com/`.
    #[error("content can't be encoded for the type URL `{0}`")]
    TypeUrl(String),
    /// A collection has other fields than its entries.
    #[error("a collection must have the single field `entries: […]`")]
    CollectionFields,
    /// A collection has an inline entry of an unsupported type.
    #[error("inline entries of type `{0}` are not supported")]
    InlineType(String),
    /// An entry of a collection is malformed.
    #[error("an entry must be `{{locator: URI}}`, `{{inline: NAME, version: V}}` or `{{}}`")]
    CollectionEntry,
}
