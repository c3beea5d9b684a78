/// Returns a word, quoted for a shell if needed.
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_words_for_a_shell() {
        assert_eq!(shell_word("cp.mesh:15010"), "cp.mesh:15010");
        assert_eq!(shell_word("kind:nack lat>1s"), "'kind:nack lat>1s'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
    }
}
