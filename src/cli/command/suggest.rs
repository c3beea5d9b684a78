//! Near matches of a mistyped word, and globs.

use xdscope_wire::text::near::nearest;

/// Number of suggestions.
const MAX_SUGGESTIONS: usize = 5;

/// Returns the words that resemble what was typed, the nearest first.
pub(crate) fn near<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    nearest(typed, known, MAX_SUGGESTIONS)
}

/// Whether a text is `pattern`, in which `*` stands for any characters.
pub(crate) fn is_match(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match text.find(part) {
            Some(at) => text = text.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_globs_as_a_whole() {
        for (pattern, text, wanted) in [
            ("edge-*", "edge-gw-1", true),
            ("edge-*", "old-edge-1", false),
            ("*gw*1", "edge-gw-1", true),
            ("a*a", "a", false),
            ("*", "", true),
            ("edge", "edge-1", false),
        ] {
            assert_eq!(is_match(pattern, text), wanted, "{pattern} {text}");
        }
    }
}
