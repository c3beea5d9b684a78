use super::Codec;
use super::ast::*;
use super::payload::{any, payload};
use crate::wire::ErrorDetail;
use crate::wire::event::TYPE_PREFIX;
use crate::wire::pb::{self, put_len_field, put_tag, put_varint};

/// The code in `resource_errors` entries, which a script gives texts only: NOT_FOUND.
pub(super) const RESOURCE_ERROR: i32 = 5;

fn text(out: &mut Vec<u8>, number: u32, text: &str) {
    if !text.is_empty() {
        put_len_field(out, number, text.as_bytes());
    }
}

fn texts(out: &mut Vec<u8>, number: u32, items: &[String]) {
    for item in items {
        put_len_field(out, number, item.as_bytes());
    }
}

fn status(code: i32, message: &str) -> Vec<u8> {
    ErrorDetail { code, message: message.into(), details: Vec::new() }.encode()
}

/// The bytes of a request; `node` is what it carries.
pub(super) fn request(stream: &Stream, it: &Request, node: Option<&[u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    let type_url = stream.type_url(&it.ty);
    let error = it.nack.as_ref().map(|(code, message)| status(*code, message));
    if stream.variant.is_delta() {
        if let Some(node) = node {
            put_len_field(&mut out, 1, node);
        }
        text(&mut out, 2, type_url.as_str());
        texts(&mut out, 3, &it.subscribe);
        texts(&mut out, 4, &it.unsubscribe);
        for (name, version) in &it.initial {
            let mut entry = Vec::new();
            put_len_field(&mut entry, 1, name.as_bytes());
            put_len_field(&mut entry, 2, version.as_bytes());
            put_len_field(&mut out, 5, &entry);
        }
        text(&mut out, 6, &it.nonce);
        if let Some(error) = error {
            put_len_field(&mut out, 7, &error);
        }
    } else {
        text(&mut out, 1, &it.version);
        if let Some(node) = node {
            put_len_field(&mut out, 2, node);
        }
        texts(&mut out, 3, &it.names);
        text(&mut out, 4, type_url.as_str());
        text(&mut out, 5, &it.nonce);
        if let Some(error) = error {
            put_len_field(&mut out, 6, &error);
        }
    }
    out
}

/// The bytes of a response; an error in words.
pub(super) fn response(codec: &dyn Codec, stream: &Stream, it: &Response) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let delta = stream.variant.is_delta();
    text(&mut out, 1, if delta { &it.system_version } else { &it.version });
    for entry in &it.resources {
        put_len_field(&mut out, 2, &resource_entry(codec, stream, &it.ty, entry)?);
    }
    text(&mut out, 4, stream.type_url(&it.ty).as_str());
    text(&mut out, 5, &it.nonce);
    let plane = it.control_plane.as_ref().map(|id| {
        let mut plane = Vec::new();
        text(&mut plane, 1, id);
        plane
    });
    texts(&mut out, 6, &it.removed);
    if let Some(plane) = plane {
        put_len_field(&mut out, if delta { 7 } else { 6 }, &plane);
    }
    for (name, message) in &it.errors {
        let mut error = Vec::new();
        let mut inner = Vec::new();
        text(&mut inner, 1, name);
        put_len_field(&mut error, 1, &inner);
        put_len_field(&mut error, 2, &status(RESOURCE_ERROR, message));
        put_len_field(&mut out, if delta { 9 } else { 7 }, &error);
    }
    Ok(out)
}

/// One entry: an `Any` in SotW, a `Resource` in delta.
pub(super) fn resource_entry(
    codec: &dyn Codec,
    stream: &Stream,
    ty: &TypeRef,
    entry: &Entry,
) -> Result<Vec<u8>, String> {
    match entry {
        Entry::Raw(bytes) => Ok(bytes.clone()),
        Entry::Plain(resource) => {
            let payload = payload(codec, stream, ty, resource)?;
            if stream.variant.is_delta() {
                return Ok(wrapper(resource, payload));
            }
            payload.ok_or_else(|| "a SotW entry can't be unset but in `wrap(…)`".into())
        }
        Entry::Wrapped(resource) => {
            let url = format!("{TYPE_PREFIX}envoy.service.discovery.v3.Resource");
            Ok(any(&url, &wrapper(resource, payload(codec, stream, ty, resource)?)))
        }
    }
}

/// The `Resource` message around a payload.
fn wrapper(resource: &Resource, payload: Option<Vec<u8>>) -> Vec<u8> {
    let mut out = Vec::new();
    text(&mut out, 1, &resource.version);
    if let Some(payload) = payload {
        put_len_field(&mut out, 2, &payload);
    }
    text(&mut out, 3, &resource.name);
    texts(&mut out, 4, &resource.aliases);
    if let Some(Ttl(nanos)) = resource.ttl {
        let mut duration = Vec::new();
        for (number, value) in [(1, nanos / 1_000_000_000), (2, nanos % 1_000_000_000)] {
            if value != 0 {
                put_tag(&mut duration, number, pb::WIRE_VARINT);
                put_varint(&mut duration, i64::try_from(value).unwrap_or(i64::MAX) as u64);
            }
        }
        put_len_field(&mut out, 6, &duration);
    }
    out
}
