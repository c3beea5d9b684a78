use std::time::Duration;

/// A syntax error: its position, what was read, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: read {found}, expected {expected}")]
pub struct ScriptError {
    /// The name of the file.
    pub file: String,
    /// The line number, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: usize,
    /// The text that was read, in quotes or described.
    pub found: String,
    /// A description of the valid texts.
    pub expected: String,
}

/// Length of the longest word and of the longest value that an error quotes, in characters.
const MAX_SHOWN_WORD: usize = 24;
const MAX_SHOWN_VALUE: usize = 3;
/// Length of the shortest word with digits or capitals that may be a secret, in bytes.
const MIN_MIXED_WORD: usize = 8;

pub(super) type Result<T> = std::result::Result<T, ScriptError>;

/// A lexer of one line.
pub(super) struct Lexer<'a> {
    pub file: &'a str,
    pub line: u32,
    text: &'a str,
    at: usize,
}

/// A word. Quoted words are never keywords.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Word {
    pub text: String,
    pub quoted: bool,
}

/// Returns whether a character needs no quotes.
pub(super) fn is_bare(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '|' | '$' | '%' | '*')
}

impl<'a> Lexer<'a> {
    pub(super) fn new(file: &'a str, line: u32, text: &'a str) -> Self {
        Lexer { file, line, text, at: 0 }
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Returns the current position, for [`Lexer::back`].
    pub(super) fn mark(&self) -> usize {
        self.at
    }

    pub(super) fn rewind(&mut self, mark: usize) {
        self.at = mark;
    }

    pub(super) fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Skips spaces. Returns true at the end of the line or before a comment.
    pub(super) fn at_end(&mut self) -> bool {
        let trimmed = self.rest().trim_start();
        self.at = self.text.len() - trimmed.len();
        trimmed.is_empty() || trimmed.starts_with('#')
    }

    /// Consumes `text` if it comes next.
    pub(super) fn eat(&mut self, text: &str) -> bool {
        let there = self.rest().starts_with(text);
        if there {
            self.at += text.len();
        }
        there
    }

    /// Consumes a keyword if it comes next as a whole word.
    pub(super) fn keyword(&mut self, word: &str) -> bool {
        let there = self.peek_bare() == word;
        if there {
            self.at += word.len();
        }
        there
    }

    pub(super) fn expect(&mut self, text: &str) -> Result<()> {
        if self.eat(text) { Ok(()) } else { Err(self.error(format!("`{text}`"))) }
    }

    /// Returns an error at the current position.
    pub(super) fn error(&self, expected: impl Into<String>) -> ScriptError {
        let rest = self.rest().trim_end();
        let len =
            rest.char_indices().find(|(i, c)| *i > 0 && c.is_whitespace()).map_or(rest.len(), |(i, _)| i);
        let before = self.text[..self.at].chars().next_back();
        let mut found: String =
            without_value(&rest[..len], before).chars().flat_map(char::escape_debug).collect();
        found = if found.is_empty() { "the end of the line".into() } else { format!("`{found}`") };
        ScriptError {
            file: self.file.into(),
            line: self.line,
            column: self.text[..self.at].chars().count() + 1,
            found,
            expected: expected.into(),
        }
    }

    /// Returns an error about the word at `mark`.
    pub(super) fn error_at(&mut self, mark: usize, expected: impl Into<String>) -> ScriptError {
        self.at = mark;
        self.error(expected)
    }

    pub(super) fn peek_bare(&self) -> &'a str {
        let rest = self.rest();
        &rest[..rest.find(|c| !is_bare(c)).unwrap_or(rest.len())]
    }

    /// Consumes a bare word, which may be empty.
    pub(super) fn bare(&mut self) -> &'a str {
        let word = self.peek_bare();
        self.at += word.len();
        word
    }

    /// Consumes a bare or quoted word.
    pub(super) fn word(&mut self, expected: &str) -> Result<Word> {
        if self.peek() == Some('"') {
            return Ok(Word { text: self.quoted()?, quoted: true });
        }
        match self.bare() {
            "" => Err(self.error(expected)),
            word => Ok(Word { text: word.into(), quoted: false }),
        }
    }

    /// Consumes the value behind `FIELD=`, which may be empty.
    pub(super) fn value(&mut self) -> Result<String> {
        match self.peek() {
            Some('"') => self.quoted(),
            _ => {
                let word = self.bare();
                self.boundary("a value, in quotes if it contains other characters")?;
                Ok(word.into())
            }
        }
    }

    /// Requires a space, a bracket or the end behind a word.
    pub(super) fn boundary(&self, expected: &str) -> Result<()> {
        match self.peek() {
            None | Some(']' | ')' | '}' | '#') => Ok(()),
            Some(c) if c.is_whitespace() => Ok(()),
            Some(_) => Err(self.error(expected)),
        }
    }

    /// Consumes a JSON string.
    pub(super) fn quoted(&mut self) -> Result<String> {
        let mut values = serde_json::Deserializer::from_str(self.rest()).into_iter::<String>();
        match values.next() {
            Some(Ok(text)) => {
                self.at += values.byte_offset();
                Ok(text)
            }
            _ => Err(self.error("a text in double quotes, escaped as in JSON and closed on the same line")),
        }
    }

    pub(super) fn number<T: std::str::FromStr>(&mut self, expected: &str) -> Result<T> {
        let mark = self.at;
        let text = self.bare();
        text.parse().map_err(|_| self.error_at(mark, expected))
    }

    /// Consumes a time in nanoseconds: `10ms`, `1.5s`, `2m`, `1h`; negative only if `signed`.
    pub(super) fn nanos(&mut self, signed: bool) -> Result<i128> {
        let mark = self.at;
        let text = self.bare();
        let (sign, digits) = match text.strip_prefix('-') {
            Some(rest) if signed => (-1, rest),
            _ => (1, text),
        };
        match nanos(digits) {
            Some(value) => Ok(sign * value),
            None => Err(self.error_at(mark, "a time such as `10ms`, `1.5s`, `2m` or `1h`")),
        }
    }

    /// Reads a time with a unit: `10ms`.
    pub(super) fn duration(&mut self) -> Result<Duration> {
        let mark = self.at;
        let nanos = self.nanos(false)?;
        match u64::try_from(nanos) {
            Ok(nanos) => Ok(Duration::from_nanos(nanos)),
            Err(_) => Err(self.error_at(mark, "a time below 584 years")),
        }
    }

    /// Consumes `[a "b c" d]`.
    pub(super) fn list(&mut self) -> Result<Vec<String>> {
        self.expect("[")?;
        let mut words = Vec::new();
        loop {
            if self.at_end() {
                return Err(self.error("a name or `]`"));
            }
            if self.eat("]") {
                return Ok(words);
            }
            words.push(self.word("a name or `]`")?.text);
            self.boundary("a space or `]`")?;
        }
    }

    /// Consumes `{a:1 "b c":"x"}`.
    pub(super) fn pairs(&mut self) -> Result<Vec<(String, String)>> {
        self.expect("{")?;
        let mut pairs = Vec::new();
        loop {
            if self.at_end() {
                return Err(self.error("`NAME:VALUE` or `}`"));
            }
            if self.eat("}") {
                return Ok(pairs);
            }
            let name = self.word("`NAME:VALUE` or `}`")?.text;
            self.expect(":")?;
            pairs.push((name, self.value()?));
            self.boundary("a space or `}`")?;
        }
    }
}

/// Returns a text without a value that may be a secret: its beginning and `…`.
///
/// `before` is the character in front of the text.
fn without_value(text: &str, before: Option<char>) -> String {
    let is_separator = |c: char| matches!(c, '=' | ':' | '"' | '\'');
    let name = match text.find(is_separator) {
        _ if before.is_some_and(is_separator) => 0,
        Some(separator) => separator + 1,
        None => {
            let is_short = text.chars().count() <= MAX_SHOWN_WORD;
            let is_mixed = text.contains(|c: char| c.is_ascii_digit())
                || text.contains(|c: char| c.is_ascii_uppercase());
            if is_short && (!is_mixed || text.len() < MIN_MIXED_WORD) { text.len() } else { 0 }
        }
    };
    // A character that no word has is no part of a value.
    let first = text.chars().next().filter(|c| !is_bare(*c)).map_or(0, char::len_utf8);
    let (name, value) = text.split_at(name.max(first));
    let is_short = value.chars().count() <= MAX_SHOWN_VALUE;
    let name: String = name.chars().take(MAX_SHOWN_WORD).collect();
    if is_short { name + value } else { name + "…" }
}

/// Converts an integer or decimal number with a unit to nanoseconds, exactly, without floats.
fn nanos(text: &str) -> Option<i128> {
    let split = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(split);
    let unit: i128 = match unit {
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty()
        || whole.len() > 19
        || part.len() > 9
        || !(whole.chars().chain(part.chars())).all(|c| c.is_ascii_digit())
    {
        return None;
    }
    let mut value = whole.parse::<i128>().ok()?.checked_mul(unit)?;
    let mut step = unit;
    for digit in part.bytes() {
        if step % 10 != 0 && digit != b'0' {
            return None;
        }
        step /= 10;
        value += i128::from(digit - b'0') * step;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_times_exactly() {
        for (text, want) in [
            ("10ms", Some(10_000_000)),
            ("1.1s", Some(1_100_000_000)),
            ("0.000000001s", Some(1)),
            ("1.5h", Some(5_400_000_000_000)),
            ("2m", Some(120_000_000_000)),
            ("0.0000000001s", None),
            ("0.0000001ms", None),
            ("5", None),
            ("s", None),
            (".5s", None),
            ("1e3s", None),
        ] {
            assert_eq!(nanos(text), want, "{text}");
        }
    }

    #[test]
    fn error_states_position_and_expectation() {
        let mut lexer = Lexer::new("x.xds", 7, "  é[a b=");
        assert!(!lexer.at_end());
        lexer.bump();
        let error = lexer.list().expect_err("no closing bracket");
        assert_eq!(error.to_string(), "x.xds:7:8: read `=`, expected a space or `]`");
    }

    #[test]
    fn errors_quote_no_values() {
        for (text, before, wanted) in [
            ("password=4WcNh2", None, "password=…"),
            ("v=2", None, "v=2"),
            ("nonsense", None, "nonsense"),
            ("hCBKw3LmR5yHc9", None, "…"),
            ("hunter", Some('='), "…"),
            ("\"hunter", None, "\"…"),
            ("é]", None, "é]"),
            ("~15006~inbound~and~more~of~the~name", None, "~…"),
        ] {
            assert_eq!(without_value(text, before), wanted);
        }
    }

    #[test]
    fn parses_quoted_words_as_json() {
        let mut lexer = Lexer::new("x", 1, r#"["a\nb" "ü\u00fc" c]"#);
        assert_eq!(lexer.list().expect("a list"), ["a\nb", "üü", "c"]);
        assert!(Lexer::new("x", 1, r#""open"#).quoted().is_err());
    }
}
