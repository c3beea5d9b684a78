//! Words that resemble a mistyped one.

/// Number of words that are compared, so that a source with 100,000 names answers at once.
const MAX_COMPARED: usize = 20_000;

/// The largest number of edits of a near word.
const MAX_EDITS: usize = 4;

/// Returns the number of edits between two words: insertions, deletions, changes, and swapped
/// neighbours.
pub fn distance(a: &str, b: &str) -> usize {
    strsim::damerau_levenshtein(a, b)
}

/// Returns the words that resemble what was typed, the nearest first: at most `most`.
///
/// A word is near if it needs few edits for its length, begins with what was typed, if one contains
/// the other, or if the parts between hyphens, dots and underscores are near, as in `nak-loop` and
/// `nack-resend-loop`.
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let lower = typed.to_lowercase();
    let length = lower.chars().count();
    if length == 0 {
        return Vec::new();
    }
    let rank = |word: &'a str| {
        let candidate = word.to_lowercase();
        // The difference of the lengths is the least number of edits: long names are not compared.
        let differs = candidate.chars().count().abs_diff(length);
        let edits = if differs <= MAX_EDITS { distance(&lower, &candidate) } else { differs };
        let contains = candidate.contains(&lower) || lower.contains(&candidate);
        let is_part = length >= 3 && contains && candidate.chars().count() >= 3;
        let is_near = edits <= (length / 3).clamp(1, MAX_EDITS);
        let is_found = is_near || is_part || candidate.starts_with(&lower);
        (is_found || has_near_parts(&lower, &candidate)).then_some((!is_near, !is_found, edits, word))
    };
    let mut found: Vec<_> = known.into_iter().take(MAX_COMPARED).filter_map(rank).collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().take(most).map(|(_, _, _, word)| word).collect()
}

/// Whether the parts of what was typed resemble parts of a word in the same order, the first one
/// the first part.
fn has_near_parts(typed: &str, word: &str) -> bool {
    let parts = |text| str::split(text, ['-', '_', '.']).filter(|part| !part.is_empty());
    let is_near = |a: &str, b: &str| a == b || a.len() > 2 && b.len() > 2 && distance(a, b) <= 1;
    let (mut typed, mut of_word) = (parts(typed), parts(word));
    let begins = typed.next().zip(of_word.next()).is_some_and(|(typed, first)| is_near(typed, first));
    begins && typed.all(|typed| of_word.any(|part| is_near(typed, part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_near_words() {
        let words = ["type", "node", "name", "kind", "state", "stream"];
        assert_eq!(nearest("knd", words, 2), ["kind"]);
        assert_eq!(nearest("nodes", words, 1), ["node"]);
        assert_eq!(nearest("st", words, 3), ["state", "stream"]);
        assert_eq!(nearest("xyzzy", words, 3), [""; 0]);
        assert_eq!(nearest("", words, 3), [""; 0]);
    }

    #[test]
    fn ranks_by_edits_and_accepts_parts() {
        let nodes = ["edge-gw-1", "edge-gw-2", "ratings-v1-77d0", "reviews-v2"];
        assert_eq!(nearest("edge-gv-1", nodes, 5), ["edge-gw-1", "edge-gw-2"]);
        assert_eq!(nearest("ratings", nodes, 5), ["ratings-v1-77d0"]);
        assert_eq!(nearest("EDGE-GW-2", nodes, 5), ["edge-gw-2", "edge-gw-1"]);
        assert!(nearest("nobody", nodes, 5).is_empty());
        let rules = ["nack", "nack-resend-loop", "stale"];
        assert_eq!(nearest("nak-loop", rules, 5), ["nack-resend-loop"]);
        assert_eq!(nearest("nak", rules, 5), ["nack", "nack-resend-loop"]);
        assert_eq!(nearest("statsu", ["status", "get"], 5), ["status"], "swapped letters are one edit");
    }
}
