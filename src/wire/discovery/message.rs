use std::sync::Arc;

use crate::content::{BlobId, Catalog, List, UsedContent};
use crate::event::{Dir, TypeUrl};
use crate::pb::put_len_field;

use super::body::MessageBody;
use super::node::NodeInfo;
use super::shape::MessageShape;
use super::status::ErrorDetail;

/// Longest field that is stored, in bytes; xDS peers refuse far shorter ones.
pub const MAX_MESSAGE_BYTES: usize = 512 << 20;

/// A discovery message: its fields, and its original bytes by reference to stored content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Type of the message.
    pub shape: MessageShape,
    /// Segments that joined are the message, without its secrets if `redacted`.
    pub segments: Vec<Segment>,
    /// Protobuf bytes on the wire, after gRPC decompression.
    pub size: u64,
    /// Secrets were removed from the segments and the body.
    pub redacted: bool,
    /// The fields of the message.
    pub body: MessageBody,
}

/// A run of complete top-level fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// The bytes of the fields.
    Inline(Box<[u8]>),
    /// The bytes of a long run of names, stored as content because requests repeat them.
    Run(BlobId),
    /// One length-delimited field, whose tag and length have the shortest encoding.
    Field {
        /// Field number.
        number: u32,
        /// The payload.
        blob: BlobId,
    },
    /// One such field for each entry of a list.
    List {
        /// Field number.
        number: u32,
        /// The payloads.
        list: Arc<List>,
    },
}

impl Segment {
    /// Marks the content of the segment as used.
    pub fn mark(&self, used: &mut UsedContent) {
        match self {
            Segment::Inline(_) => {}
            Segment::Run(blob) | Segment::Field { blob, .. } => used.blob(*blob),
            Segment::List { list, .. } => used.list(list),
        }
    }
}

impl Message {
    /// Returns the message's bytes.
    ///
    /// `None` if a body was lost with a damaged recording, or if a recording claims a message
    /// longer than [`MAX_MESSAGE_BYTES`].
    pub fn bytes(&self, catalog: &Catalog) -> Option<Vec<u8>> {
        // A damaged recording may claim any size.
        let mut out = Vec::with_capacity(self.size.min(64 << 20) as usize);
        for segment in &self.segments {
            match segment {
                Segment::Inline(bytes) => out.extend_from_slice(bytes),
                Segment::Run(blob) => out.extend_from_slice(&catalog.bytes(*blob)?),
                Segment::Field { number, blob } => put_len_field(&mut out, *number, &catalog.bytes(*blob)?),
                Segment::List { number, list } => {
                    for blob in list.blobs() {
                        put_len_field(&mut out, *number, &catalog.bytes(*blob)?);
                        // A few bytes of a hostile recording may stand for millions of entries.
                        if out.len() > MAX_MESSAGE_BYTES {
                            return None;
                        }
                    }
                }
            }
        }
        Some(out)
    }

    /// Marks the contents and names of the message as used.
    pub fn mark(&self, used: &mut UsedContent) {
        self.segments.iter().for_each(|segment| segment.mark(used));
        if let Some(response) = self.response() {
            used.list(response.resources);
            used.names(response.removed);
            used.names(response.resource_errors.iter().map(|error| &error.name));
        }
        if let Some(request) = self.request() {
            request.node.and_then(|node| node.blob).iter().for_each(|blob| used.blob(*blob));
            used.run(request.names);
            used.names(request.locators);
        }
        if let MessageBody::DeltaRequest(m) = &self.body {
            used.run(&m.unsubscribe);
            used.names(&m.locators_unsubscribe);
            used.names(m.initial_resource_versions.iter().flat_map(|(name, version)| [name, version]));
        }
    }

    /// Returns the direction of the message.
    pub fn dir(&self) -> Dir {
        self.shape.dir()
    }

    /// `type_url` as sent: empty where the method implies the type, and if the message is
    /// undecodable.
    pub fn type_url(&self) -> TypeUrl {
        let request = self.request().map(|request| request.type_url);
        request.or_else(|| self.response().map(|response| response.type_url)).cloned().unwrap_or_default()
    }

    /// The node that a request carries.
    pub fn node(&self) -> Option<&Arc<NodeInfo>> {
        self.request()?.node
    }

    /// The entries of a response.
    pub fn resources(&self) -> Option<&Arc<List>> {
        Some(self.response()?.resources)
    }

    /// Numbers of fields that the published message does not have.
    pub fn unknown_fields(&self) -> &[u32] {
        let request = self.request().map(|request| request.unknown_fields);
        request.or_else(|| self.response().map(|response| response.unknown_fields)).unwrap_or_default()
    }

    /// The status of a NACK.
    pub fn error_detail(&self) -> Option<&ErrorDetail> {
        self.request()?.error_detail
    }
}
