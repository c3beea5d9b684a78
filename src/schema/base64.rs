//! Base64 as protobuf JSON has it: written in the standard alphabet, padded; read in either, padded or not.

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const PLAIN: GeneralPurpose = GeneralPurpose::new(&STANDARD, LENIENT);
const URL: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, LENIENT);

/// Appends the base64 of `bytes`.
pub fn encode_to(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(encode(bytes).as_bytes());
}

pub fn encode(bytes: &[u8]) -> String {
    PLAIN.encode(bytes)
}

/// Reads the standard and the URL-safe alphabet, padded or not; `None` for anything else.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    PLAIN.decode(text).or_else(|_| URL.decode(text)).ok()
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
