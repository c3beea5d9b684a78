//! Detection of private keys in arbitrary bytes by the lines of PEM blocks and of PuTTY's files.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem;

use xdscope_wire::pb::{Fields, Value, WIRE_LEN, read_varint};

/// A word of the first and last line of a PEM block with a private key of any kind.
static LABEL: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("PRIVATE"));

/// Text after that word: of a block of OpenPGP, a third word. In a query, a space may be a `+`.
const LABEL_ENDS: [&[u8]; 4] = [b" KEY-----", b"+KEY-----", b" KEY BLOCK-----", b"+KEY+BLOCK-----"];

/// The line of a key file of PuTTY in front of the private part: "PPK file format" in the manual.
static PRIVATE_LINES: LazyLock<memmem::Finder<'static>> =
    LazyLock::new(|| memmem::Finder::new("Private-Lines:"));

/// Maximum size of the line break in front of a key, with escapes, in bytes.
const MAX_BREAK_BYTES: usize = 16;

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
    LABEL.find(bytes).or_else(|| PRIVATE_LINES.find(bytes))?;
    let mut heads = Vec::new();
    put_heads(bytes, 0, &mut heads);
    cover(bytes, &heads, mark)
}

/// Overwrites private keys except for the ranges in `fixed`, which must be sorted.
fn cover(bytes: &[u8], fixed: &[Range<usize>], mark: &dyn Fn(&[u8]) -> String) -> Option<Vec<u8>> {
    let mut out: Option<Vec<u8>> = None;
    for place in keys(bytes) {
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

/// Returns the ranges of private keys.
pub(super) fn keys(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let blocks = LABEL.find_iter(bytes).filter_map(|at| key(bytes, at));
    blocks.chain(putty_keys(bytes)).filter(|place| !place.is_empty())
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
    let behind = bytes.get(at + LABEL.needle().len()..)?;
    let label_end = LABEL_ENDS.iter().find(|end| behind.starts_with(end))?;
    let is_pgp = label_end.ends_with(b"BLOCK-----");
    let begin = memmem::rfind(head, b"-----BEGIN");
    let end = memmem::rfind(head, b"-----END");
    if end > begin {
        let line = at.saturating_sub(MAX_LABEL_PREFIX) + end?;
        let body = bytes.get(..line)?.iter().rev().take_while(|byte| is_key_byte(**byte)).count();
        return Some(line - body..line);
    }
    begin?;
    let from = at + LABEL.needle().len() + label_end.len();
    let rest = bytes.get(from..)?;
    let line = memmem::find(rest, b"-----").unwrap_or(rest.len());
    // The headers of OpenPGP hold any text.
    let is_body = |byte: &&u8| {
        is_key_byte(**byte) || b":,-".contains(byte) || is_pgp && byte.is_ascii_graphic() && **byte != b'*'
    };
    let is_redacted = rest.starts_with(b"[redacted ");
    let body = if is_redacted { 0 } else { rest.iter().take(line).take_while(is_body).count() };
    Some(from..from + body)
}

/// Returns the private parts of key files of PuTTY: what is between the number of lines and the
/// code that authenticates them.
pub(super) fn putty_keys(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
    PRIVATE_LINES.find_iter(bytes).map(|at| {
        let number = at + PRIVATE_LINES.needle().len();
        let is_number = |byte: &&u8| matches!(**byte, b' ' | b'+') || byte.is_ascii_digit();
        let number = number + bytes[number..].iter().take(MAX_BREAK_BYTES).take_while(is_number).count();
        let from = number + break_len(&bytes[number..]);
        let len = bytes[from..].iter().take_while(|byte| is_key_byte(**byte)).count();
        let (mut body, rest) = bytes[from..].split_at(len);
        if rest.starts_with(b"-MAC") || rest.starts_with(b"-Hash") {
            body = body.strip_suffix(b"Private").unwrap_or(body);
        }
        for line_break in [&b"\\n"[..], b"\\r"] {
            body = body.trim_ascii_end();
            body = body.strip_suffix(line_break).unwrap_or(body);
        }
        from..from + body.len()
    })
}

/// Returns the length of the line break that a text begins with, also with escapes.
fn break_len(text: &[u8]) -> usize {
    let mut len = 0;
    while len < MAX_BREAK_BYTES {
        len += match text.get(len..) {
            Some([b'\\', b'n' | b'r', ..]) => 2,
            Some([b' ' | b'\n' | b'\r', ..]) => 1,
            _ => break,
        };
    }
    len
}

/// Whether a byte can belong to a key: base64, line breaks (also escaped), and the words of header
/// lines.
fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=\r\n\t \\".contains(&byte)
}
