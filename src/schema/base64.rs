//! Base64 as protobuf JSON has it: the standard alphabet, padded.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends the base64 of `bytes`.
pub fn encode_to(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let letter = ALPHABET[(group >> (18 - 6 * i) & 63) as usize];
            out.push(if i > chunk.len() { b'=' } else { letter });
        }
    }
}

pub fn encode(bytes: &[u8]) -> String {
    let mut out = Vec::new();
    encode_to(&mut out, bytes);
    String::from_utf8(out).unwrap_or_default()
}

/// Reads the standard and the URL-safe alphabet, padded or not; `None` for anything else.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=').as_bytes();
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    for chunk in text.chunks(4) {
        let mut group = 0;
        for byte in chunk {
            let digit = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'+' | b'-' => 62,
                b'/' | b'_' => 63,
                _ => return None,
            };
            group = group << 6 | u32::from(digit);
        }
        let whole = group << (6 * (4 - chunk.len()));
        match chunk.len() {
            4 => out.extend([(whole >> 16) as u8, (whole >> 8) as u8, whole as u8]),
            3 => out.extend([(whole >> 16) as u8, (whole >> 8) as u8]),
            2 => out.push((whole >> 16) as u8),
            _ => return None,
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_round_trips() {
        let bytes: Vec<u8> = (0..=255).chain([255, 254, 62, 63]).collect();
        for len in 0..bytes.len() {
            let text = encode(&bytes[..len]);
            assert_eq!(text.len() % 4, 0);
            assert_eq!(decode(&text).as_deref(), Some(&bytes[..len]));
        }
        assert_eq!(encode(b"\xfb\xff"), "+/8=");
        assert_eq!(decode("-_8"), Some(vec![0xfb, 0xff]));
        assert_eq!(decode("[redacted]"), None);
        assert_eq!(decode("a"), None);
    }
}
