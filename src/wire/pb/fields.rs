use std::borrow::Cow;

use super::*;

/// One top-level field of a message in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WireField<'a> {
    /// The field number.
    pub number: u32,
    /// The value.
    pub value: Value<'a>,
    /// The bytes of the field, tag included.
    pub raw: &'a [u8],
}

/// The value of a field, by wire type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A varint.
    Varint(u64),
    /// Eight bytes, little-endian.
    I64(u64),
    /// Four bytes, little-endian.
    I32(u32),
    /// The payload of a length-delimited field.
    Len(&'a [u8]),
    /// The fields of a group, without its end tag.
    Group(&'a [u8]),
}

impl<'a> WireField<'a> {
    /// Returns the payload of a length-delimited field; empty for any other wire type.
    pub fn bytes(&self) -> &'a [u8] {
        match self.value {
            Value::Len(bytes) => bytes,
            _ => &[],
        }
    }

    /// Returns the payload as text, with invalid UTF-8 replaced.
    pub fn text(&self) -> Cow<'a, str> {
        text(self.bytes())
    }

    /// Returns the value of a varint field; zero for any other wire type.
    pub fn varint(&self) -> u64 {
        match self.value {
            Value::Varint(value) => value,
            _ => 0,
        }
    }
}

/// Returns bytes as text, with invalid UTF-8 replaced.
///
/// Faster than `String::from_utf8_lossy` on valid text, which is the usual case.
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Returns the bit of a field in a bit set. Numbers from 63 on share the last bit.
pub fn field_bit(number: u32) -> u64 {
    1 << number.min(63)
}

/// The bytes from `offset` on are not a protobuf field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed protobuf field at byte {offset}")]
pub struct FieldError {
    /// Offset of the malformed field in bytes.
    pub offset: usize,
}

/// Iterates over the top-level fields of a message. Ends after the first error.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
    failed: bool,
}

impl<'a> Fields<'a> {
    /// Creates an iterator over the fields in `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Fields { bytes, at: 0, failed: false }
    }

    /// Reads the field at the position. `None` if the bytes are no field.
    #[inline(always)]
    fn read(&mut self) -> Option<WireField<'a>> {
        let rest = &self.bytes[self.at..];
        let (tag, mut at) = read_varint(rest)?;
        let number = u32::try_from(tag >> 3).ok().filter(|n| *n != 0 && *n < 1 << 29)?;
        let value = match (tag & 7) as u8 {
            WIRE_VARINT => {
                let (value, len) = read_varint(&rest[at..])?;
                at += len;
                Value::Varint(value)
            }
            WIRE_I64 => {
                let bytes = rest.get(at..at + 8)?;
                at += 8;
                Value::I64(u64::from_le_bytes(bytes.try_into().ok()?))
            }
            WIRE_I32 => {
                let bytes = rest.get(at..at + 4)?;
                at += 4;
                Value::I32(u32::from_le_bytes(bytes.try_into().ok()?))
            }
            WIRE_LEN => {
                let (len, used) = read_varint(&rest[at..])?;
                at += used;
                let end = at.checked_add(usize::try_from(len).ok()?)?;
                let bytes = rest.get(at..end)?;
                at = end;
                Value::Len(bytes)
            }
            WIRE_SGROUP => {
                let (inner, used) = group(&rest[at..], number)?;
                at += used;
                Value::Group(inner)
            }
            _ => return None,
        };
        self.at += at;
        Some(WireField { number, value, raw: &rest[..at] })
    }
}

/// Returns the content of a group, and its length up to and including the end tag.
///
/// Counts nested groups instead of recursing, so that hostile nesting cannot exhaust the stack.
fn group(bytes: &[u8], number: u32) -> Option<(&[u8], usize)> {
    let mut at = 0;
    let mut open = vec![number];
    loop {
        let (tag, len) = read_varint(&bytes[at..])?;
        let start = at;
        at += len;
        match (tag & 7) as u8 {
            WIRE_VARINT => at += read_varint(&bytes[at..])?.1,
            WIRE_I64 => at += 8,
            WIRE_I32 => at += 4,
            WIRE_LEN => {
                let (len, used) = read_varint(&bytes[at..])?;
                at = at.checked_add(used)?.checked_add(usize::try_from(len).ok()?)?;
            }
            WIRE_SGROUP => {
                if open.len() >= 100 {
                    return None;
                }
                open.push(u32::try_from(tag >> 3).ok()?);
            }
            WIRE_EGROUP => {
                if u64::from(open.pop()?) != tag >> 3 {
                    return None;
                }
                if open.is_empty() {
                    return Some((&bytes[..start], at));
                }
            }
            _ => return None,
        }
        if at > bytes.len() {
            return None;
        }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<WireField<'a>, FieldError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.at == self.bytes.len() {
            return None;
        }
        let offset = self.at;
        let field = self.read();
        self.failed = field.is_none();
        Some(field.ok_or(FieldError { offset }))
    }
}

/// Returns the message with some fields replaced; `None` if none was.
///
/// `field` returns a new payload, which is written length-delimited. `rest` returns a replacement
/// for the bytes from the first malformed field on. All other bytes stay the same.
pub fn rebuild<'a>(
    bytes: &'a [u8],
    mut field: impl FnMut(&WireField<'a>) -> Option<Vec<u8>>,
    rest: impl FnOnce(&'a [u8]) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    let mut out: Option<Vec<u8>> = None;
    let mut at = 0;
    for found in Fields::new(bytes).map_while(Result::ok) {
        match (field(&found), &mut out) {
            (Some(payload), out) => {
                let out = out.get_or_insert_with(|| bytes[..at].to_vec());
                put_len_field(out, found.number, &payload);
            }
            (None, Some(out)) => out.extend_from_slice(found.raw),
            (None, None) => {}
        }
        at += found.raw.len();
    }
    let tail = &bytes[at..];
    match (if tail.is_empty() { None } else { rest(tail) }, &mut out) {
        (Some(tail), out) => out.get_or_insert_with(|| bytes[..at].to_vec()).extend_from_slice(&tail),
        (None, Some(out)) => out.extend_from_slice(tail),
        (None, None) => {}
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_wire_type() {
        let mut bytes = Vec::new();
        put_tag(&mut bytes, 1, WIRE_VARINT);
        put_varint(&mut bytes, 300);
        put_len_field(&mut bytes, 2, b"abc");
        put_tag(&mut bytes, 3, WIRE_I32);
        bytes.extend_from_slice(&7u32.to_le_bytes());
        put_tag(&mut bytes, 4, WIRE_I64);
        bytes.extend_from_slice(&8u64.to_le_bytes());
        put_tag(&mut bytes, 5, WIRE_SGROUP);
        put_len_field(&mut bytes, 1, b"in");
        put_tag(&mut bytes, 5, WIRE_EGROUP);
        let fields: Vec<_> = Fields::new(&bytes).map(|f| f.map(|f| (f.number, f.value))).collect();
        assert_eq!(
            fields,
            vec![
                Ok((1, Value::Varint(300))),
                Ok((2, Value::Len(b"abc"))),
                Ok((3, Value::I32(7))),
                Ok((4, Value::I64(8))),
                Ok((5, Value::Group(b"\x0a\x02in"))),
            ]
        );
    }

    #[test]
    fn reports_malformed_field_once_with_offset() {
        let mut bytes = Vec::new();
        put_len_field(&mut bytes, 1, b"ok");
        bytes.extend_from_slice(&[0x12, 0xff]);
        let fields: Vec<_> = Fields::new(&bytes).collect();
        assert_eq!(fields.len(), 2);
        assert_eq!(fields[1], Err(FieldError { offset: 4 }));
    }

    #[test]
    fn rebuilds_only_replaced_fields() {
        // Field 1 with a padded length, field 2, then malformed bytes.
        let bytes = b"\x0a\x82\x00ab\x12\x01c\x1a\x7fd";
        let two = |to: &'static [u8]| {
            move |field: &WireField<'_>| (field.number == 2 && !to.is_empty()).then(|| to.to_vec())
        };
        assert_eq!(rebuild(bytes, two(b""), |_| None), None);
        let out = rebuild(bytes, two(b"long"), |_| None);
        assert_eq!(out.as_deref(), Some(&b"\x0a\x82\x00ab\x12\x04long\x1a\x7fd"[..]));
        let out = rebuild(bytes, two(b""), |rest| Some(vec![b'*'; rest.len()]));
        assert_eq!(out.as_deref(), Some(&b"\x0a\x82\x00ab\x12\x01c***"[..]));
        assert_eq!(rebuild(&bytes[..8], |_| None, |_| Some(vec![1])), None, "there is no rest");
    }

    #[test]
    fn refuses_deep_groups_without_recursion() {
        let bytes = vec![0x0b; 100_000];
        assert_eq!(Fields::new(&bytes).next(), Some(Err(FieldError { offset: 0 })));
    }
}
