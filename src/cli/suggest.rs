//! Near matches of a mistyped word.

/// Number of suggestions.
const MAX_SUGGESTIONS: usize = 5;

/// Number of words that are compared, so that a source with 100,000 names answers at once.
const MAX_COMPARED: usize = 20_000;

/// Number of edits between two words: insertions, deletions, changes, and swapped neighbours.
pub(super) fn distance(a: &str, b: &str) -> usize {
    strsim::damerau_levenshtein(a, b)
}

/// Returns the words that resemble what was typed, the nearest first.
///
/// A word is near if it needs few edits for its length, or if one contains the other.
pub(super) fn near<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let lower = typed.to_lowercase();
    let rank = |word: &'a str| {
        let candidate = word.to_lowercase();
        let edits = distance(&lower, &candidate);
        let length = lower.chars().count();
        let is_part = length >= 3 && (candidate.contains(&lower) || lower.contains(&candidate));
        let is_near = edits <= (length / 3).clamp(1, 4);
        (is_near || (is_part && candidate.chars().count() >= 3)).then_some((!is_near, edits, word))
    };
    let mut found: Vec<_> = known.into_iter().take(MAX_COMPARED).filter_map(rank).collect();
    found.sort();
    found.dedup();
    found.into_iter().take(MAX_SUGGESTIONS).map(|(_, _, word)| word).collect()
}

/// Whether a text is `pattern`, in which `*` stands for any characters.
pub(super) fn is_match(pattern: &str, text: &str) -> bool {
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
    fn ranks_by_edits_and_accepts_parts() {
        let nodes = ["edge-gw-1", "edge-gw-2", "ratings-v1-77d0", "reviews-v2"];
        assert_eq!(near("edge-gv-1", nodes), ["edge-gw-1", "edge-gw-2"]);
        assert_eq!(near("ratings", nodes), ["ratings-v1-77d0"]);
        assert_eq!(near("EDGE-GW-2", nodes), ["edge-gw-2", "edge-gw-1"]);
        assert!(near("nobody", nodes).is_empty());
        assert_eq!(near("statsu", ["status", "get"]), ["status"], "swapped letters are one edit");
        assert!(near("", nodes).is_empty());
    }

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
