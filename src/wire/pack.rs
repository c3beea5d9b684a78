//! Packs a message into bytes that refer to the content of its catalog.

use std::sync::Arc;

use bytes::Bytes;

use super::discovery::*;
use crate::content::{BlobId, Catalog, List};
use crate::event::{Nonce, Sym, TypeUrl, VersionInfo};
use crate::pb::plain::{Put, Take};

/// Values that the body of a message shares with its segments.
struct Parts {
    /// Names of the only run of names.
    names: Option<Arc<[Sym]>>,
    /// The only list of entries.
    list: Option<Arc<List>>,
}

impl Parts {
    fn new(segments: &[Segment], catalog: &Catalog) -> Parts {
        let runs = segments.iter().filter_map(|segment| match segment {
            Segment::Run(blob) => Some(*blob),
            _ => None,
        });
        let lists = segments.iter().filter_map(|segment| match segment {
            Segment::List { list, .. } => Some(list),
            _ => None,
        });
        let run = only(runs).and_then(|run| catalog.known_names(run));
        Parts { names: run.cloned(), list: only(lists).cloned() }
    }
}

/// Returns the item of an iterator that has one.
fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    match (items.next(), items.next()) {
        (item, None) => item,
        _ => None,
    }
}

impl Message {
    /// Packs the message for [`Message::unpack`] with the same catalog.
    pub fn pack(&self, catalog: &Catalog) -> Vec<u8> {
        let mut put = Put::default();
        put.number(self.shape as u64);
        put.number(self.size);
        put.flag(self.redacted);
        put.each(self.segments.iter(), put_segment);
        let parts = Parts::new(&self.segments, catalog);
        put.flag(matches!(self.body, MessageBody::Undecodable { .. }));
        match &self.body {
            MessageBody::Undecodable { reason } => put.text(reason),
            MessageBody::SotwRequest(m) => {
                put.text(m.version_info.as_str());
                put.maybe(m.node.as_deref(), put_node);
                put_names(&mut put, &m.resource_names, &parts);
                put_syms(&mut put, &m.resource_locators);
                put.text(m.type_url.as_str());
                put.text(m.response_nonce.as_str());
                put.maybe(m.error_detail.as_deref(), put_error);
                put.ids(m.unknown_fields.iter().copied());
            }
            MessageBody::SotwResponse(m) => {
                put.text(m.version_info.as_str());
                put_resources(&mut put, &m.resources, &parts);
                put.flag(m.canary);
                put.text(m.type_url.as_str());
                put.text(m.nonce.as_str());
                put.maybe(m.control_plane.as_deref(), Put::text);
                put.each(m.resource_errors.iter(), put_resource_error);
                put.ids(m.unknown_fields.iter().copied());
            }
            MessageBody::DeltaRequest(m) => {
                put.maybe(m.node.as_deref(), put_node);
                put.text(m.type_url.as_str());
                put_names(&mut put, &m.subscribe, &parts);
                put_syms(&mut put, &m.unsubscribe);
                put.ids(m.initial_resource_versions.keys().map(|sym| sym.0));
                put.ids(m.initial_resource_versions.values().map(|sym| sym.0));
                put.text(m.response_nonce.as_str());
                put.maybe(m.error_detail.as_deref(), put_error);
                put_syms(&mut put, &m.locators_subscribe);
                put_syms(&mut put, &m.locators_unsubscribe);
                put.ids(m.unknown_fields.iter().copied());
            }
            MessageBody::DeltaResponse(m) => {
                put.text(m.system_version_info.as_str());
                put_resources(&mut put, &m.resources, &parts);
                put.text(m.type_url.as_str());
                put.text(m.nonce.as_str());
                put_syms(&mut put, &m.removed);
                put.maybe(m.control_plane.as_deref(), Put::text);
                put.each(m.resource_errors.iter(), put_resource_error);
                put.ids(m.unknown_fields.iter().copied());
            }
        }
        put.0
    }

    /// Reads the result of [`Message::pack`]; `None` if the bytes are malformed.
    pub fn unpack(bytes: &[u8], catalog: &Catalog) -> Option<Message> {
        let take = &mut Take::new(bytes);
        let shape = match take.number()? {
            0 => MessageShape::SotwRequest,
            1 => MessageShape::SotwResponse,
            2 => MessageShape::DeltaRequest,
            3 => MessageShape::DeltaResponse,
            _ => return None,
        };
        let (size, redacted) = (take.number()?, take.flag()?);
        let segments = take.each(|take| segment(take, catalog))?;
        let parts = Parts::new(&segments, catalog);
        let body = match (take.flag()?, shape) {
            (true, _) => MessageBody::Undecodable { reason: take.text()?.to_owned() },
            (false, MessageShape::SotwRequest) => MessageBody::SotwRequest(SotwRequest {
                version_info: VersionInfo::new(take.text()?),
                node: take.maybe(node)?,
                resource_names: names(take, &parts)?,
                resource_locators: syms(take)?,
                type_url: TypeUrl::new(take.text()?),
                response_nonce: Nonce::new(take.text()?),
                error_detail: take.maybe(error)?.map(Box::new),
                unknown_fields: take.ids()?,
            }),
            (false, MessageShape::SotwResponse) => MessageBody::SotwResponse(SotwResponse {
                version_info: VersionInfo::new(take.text()?),
                resources: resources(take, &parts, catalog)?,
                canary: take.flag()?,
                type_url: TypeUrl::new(take.text()?),
                nonce: Nonce::new(take.text()?),
                control_plane: take.maybe(Take::text)?.map(Arc::from),
                resource_errors: take.each(resource_error)?,
                unknown_fields: take.ids()?,
            }),
            (false, MessageShape::DeltaRequest) => MessageBody::DeltaRequest(DeltaRequest {
                node: take.maybe(node)?,
                type_url: TypeUrl::new(take.text()?),
                subscribe: names(take, &parts)?,
                unsubscribe: syms(take)?.into(),
                initial_resource_versions: syms(take)?.into_iter().zip(syms(take)?).collect(),
                response_nonce: Nonce::new(take.text()?),
                error_detail: take.maybe(error)?.map(Box::new),
                locators_subscribe: syms(take)?,
                locators_unsubscribe: syms(take)?,
                unknown_fields: take.ids()?,
            }),
            (false, MessageShape::DeltaResponse) => MessageBody::DeltaResponse(DeltaResponse {
                system_version_info: VersionInfo::new(take.text()?),
                resources: resources(take, &parts, catalog)?,
                type_url: TypeUrl::new(take.text()?),
                nonce: Nonce::new(take.text()?),
                removed: syms(take)?,
                control_plane: take.maybe(Take::text)?.map(Arc::from),
                resource_errors: take.each(resource_error)?,
                unknown_fields: take.ids()?,
            }),
        };
        Some(Message { shape, segments, size, redacted, body })
    }
}

const INLINE: u64 = 0;
const RUN: u64 = 1;
const FIELD: u64 = 2;
const LIST: u64 = 3;

/// Writes a segment: its bytes, or the number of its blob.
fn put_segment(put: &mut Put, segment: &Segment) {
    match segment {
        Segment::Inline(bytes) => {
            put.number(INLINE);
            put.bytes(bytes);
        }
        Segment::Run(blob) => {
            put.number(RUN);
            put.number(blob.0.into());
        }
        Segment::Field { number, blob } => {
            put.number(FIELD);
            put.number((*number).into());
            put.number(blob.0.into());
        }
        Segment::List { number, list } => {
            put.number(LIST);
            put.number((*number).into());
            put_list(put, list);
        }
    }
}

fn segment(take: &mut Take<'_>, catalog: &Catalog) -> Option<Segment> {
    Some(match take.number()? {
        INLINE => Segment::Inline(take.bytes()?.into()),
        RUN => Segment::Run(blob(take)?),
        FIELD => Segment::Field { number: take.small()?, blob: blob(take)? },
        LIST => Segment::List { number: take.small()?, list: list(take, catalog)? },
        _ => return None,
    })
}

fn blob(take: &mut Take<'_>) -> Option<BlobId> {
    take.small().map(BlobId)
}

fn put_list(put: &mut Put, list: &List) {
    put.ids(list.blobs().iter().map(|blob| blob.0));
}

fn list(take: &mut Take<'_>, catalog: &Catalog) -> Option<Arc<List>> {
    Some(catalog.list(take.ids()?.into_iter().map(BlobId).collect()))
}

fn put_resources(put: &mut Put, resources: &Arc<List>, parts: &Parts) {
    let own = Some(resources) != parts.list.as_ref();
    put.maybe(own.then_some(&**resources), put_list);
}

fn resources(take: &mut Take<'_>, parts: &Parts, catalog: &Catalog) -> Option<Arc<List>> {
    take.maybe(|take| list(take, catalog))?.or_else(|| parts.list.clone())
}

fn put_syms(put: &mut Put, syms: &[Sym]) {
    put.ids(syms.iter().map(|sym| sym.0));
}

fn syms(take: &mut Take<'_>) -> Option<Vec<Sym>> {
    Some(take.ids()?.into_iter().map(Sym).collect())
}

fn put_names(put: &mut Put, names: &Arc<[Sym]>, parts: &Parts) {
    let own = !parts.names.as_ref().is_some_and(|run| Arc::ptr_eq(run, names));
    put.maybe(own.then_some(&**names), put_syms);
}

fn names(take: &mut Take<'_>, parts: &Parts) -> Option<Arc<[Sym]>> {
    take.maybe(syms)?.map(Arc::from).or_else(|| parts.names.clone())
}

fn put_error(put: &mut Put, error: &ErrorDetail) {
    put.number(u64::from(error.code as u32));
    put.text(&error.message);
    put.each(error.details.iter(), |put, detail| put.bytes(detail));
}

fn error(take: &mut Take<'_>) -> Option<ErrorDetail> {
    Some(ErrorDetail {
        code: take.small()? as i32,
        message: Arc::from(take.text()?),
        details: take.each(|take| take.bytes().map(Bytes::copy_from_slice))?,
    })
}

fn put_resource_error(put: &mut Put, error: &ResourceError) {
    put.number(error.name.0.into());
    put_error(put, &error.detail);
}

fn resource_error(take: &mut Take<'_>) -> Option<ResourceError> {
    Some(ResourceError { name: Sym(take.small()?), detail: error(take)? })
}

fn put_node(put: &mut Put, node: &NodeInfo) {
    let [region, zone, sub_zone] = &node.locality;
    for text in [&node.id, &node.cluster, region, zone, sub_zone, &node.user_agent, &node.user_agent_version]
    {
        put.text(text);
    }
    put.each(node.client_features.iter(), |put, feature| put.text(feature));
    put.maybe(node.blob, |put, blob| put.number(blob.0.into()));
}

fn node(take: &mut Take<'_>) -> Option<Arc<NodeInfo>> {
    let text = |take: &mut Take<'_>| take.text().map(str::to_owned);
    Some(Arc::new(NodeInfo {
        id: text(take)?,
        cluster: text(take)?,
        locality: [text(take)?, text(take)?, text(take)?],
        user_agent: text(take)?,
        user_agent_version: text(take)?,
        client_features: take.each(text)?,
        blob: take.maybe(blob)?,
    }))
}
