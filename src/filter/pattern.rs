//! What a word, a glob or a regex matches.

use regex::{Regex, RegexBuilder};

use super::FilterError;
use super::lexer::Char;

/// How much of a text a plain word has to match. A glob always matches the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    Part,
}

/// A compiled pattern. All forms become one regex: the engine's literal search is as fast as our own would be.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    regex: Regex,
    /// In whatever case, anywhere in the text: all that it means.
    plain: Option<Box<str>>,
}

impl Pattern {
    /// A word as typed: `*` outside of quotes is a glob, everything else stands for itself.
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

    /// A regex as typed, anywhere in the text.
    pub(super) fn regex(at: usize, regex: &str) -> Result<Pattern, FilterError> {
        // Capitals in classes such as `\S` say nothing about the case of the text.
        let mut escaped = false;
        let mut capitals = false;
        for c in regex.chars() {
            capitals |= c.is_uppercase() && !escaped;
            escaped = c == '\\' && !escaped;
        }
        build(at, regex, capitals)
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// The word without capitals that a text has to have somewhere, in any case, if that is all.
    pub(super) fn plain(&self) -> Option<&str> {
        self.plain.as_deref()
    }
}

fn build(at: usize, regex: &str, capitals: bool) -> Result<Pattern, FilterError> {
    RegexBuilder::new(regex)
        .case_insensitive(!capitals)
        .dot_matches_new_line(true)
        .size_limit(1 << 20)
        .build()
        .map(|regex| Pattern { regex, plain: None })
        .map_err(|error| FilterError { at, reason: format!("not a regex: {}", reason(&error)) })
}

/// The engine's reason without its picture of the expression.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or(&text);
    line.trim().trim_start_matches("error: ").to_owned()
}
