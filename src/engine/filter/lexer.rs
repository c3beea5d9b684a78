//! Splits an expression into tokens with positions.

use super::FilterError;

/// A character of a word, and whether the character is quoted.
pub(super) type Char = (char, bool);

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Or,
    Not,
    Open,
    Close,
    /// The regex of `/…/`, without the slashes.
    Regex(String),
    /// `name:/…/`.
    FieldRegex {
        field: String,
        regex: String,
        /// Byte offset of the regex.
        regex_at: usize,
    },
    Word(Vec<Char>),
}

/// Returns the tokens with their byte offsets.
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token)>, FilterError> {
    let mut lexer = Lexer { text, at: 0 };
    let mut out = Vec::new();
    while let Some(c) = lexer.peek() {
        let at = lexer.at;
        let token = match c {
            c if c.is_whitespace() => {
                lexer.bump();
                continue;
            }
            '|' => lexer.single(Token::Or),
            '!' => lexer.single(Token::Not),
            '(' => lexer.single(Token::Open),
            ')' => lexer.single(Token::Close),
            '/' => Token::Regex(lexer.regex()?),
            _ => lexer.word()?,
        };
        out.push((at, token));
    }
    Ok(out)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at..)?.chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn single(&mut self, token: Token) -> Token {
        self.bump();
        token
    }

    /// Reads a regex from its opening slash. `\/` stands for a slash.
    fn regex(&mut self) -> Result<String, FilterError> {
        let start = self.at;
        self.bump();
        let mut out = String::new();
        while let Some(c) = self.bump() {
            match c {
                '/' => return Ok(out),
                '\\' if self.peek() == Some('/') => out.extend(self.bump()),
                // Keep the backslash of other escapes for the regex engine.
                '\\' => {
                    out.push(c);
                    out.extend(self.bump());
                }
                c => out.push(c),
            }
        }
        Err(FilterError { at: start, reason: "the closing `/` of this regex is missing".into() })
    }

    /// Reads a word up to a space or an operator; parts of it may be quoted.
    fn word(&mut self) -> Result<Token, FilterError> {
        let mut out: Vec<Char> = Vec::new();
        while let Some(c) = self.peek() {
            match c {
                c if c.is_whitespace() => break,
                '|' | '(' | ')' => break,
                '"' => self.quoted(&mut out)?,
                // A regex as a field's value: `name:/^rev/`, but not the slashes of `xdstp://`.
                '/' if is_field(&out) && !self.text[self.at..].starts_with("//") => {
                    let word = out[..out.len() - 1].iter().map(|(c, _)| c).collect();
                    let at = self.at;
                    return Ok(Token::FieldRegex { field: word, regex: self.regex()?, regex_at: at });
                }
                c => {
                    self.bump();
                    out.push((c, false));
                }
            }
        }
        Ok(Token::Word(out))
    }

    /// Reads a quoted text, whose characters have no special meaning.
    fn quoted(&mut self, out: &mut Vec<Char>) -> Result<(), FilterError> {
        let start = self.at;
        self.bump();
        while let Some(c) = self.bump() {
            match c {
                '"' => return Ok(()),
                '\\' => out.extend(self.bump().map(|c| (c, true))),
                c => out.push((c, true)),
            }
        }
        Err(FilterError { at: start, reason: "the closing quote of this text is missing".into() })
    }
}

/// Writes a text as a word of the language that matches the text itself: `reviews`, `"a|b"`.
pub fn quoted_word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.:@".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Whether the word so far is a field name with a colon.
fn is_field(so_far: &[Char]) -> bool {
    match so_far.split_last() {
        Some(((':', false), word)) => {
            !word.is_empty() && word.iter().all(|(c, quoted)| !quoted && c.is_ascii_alphabetic())
        }
        _ => false,
    }
}
