//! Redaction of texts from peers.
//!
//! Examples are NACKs with an Envoy dump of a Secret, with a resource printed by Go, or with JSON.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::known::FoundSecret;
use super::shown;
use super::values::is_block_indicator;
use crate::schema::secret_names::SecretNames;

/// Names of secrets in the protobuf text format, JSON, Go's dumps and `name=value`.
static NAMES: LazyLock<Regex> = LazyLock::new(|| {
    let names = "\\w*(private_?key|private_?key_?provider|passwords?|passwd|passphrase|ticket_?keys|secrets?|secret_?data\
                 |token|json_?key|access[_-]?key(_?id)?|api[_-]?key|authorization|hmac_?key|pkcs12|auth_?username\
                 |(token|credentials)_?data_?source|jwt(-assertion)?|cookie|signature)\
                 |keys|credentials|users|context_?extensions|x-(auth|vault|session|csrf|xsrf|jwt)[\\w-]*";
    Regex::new(&format!(r#"(?i)\b({names})\b\\?"?\s*(:\s*[\[{{]?|[{{<]|=)"#)).expect("a pattern of ours")
});

/// PEM blocks of private keys, including truncated blocks and blocks with escaped line breaks.
static PEM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(-----END [A-Z0-9 ]*PRIVATE KEY-----|$)")
        .expect("a pattern of ours")
});

/// Names with their values, as in a dump of headers: `key: "authorization" value: "..."`.
static PAIRS: LazyLock<Regex> = LazyLock::new(|| {
    let quote = r#"\\{0,3}["']"#;
    Regex::new(&format!(
        r#"(?i)\b(?:key|name|header|header_?name)(?:{quote})?\s*[:=]\s*{quote}([^"'\\]{{1,128}}){quote}[\s,]*(?:{quote})?(?:value|raw_?value|string_?value|exact_?match|string_?match)\b\\?"?\s*(?::\s*[\[{{]?|[{{<]|=)"#
    ))
    .expect("a pattern of ours")
});

/// Secret members of a JSON Web Key.
static KEY_MEMBERS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"\\?"(?:k|d|p|q|dp|dq|qi|r|t)\\?"\s*:"#).expect("a pattern of ours"));

/// Returns a pattern of the names that a user added.
pub(super) fn added_names(names: &SecretNames) -> Option<Regex> {
    // Separators may be anywhere in a name: `wifi_code`, `wifiCode`.
    let pattern = |name: &str| {
        let letters = name.chars().filter(|c| c.is_alphanumeric());
        letters.map(|c| regex::escape(&c.to_string())).collect::<Vec<_>>().join("[-_.]?")
    };
    let patterns: Vec<String> = names.in_texts().map(pattern).collect();
    let pattern = format!(r#"(?i)\b({})\b\\?"?\s*(:\s*[\[{{]?|[{{<]|=)"#, patterns.join("|"));
    Regex::new(&pattern).ok().filter(|_| !patterns.is_empty())
}

/// Redacts a text. Returns `None` if the text has no secrets.
///
/// `known` are the places of known secrets.
pub(super) fn clean(
    text: &str,
    known: Vec<FoundSecret>,
    names: &SecretNames,
    added: Option<&Regex>,
    mark: &dyn Fn(&[u8]) -> String,
) -> Option<String> {
    let mut holes: Vec<(Range<usize>, String)> = Vec::new();
    let mark_of = |place: &Range<usize>| mark(text.get(place.clone()).unwrap_or_default().as_bytes());
    for FoundSecret { place, of } in known {
        let place = text.floor_char_boundary(place.start)..text.ceil_char_boundary(place.end);
        let mark = of.map_or_else(|| mark_of(&place), |(len, hash)| super::placeholder(len, hash));
        holes.push((place, mark));
    }
    for found in PEM.find_iter(text) {
        holes.push((found.range(), mark_of(&found.range())));
    }
    for place in shown::find(text.as_bytes(), names, true) {
        let place = text.floor_char_boundary(place.start)..text.ceil_char_boundary(place.end);
        holes.push((place.clone(), mark_of(&place)));
    }
    let pairs = PAIRS.captures_iter(text).filter(|found| names.is_header(&found[1]));
    let mut behind: Vec<Range<usize>> =
        pairs.filter_map(|found| found.get(0)).map(|all| all.range()).collect();
    behind.extend(
        NAMES
            .find_iter(text)
            .chain(added.into_iter().flat_map(|added| added.find_iter(text)))
            .map(|name| name.range()),
    );
    if text.contains("kty") {
        behind.extend(KEY_MEMBERS.find_iter(text).map(|name| name.range()));
    }
    behind.sort_by_key(|name| name.start);
    // Names within a block or a word need no search: they are part of a secret already.
    let mut end_of_values = 0;
    for name in behind {
        if name.start < end_of_values {
            continue;
        }
        let found = quoted(text, name);
        end_of_values = found.end;
        for place in found.places {
            let secret = &text[place.clone()];
            if !secret.is_empty() && !secret.starts_with("[redacted ") && !is_block_indicator(secret) {
                holes.push((place, mark(secret.as_bytes())));
            }
        }
    }
    join(text, holes)
}

/// Replaces parts of a text. Returns `None` if there are none.
fn join(text: &str, mut holes: Vec<(Range<usize>, String)>) -> Option<String> {
    if holes.is_empty() {
        return None;
    }
    // Merge overlapping ranges. The sort is stable, so that the placeholder of a known secret wins.
    holes.sort_by_key(|(place, _)| (place.start, std::cmp::Reverse(place.end)));
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (place, mark) in holes {
        if place.start >= at {
            out.push_str(&text[at..place.start]);
            out.push_str(&mark);
            at = place.end;
        } else {
            at = at.max(place.end);
        }
    }
    out.push_str(&text[at..]);
    Some(out)
}

/// JSON keys between a name and its value. A text of names and keys must not be read once for each.
const MAX_KEYS: usize = 16;

/// The values behind a name.
struct Quoted {
    places: Vec<Range<usize>>,
    /// The end of the block or word with the values; 0 for a quoted value.
    end: usize,
}

/// Returns the ranges of the values behind a name: one value, or all quoted texts of a block.
///
/// A block extends to its closing bracket or the end of the text. Excludes JSON keys.
fn quoted(text: &str, name: Range<usize>) -> Quoted {
    let bytes = text.as_bytes();
    let mut open = usize::from(text[name.clone()].ends_with(['{', '<', '[']));
    let block = open > 0;
    let mut at = name.end;
    let mut found = Vec::new();
    let mut keys = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' | b'\'' => {
                let quote = bytes[at];
                // Inside a quoted dump the quotes are escaped.
                let is_escaped = at > 0 && bytes[at - 1] == b'\\';
                let end = end_of_quoted(bytes, at + 1, quote, is_escaped);
                let close = if is_escaped { end.saturating_sub(1).max(at + 1) } else { end };
                let after = text.get(end + 1..).unwrap_or("").trim_start();
                let key = after.starts_with(':');
                if !key && text.is_char_boundary(at + 1) && text.is_char_boundary(close) {
                    found.push(at + 1..close);
                }
                at = end + 1;
                keys += usize::from(key);
                if !block && (!key || keys > MAX_KEYS) {
                    break;
                }
                continue;
            }
            b'{' | b'<' | b'[' => open += 1,
            b'}' | b'>' | b']' => {
                open = open.saturating_sub(1);
                if open == 0 {
                    break;
                }
            }
            // An unquoted value, as in YAML or Go's dumps of numbers, ends at the next space or
            // bracket.
            c if !block && open == 0 && !c.is_ascii_whitespace() && !b":=\\".contains(&c) => {
                let len = text[at..].find([' ', ',', '\n', '}', ']', ')']).unwrap_or(text.len() - at);
                return Quoted { places: std::iter::once(at..at + len).collect(), end: at + len };
            }
            _ => {}
        }
        at += 1;
    }
    Quoted { places: found, end: if block { at } else { 0 } }
}

/// Returns the offset of the closing quote, or the length of the text if there is none.
fn end_of_quoted(bytes: &[u8], mut at: usize, quote: u8, is_escaped: bool) -> usize {
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if is_escaped && bytes.get(at + 1) == Some(&quote) => return at + 1,
            b'\\' => at += 2,
            c if c == quote => return at,
            _ => at += 1,
        }
    }
    bytes.len()
}
