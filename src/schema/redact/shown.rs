//! Secrets that texts show by their form, whatever the field: in URLs, behind the scheme of an
//! authorization, behind secret names, and private keys in base64.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::url;
use crate::schema::secret_names::SecretNames;

/// Schemes of credentials, in front of a space.
pub(super) const SCHEMES: [&str; 7] =
    ["bearer", "basic", "digest", "negotiate", "token", "apikey", "aws4-hmac-sha256"];

/// Schemes that begin no other value of a header.
pub(super) const HEADER_SCHEMES: [&str; 4] = ["bearer", "basic", "digest", "negotiate"];

/// Words of the names in front of values, to see quickly that a text has none.
const NAME_PARTS: &str = "pass|pwd|psk|pin|otp|secret|token|key|auth|cred|cookie|jwt|bearer|sig|session|sid|csrf|xsrf\
    |config|string|account|mnemonic|hmac|dpop|vault|data|principal|team|phpsess|code|value|text|base64|b64|json|hash";

/// Length of the shortest secret whose id is shown in its place, in bytes.
const MIN_BYTES_WITH_ID: usize = 8;

/// Schemes with a word that may be a credential.
static SCHEME: LazyLock<Regex> = LazyLock::new(|| {
    let schemes = SCHEMES.join("|");
    Regex::new(&format!(r"(?i-u)\b(?:{schemes})[ \t]+([A-Za-z0-9._~+/=:-]+)")).expect("a pattern of ours")
});

/// Values in the parameters of a scheme.
static PARAMETER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?i-u)\b(?:response|signature)=\\?"?([A-Za-z0-9+/=_-]+)"#).expect("a pattern of ours")
});

/// Names with a separator and a value: of YAML, JSON, also in quotes, and of `name=value`.
static MEMBER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?-u)([A-Za-z0-9_.-]{2,64})(\\{0,3}["'])?[ \t]{0,8}([:=])[ \t]{0,8}"#)
        .expect("a pattern of ours")
});

/// Names with a value as elements of a list or as arguments of a call: `["authorization", "..."]`.
static PAIR: LazyLock<Regex> = LazyLock::new(|| {
    let quote = r#"\\{0,3}["']"#;
    Regex::new(&format!(
        r"(?-u)[\[({{][ \t]{{0,8}}{quote}([A-Za-z0-9_.-]{{2,64}}){quote}[ \t]{{0,8}},\s{{0,8}}({quote})"
    ))
    .expect("a pattern of ours")
});

/// The beginning of a PEM block in base64.
static PEM: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?-u)LS0tLS1CRUdJTi[A-Za-z0-9+/_\r\n-]+=*").expect("a pattern of ours"));

/// Texts that may have secrets behind a scheme or a name, or a key in base64.
static HINT: LazyLock<Regex> = LazyLock::new(|| {
    let schemes = SCHEMES.join("|");
    Regex::new(&format!(
        r#"(?i-u)(?:{schemes})[ \t]|(?:{NAME_PARTS})[A-Za-z0-9_.-]{{0,12}}[\\"' \t]{{0,12}}[:=]|["'][ \t]{{0,8}},\s{{0,8}}\\{{0,3}}["']|LS0tLS1CRUdJTi"#
    ))
    .expect("a pattern of ours")
});

/// Whether bytes may contain such secrets. Takes little time.
pub(super) fn may_have_secrets(bytes: &[u8], names: &SecretNames) -> bool {
    !names.is_empty() || url::may_have_secrets(bytes) || HINT.is_match(bytes)
}

/// Returns the ranges of the secrets in a text, in order of their kind.
///
/// In the texts of peers, who write sentences, a value without quotes must look like a credential.
pub(super) fn find(text: &[u8], names: &SecretNames, is_sentence: bool) -> Vec<Range<usize>> {
    let mut found = url::find(text, names);
    if names.is_empty() && !HINT.is_match(text) {
        return found;
    }
    for scheme in SCHEME.captures_iter(text) {
        let Some(word) = scheme.get(1) else { continue };
        let is_bearer = scheme.get(0).is_some_and(|all| {
            all.as_bytes().get(..6).is_some_and(|start| start.eq_ignore_ascii_case(b"bearer"))
        });
        // The parameters of a scheme, such as `Credential=`, have names.
        let is_parameter = word.as_bytes().split_last().is_some_and(|(_, rest)| rest.contains(&b'='))
            || matches!(text.get(word.end()), Some(b'"' | b'*'));
        if !is_parameter && (is_credential(word.as_bytes()) || is_bearer && has_digit(word.as_bytes())) {
            found.push(word.range());
        }
    }
    found.extend(
        PARAMETER
            .captures_iter(text)
            .filter_map(|found| found.get(1))
            .map(|value| value.range())
            .filter(|value| value.len() >= 16),
    );
    let mut from = 0;
    while let Some(member) = MEMBER.captures_at(text, from) {
        let (Some(all), Some(name), Some(separator)) = (member.get(0), member.get(1), member.get(3)) else {
            break;
        };
        // A value may be a name with a value itself.
        from = all.end();
        let known = std::str::from_utf8(name.as_bytes())
            .is_ok_and(|name| names.is_key(name) || (!name.contains('_') && names.is_header(name)));
        if !known {
            continue;
        }
        let starts_line = text[..all.start()]
            .iter()
            .rev()
            .find(|byte| !b" \t-\"'".contains(byte))
            .is_none_or(|byte| *byte == b'\n');
        let is_member = separator.as_bytes() == b":" && starts_line;
        let is_yaml = is_member && !is_sentence;
        let block = block(text, all.end()).filter(|_| is_member);
        if let Some(value) = block.or_else(|| value(text, all.end(), is_yaml, is_sentence)) {
            // The credential behind a scheme was found above.
            let is_scheme =
                SCHEMES.iter().any(|scheme| text[value.clone()].eq_ignore_ascii_case(scheme.as_bytes()));
            if !is_scheme {
                from = value.end;
                found.push(value);
            }
        }
    }
    for pair in PAIR.captures_iter(text) {
        let (Some(name), Some(quote)) = (pair.get(1), pair.get(2)) else { continue };
        if std::str::from_utf8(name.as_bytes()).is_ok_and(|name| names.is_header(name)) {
            found.extend(value(text, quote.start(), false, false));
        }
    }
    let is_key = |block: &regex::bytes::Match<'_>| {
        let head: Vec<u8> =
            block.as_bytes().iter().copied().filter(|byte| !byte.is_ascii_whitespace()).take(88).collect();
        let head = super::readings::TextReading::of_base64(&head);
        memchr::memmem::find(&head, b"PRIVATE KEY").is_some()
    };
    found.extend(PEM.find_iter(text).filter(is_key).map(|block| block.range()));
    found.retain(|place| !is_filled(&text[place.clone()]));
    found
}

/// Returns the password of an authority, such as `user:password@host`.
pub(super) fn authority_password(text: &[u8]) -> Option<Range<usize>> {
    url::password(text, 0).filter(|place| !is_filled(&text[place.clone()]))
}

/// Whether a value only says that a block of YAML follows.
pub(super) fn is_block_indicator(value: &str) -> bool {
    let rest = value.strip_prefix(['|', '>']);
    rest.is_some_and(|rest| rest.len() <= 2 && rest.chars().all(|c| matches!(c, '-' | '+' | '1'..='9')))
}

/// Returns the block of YAML whose indicator, such as `|`, is at `at`: the lines behind it that are
/// indented more than the line of their name.
fn block(text: &[u8], at: usize) -> Option<Range<usize>> {
    if !matches!(text.get(at), Some(b'|' | b'>')) {
        return None;
    }
    let is_indent = |byte: &&u8| matches!(byte, b' ' | b'-');
    let line = memchr::memrchr(b'\n', &text[..at]).map_or(0, |end| end + 1);
    let indent = text[line..at].iter().take_while(is_indent).count();
    let begin = at + memchr::memchr(b'\n', &text[at..])? + 1;
    let mut end = begin;
    for line in text[begin..].split_inclusive(|byte| *byte == b'\n') {
        let is_in_block = line.iter().take_while(|byte| **byte == b' ').count() > indent;
        if !is_in_block && !line.trim_ascii().is_empty() {
            break;
        }
        end += line.len();
    }
    let content = text[begin..end].trim_ascii();
    let from = begin + text[begin..end].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    (!content.is_empty()).then(|| from..from + content.len())
}

/// Returns the value behind a name and a separator: up to its closing quote, or one word, or the
/// rest of a line in YAML.
fn value(text: &[u8], at: usize, is_yaml: bool, is_sentence: bool) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    let escapes = rest.iter().take(3).take_while(|byte| **byte == b'\\').count();
    if let Some(quote @ (b'"' | b'\'')) = rest.get(escapes) {
        let from = escapes + 1;
        let mut end = from;
        while let Some(byte) = rest.get(end) {
            match byte {
                b'\\' if escapes == 0 => end += 1,
                byte if byte == quote => break,
                _ => {}
            }
            end += 1;
        }
        let end = end.min(rest.len());
        // The escape in front of the closing quote.
        let kept = if rest.get(end).is_some() { escapes } else { 0 };
        return (end.checked_sub(kept)? > from).then(|| at + from..at + end - kept);
    }
    let ends = |byte: &u8| {
        matches!(byte, b'\n' | b'\r' | b'"' | b'\\' | b'}' | b']')
            || (!is_yaml && (byte.is_ascii_whitespace() || b",;&')<>".contains(byte)))
    };
    let len = rest.iter().position(ends).unwrap_or(rest.len());
    let word = rest.get(..len)?.trim_ascii_end();
    // Blocks of YAML and JSON, references, patterns of access logs, and calls in Lua.
    let is_other = word.first().is_none_or(|byte| b"{[|>&*!%$<=:".contains(byte)) || word.contains(&b'(');
    let is_literal = [&b"null"[..], b"true", b"false", b"nil", b"none"].contains(&word);
    (!is_other && !is_literal && (!is_sentence || is_credential(word))).then(|| at..at + word.len())
}

fn has_digit(word: &[u8]) -> bool {
    word.iter().any(u8::is_ascii_digit)
}

/// Whether a word looks like a credential rather than a word of a sentence.
fn is_credential(word: &[u8]) -> bool {
    let is_mixed = word.windows(2).any(|two| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase());
    word.len() >= 6 && (has_digit(word) || is_mixed || word.ends_with(b"="))
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
        || bytes.starts_with(b"[redacted ")
}
