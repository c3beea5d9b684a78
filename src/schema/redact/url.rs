//! Secrets in URLs: query parameters, and passwords.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem;

use super::values::{is_base64_url, is_credential};
use crate::secret_names::SecretNames;

/// The start of the authority of a URL.
static SCHEME_END: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("://"));

/// Longest name of a query parameter, in bytes.
const MAX_PARAMETER_BYTES: usize = 64;

/// The ends of a user and a password in front of a network, as in the names of databases in Go.
static NETWORKS: LazyLock<[memmem::Finder<'static>; 2]> =
    LazyLock::new(|| ["@tcp(", "@unix("].map(memmem::Finder::new));

/// Fewest bytes of an authorization code (RFC 6749, "Authorization Response").
const MIN_CODE_BYTES: usize = 8;

/// Bytes of a value that tell whether the value is such a code.
const MAX_CODE_BYTES: usize = 64;

/// Fewest letters and digits of a user in a URL that are a token.
const MIN_TOKEN_BYTES: usize = 16;

/// Longest user and password in a URL, in bytes.
const MAX_USER_BYTES: usize = 1024;

/// Whether bytes may contain a password, or a token in place of a user. Takes little time.
pub(super) fn may_have_passwords(bytes: &[u8]) -> bool {
    SCHEME_END.find_iter(bytes).any(|at| password(bytes, at + SCHEME_END.needle().len()).is_some())
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~%".contains(&byte)
}

/// Returns the ranges of the secrets in a text, in order of their kind.
pub(super) fn find(text: &[u8], names: &SecretNames) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for at in memchr::memchr2_iter(b'?', b'&', text) {
        if found.last().is_none_or(|last| last.end <= at) {
            found.extend(parameter(text, at + 1, names));
        }
    }
    for at in SCHEME_END.find_iter(text) {
        found.extend(password(text, at + SCHEME_END.needle().len()));
    }
    for at in NETWORKS.iter().flat_map(|network| network.find_iter(text)) {
        found.extend(network_password(text, at));
    }
    found
}

/// Returns the value of the query parameter whose name begins at `at`, if the value is a secret.
fn parameter(text: &[u8], at: usize, names: &SecretNames) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    let len = rest.iter().take(MAX_PARAMETER_BYTES + 1).take_while(|byte| is_name_byte(**byte)).count();
    let name = std::str::from_utf8(&rest[..len]).ok()?;
    if rest.get(len) != Some(&b'=') || !names.is_parameter(name) {
        return None;
    }
    let value = at + len + 1;
    let in_value = |byte: &&u8| is_in_url(**byte) && **byte != b'&';
    // A value that is no secret is not read to its end: it may contain further parameters.
    let sample = text[value..].iter().take(MAX_CODE_BYTES).take_while(in_value).count();
    if sample == 0 || !is_value(name, &text[value..value + sample]) {
        return None;
    }
    Some(value..value + text[value..].iter().take_while(in_value).count())
}

/// Whether the value of a parameter is a secret: a short code or number is a status.
fn is_value(name: &str, value: &[u8]) -> bool {
    !name.eq_ignore_ascii_case("code")
        || value.len() >= MIN_CODE_BYTES && value.iter().any(u8::is_ascii_alphabetic) && is_credential(value)
}

/// Returns the password in `user:password@tcp(...)`, whose `@` is at `at`.
fn network_password(text: &[u8], at: usize) -> Option<Range<usize>> {
    let is_user = |byte: &u8| byte.is_ascii_graphic() && !b"\"'`/".contains(byte);
    let user = text[..at].iter().rev().take(MAX_USER_BYTES).take_while(|byte| is_user(byte)).count();
    let colon = at - user + memchr::memchr(b':', &text[at - user..at])?;
    (colon + 1 < at).then_some(colon + 1..at)
}

/// Returns the password of the URL whose authority begins at `at`, or the user if it is a token.
pub(super) fn password(text: &[u8], at: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    let is_user = |byte: &u8| is_in_url(*byte) && !b"/?".contains(byte);
    let authority = rest.iter().take(MAX_USER_BYTES).take_while(|byte| is_user(byte)).count();
    let user = memchr::memrchr(b'@', &rest[..authority])?;
    let Some(colon) = memchr::memchr(b':', &rest[..user]) else {
        let is_token = user >= MIN_TOKEN_BYTES
            && rest[..user].iter().all(is_base64_url)
            && rest[..user].iter().any(u8::is_ascii_digit);
        return is_token.then_some(at..at + user);
    };
    (colon + 1 < user).then_some(at + colon + 1..at + user)
}

/// Whether a byte can belong to a URL in a text.
fn is_in_url(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"'<>#\\`{}|^,;()[]".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_secrets_in_urls() {
        let clean = |text: &str| {
            let mut out = text.as_bytes().to_vec();
            find(text.as_bytes(), &SecretNames::default())
                .into_iter()
                .for_each(|place| out[place].fill(b'*'));
            String::from_utf8(out).unwrap()
        };
        for (text, wanted) in [
            ("/a?token=abc&b=1", "/a?token=***&b=1"),
            ("see https://x/?b=1&access_token=abc.", "see https://x/?b=1&access_token=****"),
            ("/a?sig=a%2Fb#c", "/a?sig=*****#c"),
            ("postgres://me:pa@ss@db:5432/x", "postgres://me:*****@db:5432/x"),
        ] {
            assert_eq!(clean(text), wanted);
        }
        for text in ["/a?b=1", "/a?token", "/a?token=&b", "https://host:80/a@b", "?", "&", "://"] {
            assert_eq!(clean(text), text);
        }
    }
}
