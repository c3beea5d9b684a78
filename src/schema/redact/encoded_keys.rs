//! Private keys in PEM or PuTTY form, in base64 or in hexadecimal.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::{Match, Regex};

use super::readings::TextReading;

/// Digits or letters that are decoded to see the kind of a block.
const MAX_HEAD_BYTES: usize = 128;

/// The beginnings of a PEM block and of a key file of PuTTY in base64, for a quick search.
pub(super) const BASE64_STARTS: &str = "LS0tLS1CRUdJTi|UHVUVFktVXNlci1LZXktRmlsZS";

/// Dashes in hexadecimal, for a quick search.
pub(super) const HEX_STARTS: &str =
    "2d2d2d2d2d42|2D2D2D2D2D42|2d:2d:2d:2d:2d:42|2D:2D:2D:2D:2D:42|2d 2d 2d 2d 2d 42|2D 2D 2D 2D 2D 42";

static BASE64: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(r"(?-u)(?:{BASE64_STARTS})[A-Za-z0-9+/_\r\n-]+=*")).expect("a pattern of ours")
});

/// A PEM block in hexadecimal: its first dashes and `B`.
static HEX: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(r"(?-u)(?:{HEX_STARTS})(?:[: \r\n]{{0,3}}[0-9a-fA-F])+")).expect("a pattern of ours")
});

/// Collects all such keys.
pub(super) fn find(text: &[u8], found: &mut Vec<Range<usize>>) {
    let is_key = |block: &Match<'_>| {
        let head = head(block, |byte| !byte.is_ascii_whitespace());
        let head = TextReading::of_base64(&head);
        head.starts_with(b"PuTTY") || is_private(&head)
    };
    found.extend(BASE64.find_iter(text).filter(is_key).map(|block| block.range()));
    let is_key = |block: &Match<'_>| {
        let digits = head(block, |byte| byte.is_ascii_hexdigit());
        let value = |digit: u8| (digit as char).to_digit(16).unwrap_or(0) as u8;
        let bytes: Vec<u8> =
            digits.chunks_exact(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect();
        is_private(&bytes)
    };
    found.extend(HEX.find_iter(text).filter(is_key).map(|block| block.range()));
}

fn head(block: &Match<'_>, is_part: fn(&u8) -> bool) -> Vec<u8> {
    block.as_bytes().iter().copied().filter(is_part).take(MAX_HEAD_BYTES).collect()
}

fn is_private(head: &[u8]) -> bool {
    memchr::memmem::find(head, b"PRIVATE KEY").is_some()
}
