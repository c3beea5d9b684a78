//! Values behind names: quoted texts, words, and blocks of YAML.

use std::ops::Range;

/// Longest part of a word that is read to see whether it is a value, in bytes: a text of 100,000
/// names without spaces must not be read 100,000 times.
const MAX_SAMPLE_BYTES: usize = 1024;

/// Returns the value behind a name and a separator: up to its closing quote, or one word, or the
/// rest of a line in YAML.
///
/// In a sentence, a value without quotes must look like a credential: words of more than
/// [`MAX_SAMPLE_BYTES`] do.
pub(super) fn value(text: &[u8], at: usize, is_yaml: bool, is_sentence: bool) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    if let Some(Quoted { content, .. }) = quoted(rest) {
        return (!content.is_empty()).then_some(at + content.start..at + content.end);
    }
    let ends = |byte: &u8| {
        matches!(byte, b'\n' | b'\r' | b'"' | b'\\' | b'}' | b']')
            || (!is_yaml && (byte.is_ascii_whitespace() || b",;&')<>".contains(byte)))
    };
    let sample = &rest[..rest.len().min(MAX_SAMPLE_BYTES + 1)];
    let is_long = sample.len() > MAX_SAMPLE_BYTES && !sample.iter().any(ends);
    let sample = &sample[..sample.iter().position(ends).unwrap_or(sample.len())];
    // Blocks of YAML and JSON, references, patterns of access logs, and calls in Lua.
    let is_other = sample.first().is_none_or(|byte| b"{[|>&*!%$<=:".contains(byte)) || sample.contains(&b'(');
    let word = sample.trim_ascii_end();
    if is_other || is_literal(word) || (is_sentence && !is_long && !is_credential(word)) {
        return None;
    }
    let len = rest.iter().position(ends).unwrap_or(rest.len());
    Some(at..at + rest[..len].trim_ascii_end().len())
}

/// A quoted text.
pub(super) struct Quoted {
    pub content: Range<usize>,
    /// The offset behind the closing quote.
    pub end: usize,
}

/// Returns the quoted text that a text begins with. Quotes may be escaped.
pub(super) fn quoted(text: &[u8]) -> Option<Quoted> {
    let escapes = text.iter().take(3).take_while(|byte| **byte == b'\\').count();
    let quote = text.get(escapes).filter(|byte| b"\"'`".contains(byte))?;
    let from = escapes + 1;
    let mut end = from;
    while let Some(byte) = text.get(end) {
        match byte {
            b'\\' if escapes == 0 => end += 1,
            byte if byte == quote => break,
            _ => {}
        }
        end += 1;
    }
    let end = end.min(text.len());
    // The escape in front of the closing quote.
    let kept = if end < text.len() { escapes } else { 0 };
    let close = end.saturating_sub(kept).max(from.min(end));
    Some(Quoted { content: from.min(close)..close, end: (end + 1).min(text.len()) })
}

/// Returns the block of YAML whose indicator, such as `|`, is at `at`: the lines behind it that are
/// indented more than the line of their name.
pub(super) fn block(text: &[u8], at: usize) -> Option<Range<usize>> {
    if !matches!(text.get(at), Some(b'|' | b'>')) {
        return None;
    }
    let indent = indent(text, at);
    let begin = at + memchr::memchr(b'\n', &text[at..])? + 1;
    let mut end = begin;
    for line in text[begin..].split_inclusive(|byte| *byte == b'\n') {
        if spaces(line) <= indent && !line.trim_ascii().is_empty() {
            break;
        }
        end += line.len();
    }
    let content = text[begin..end].trim_ascii();
    let from = begin + text[begin..end].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    (!content.is_empty()).then(|| from..from + content.len())
}

/// Returns the indentation of the line at `at`, with the marks of list items.
pub(super) fn indent(text: &[u8], at: usize) -> usize {
    let line = memchr::memrchr(b'\n', &text[..at]).map_or(0, |end| end + 1);
    text[line..at].iter().take_while(|byte| matches!(byte, b' ' | b'-')).count()
}

/// Returns the number of spaces that a line begins with.
pub(super) fn spaces(line: &[u8]) -> usize {
    line.iter().take_while(|byte| **byte == b' ').count()
}

/// Whether a value only says that a block of YAML follows.
pub(super) fn is_block_indicator(value: &str) -> bool {
    let rest = value.strip_prefix(['|', '>']);
    rest.is_some_and(|rest| rest.len() <= 2 && rest.chars().all(|c| matches!(c, '-' | '+' | '1'..='9')))
}

/// Whether a word is a value without content.
pub(super) fn is_literal(word: &[u8]) -> bool {
    [&b"null"[..], b"true", b"false", b"nil", b"none"].contains(&word)
}

pub(super) fn has_digit(word: &[u8]) -> bool {
    word.iter().take(MAX_SAMPLE_BYTES).any(u8::is_ascii_digit)
}

/// Whether a word looks like a credential rather than a word of a sentence.
pub(super) fn is_credential(word: &[u8]) -> bool {
    let sample = &word[..word.len().min(MAX_SAMPLE_BYTES)];
    let is_mixed = sample.windows(2).any(|two| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase());
    word.len() >= 6 && (has_digit(sample) || is_mixed || word.ends_with(b"="))
}
