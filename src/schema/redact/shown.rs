//! Secrets that texts show by their form, whatever the field: tokens and JWTs, in URLs and logins,
//! behind the scheme of an authorization, behind secret names, and encoded private keys.
//!
//! A text is searched as it is, and once more without its escapes if these may hide a secret. That
//! is what [`HINT`] and [`ESCAPES`] tell: an escape stands for a letter, a digit or a sign, or the
//! text has a word that a secret has. Escaped spaces, line breaks and slashes hide no letter of
//! such a word. Paths with `%20`, texts with `\n` and patterns with `\/` are therefore searched
//! once, and so are redirects to `https%3A%2F%2Fhost`.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::encoded_keys::{BASE64_STARTS, HEX_STARTS};
use super::members::KEY_KINDS;
use super::plain::{self, PlainText};
use super::references::starts_reference;
use super::schemes::SCHEMES;
use super::{encoded_keys, escapes, forms, jwt, logins, members, raw, schemes, url, wordings};
use crate::json::walk::redacted;
use crate::secret_names::{ANY_WORD, PARAMETERS, SecretNames};

/// Invisible characters and letters of full width, which may be within a name.
const UNUSUAL: &str =
    r"\xc2\xad|\xcd\x8f|\xd8\x9c|\xe1[\x85\x9e\xa0]|\xe2[\x80\x81]|\xe3\x85\xa4|\xef[\xb8\xbb-\xbf]|\xf3\xa0";

/// Escapes within escapes that are read: JSON in a query has two. More of one kind count as one.
const MAX_LAYERS: usize = 2;

/// Fewest bytes of a token with a prefix.
const MIN_TOKEN_BYTES: usize = 14;

/// Length of the shortest secret whose id is shown in its place, in bytes.
const MIN_BYTES_WITH_ID: usize = 8;

/// Texts that may have secrets behind a scheme or a name, a key, or characters that are not seen.
/// Spaces and slashes may be escaped.
static HINT: LazyLock<Regex> = LazyLock::new(|| {
    let (space, slash) = (escapes::spaces(), format!("(?:/|{})", escapes::slashes()));
    let blank = format!(r"(?:\s|{space})");
    let schemes = SCHEMES.join("|");
    // `value` is the name of what another member names.
    let name = format!("(?:{}|{}|value)[A-Za-z0-9_.~-]*", *ANY_WORD, PARAMETERS.join("|"));
    // `key` and `value` alone are no names of secrets: code compares them with `==`.
    let alone = ["key", "value"];
    let words = ANY_WORD.split('|').chain(PARAMETERS).filter(|word| !alone.contains(word));
    let words = words.collect::<Vec<_>>().join("|");
    let before = format!(r"(?:[A-Za-z0-9_.~\x80-\xff-]|{KEY_KINDS}(?:[ \t]|{space}))");
    let part = format!("(?:{before}(?:key|value)[A-Za-z0-9_.~-]*|(?:key|value)[A-Za-z0-9_.~-]+)");
    let separated = r#"(?:[\\"'` \t\]]|SPACE)*"#.replace("SPACE", &space);
    let hints = [
        format!(r"(?:{schemes}|api(?:[_-]|{blank})key)(?:[+:]|{blank})"),
        format!("(?:(?:{words})[A-Za-z0-9_.~-]*|{part}){separated}[:={{><(]"),
        format!("(?:key|value){separated}(?:[:{{><(]|=(?:[^=]|$))"),
        format!(r#"{name}(?:[\\"'`]|{blank})+(?:is|was|are|were|equals|set|changed|of|as|to|["'`])"#),
        format!(r"-[A-Za-z0-9_.-]*{name}(?:[ \t]|{space})"),
        format!(r#"["'][ \t]{{0,8}},{blank}{{0,8}}\\{{0,7}}["']"#),
        format!(r"(?:identified|passw(?:or)?d){blank}|kty|@(?:tcp|unix)\(|response="),
        format!(r#"(?:["']|{blank})-[pawu]"#),
        format!(r"(?-i:PRIVATE)(?:[ +]|{space})(?-i:KEY)|(?-i:Private-Lines)"),
        format!("{BASE64_STARTS}|{HEX_STARTS}|2d{space}2d"),
        UNUSUAL.to_owned(),
        format!("(?-i:{})", forms::prefixes_with_slashes(&slash)),
    ];
    Regex::new(&format!("(?i-u)(?:{})", hints.join("|"))).expect("a pattern of ours")
});

/// Escapes that hide a letter or a sign, and a user or a long word behind an escape, which is a
/// part of the word as it is. The URL of a redirect, whose colon and slashes are escaped, is a
/// match of its own.
static ESCAPES: LazyLock<Regex> = LazyLock::new(|| {
    let (space, slash) = (escapes::spaces(), escapes::slashes());
    let hints = [
        r"https?%3a%2f%2f[A-Za-z0-9_.-]+".to_owned(),
        escapes::signs(),
        format!(r"(?:{space}|{slash})(?:[A-Za-z0-9_.-]{{{MIN_TOKEN_BYTES}}}|[!-?A-~]*@)"),
    ];
    Regex::new(&format!("(?i-u)(?:{})", hints.join("|"))).expect("a pattern of ours")
});

/// Bytes behind the host of a redirect within which an `@` would make a user of the host.
const MAX_REDIRECT_BYTES: usize = 512;

/// Whether bytes may contain such secrets. Takes little time.
pub(super) fn may_have_secrets(bytes: &[u8], names: &SecretNames, is_sentence: bool) -> bool {
    has_hint(bytes, names)
        || url::may_have_passwords(bytes)
        || jwt::may_have_tokens(bytes)
        || logins::has_passwords(bytes, is_sentence)
        || forms::may_have_tokens(bytes)
}

fn has_hint(text: &[u8], names: &SecretNames) -> bool {
    !names.is_empty() || HINT.is_match(text) || may_hide_secrets(text)
}

/// Whether escapes may hide a letter or a sign of a secret.
fn may_hide_secrets(text: &[u8]) -> bool {
    plain::may_have_escapes(text) && ESCAPES.find_iter(text).any(|found| !is_redirect(text, found.range()))
}

/// Whether an escape is that of a URL with nothing but a host: a redirect hides no secret.
fn is_redirect(text: &[u8], found: Range<usize>) -> bool {
    let host = &text[found.clone()];
    if !host[0].eq_ignore_ascii_case(&b'h') || forms::may_have_tokens(host) || jwt::may_have_tokens(host) {
        return false;
    }
    let rest = text[found.end..].iter().take(MAX_REDIRECT_BYTES);
    let mut rest = rest.take_while(|byte| byte.is_ascii_graphic());
    text.get(found.end) != Some(&b':') && rest.all(|byte| *byte != b'@')
}

/// Returns the ranges of the secrets in a text, in order of their kind.
///
/// In the texts of peers, who write sentences, a value without quotes must look like a credential.
pub(super) fn find(text: &[u8], names: &SecretNames, is_sentence: bool) -> Vec<Range<usize>> {
    let has_hint = (!is_sentence || plain::may_be_unusual(text)) && has_hint(text, names);
    let mut found = find_plain(text, names, is_sentence, has_hint);
    if has_hint {
        found.extend(find_escaped(text, names, is_sentence));
    }
    found.retain(|place| {
        !is_filled(&text[place.clone()]) && !starts_reference(&text[place.start..], place.len())
    });
    found
}

/// Returns the ranges of the secrets in a text that is spelled plainly.
fn find_plain(text: &[u8], names: &SecretNames, is_sentence: bool, has_hint: bool) -> Vec<Range<usize>> {
    let mut found = url::find(text, names);
    jwt::find(text, &mut found);
    forms::find(text, &mut found);
    logins::find(text, is_sentence, &mut found);
    if !has_hint && !is_sentence {
        return found;
    }
    schemes::find(text, &mut found);
    members::find(text, names, is_sentence, &mut found);
    wordings::find(text, names, &mut found);
    encoded_keys::find(text, &mut found);
    found
}

/// Returns the ranges of the secrets in a text without its escapes.
fn find_escaped(text: &[u8], names: &SecretNames, is_sentence: bool) -> Vec<Range<usize>> {
    let mut layers: Vec<PlainText> = Vec::new();
    while layers.len() < MAX_LAYERS
        && let Some(layer) = PlainText::of(layers.last().map_or(text, |layer| &layer.bytes))
    {
        layers.push(layer);
    }
    let Some(PlainText { bytes: plain, .. }) = layers.last() else { return Vec::new() };
    if !may_have_secrets(plain, names, is_sentence) {
        return Vec::new();
    }
    let places = find_plain(plain, names, is_sentence, true).into_iter().chain(raw::keys(plain));
    let in_text = |place| layers.iter().rev().try_fold(place, |place, layer| layer.place(&place));
    places.filter_map(in_text).collect()
}

/// Returns the password of an authority, such as `user:password@host`.
pub(super) fn authority_password(text: &[u8]) -> Option<Range<usize>> {
    url::password(text, 0).filter(|place| !is_filled(&text[place.clone()]))
}

/// Bytes that stand for a secret of the same length: stars, with the id of the secret if there is
/// room.
pub(super) fn fill(hole: &mut [u8], hash: u64) {
    hole.fill(b'*');
    if hole.len() >= MIN_BYTES_WITH_ID
        && let Some(id) = hole.get_mut(3..7)
    {
        id.copy_from_slice(format!("{:04x}", hash & 0xffff).as_bytes());
    }
}

/// Whether a secret was replaced by [`fill`].
fn is_filled(bytes: &[u8]) -> bool {
    let is_star = |byte: &u8| *byte == b'*';
    bytes.iter().all(is_star)
        || bytes.len() >= MIN_BYTES_WITH_ID
            && bytes.iter().take(3).all(is_star)
            && bytes.iter().skip(7).all(is_star)
            && bytes.iter().skip(3).take(4).all(u8::is_ascii_hexdigit)
        || redacted(bytes).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_and_redirects_are_searched_once() {
        for text in [
            "for key, value in pairs(t) do if key == \"a\" and value == 1 then end end",
            "/a?next=https%3A%2F%2Fapp.example.com%2Fcallback",
            "/a?next=HTTP%3a%2f%2flocalhost",
            "https%3A%2F%2Fa.b https%3A%2F%2Fc.d",
            "a%20b\\nc%2Fd",
        ] {
            assert!(!may_have_secrets(text.as_bytes(), &SecretNames::default(), false), "{text}");
        }
    }

    #[test]
    fn texts_with_secrets_are_no_code_and_no_redirect() {
        let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        for text in [
            "if api_key == \"abc123\" then",
            "if api key == \"abc123\" then",
            "if api%20key == \"abc123\" then",
            "key = \"abc123\"",
            "key=",
            "keys == \"abc123\"",
            "\"value\": \"abc123\"",
            "https%3A%2F%2Fme:pw@host",
            "https%3A%2F%2Fme%3Apw%40host",
            "https%3A%2F%2F0123456789abcdef0123@host",
            "https%3A%2F%2Fhost%2F?a@b",
            "https%3A%2F%2Fhost%3Ftoken%3Dabc",
            "amqp%3A%2F%2Fguest",
            &format!("https%3A%2F%2F{token}"),
            &format!("https%3A%2F%2Fhost%2F{token}"),
        ] {
            assert!(has_hint(text.as_bytes(), &SecretNames::default()), "{text}");
        }
    }
}
