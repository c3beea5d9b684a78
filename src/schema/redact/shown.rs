//! Secrets that texts show by their form, whatever the field: tokens and JWTs, in URLs and logins,
//! behind the scheme of an authorization, behind secret names, and encoded private keys.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::encoded_keys::{BASE64_STARTS, HEX_STARTS};
use super::plain::PlainText;
use super::references::starts_reference;
use super::schemes::SCHEMES;
use super::{encoded_keys, escapes, forms, jwt, logins, members, raw, schemes, url, wordings};
use crate::json::walk::redacted;
use crate::secret_names::SecretNames;

/// Words of the names in front of values, to see quickly that a text has none.
const NAME_PARTS: &str = "pass|pwd|psk|pin|otp|secret|token|key|auth|cred|cookie|jwt|bearer|sig|session|sid|csrf|xsrf\
    |config|string|account|mnemonic|hmac|dpop|vault|data|principal|team|phpsess|code|value|text|base64|b64|json|hash";

/// Invisible characters and letters of full width, which may be within a name.
const UNUSUAL: &str =
    r"\xc2\xad|\xcd\x8f|\xd8\x9c|\xe1[\x85\x9e\xa0]|\xe2[\x80\x81]|\xe3\x85\xa4|\xef[\xb8\xbb-\xbf]|\xf3\xa0";

/// Escapes within escapes that are read: JSON in a query has two. More of one kind count as one.
const MAX_LAYERS: usize = 2;

/// Length of the shortest secret whose id is shown in its place, in bytes.
const MIN_BYTES_WITH_ID: usize = 8;

/// Texts that may have secrets behind a scheme or a name, or a key in base64.
static HINT: LazyLock<Regex> = LazyLock::new(|| {
    let schemes = SCHEMES.join("|");
    let name = format!("(?:{NAME_PARTS})[A-Za-z0-9_.-]{{0,12}}");
    let hints = [
        format!(r"(?:{schemes}|api[ _-]key)[\s+:]"),
        format!(r#"{name}[\\"'` \t\]]{{0,12}}[:={{><(]"#),
        format!(r#"{name}[\\"'`\s]{{1,12}}(?:is|was|are|were|equals|set|changed|of|as|to|["'`])"#),
        format!(r"-[A-Za-z0-9_.-]{{0,32}}{name}[ \t]"),
        r#"["'][ \t]{0,8},\s{0,8}\\{0,7}["']|identified\s|kty|passw(?:or)?d\s|@(?:tcp|unix)\("#.to_owned(),
        format!("{BASE64_STARTS}|{HEX_STARTS}"),
        r#"[\s"']-[pawu]"#.to_owned(),
        UNUSUAL.to_owned(),
    ];
    Regex::new(&format!("(?i-u)(?:{})", hints.join("|"))).expect("a pattern of ours")
});

/// Whether bytes may contain such secrets. Takes little time.
pub(super) fn may_have_secrets(bytes: &[u8], names: &SecretNames) -> bool {
    !names.is_empty()
        || url::may_have_secrets(bytes)
        || jwt::may_have_tokens(bytes)
        || logins::has_passwords(bytes)
        || forms::may_have_tokens(bytes)
        || escapes::may_be_in(bytes)
        || HINT.is_match(bytes)
}

/// Returns the ranges of the secrets in a text, in order of their kind.
///
/// In the texts of peers, who write sentences, a value without quotes must look like a credential.
pub(super) fn find(text: &[u8], names: &SecretNames, is_sentence: bool) -> Vec<Range<usize>> {
    let mut found = find_plain(text, names, is_sentence);
    let mut layers: Vec<PlainText> = Vec::new();
    while layers.len() < MAX_LAYERS
        && let Some(layer) = PlainText::of(layers.last().map_or(text, |layer| &layer.bytes))
    {
        layers.push(layer);
    }
    if let Some(plain) = layers.last() {
        let places = find_plain(&plain.bytes, names, is_sentence).into_iter();
        let places = places.chain(raw::keys(&plain.bytes));
        let in_text = |place| layers.iter().rev().try_fold(place, |place, layer| layer.place(&place));
        found.extend(places.filter_map(in_text));
    }
    found.retain(|place| {
        !is_filled(&text[place.clone()]) && !starts_reference(&text[place.start..], place.len())
    });
    found
}

/// Returns the ranges of the secrets in a text that is spelled plainly.
fn find_plain(text: &[u8], names: &SecretNames, is_sentence: bool) -> Vec<Range<usize>> {
    let mut found = url::find(text, names);
    jwt::find(text, &mut found);
    forms::find(text, &mut found);
    logins::find(text, is_sentence, &mut found);
    if names.is_empty() && !is_sentence && !HINT.is_match(text) {
        return found;
    }
    schemes::find(text, &mut found);
    members::find(text, names, is_sentence, &mut found);
    wordings::find(text, names, &mut found);
    encoded_keys::find(text, &mut found);
    found
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
