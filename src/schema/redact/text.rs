//! Texts that peers write: NACKs in which Envoy dumps a whole Secret, Go prints a resource, JSON stands in a log.

use std::ops::Range;
use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use regex::Regex;

/// Names that secrets stand under, in text format, JSON, Go's dumps and `name=value`.
static NAMES: LazyLock<Regex> = LazyLock::new(|| {
    let names = "\\w*(private_?key|private_?key_?provider|passwords?|ticket_?keys|secrets?|secret_?data|token|json_?key\
                 |access_?key|api[_-]?key|authorization|hmac_?key|pkcs12|auth_?username|(token|credentials)_?data_?source)\
                 |keys|credentials|users|context_?extensions";
    Regex::new(&format!(r#"(?i)\b({names})\b\\?"?\s*(:\s*[\[{{]?|[{{<]|=)"#)).expect("a pattern of ours")
});

/// Bearer tokens, by their scheme. A word without a digit is none.
static BEARER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\bbearer\s+([A-Za-z0-9._~+/=-]*[0-9][A-Za-z0-9._~+/=-]*)").expect("a pattern of ours")
});

/// PEM blocks of private keys, also with escaped line ends, also cut short.
static PEM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(-----END [A-Z0-9 ]*PRIVATE KEY-----|$)")
        .expect("a pattern of ours")
});

/// The text without secrets, or `None` if none was found.
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
    // Overlapping ones become one, the first's mark stands: it is that of the known secret where there is one.
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

/// The forms in which a peer may print a secret.
fn forms(secret: &[u8]) -> Vec<String> {
    let escaped = secret.escape_ascii().to_string();
    let mut forms = vec![escaped.replace("\\'", "'"), escaped, BASE64_STANDARD.encode(secret)];
    if let Ok(text) = std::str::from_utf8(secret) {
        forms.push(serde_json::Value::from(text).to_string().trim_matches('"').to_owned());
        forms.push(text.to_owned());
        // Escaped once more, as inside of a quoted dump.
        forms.push(text.escape_default().to_string().replace('\\', "\\\\"));
    }
    forms.sort();
    forms.dedup();
    forms
}

/// The quoted texts in the value that follows a name: one text, or all in a block up to its end (or the text's).
/// Quoted keys of JSON stay.
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
                // In a dump inside of quotes the quotes themselves are escaped.
                let inner = at > 0 && bytes[at - 1] == b'\\';
                let end = end_of_quoted(bytes, at + 1, quote, inner);
                let close = if inner { end.saturating_sub(1).max(at + 1) } else { end };
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
            // A bare value, as Go prints numbers and YAML texts: up to the next blank.
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

/// Where the quoted text that begins at `at` ends: its closing quote, or the end of everything.
fn end_of_quoted(bytes: &[u8], mut at: usize, quote: u8, inner: bool) -> usize {
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if inner && bytes.get(at + 1) == Some(&quote) => return at + 1,
            b'\\' => at += 2,
            c if c == quote => return at,
            _ => at += 1,
        }
    }
    bytes.len()
}
