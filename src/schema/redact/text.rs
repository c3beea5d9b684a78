//! Redaction of texts from peers.
//!
//! Examples are NACKs with an Envoy dump of a Secret, with a resource printed by Go, or with JSON.

use std::ops::Range;
use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use regex::Regex;

/// Names of secrets in the protobuf text format, JSON, Go's dumps and `name=value`.
static NAMES: LazyLock<Regex> = LazyLock::new(|| {
    let names = "\\w*(private_?key|private_?key_?provider|passwords?|ticket_?keys|secrets?|secret_?data|token|json_?key\
                 |access_?key|api[_-]?key|authorization|hmac_?key|pkcs12|auth_?username|(token|credentials)_?data_?source)\
                 |keys|credentials|users|context_?extensions";
    Regex::new(&format!(r#"(?i)\b({names})\b\\?"?\s*(:\s*[\[{{]?|[{{<]|=)"#)).expect("a pattern of ours")
});

/// Bearer tokens. A word without a digit is not a token.
static BEARER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\bbearer\s+([A-Za-z0-9._~+/=-]*[0-9][A-Za-z0-9._~+/=-]*)").expect("a pattern of ours")
});

/// PEM blocks of private keys, including truncated blocks and blocks with escaped line breaks.
static PEM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(-----END [A-Z0-9 ]*PRIVATE KEY-----|$)")
        .expect("a pattern of ours")
});

/// Redacts a text. Returns `None` if the text has no secrets.
pub(super) fn clean(text: &str, known: &[Vec<u8>], mark: &dyn Fn(&[u8]) -> String) -> Option<String> {
    let mut holes: Vec<(Range<usize>, String)> = Vec::new();
    for secret in known {
        for form in forms(secret) {
            for (at, found) in text.match_indices(&form) {
                holes.push((at..at + found.len(), mark(secret)));
            }
        }
    }
    for found in PEM.find_iter(text) {
        holes.push((found.range(), mark(found.as_str().as_bytes())));
    }
    for found in BEARER.captures_iter(text).filter_map(|found| found.get(1)) {
        holes.push((found.range(), mark(found.as_str().as_bytes())));
    }
    for found in NAMES.find_iter(text) {
        for place in quoted(text, found.range()) {
            let secret = &text[place.clone()];
            if !secret.is_empty() && !secret.starts_with("[redacted ") {
                holes.push((place, mark(secret.as_bytes())));
            }
        }
    }
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

/// Returns the forms in which a peer may print a secret.
fn forms(secret: &[u8]) -> Vec<String> {
    let escaped = secret.escape_ascii().to_string();
    let mut forms = vec![escaped.replace("\\'", "'"), escaped, BASE64_STANDARD.encode(secret)];
    if let Ok(text) = std::str::from_utf8(secret) {
        forms.push(serde_json::Value::from(text).to_string().trim_matches('"').to_owned());
        forms.push(text.to_owned());
        // Escaped twice, as in a quoted dump.
        forms.push(text.escape_default().to_string().replace('\\', "\\\\"));
    }
    forms.sort();
    forms.dedup();
    forms
}

/// Returns the ranges of the values behind a name: one value, or all quoted texts of a block.
///
/// A block extends to its closing bracket or the end of the text. Excludes JSON keys.
fn quoted(text: &str, name: Range<usize>) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut open = usize::from(text[name.clone()].ends_with(['{', '<', '[']));
    let block = open > 0;
    let mut at = name.end;
    let mut found = Vec::new();
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
                if !block && !key {
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
                found.push(at..at + len);
                break;
            }
            _ => {}
        }
        at += 1;
    }
    found
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
