//! `ResourceLocator`: text and bytes.

use crate::pb::{Fields, Value, WireField, put_len_field};
use crate::text::hex_byte;

/// `ResourceLocator`, the structured form of an `xdstp` URI (docs/protocol.md#k-07,
/// docs/protocol.md#k-27).
pub const MESSAGE: &str = "xds.core.v3.ResourceLocator";

/// Maximum nesting of alternatives.
const MAX_DEPTH: usize = 8;

/// A text that does not stand for a `ResourceLocator`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LocatorError {
    /// The text is not an `xdstp` URI.
    #[error("`{0}` is not `xdstp://[AUTHORITY]/TYPE/ID[?PARAMETERS][#DIRECTIVES]`")]
    Syntax(String),
    /// A directive is unknown.
    #[error("`{directive}` in `{uri}` is neither `alt=` nor `entry=`")]
    UnknownDirective {
        /// The directive.
        directive: String,
        /// The URI that contains the directive.
        uri: String,
    },
}

/// Encodes an `xdstp` URI as a `ResourceLocator`.
///
/// # Errors
///
/// Returns an error if the text is not an `xdstp` URI, has an unknown directive, or nests
/// alternatives too deeply.
pub fn encode(uri: &str) -> Result<Vec<u8>, LocatorError> {
    at_depth(uri, MAX_DEPTH)
}

fn at_depth(uri: &str, depth: usize) -> Result<Vec<u8>, LocatorError> {
    let bad = || LocatorError::Syntax(uri.to_owned());
    let (uri_part, fragment) = uri.split_once('#').unwrap_or((uri, ""));
    let (path, query) = uri_part.split_once('?').unwrap_or((uri_part, ""));
    let (authority, path) =
        path.strip_prefix("xdstp://").and_then(|rest| rest.split_once('/')).ok_or_else(bad)?;
    let (ty, id) = path.split_once('/').unwrap_or((path, ""));
    if ty.is_empty() || depth == 0 {
        return Err(bad());
    }
    let mut out = Vec::new();
    for (number, part) in [(2, id), (3, authority), (4, ty)] {
        let part = decode_percent(part).ok_or_else(bad)?;
        if !part.is_empty() {
            put_len_field(&mut out, number, part.as_bytes());
        }
    }
    if !query.is_empty() {
        let mut params = Vec::new();
        for pair in query.split('&') {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let mut entry = Vec::new();
            put_len_field(&mut entry, 1, decode_percent(key).ok_or_else(bad)?.as_bytes());
            put_len_field(&mut entry, 2, decode_percent(value).ok_or_else(bad)?.as_bytes());
            put_len_field(&mut params, 1, &entry);
        }
        put_len_field(&mut out, 5, &params);
    }
    for directive in fragment.split(',').filter(|directive| !directive.is_empty()) {
        let mut inner = Vec::new();
        match directive.split_once('=') {
            Some(("alt", target)) => {
                let target = decode_percent(target).ok_or_else(bad)?;
                put_len_field(&mut inner, 1, &at_depth(&target, depth - 1)?);
            }
            Some(("entry", name)) => {
                put_len_field(&mut inner, 2, decode_percent(name).ok_or_else(bad)?.as_bytes());
            }
            _ => {
                let (directive, uri) = (directive.to_owned(), uri.to_owned());
                return Err(LocatorError::UnknownDirective { directive, uri });
            }
        }
        put_len_field(&mut out, 6, &inner);
    }
    Ok(out)
}

/// Returns the URI of a `ResourceLocator`. `None` if a URI cannot express the entire locator.
pub fn decode(bytes: &[u8]) -> Option<String> {
    let uri = read(bytes, MAX_DEPTH)?;
    (encode(&uri).as_deref() == Ok(bytes)).then_some(uri)
}

/// Returns the URI of a `ResourceLocator`, without the parts that a URI cannot express.
///
/// Accepts the message of the original proposal too (`docs/protocol.md#l-24`).
pub fn uri(bytes: &[u8]) -> Option<String> {
    text(bytes).map(str::to_owned).or_else(|| read(bytes, MAX_DEPTH))
}

/// Returns the URI in the locator of an entry of a list.
///
/// Accepts the string of the original proposal too (`docs/protocol.md#l-24`).
pub fn entry_uri(bytes: &[u8]) -> Option<String> {
    entry_text(bytes).map(str::to_owned).or_else(|| uri(bytes))
}

/// Returns the URI of a `ResourceLocator` in the form of the original proposal: a message with one
/// string (`docs/protocol.md#l-24`).
pub fn text(bytes: &[u8]) -> Option<&str> {
    let mut uri = None;
    for field in Fields::new(bytes) {
        match field.ok()? {
            WireField { number: 1, value: Value::Len(text), .. } => uri = Some(text),
            _ => return None,
        }
    }
    entry_text(uri?)
}

/// Returns the URI in the locator of an entry in the form of the original proposal: a string
/// (`docs/protocol.md#l-24`).
pub fn entry_text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| text.starts_with("xdstp:"))
}

/// Returns the field number of each directive of a `ResourceLocator`: 1 for `alt`, 2 for `entry`.
pub fn directives(bytes: &[u8]) -> Vec<u32> {
    let fields = Fields::new(bytes).map_while(Result::ok).filter(|field| field.number == 6);
    fields
        .map(|field| Fields::new(field.bytes()).next().and_then(Result::ok).map_or(0, |f| f.number))
        .collect()
}

fn read(bytes: &[u8], depth: usize) -> Option<String> {
    let (mut id, mut authority, mut ty) = (String::new(), String::new(), String::new());
    let (mut params, mut directives) = (Vec::new(), Vec::new());
    for field in Fields::new(bytes) {
        let field = field.ok()?;
        match field.number {
            2 => id = field.text().into_owned(),
            3 => authority = field.text().into_owned(),
            4 => ty = field.text().into_owned(),
            5 => {
                for entry in Fields::new(field.bytes()) {
                    let (mut key, mut value) = (String::new(), String::new());
                    for part in Fields::new(entry.ok()?.bytes()) {
                        let part = part.ok()?;
                        *if part.number == 1 { &mut key } else { &mut value } = part.text().into_owned();
                    }
                    params.push(format!("{}={}", percent(&key, ""), percent(&value, "")));
                }
            }
            6 => {
                let inner = Fields::new(field.bytes()).next()?.ok()?;
                directives.push(match inner.number {
                    1 => format!("alt={}", percent(&read(inner.bytes(), depth.checked_sub(1)?)?, ":/?=&*")),
                    _ => format!("entry={}", percent(&inner.text(), ":/")),
                });
            }
            _ => return None,
        }
    }
    let mut uri =
        format!("xdstp://{}/{}/{}", percent(&authority, ":"), percent(&ty, ""), percent(&id, ":/*"));
    for (mark, join, parts) in [('?', "&", params), ('#', ",", directives)] {
        if !parts.is_empty() {
            uri.push(mark);
            uri.push_str(&parts.join(join));
        }
    }
    Some(uri)
}

/// Decodes percent-encoded bytes. Returns `None` if the result is not UTF-8 or an escape is bad.
pub fn decode_percent(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            out.push(hex_byte(&[bytes.next()?, bytes.next()?])?);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

/// Percent-encodes all but unreserved characters and those of `plain`.
fn percent(text: &str, plain: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        let c = char::from(byte);
        if c.is_ascii_alphanumeric() || "-._~".contains(c) || plain.contains(c) {
            out.push(c);
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// M-37.
    #[test]
    fn uris_round_trip() {
        for uri in [
            "xdstp://some-authority/envoy.config.listener.v3.Listener/my-listeners/bar?node_type=ingress&a=b%20c",
            "xdstp:///a.B/c/*",
            "xdstp://a/t.T/x#alt=xdstp://b/t.T/y?k=v,entry=e",
            "xdstp://a/t.T/x#alt=xdstp://b/t.T/y,alt=xdstp://c/t.T/z",
        ] {
            let bytes = encode(uri).expect(uri);
            assert_eq!(decode(&bytes).as_deref(), Some(uri));
        }
    }

    /// `docs/protocol.md#l-24`
    #[test]
    fn accepts_locator_in_the_form_of_the_proposal() {
        let locator = "xdstp://a/t.T/x?k=v#alt=xdstp://b/t.T/y";
        let mut bytes = Vec::new();
        put_len_field(&mut bytes, 1, locator.as_bytes());
        assert_eq!(uri(&bytes).as_deref(), Some(locator));
        assert_eq!(decode(&bytes), None, "written as it came, not as a message");
        assert_eq!(uri(locator.as_bytes()), None, "a text is not a message");
        assert_eq!(entry_uri(locator.as_bytes()).as_deref(), Some(locator), "a string in an entry");
        let structured = encode(locator).expect("a locator");
        assert_eq!((text(&structured), entry_uri(&structured).as_deref()), (None, Some(locator)));
        // Field 1 of the published message is an enum.
        assert_eq!(text(b"\x08\x00"), None);
    }

    #[test]
    fn rejects_malformed_uris() {
        for uri in ["foo", "xdstp://a", "xdstp://a//x", "xdstp://a/t/x#what=1", "xdstp://a/t/%zz"] {
            assert!(encode(uri).is_err(), "{uri}");
        }
    }
}
