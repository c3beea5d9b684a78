//! Private keys in bytes of which nothing else is known: by the lines around them.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem;

use crate::wire::pb::{Fields, Value, WIRE_LEN, read_varint};

/// What both lines of a PEM block of a private key end with, whatever the key's kind.
static LABEL: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("PRIVATE KEY-----"));

/// The longest known word before the label is `ENCRYPTED`.
const MAX_LABEL_PREFIX: usize = 32;

/// The bytes with keys overwritten, or `None` if there are none. The length stays, and so does each byte that
/// can't be part of a key. A key without its first or last line is overwritten as far as it can reach.
pub(super) fn clean(bytes: &[u8], mark: &dyn Fn(&[u8]) -> String) -> Option<Vec<u8>> {
    cover(bytes, &[], mark)
}

/// The same for fields in a row. A key may seem to lie across some, for many a tag or length is a letter too: those
/// are left, and the key is overwritten around them.
pub(super) fn clean_fields(bytes: &[u8], mark: &dyn Fn(&[u8]) -> String) -> Option<Vec<u8>> {
    LABEL.find(bytes)?;
    let mut heads = Vec::new();
    put_heads(bytes, 0, &mut heads);
    cover(bytes, &heads, mark)
}

/// Overwrites keys but for what is `fixed`, which is in order.
fn cover(bytes: &[u8], fixed: &[Range<usize>], mark: &dyn Fn(&[u8]) -> String) -> Option<Vec<u8>> {
    let mut out: Option<Vec<u8>> = None;
    for at in LABEL.find_iter(bytes) {
        let Some(place) = key(bytes, at).filter(|place| !place.is_empty()) else { continue };
        let secret = bytes.get(place.clone()).unwrap_or_default();
        let within = fixed.get(fixed.partition_point(|range| range.end <= place.start)..).unwrap_or_default();
        let within = within.iter().take_while(|range| range.start < place.end);
        let mut cover = mark(secret).into_bytes();
        // A mark in pieces would be read as a part of a key, when this is cleaned again.
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

/// Where tags and lengths are, also within groups, also of a last field that can't be read. `from`: where the bytes
/// begin.
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

/// Of a field that can't be read its tag (0 if there is none), and the length of that with the length behind it.
pub(super) fn unreadable_head(rest: &[u8]) -> (u64, usize) {
    let (tag, mut len) = read_varint(rest).unwrap_or((0, 0));
    if tag & 7 == u64::from(WIRE_LEN) {
        len += rest.get(len..).and_then(read_varint).map_or(0, |(_, len)| len);
    }
    (tag, len)
}

/// Where the key is that the label at `at` belongs to: after a BEGIN line, before an END line.
fn key(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let head = bytes.get(at.saturating_sub(MAX_LABEL_PREFIX)..at)?;
    let begin = memmem::rfind(head, b"-----BEGIN ");
    let end = memmem::rfind(head, b"-----END ");
    if end > begin {
        let line = at.saturating_sub(MAX_LABEL_PREFIX) + end?;
        let body = bytes.get(..line)?.iter().rev().take_while(|byte| of_body(**byte)).count();
        return Some(line - body..line);
    }
    begin?;
    let from = at + LABEL.needle().len();
    let rest = bytes.get(from..)?;
    let line = memmem::find(rest, b"-----").unwrap_or(rest.len());
    let body = rest.iter().take(line).take_while(|byte| of_body(**byte) || b":,-".contains(byte)).count();
    Some(from..from + body)
}

/// Base64, line ends plain and escaped, and the words of header lines.
fn of_body(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=\r\n\t \\".contains(&byte)
}
