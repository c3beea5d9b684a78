use serde_json::{Map, Value};

use super::ast::{Content, Resource, Stream, TypeRef};
use super::node::struct_bytes;
use super::{Codec, locator, short};
use crate::wire::discovery::encode::encode_any;
use crate::wire::event::{Kind, TYPE_PREFIX};
use crate::wire::pb::put_len_field;

/// The `Any` that a resource stands for on a stream; `None` for `unset`. An error in words.
pub(super) fn payload(
    codec: &dyn Codec,
    stream: &Stream,
    ty: &TypeRef,
    resource: &Resource,
) -> Result<Option<Vec<u8>>, String> {
    let (fields, tag) = match &resource.content {
        Content::Unset => return Ok(None),
        Content::Redirect(uri) => {
            let url = format!("{TYPE_PREFIX}{}", locator::MESSAGE);
            return Ok(Some(encode_any(&url, &locator::encode(uri)?)));
        }
        Content::Fields { fields, tag } => (fields.as_ref(), tag.as_deref()),
    };
    let own = if resource.ty == TypeRef::Implied { ty } else { &resource.ty };
    let url = stream.type_url(own);
    let name = resource.name.as_str();
    if let (Some(item), TypeRef::Implied) = (short::collection(name), &resource.ty) {
        if tag.is_some() {
            return Err("a collection has no other content that `~` could stand for".into());
        }
        let value = short::entries(&item, fields)?;
        return Ok(Some(encode_any(&format!("{TYPE_PREFIX}{item}Collection"), &value)));
    }
    let Some(message) = url.as_str().strip_prefix(TYPE_PREFIX) else {
        return Err(format!("`{url}` is no type URL that content could be made for"));
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
            return Err(format!("`~` stands for nothing in a {message}"));
        };
        value.extend_from_slice(&tagged(kind, tag));
    }
    Ok(Some(encode_any(url.as_str(), &value)))
}

/// The name of the JSON field that holds the resource's own name.
pub(super) fn name_key(kind: Option<Kind>) -> Option<&'static str> {
    match kind {
        Some(Kind::Eds) => Some("cluster_name"),
        Some(Kind::Leds) => None,
        _ => Some("name"),
    }
}

/// Short forms expanded, and the name put in front, unless the mapping has one.
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

/// The smallest resource of a kind that validation accepts, in both API versions. It refers to nothing.
pub(super) fn smallest(kind: Kind, name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    if let (Some(number), false) = (kind.name_field(), name.is_empty()) {
        put_len_field(&mut out, number, name.as_bytes());
    }
    match kind {
        // A virtual host must have a domain.
        Kind::Vhds => put_len_field(&mut out, 2, b"*"),
        // A scope must have a key of at least one fragment: an empty text.
        Kind::Srds => out.extend_from_slice(&nested(&[3, 1, 1], b"")),
        // An extension must have a configuration of some type: Empty.
        Kind::Ecds => {
            put_len_field(&mut out, 2, &encode_any("type.googleapis.com/google.protobuf.Empty", b""))
        }
        Kind::Lds | Kind::Cds | Kind::Rds | Kind::Eds | Kind::Sds | Kind::Rtds | Kind::Leds => {}
    }
    out
}

/// A tag in a field that is harmless: appended to a resource it gives other content, which decodes.
fn tagged(kind: Kind, tag: &str) -> Vec<u8> {
    let text = tag.as_bytes();
    match kind {
        // alt_stat_name
        Kind::Cds => nested(&[28], text),
        // internal_only_headers
        Kind::Rds => nested(&[3], text),
        // endpoints: a locality without any
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

/// A map entry: the tag as the name of a filter, with an empty Struct.
fn filter_metadata(tag: &str) -> Vec<u8> {
    let mut out = nested(&[1], tag.as_bytes());
    put_len_field(&mut out, 2, b"");
    out
}
