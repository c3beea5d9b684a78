//! Detection of private keys in arbitrary bytes by the lines of PEM blocks.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem;

use xdscope_wire::pb::{Fields, Value, WIRE_LEN, read_varint};

/// The end of the first and last line of a PEM block with a private key of any kind.
static LABEL: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("PRIVATE KEY-----"));

/// Maximum distance between `-----BEGIN` or `-----END` and the label, in bytes. The longest known
/// word is `ENCRYPTED`.
const MAX_LABEL_PREFIX: usize = 32;

/// Overwrites private keys. Returns `None` if there are none.
///
/// Keeps the length and all bytes that cannot belong to a key. A key without its first or last line
/// is overwritten up to the first byte that cannot belong to the key.
pub(super) fn clean(bytes: &[u8], mark: &dyn Fn(&[u8]) -> String) -> Option<Vec<u8>> {
    cover(bytes, &[], mark)
}

/// Overwrites private keys in a sequence of fields and keeps tags and lengths.
///
/// Many tags and lengths are letters, so that a key can seem to extend across several fields.
pub(super) fn clean_fields(bytes: &[u8], mark: &dyn Fn(&[u8]) -> String) -> Option<Vec<u8>> {
    LABEL.find(bytes)?;
    let mut heads = Vec::new();
    put_heads(bytes, 0, &mut heads);
    cover(bytes, &heads, mark)
}

/// Overwrites private keys except for the ranges in `fixed`, which must be sorted.
fn cover(bytes: &[u8], fixed: &[Range<usize>], mark: &dyn Fn(&[u8]) -> String) -> Option<Vec<u8>> {
    let mut out: Option<Vec<u8>> = None;
    for at in LABEL.find_iter(bytes) {
        let Some(place) = key(bytes, at).filter(|place| !place.is_empty()) else { continue };
        let secret = bytes.get(place.clone()).unwrap_or_default();
        let within = fixed.get(fixed.partition_point(|range| range.end <= place.start)..).unwrap_or_default();
        let within = within.iter().take_while(|range| range.start < place.end);
        let mut cover = mark(secret).into_bytes();
        // A placeholder in pieces would look like part of a key if the result is redacted again.
        if cover.len() > secret.len() || within.clone().next().is_some() {
            cover.clear();
        }
        cover.resize(secret.len(), b'*');
        for range in within {
            let kept = range.start.max(place.start)..range.end.min(place.end);
            let slot = cover.get_mut(kept.start - place.start..kept.end - place.start);
            if let (Some(slot), Some(kept)) = (slot, bytes.get(kept)) {
                slot.copy_from_slice(kept);
            }
        }
        if cover == secret {
            continue;
        }
        if let Some(hole) = out.get_or_insert_with(|| bytes.to_vec()).get_mut(place) {
            hole.copy_from_slice(&cover);
        }
    }
    out
}

/// Collects the ranges of tags and lengths, including those in groups and of an undecodable last
/// field.
///
/// `from` is the offset of `bytes`.
fn put_heads(bytes: &[u8], from: usize, heads: &mut Vec<Range<usize>>) {
    let mut at = 0;
    for field in Fields::new(bytes).map_while(Result::ok) {
        let (start, end) = (from + at, from + at + field.raw.len());
        match field.value {
            Value::Len(payload) => heads.push(start..end - payload.len()),
            Value::I64(_) => heads.push(start..end - 8),
            Value::I32(_) => heads.push(start..end - 4),
            Value::Varint(_) => heads.push(start..start + tag_of(field.raw)),
            Value::Group(inner) => {
                let first = start + tag_of(field.raw);
                heads.push(start..first);
                put_heads(inner, first, heads);
                heads.push(first + inner.len()..end);
            }
        }
        at += field.raw.len();
    }
    let rest = bytes.get(at..).unwrap_or_default();
    heads.push(from + at..from + at + unreadable_head(rest).1);
}

fn tag_of(field: &[u8]) -> usize {
    read_varint(field).map_or(0, |(_, len)| len)
}

/// Returns the tag of an undecodable field (0 if absent), and the size of the tag and length in
/// bytes.
pub(super) fn unreadable_head(rest: &[u8]) -> (u64, usize) {
    let (tag, mut len) = read_varint(rest).unwrap_or((0, 0));
    if tag & 7 == u64::from(WIRE_LEN) {
        len += rest.get(len..).and_then(read_varint).map_or(0, |(_, len)| len);
    }
    (tag, len)
}

/// Returns the range of the key whose label is at `at`: behind a BEGIN line, or in front of an END
/// line.
fn key(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let head = bytes.get(at.saturating_sub(MAX_LABEL_PREFIX)..at)?;
    let begin = memmem::rfind(head, b"-----BEGIN ");
    let end = memmem::rfind(head, b"-----END ");
    if end > begin {
        let line = at.saturating_sub(MAX_LABEL_PREFIX) + end?;
        let body = bytes.get(..line)?.iter().rev().take_while(|byte| is_key_byte(**byte)).count();
        return Some(line - body..line);
    }
    begin?;
    let from = at + LABEL.needle().len();
    let rest = bytes.get(from..)?;
    let line = memmem::find(rest, b"-----").unwrap_or(rest.len());
    let body = rest.iter().take(line).take_while(|byte| is_key_byte(**byte) || b":,-".contains(byte)).count();
    Some(from..from + body)
}

/// Whether a byte can belong to a key: base64, line breaks (also escaped), and the words of header
/// lines.
fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=\r\n\t \\".contains(&byte)
}
