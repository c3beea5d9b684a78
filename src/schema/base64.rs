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
}
