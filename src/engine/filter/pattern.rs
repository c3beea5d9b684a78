//! Patterns for texts: words, globs and regexes.

use memchr::memchr2_iter;
use regex::{Regex, RegexBuilder};

use super::FilterError;
use super::lexer::Char;

/// The part of a text that a word has to match. A glob always has to match the whole text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    Part,
}

/// A compiled pattern.
///
/// All patterns have a regex, but a lower-case ASCII word needs the regex for non-ASCII texts only.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    /// The word, if the pattern is a lower-case ASCII word that matches in any case, anywhere in a
    /// text.
    plain: Option<Box<str>>,
}

impl Pattern {
    /// Compiles a word. `*` outside of quotes matches any characters; other characters are literal.
    pub(super) fn word(at: usize, word: &[Char], extent: Extent) -> Result<Pattern, FilterError> {
        let mut regex = String::new();
        let mut glob = false;
        for (c, quoted) in word {
            if *c == '*' && !quoted {
                glob = true;
                regex.push_str(".*");
            } else {
                regex.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
            }
        }
        if glob || extent == Extent::Whole {
            regex = format!("^{regex}$");
        }
        let capitals = word.iter().any(|(c, _)| c.is_uppercase());
        let plain = !glob && extent == Extent::Part && !capitals && word.iter().all(|(c, _)| c.is_ascii());
        let plain = plain.then(|| word.iter().map(|(c, _)| *c).collect());
        Ok(Pattern { plain, ..build(at, &regex, capitals)? })
    }

    /// Compiles a glob that matches a whole text.
    pub(crate) fn whole(glob: &str) -> Result<Pattern, FilterError> {
        let word: Vec<Char> = glob.chars().map(|c| (c, false)).collect();
        Pattern::word(0, &word, Extent::Whole)
    }

    /// Compiles a regex that matches anywhere in a text.
    pub(super) fn regex(at: usize, regex: &str) -> Result<Pattern, FilterError> {
        // Capital letters in classes such as `\S` do not make the regex case-sensitive.
        let mut escaped = false;
        let mut capitals = false;
        for c in regex.chars() {
            capitals |= c.is_uppercase() && !escaped;
            escaped = c == '\\' && !escaped;
        }
        build(at, regex, capitals)
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        // Avoids the cost of a regex for most filters. Only the regex knows that `ſ` is a case
        // variant of `s`.
        let plain = self.plain.as_ref().is_some_and(|word| contains_word(text.as_bytes(), word.as_bytes()));
        plain || ((self.plain.is_none() || !text.is_ascii()) && self.regex.is_match(text))
    }

    /// Returns the word if the pattern is a lower-case ASCII word.
    pub(super) fn plain(&self) -> Option<&str> {
        self.plain.as_deref()
    }
}

/// Whether a text contains a lower-case ASCII word in any case.
fn contains_word(text: &[u8], word: &[u8]) -> bool {
    let Some((first, rest)) = word.split_first() else { return true };
    let after = |at: usize| text.get(at + 1..at + 1 + rest.len());
    memchr2_iter(*first, first.to_ascii_uppercase(), text)
        .any(|at| after(at).is_some_and(|next| next.eq_ignore_ascii_case(rest)))
}

/// Compiles a regex. Without capitals it ignores case.
fn build(at: usize, regex: &str, capitals: bool) -> Result<Pattern, FilterError> {
    RegexBuilder::new(regex)
        .case_insensitive(!capitals)
        .dot_matches_new_line(true)
        .size_limit(1 << 20)
        .build()
        .map(|regex| Pattern { regex, plain: None })
        .map_err(|error| FilterError { at, reason: format!("not a regex: {}", reason(&error)) })
}

/// Returns the reason of a regex error without the excerpt of the expression.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or(&text);
    line.trim().trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn plain_word_matches_like_its_regex(
            word in "[ak1s.-]{1,3}",
            text in "[aAkK1sS.ſ\u{212a}é-]{0,12}",
        ) {
            let letters: Vec<(char, bool)> = word.chars().map(|c| (c, false)).collect();
            let pattern = Pattern::word(0, &letters, Extent::Part).expect("a pattern");
            prop_assert_eq!(pattern.plain(), Some(word.as_str()));
            prop_assert_eq!(pattern.matches(&text), pattern.regex.is_match(&text));
        }
    }
}
