/// Reads a varint and returns its value and its length in bytes.
///
/// `None` if it is cut short or longer than ten bytes.
#[inline]
pub fn read_varint(bytes: &[u8]) -> Option<(u64, usize)> {
    // Most tags and lengths take one byte.
    match bytes.first() {
        Some(byte) if byte & 0x80 == 0 => Some((u64::from(*byte), 1)),
        _ => read_long(bytes),
    }
}

/// Reads a varint of more than one byte, with its length.
fn read_long(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (i, byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Some((value, i + 1));
        }
    }
    None
}

/// Returns the length of the shortest encoding of `value` in bytes.
pub fn varint_len(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// Appends the shortest encoding of `value`.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a field's tag.
pub fn put_tag(out: &mut Vec<u8>, number: u32, wire: u8) {
    put_varint(out, u64::from(number) << 3 | u64::from(wire));
}

/// Appends a length-delimited field.
pub fn put_len_field(out: &mut Vec<u8>, number: u32, payload: &[u8]) {
    put_tag(out, number, super::WIRE_LEN);
    put_varint(out, payload.len() as u64);
    out.extend_from_slice(payload);
}

/// Returns the bytes of the shortest tag and length of a length-delimited field.
pub fn tag_len(number: u32, len: usize) -> usize {
    varint_len(u64::from(number) << 3) + varint_len(len as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_round_trip() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            assert_eq!(out.len(), varint_len(value), "{value}");
            assert_eq!(read_varint(&out), Some((value, out.len())));
            assert_eq!(read_varint(&out[..out.len() - 1]), None);
        }
        assert_eq!(read_varint(&[0xff; 11]), None);
    }
}
