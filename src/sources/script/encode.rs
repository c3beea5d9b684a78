use super::ast::*;
use super::codec::Codec;
use super::error::EncodeError;
use super::payload::payload;
use xdscope_wire::ErrorDetail;
use xdscope_wire::discovery::encode::{RequestFields, ResourceFields, ResponseFields, encode_any};
use xdscope_wire::event::TYPE_PREFIX;

/// The code of `resource_errors` entries, for which scripts give only a message: NOT_FOUND.
pub(super) const RESOURCE_ERROR: i32 = 5;

fn strs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

fn status(code: i32, message: &str) -> ErrorDetail {
    ErrorDetail { code, message: message.into(), details: Vec::new() }
}

/// Encodes a request. `node` is the encoded node that the request carries.
pub(super) fn request(stream: &ScriptStream, it: &ScriptRequest, node: Option<&[u8]>) -> Vec<u8> {
    let type_url = stream.type_url(&it.ty);
    let error = it.nack.as_ref().map(|(code, message)| status(*code, message));
    let delta = stream.variant.is_delta();
    let fields = RequestFields {
        version_info: &it.version,
        node,
        type_url: type_url.as_str(),
        names: strs(if delta { &it.subscribe } else { &it.names }),
        unsubscribe: strs(&it.unsubscribe),
        initial_versions: it.initial.iter().map(|(name, version)| (&**name, &**version)).collect(),
        response_nonce: &it.nonce,
        error_detail: error.as_ref(),
    };
    fields.encode(delta)
}

/// Encodes a response.
pub(super) fn response(
    codec: &dyn Codec,
    stream: &ScriptStream,
    it: &ScriptResponse,
) -> Result<Vec<u8>, EncodeError> {
    let delta = stream.variant.is_delta();
    let entries = it.resources.iter().map(|entry| resource_entry(codec, stream, &it.ty, entry));
    let entries = entries.collect::<Result<Vec<_>, _>>()?;
    let type_url = stream.type_url(&it.ty);
    let errors = it.errors.iter();
    let fields = ResponseFields {
        version: if delta { &it.system_version } else { &it.version },
        type_url: type_url.as_str(),
        nonce: &it.nonce,
        removed: strs(&it.removed),
        control_plane: it.control_plane.as_deref(),
        resource_errors: errors.map(|(name, text)| (&**name, status(RESOURCE_ERROR, text))).collect(),
    };
    Ok(fields.encode(delta, entries))
}

/// Encodes one entry: an `Any` in SotW, a `Resource` in delta.
pub(super) fn resource_entry(
    codec: &dyn Codec,
    stream: &ScriptStream,
    ty: &TypeRef,
    entry: &ScriptEntry,
) -> Result<Vec<u8>, EncodeError> {
    match entry {
        ScriptEntry::Raw(bytes) => Ok(bytes.clone()),
        ScriptEntry::Plain(resource) => {
            let payload = payload(codec, stream, ty, resource)?;
            if stream.variant.is_delta() {
                return Ok(wrapper(resource, payload));
            }
            payload.ok_or(EncodeError::UnsetEntry)
        }
        ScriptEntry::Wrapped(resource) => {
            let url = format!("{TYPE_PREFIX}envoy.service.discovery.v3.Resource");
            Ok(encode_any(&url, &wrapper(resource, payload(codec, stream, ty, resource)?)))
        }
    }
}

/// Encodes the `Resource` message around a payload.
fn wrapper(resource: &ScriptResource, payload: Option<Vec<u8>>) -> Vec<u8> {
    let fields = ResourceFields {
        version: &resource.version,
        payload: payload.as_deref(),
        name: &resource.name,
        aliases: strs(&resource.aliases),
        ttl: resource.ttl.map(|Ttl(nanos)| nanos),
    };
    fields.encode()
}
