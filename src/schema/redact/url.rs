//! Secrets that texts show by their form: query parameters, passwords in URLs, and JWTs.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem;

use crate::secret_names::SecretNames;

/// The start of the authority of a URL.
static SCHEME_END: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("://"));

/// The start of a JWT: `{"` in base64.
static JWT_START: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("eyJ"));

/// Longest name of a query parameter, in bytes.
const MAX_PARAMETER_BYTES: usize = 64;

/// The ends of a user and a password in front of a network, as in the names of databases in Go.
static NETWORKS: LazyLock<[memmem::Finder<'static>; 2]> =
    LazyLock::new(|| ["@tcp(", "@unix("].map(memmem::Finder::new));

/// Fewest letters and digits of a user in a URL that are a token.
const MIN_TOKEN_BYTES: usize = 16;

/// Longest user and password in a URL, in bytes.
const MAX_USER_BYTES: usize = 1024;

/// Whether bytes may contain such secrets. Takes little time.
pub(super) fn may_have_secrets(bytes: &[u8]) -> bool {
    JWT_START.find(bytes).is_some()
        || SCHEME_END.find_iter(bytes).any(|at| password(bytes, at + SCHEME_END.needle().len()).is_some())
        || memchr::memchr2_iter(b'?', b'&', bytes).any(|at| is_parameter_start(bytes, at + 1))
}

/// Whether the bytes at `at` begin with a name and `=`.
fn is_parameter_start(bytes: &[u8], at: usize) -> bool {
    let rest = bytes.get(at..).unwrap_or_default();
    let len = rest.iter().take(MAX_PARAMETER_BYTES + 1).take_while(|byte| is_name_byte(**byte)).count();
    len > 0 && rest.get(len) == Some(&b'=')
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
    let mut from = 0;
    for at in JWT_START.find_iter(text).filter(|at| *at == 0 || !is_base64(text[at - 1])) {
        if at >= from
            && let Some(place) = jwt(text, at)
        {
            from = place.end;
            found.push(place);
        }
    }
    found
}

/// Returns the value of the query parameter whose name begins at `at`, if the value is a secret.
fn parameter(text: &[u8], at: usize, names: &SecretNames) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    let len = rest.iter().take(MAX_PARAMETER_BYTES + 1).take_while(|byte| is_name_byte(**byte)).count();
    if rest.get(len) != Some(&b'=') || !names.is_parameter(std::str::from_utf8(&rest[..len]).ok()?) {
        return None;
    }
    let value = at + len + 1;
    let end = value + text[value..].iter().take_while(|byte| is_in_url(**byte) && **byte != b'&').count();
    (end > value).then_some(value..end)
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
            && rest[..user].iter().all(|byte| is_base64(*byte))
            && rest[..user].iter().any(u8::is_ascii_digit);
        return is_token.then_some(at..at + user);
    };
    (colon + 1 < user).then_some(at + colon + 1..at + user)
}

/// Returns the range of the JWT that begins at `at`: three parts in base64.
fn jwt(text: &[u8], at: usize) -> Option<Range<usize>> {
    let part =
        |from: usize| text.get(from..).map_or(0, |rest| rest.iter().take_while(|c| is_base64(**c)).count());
    let head = at + part(at);
    let body = head + 1 + part(head + 1);
    let end = body + 1 + part(body + 1);
    let has_dots = text.get(head) == Some(&b'.') && text.get(body) == Some(&b'.');
    (has_dots && head - at >= 8 && body - head >= 8).then_some(at..end.min(text.len()))
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
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
            (
                "say eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc!",
                "say ****************************************!",
            ),
        ] {
            assert_eq!(clean(text), wanted);
        }
        for text in ["/a?b=1", "/a?token", "/a?token=&b", "https://host:80/a@b", "eyJ.eyJ.x", "?", "&", "://"]
        {
            assert_eq!(clean(text), text);
        }
    }
}
