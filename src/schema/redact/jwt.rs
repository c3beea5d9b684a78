//! JSON Web Tokens, signed (RFC 7515) and encrypted (RFC 7516).

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem;

use super::values::{is_base64_url, starts_word};

/// The start of a token: `{"` in base64.
static START: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("eyJ"));

/// Fewest letters of the header and of the claims.
const MIN_PART_BYTES: usize = 8;

/// Parts of an encrypted token. Its second part may be empty.
const MAX_PARTS: usize = 5;

/// Whether bytes may contain a token. Takes little time.
pub(super) fn may_have_tokens(bytes: &[u8]) -> bool {
    START.find(bytes).is_some()
}

/// Collects all tokens.
pub(super) fn find(text: &[u8], found: &mut Vec<Range<usize>>) {
    let mut from = 0;
    for at in START.find_iter(text) {
        if at < from || !starts_word(text, at) {
            continue;
        }
        match place(text, at) {
            Some(place) => {
                from = place.end;
                found.push(place);
            }
            // No other token begins in the same letters: its first part would be shorter.
            None => from = part_end(text, at),
        }
    }
}

/// Returns the range of the token that begins at `at`.
fn place(text: &[u8], at: usize) -> Option<Range<usize>> {
    let mut ends = [at; MAX_PARTS];
    let mut parts = 0;
    let mut from = at;
    while parts < MAX_PARTS {
        let end = part_end(text, from);
        ends[parts] = end;
        parts += 1;
        if text.get(end) != Some(&b'.') {
            break;
        }
        from = end + 1;
    }
    let head = ends[0] - at;
    let body = if parts > 1 { ends[1] - ends[0] - 1 } else { 0 };
    let is_encrypted = parts == MAX_PARTS && ends[4] > ends[3] + 1;
    let has_claims = body >= MIN_PART_BYTES - 1;
    // Claims without a signature begin with `{"` as well.
    let is_cut = parts == 2 && text[ends[0] + 1..].starts_with(b"eyJ");
    let end = match parts {
        _ if head < MIN_PART_BYTES => return None,
        _ if is_encrypted && (has_claims || body == 0) => ends[4],
        3.. if has_claims => ends[2],
        2 if has_claims && is_cut => ends[1],
        _ => return None,
    };
    Some(at..end)
}

/// Returns the end of the part of a token that begins at `at`.
fn part_end(text: &[u8], at: usize) -> usize {
    at + text[at..].iter().take_while(|byte| is_base64_url(byte)).count()
}
