use serde_json::{Map, Value};

use super::ast::{ResourceContent, ScriptResource, ScriptStream, TypeRef};
use super::codec::Codec;
use super::error::EncodeError;
use super::node::struct_bytes;
use super::short;
use xdscope_wire::discovery::encode::encode_any;
use xdscope_wire::event::{Kind, TYPE_PREFIX};
use xdscope_wire::pb::put_len_field;
use xdscope_wire::xdstp::locator;

/// Encodes the `Any` of a resource on a stream. `unset` resources have none.
pub(super) fn payload(
    codec: &dyn Codec,
    stream: &ScriptStream,
    ty: &TypeRef,
    resource: &ScriptResource,
) -> Result<Option<Vec<u8>>, EncodeError> {
    let (fields, tag) = match &resource.content {
        ResourceContent::Unset => return Ok(None),
        ResourceContent::Redirect(uri) => {
            let url = format!("{TYPE_PREFIX}{}", locator::MESSAGE);
            return Ok(Some(encode_any(&url, &locator::encode(uri)?)));
        }
        ResourceContent::Fields { fields, tag } => (fields.as_ref(), tag.as_deref()),
    };
    let own = if resource.ty == TypeRef::Implied { ty } else { &resource.ty };
    let url = stream.type_url(own);
    let name = resource.name.as_str();
    if let (Some(item), TypeRef::Implied) = (short::collection(name), &resource.ty) {
        if tag.is_some() {
            return Err(EncodeError::TaggedCollection);
        }
        let value = short::entries(&item, fields)?;
        return Ok(Some(encode_any(&format!("{TYPE_PREFIX}{item}Collection"), &value)));
    }
    let Some(message) = url.as_str().strip_prefix(TYPE_PREFIX) else {
        return Err(EncodeError::TypeUrl(url.to_string()));
    };
    let kind = Kind::of_message(message);
    let mut value = match (kind, fields) {
        (Some((kind, _)), None) => smallest(kind, name),
        (None, None) => codec.encode(message, &serde_json::json!({ "name": name }))?,
        (_, Some(fields)) => {
            codec.encode(message, &with_name(kind.map(|(kind, _)| kind), message, name, fields))?
        }
    };
    if let Some(tag) = tag {
        let Some((kind, _)) = kind else {
            return Err(EncodeError::TaggedType(message.to_owned()));
        };
        value.extend_from_slice(&tagged(kind, tag));
    }
    Ok(Some(encode_any(url.as_str(), &value)))
}

/// Returns the JSON field that holds the name of a resource.
pub(super) fn name_key(kind: Option<Kind>) -> Option<&'static str> {
    match kind {
        Some(Kind::Eds) => Some("cluster_name"),
        Some(Kind::Leds) => None,
        _ => Some("name"),
    }
}

/// Expands short forms and adds the name if the mapping has none.
fn with_name(kind: Option<Kind>, message: &str, name: &str, fields: &Value) -> Value {
    let fields =
        kind.and_then(|kind| short::expand(kind, message, name, fields)).unwrap_or_else(|| fields.clone());
    let mut out = Map::new();
    if let Some(key) = name_key(kind)
        && fields.get(key).is_none()
    {
        out.insert(key.into(), name.into());
    }
    if let Value::Object(fields) = fields {
        out.extend(fields);
    }
    Value::Object(out)
}

fn nested(path: &[u32], inner: &[u8]) -> Vec<u8> {
    path.iter().rev().fold(inner.to_vec(), |inner, number| {
        let mut out = Vec::new();
        put_len_field(&mut out, *number, &inner);
        out
    })
}

/// Encodes the smallest resource of a kind that passes validation, in both API versions. The
/// resource has no references.
pub(super) fn smallest(kind: Kind, name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    if let (Some(number), false) = (kind.name_field(), name.is_empty()) {
        put_len_field(&mut out, number, name.as_bytes());
    }
    match kind {
        // A virtual host must have a domain.
        Kind::Vhds => put_len_field(&mut out, 2, b"*"),
        // A scope key must have at least one fragment, here the empty text.
        Kind::Srds => out.extend_from_slice(&nested(&[3, 1, 1], b"")),
        // An extension must have a configuration of some type, here Empty.
        Kind::Ecds => {
            put_len_field(&mut out, 2, &encode_any("type.googleapis.com/google.protobuf.Empty", b""))
        }
        Kind::Lds | Kind::Cds | Kind::Rds | Kind::Eds | Kind::Sds | Kind::Rtds | Kind::Leds => {}
    }
    out
}

/// Encodes a tag in a harmless field. Appended to a resource, the bytes decode to different
/// content.
fn tagged(kind: Kind, tag: &str) -> Vec<u8> {
    let text = tag.as_bytes();
    match kind {
        // alt_stat_name
        Kind::Cds => nested(&[28], text),
        // internal_only_headers
        Kind::Rds => nested(&[3], text),
        // endpoints: a locality without any endpoints
        Kind::Eds => nested(&[2, 1, 1], text),
        // validation_context.trusted_ca.filename
        Kind::Sds => nested(&[4, 1, 1], text),
        // key.fragments.string_key: one more fragment
        Kind::Srds => nested(&[3, 1, 1], text),
        // response_headers_to_remove
        Kind::Vhds => nested(&[11], text),
        // layer
        Kind::Rtds => nested(&[2], &struct_bytes(&Map::from_iter([(tag.to_owned(), Value::Bool(true))]))),
        Kind::Ecds => {
            nested(&[2], &encode_any("type.googleapis.com/google.protobuf.StringValue", &nested(&[1], text)))
        }
        // metadata.filter_metadata
        Kind::Lds => nested(&[6, 1], &filter_metadata(tag)),
        Kind::Leds => nested(&[3, 1], &filter_metadata(tag)),
    }
}

/// Encodes a map entry with the tag as a filter name and an empty Struct.
fn filter_metadata(tag: &str) -> Vec<u8> {
    let mut out = nested(&[1], tag.as_bytes());
    put_len_field(&mut out, 2, b"");
    out
}
