//! Values behind names: quoted texts, words, and blocks of YAML.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use super::references::names_secret;

/// Longest part of a word that is read to see whether it is a value, in bytes: a text of 100,000
/// names without spaces must not be read 100,000 times.
const MAX_SAMPLE_BYTES: usize = 256;

/// Shortest word that is a credential whatever its letters are, in bytes.
const MIN_LONG_BYTES: usize = 16;

/// Longest word of sentences, in bytes.
const MAX_ORDINARY_BYTES: usize = 16;

/// Longest name of an error, in bytes.
const MAX_CODE_BYTES: usize = 32;

/// Digits of a count. A PIN has at least four.
const COUNT_DIGITS: Range<usize> = 1..4;

/// First words of reasons, which nobody takes for a password.
const REASONS: [&str; 26] = [
    "absent",
    "cannot",
    "denied",
    "did",
    "does",
    "empty",
    "expired",
    "failed",
    "forbidden",
    "had",
    "has",
    "invalid",
    "is",
    "malformed",
    "mismatch",
    "missing",
    "must",
    "not",
    "rejected",
    "required",
    "too",
    "unexpected",
    "unset",
    "was",
    "were",
    "wrong",
];

/// Most backslashes in front of a quote: those of a text in JSON in JSON in JSON.
const MAX_ESCAPES: usize = 7;

/// Words of sentences, which are no secrets: `token: unexpected end`, `--token or --token-file`,
/// and of the reasons of Envoy: `jwt: issuer mismatch`.
const ORDINARY_WORDS: &str = "\
    a aborted absent added after algorithm already an and another application are argument as \
    asked at attempted attempting audience authentication authorization available bad be \
    because been before being both but by bytes cache cached can canceled cancelled cannot \
    cert certificate cipher claim claims clearing client closed cluster code config configuration \
    configured connection contains content context cookie corrupt corrupted could creating \
    credential credentials curve data deadline decode decoding decrypt decryption deleted \
    deleting denied deprecated dial did digest disabled discarding dispatched does downstream \
    duplicate either embedded empty enabled encode encoding encrypt encryption end entered \
    entry env eof error exactly exceeded exceeds expected expecting expired expiry extract \
    extraction failed failing failure fetch fetched fetching field file filename files filter \
    flag for forbidden format found from generated generating get given got had handle has \
    have header headers host http if ignoring illegal in incomplete incorrect initiated input \
    insecure instead insufficient internal invalid is issuer it its json jwks jwt key keys kid \
    lacks legacy length less line listener load loaded loading local locate long lookup \
    malformed match may message method mismatch missed missing more multiple must mutually \
    name namespace needs neither network new no non none not now null object obtained of ok on \
    one only open operation option optional or our padding parameter parameters parse parsing \
    pass password path permission please policy post previous private processing provided \
    provider public query queued reached read reading ready received redirect refresh refused \
    region rejected removed removing request required requires reset resolved resource \
    response retrieved retry retrying returned reverse revoked route rpc scheme secret secrets \
    section see sending sent server service session set setting shared short should shutting \
    signature signing size skipping specified ssl start started starting stat state static \
    status stored stream string subject succeeded successful successfully such syntax taking \
    tcp that the this ticket tickets timeout tls to token tokens too trying ttl twice two type \
    unable unauthenticated unauthorized unavailable undefined unexpected unexpectedly unknown \
    unmarshal unrecognized unset unsupported until update updated updating upstream use used \
    user username users using valid validated validating validation value values verification \
    verified verify verifying version via waiting was we were when which will with without \
    write wrong x509 x5c yaml \
    aes ecdsa ed25519 eddsa es256 es384 es512 exhausted exists hs256 hs384 hs512 loss md5 out \
    precondition ps256 ps384 ps512 range rs256 rs384 rs512 rsa sha1 sha256 sha384 sha512 unimplemented";

/// The words of sentences, for a quick search.
static ORDINARY: LazyLock<HashSet<&str>> = LazyLock::new(|| ORDINARY_WORDS.split_whitespace().collect());

/// The words without quotes that are taken for values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    /// All except for reasons.
    Any,
    /// All except for words of sentences.
    Unusual,
    /// Words that look like a credential.
    Credentials,
}

impl Words {
    pub(super) fn accept(self, word: &[u8]) -> bool {
        match self {
            Words::Any => !is_reason(word),
            Words::Unusual => !is_ordinary(word),
            Words::Credentials => is_credential(word),
        }
    }
}

/// Returns the value behind a name and a separator: up to its closing quote, or one word, or the
/// rest of a line in YAML.
///
/// Words of more than [`MAX_SAMPLE_BYTES`] are values.
pub(super) fn value(text: &[u8], at: usize, is_yaml: bool, words: Words) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    if let Some(Quoted { content, .. }) = quoted(rest) {
        let bytes = &rest[content.clone()];
        // A parser names a character: `unexpected token: '}'`.
        let is_sign = bytes.len() == 1 && !bytes[0].is_ascii_alphanumeric();
        return (!bytes.is_empty() && !is_sign).then_some(at + content.start..at + content.end);
    }
    let sample = &rest[..word_len(rest, MAX_SAMPLE_BYTES + 1, is_yaml)];
    let word = sample.trim_ascii_end();
    let is_long = sample.len() > MAX_SAMPLE_BYTES;
    if is_other(word, words) || is_literal(word) || names_secret(word) || !is_long && !words.accept(word) {
        return None;
    }
    let len = if is_long { word_len(rest, rest.len(), is_yaml) } else { sample.len() };
    Some(at..at + rest[..len].trim_ascii_end().len())
}

/// Returns the length of the word that a text begins with, or of the line in YAML; at most `max`.
fn word_len(text: &[u8], max: usize, is_yaml: bool) -> usize {
    let ends = |at: usize, byte: u8| {
        let next = text.get(at + 1).copied().unwrap_or(b' ');
        match byte {
            b'\n' | b'\r' => true,
            b'\\' => b"nrt\"'`\\".contains(&next),
            b'"' if is_yaml => true,
            b'}' | b']' => is_yaml || !next.is_ascii_alphanumeric(),
            _ if is_yaml => false,
            b')' | b'"' | b'\'' | b'<' | b'>' => !next.is_ascii_alphanumeric(),
            b';' | b'&' => !next.is_ascii_alphanumeric() || is_name(&text[at + 1..]),
            b',' => true,
            byte => byte.is_ascii_whitespace(),
        }
    };
    let max = max.min(text.len());
    (0..max).find(|at| ends(*at, text[*at])).unwrap_or(max)
}

/// Whether a text begins with a name and `=`.
fn is_name(text: &[u8]) -> bool {
    let is_name_byte = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_.- ".contains(byte);
    text.get(text.iter().take(64).take_while(is_name_byte).count()) == Some(&b'=')
}

/// Whether a word is code or part of a pattern: a block of YAML or JSON, a reference, a pattern of
/// access logs, or a call in Lua.
fn is_other(word: &[u8], words: Words) -> bool {
    let Some(first) = word.first() else { return true };
    let next = word.get(1).copied().unwrap_or(b' ');
    let call = memchr::memchr(b'(', word).map(|at| &word[..at]);
    match first {
        b'{' | b'[' | b'<' => true,
        b'|' | b'>' => word.len() <= 3,
        b'$' => {
            b"{(".contains(&next) || word[1..].iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_')
        }
        b'%' => {
            let name =
                word[1..].iter().take_while(|byte| byte.is_ascii_uppercase() || **byte == b'_').count();
            name > 0 && word.get(name + 1).is_some_and(|end| b"%(:".contains(end))
        }
        b'&' | b'*' | b'!' | b'=' | b':' | b'(' => words == Words::Any && !is_credential(word),
        _ => call
            .is_some_and(|name| name.iter().all(|byte| byte.is_ascii_alphabetic() || b"_.:".contains(byte))),
    }
}

/// A quoted text.
pub(super) struct Quoted {
    pub content: Range<usize>,
    /// The offset behind the closing quote.
    pub end: usize,
}

/// Returns the quoted text that a text begins with. Quotes may be escaped.
///
/// A quote within the text has more backslashes: `\"` within `"..."`, `\\\"` within `\"...\"`. A
/// quote with fewer ends the text around.
pub(super) fn quoted(text: &[u8]) -> Option<Quoted> {
    let escapes = text.iter().take(MAX_ESCAPES).take_while(|byte| **byte == b'\\').count();
    let quote = *text.get(escapes).filter(|byte| b"\"'`".contains(byte))?;
    let from = escapes + 1;
    let mut run = 0;
    for (at, byte) in text.iter().enumerate().skip(from) {
        if *byte == quote && (run < escapes || run % (2 * escapes + 2) == escapes) {
            return Some(Quoted { content: from..at - run.min(escapes), end: at + 1 });
        }
        run = if *byte == b'\\' { run + 1 } else { 0 };
    }
    Some(Quoted { content: from..text.len(), end: text.len() })
}

/// Returns the block of YAML whose indicator, such as `|`, is at `at`: the lines behind it that are
/// indented more than the line of their name.
pub(super) fn block(text: &[u8], at: usize) -> Option<Range<usize>> {
    if !matches!(text.get(at), Some(b'|' | b'>')) {
        return None;
    }
    let indent = indent(text, at);
    let begin = at + memchr::memchr(b'\n', &text[at..])? + 1;
    let mut end = begin;
    for line in text[begin..].split_inclusive(|byte| *byte == b'\n') {
        if spaces(line) <= indent && !line.trim_ascii().is_empty() {
            break;
        }
        end += line.len();
    }
    let content = text[begin..end].trim_ascii();
    let from = begin + text[begin..end].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    (!content.is_empty()).then(|| from..from + content.len())
}

/// Returns the indentation of the line at `at`, with the marks of list items.
pub(super) fn indent(text: &[u8], at: usize) -> usize {
    let line = memchr::memrchr(b'\n', &text[..at]).map_or(0, |end| end + 1);
    text[line..at].iter().take_while(|byte| matches!(byte, b' ' | b'-')).count()
}

/// Returns the number of spaces that a line begins with.
pub(super) fn spaces(line: &[u8]) -> usize {
    line.iter().take_while(|byte| **byte == b' ').count()
}

/// Whether a word is a value without content.
pub(super) fn is_literal(word: &[u8]) -> bool {
    [&b"null"[..], b"true", b"false", b"nil", b"none"].contains(&word)
}

/// Whether a value is the reason of an error, such as `missing`, `too short` or `NOT_FOUND`, rather
/// than a passphrase.
fn is_reason(value: &[u8]) -> bool {
    if value.len() <= MAX_CODE_BYTES && value.contains(&b'_') && is_error_code(value) {
        return true;
    }
    let mut words = value.split(u8::is_ascii_whitespace);
    let first = words.clone().next().unwrap_or_default();
    REASONS.iter().any(|reason| first.eq_ignore_ascii_case(reason.as_bytes())) && words.all(is_ordinary)
}

/// Whether a word belongs to a sentence: also codes, such as `NOT_FOUND` and `NotFound`, and
/// numbers that are shorter than any secret.
pub(super) fn is_ordinary(word: &[u8]) -> bool {
    let begin = word.iter().position(u8::is_ascii_alphanumeric).unwrap_or(word.len());
    let end = word.iter().rposition(u8::is_ascii_alphanumeric).map_or(begin, |last| last + 1);
    let bare = &word[begin..end];
    // Letters that are not of ASCII are no signs.
    bare.is_empty() && word.is_ascii()
        || bare.len() <= MAX_ORDINARY_BYTES
            && (is_listed(bare) || COUNT_DIGITS.contains(&bare.len()) && bare.iter().all(u8::is_ascii_digit))
        || bare.len() <= MAX_CODE_BYTES && is_error_code(bare)
}

/// Whether a word is in the list of the words of sentences.
fn is_listed(word: &[u8]) -> bool {
    std::str::from_utf8(word).is_ok_and(|word| ORDINARY.contains(&*word.to_ascii_lowercase()))
}

/// Whether a word with capitals consists of words of sentences.
fn is_error_code(word: &[u8]) -> bool {
    let has_capitals = word.iter().any(u8::is_ascii_uppercase);
    let ends_word = |one: &u8, next: &u8| one.is_ascii_lowercase() && next.is_ascii_uppercase();
    let mut words =
        word.split(|byte| *byte == b'_').flat_map(|part| part.chunk_by(|one, next| !ends_word(one, next)));
    has_capitals && words.all(is_listed)
}

/// Whether the byte at `at` begins a word: behind a sign, or the beginning of the text.
pub(super) fn starts_word(text: &[u8], at: usize) -> bool {
    at == 0 || !text[at - 1].is_ascii_alphanumeric()
}

/// Whether a word is code: a type or a call of C++.
pub(super) fn is_code(word: &[u8]) -> bool {
    word.ends_with(b"_t") || [&b"::"[..], b"()"].iter().any(|sign| memchr::memmem::find(word, sign).is_some())
}

/// Whether bytes contain a word that looks like a credential, or a long one.
pub(super) fn has_credential(bytes: &[u8]) -> bool {
    let is_unusual = |word: &[u8]| word.len() >= MIN_LONG_BYTES || is_credential(word);
    bytes.split(|byte| !byte.is_ascii_graphic()).any(is_unusual)
}

/// Whether a byte is a letter of base64 in URLs.
pub(super) fn is_base64_url(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// Whether a text has a space or a line break between words. In a query, a space may be a `+`.
pub(super) fn has_space(text: &[u8]) -> bool {
    memchr::memchr3(b' ', b'\n', b'+', text).or_else(|| memchr::memchr2(b'\t', b'\r', text)).is_some()
}

pub(super) fn has_digit(word: &[u8]) -> bool {
    word.iter().take(MAX_SAMPLE_BYTES).any(u8::is_ascii_digit)
}

/// Whether a word looks like a credential rather than a word of a sentence.
pub(super) fn is_credential(word: &[u8]) -> bool {
    let sample = &word[..word.len().min(MAX_SAMPLE_BYTES)];
    let is_mixed = sample.windows(2).any(|two| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase());
    word.len() >= 6 && (has_digit(sample) || is_mixed || word.ends_with(b"="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_ends_of_quoted_texts() {
        for (text, content) in [
            (r#""a" b"#, "a"),
            (r#""a\"b" c"#, r#"a\"b"#),
            (r#""a\\" b"#, r"a\\"),
            (r#"\"a\" b"#, "a"),
            (r#"\"a\\\"b\" c"#, r#"a\\\"b"#),
            (r#"\"a\\\\\" b"#, r"a\\\\"),
            (r#"\\\"a\\\" b"#, "a"),
            (r#"\"a" b"#, "a"),
            (r#""a"#, "a"),
            (r#"\"a\"#, r"a\"),
            ("'a\"b'", "a\"b"),
            ("`a`", "a"),
            ("\"\"", ""),
        ] {
            let found = quoted(text.as_bytes()).expect("a quoted text");
            assert_eq!(&text[found.content], content, "{text}");
        }
        assert!(quoted(b"a").is_none() && quoted(b"\\a").is_none() && quoted(b"").is_none());
    }
}
