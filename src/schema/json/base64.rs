//! Base64 as in protobuf JSON.
//!
//! Encodes with the standard alphabet and padding. Decodes both alphabets, with or without padding.

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD_ENGINE: GeneralPurpose = GeneralPurpose::new(&STANDARD, LENIENT);
const URL_SAFE_ENGINE: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, LENIENT);

/// Appends `bytes` in base64 to `out`.
pub fn encode_to(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(encode(bytes).as_bytes());
}

/// Encodes with the standard alphabet and padding.
pub fn encode(bytes: &[u8]) -> String {
    STANDARD_ENGINE.encode(bytes)
}

/// Decodes the standard or URL-safe alphabet, with or without padding. Returns `None` for invalid
/// input.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    STANDARD_ENGINE.decode(text).or_else(|_| URL_SAFE_ENGINE.decode(text)).ok()
}

/// Characters that are decoded at a time: whole groups of four.
const PIECE_CHARS: usize = 64 << 10;

/// Decodes like [`decode`], piece by piece. Returns false for invalid input, of which some pieces
/// may have been passed on.
pub fn decode_pieces(text: &str, mut take: impl FnMut(&[u8])) -> bool {
    let text = text.trim_end_matches('=').as_bytes();
    let is_url_safe = memchr::memchr2(b'-', b'_', text).is_some();
    let engine = if is_url_safe { URL_SAFE_ENGINE } else { STANDARD_ENGINE };
    let mut bytes = Vec::new();
    text.chunks(PIECE_CHARS).all(|piece| {
        bytes.clear();
        let decoded = engine.decode_vec(piece, &mut bytes).is_ok();
        take(if decoded { &bytes } else { &[] });
        decoded
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_every_length() {
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

    #[test]
    fn decodes_pieces_like_a_whole() {
        let bytes: Vec<u8> = (0..200_000_u64).map(|i| ((i * i) >> 3) as u8).collect();
        for len in [0, 1, 2, 3, 49_151, 49_152, 49_153, 200_000] {
            for text in [encode(&bytes[..len]), encode(&bytes[..len]).replace('+', "-").replace('/', "_")] {
                let mut out = Vec::new();
                assert!(decode_pieces(&text, |piece| out.extend_from_slice(piece)));
                assert_eq!(out, bytes[..len]);
            }
        }
        for text in ["a", "[redacted]", "+_8=", "ab=c"] {
            assert!(!decode_pieces(text, |_| {}), "{text}");
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
