//! Words that are near a mistyped one.

/// Levenshtein distance of two words.
pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let change = corner + usize::from(x != *y);
            corner = row[j + 1];
            row[j + 1] = change.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// Returns the known words that a word may stand for, the nearest first: at most `most`.
///
/// A word is near if few letters differ, or if one is the beginning of the other.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let word = word.to_lowercase();
    let letters = word.chars().count();
    if letters == 0 {
        return Vec::new();
    }
    let allowed = match letters {
        0..=2 => 1,
        3..=5 => 2,
        _ => 3,
    };
    let rank = |known: &str| {
        let known = known.to_lowercase();
        if known.starts_with(&word) || (letters > 2 && known.contains(&word)) {
            return Some(0);
        }
        // The distance is at least the difference of the lengths.
        let differs = known.chars().count().abs_diff(letters);
        (differs <= allowed).then(|| distance(&word, &known)).filter(|distance| *distance <= allowed)
    };
    let mut near: Vec<(usize, &str)> =
        known.into_iter().filter_map(|known| Some((rank(known)?, known))).collect();
    near.sort_by_key(|(distance, word)| (*distance, word.len()));
    near.dedup_by_key(|(_, word)| *word);
    near.into_iter().take(most).map(|(_, word)| word).collect()
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
        assert_eq!((distance("", "abc"), distance("kitten", "sitting")), (3, 3));
    }
}
