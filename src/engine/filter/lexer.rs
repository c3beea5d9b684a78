//! Cuts an expression into tokens, each with its place.

use super::FilterError;

/// A character of a word, and whether quotes took its special meaning from it.
pub(super) type Char = (char, bool);

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Or,
    Not,
    Open,
    Close,
    /// `/…/`, without its slashes.
    Regex(String),
    /// `name:/…/`: field word, regex, place of the regex.
    FieldRegex(String, String, usize),
    Word(Vec<Char>),
}

/// Tokens with the byte where each begins.
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

    /// From its opening slash; `\/` is a slash.
    fn regex(&mut self) -> Result<String, FilterError> {
        let start = self.at;
        self.bump();
        let mut out = String::new();
        while let Some(c) = self.bump() {
            match c {
                '/' => return Ok(out),
                '\\' if self.peek() == Some('/') => out.extend(self.bump()),
                // An escape keeps its backslash, for the regex engine.
                '\\' => {
                    out.push(c);
                    out.extend(self.bump());
                }
                c => out.push(c),
            }
        }
        Err(FilterError { at: start, reason: "the `/` that ends this regex is missing".into() })
    }

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
                    return Ok(Token::FieldRegex(word, self.regex()?, at));
                }
                c => {
                    self.bump();
                    out.push((c, false));
                }
            }
        }
        Ok(Token::Word(out))
    }

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
        Err(FilterError { at: start, reason: "the quote that ends this text is missing".into() })
    }
}

/// Whether what stands so far is `word:`.
fn is_field(so_far: &[Char]) -> bool {
    match so_far.split_last() {
        Some(((':', false), word)) => {
            !word.is_empty() && word.iter().all(|(c, quoted)| !quoted && c.is_ascii_alphabetic())
        }
        _ => false,
    }
}
