use std::fmt::Write as _;

use xdscope_wire::text::must_escape;

/// Returns a word, quoted for a shell if needed.
///
/// Control characters become escapes (`$'a\x0db'`), which bash, zsh and ksh read.
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else if word.chars().any(must_escape) {
        escaped(word)
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn escaped(word: &str) -> String {
    let mut out = String::from("$'");
    for c in word.chars() {
        match c {
            '\'' | '\\' => out.extend(['\\', c]),
            c if must_escape(c) => {
                // Each byte of UTF-8: not all shells know escapes of characters.
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    let _ = write!(out, "\\x{byte:02x}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_words_for_a_shell() {
        assert_eq!(shell_word("cp.mesh:15010"), "cp.mesh:15010");
        assert_eq!(shell_word("kind:nack lat>1s"), "'kind:nack lat>1s'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word("a\r'\u{202e}b"), r"$'a\x0d\'\xe2\x80\xaeb'");
    }
}
