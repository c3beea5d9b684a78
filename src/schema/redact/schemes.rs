//! Credentials behind the scheme of an authorization: `Bearer ...`, also in quotes, and behind
//! other words for a credential.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::values::{has_digit, has_space, is_credential};

/// Schemes of credentials, in front of a space.
pub(super) const SCHEMES: [&str; 7] =
    ["bearer", "basic", "digest", "negotiate", "token", "apikey", "aws4-hmac-sha256"];

/// Schemes that begin no other value of a header.
pub(super) const HEADER_SCHEMES: [&str; 4] = ["bearer", "basic", "digest", "negotiate"];

/// Length of the longest scheme, in bytes.
const MAX_SCHEME_BYTES: usize = "aws4-hmac-sha256".len();

/// Longest word that is searched for a scheme again, in bytes.
const MAX_REREAD_BYTES: usize = 64;

/// Schemes with a word that may be a credential.
static SCHEME: LazyLock<Regex> = LazyLock::new(|| {
    let headers = HEADER_SCHEMES.join("|");
    let open = r#"(?:\\{0,3}["'`]|[<(\[])?"#;
    // The sign in front makes this pattern faster than `\b`, where a text has many schemes.
    Regex::new(&format!(
        r"(?i-u)(?:^|[^A-Za-z0-9_])(?:({headers})[ \t\r\n+]+|(?:token|apikey|api[ _-]key|aws4-hmac-sha256)(?::?[ \t]|\+)[ \t+]*){open}([A-Za-z0-9._~+/=:-]+)"
    ))
    .expect("a pattern of ours")
});

/// Values in the parameters of a scheme.
static PARAMETER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?i-u)\b(?:response|signature)=\\?"?([A-Za-z0-9+/=_-]+)"#).expect("a pattern of ours")
});

/// Whether a word is a scheme.
pub(super) fn is_scheme(word: &[u8]) -> bool {
    SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme.as_bytes()))
}

/// Returns the length of the scheme and its space that a text begins with, or 0.
pub(super) fn scheme_len(text: &[u8]) -> usize {
    let space = text.iter().take(MAX_SCHEME_BYTES + 1).position(|byte| *byte == b' ');
    space.filter(|space| is_scheme(&text[..*space])).map_or(0, |space| space + 1)
}

/// Whether a text begins with a scheme that begins no other value of a header, and goes on.
pub(super) fn starts_with_header_scheme(text: &[u8]) -> bool {
    let len = scheme_len(text);
    let is_header =
        |scheme: &&str| len == scheme.len() + 1 && text[..len - 1].eq_ignore_ascii_case(scheme.as_bytes());
    len < text.len() && HEADER_SCHEMES.iter().any(is_header)
}

/// Collects the credentials behind schemes, and secret parameters of schemes.
pub(super) fn find(text: &[u8], found: &mut Vec<Range<usize>>) {
    if has_space(text) {
        find_credentials(text, found);
    }
    let parameters = PARAMETER.captures_iter(text).filter_map(|found| found.get(1));
    found.extend(parameters.map(|value| value.range()).filter(|value| value.len() >= 16));
}

/// Collects the credentials behind schemes.
fn find_credentials(text: &[u8], found: &mut Vec<Range<usize>>) {
    let mut from = 0;
    while let Some(scheme) = SCHEME.captures_at(text, from) {
        let Some(word) = scheme.get(2) else { break };
        let is_bearer = scheme.get(1).is_some_and(|scheme| scheme.as_bytes().eq_ignore_ascii_case(b"bearer"));
        let is_secret = is_credential(word.as_bytes()) || is_bearer && has_digit(word.as_bytes());
        if is_secret && !is_parameter(word.as_bytes(), text.get(word.end())) {
            from = word.end();
            found.push(word.range());
        } else {
            // The word may be a scheme itself: `invalid token Bearer ...`.
            from = if word.len() <= MAX_REREAD_BYTES { word.start() - 1 } else { word.end() };
        }
    }
}

/// Whether a word is a parameter of a scheme, such as `Credential=...`, which has a name.
///
/// A credential in base64 ends with `=` as well.
fn is_parameter(word: &[u8], next: Option<&u8>) -> bool {
    let bare = &word[..word.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1)];
    let is_name = word.len() == bare.len() + 1
        && next.is_some_and(|next| b"\"'\\*[".contains(next))
        && !is_credential(bare);
    bare.contains(&b'=') || is_name
}
