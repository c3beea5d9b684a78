//! Values below a secret name: in lists and objects of JSON, YAML and Go, and in lines of YAML.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::LOCATION_FIELDS;
use super::schemes::is_scheme;
use super::values::{Words, indent, is_literal, quoted, spaces, value};

/// The beginning of a list or an object of JSON, YAML, Go or the text format of protobuf.
static OPENING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?-u)^(?:(?:\[\]|map\[[\w.*]{1,64}\])[\w.*]{1,64}\{|(?:map|&)?[\[{]|<\s)")
        .expect("a pattern of ours")
});

/// The marks of list items and the key that a line of YAML begins with.
static LINE_KEY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?-u)^ *(?:-[ \t]+)*(?:["']?([\w.-]{1,64})["']?:(?:[ \t]+|$))?"#)
        .expect("a pattern of ours")
});

/// Values, and the offset behind the list, the object or the lines with the values.
pub(super) struct Group {
    pub values: Vec<Range<usize>>,
    pub end: usize,
}

/// Returns the texts and numbers of the list or the object at `at`, at any depth, except for keys
/// and locations of secrets.
///
/// In a sentence, a value without quotes must look like a credential, or be the value of a key.
pub(super) fn group(text: &[u8], at: usize, is_sentence: bool) -> Option<Group> {
    let rest = text.get(at..)?;
    let is_other = rest.starts_with(b"{{") || rest.starts_with(b"[redacted ");
    let opening = OPENING.find(rest).filter(|_| !is_other)?;
    let mut out = Group { values: Vec::new(), end: at + opening.end() };
    let mut open = 1;
    let has_angles = rest.starts_with(b"<");
    let mut is_location = false;
    let mut is_member = false;
    while let Some(byte) = text.get(out.end).filter(|_| open > 0) {
        match byte {
            b'[' if text[out.end..].starts_with(b"[redacted ") => {
                out.end += memchr::memchr(b']', &text[out.end..]).unwrap_or(0) + 1;
            }
            b'{' | b'[' | b'(' => open += 1,
            b'}' | b']' | b')' => open -= 1,
            b'<' if has_angles => open += 1,
            b'>' if has_angles => open -= 1,
            b'\\' if matches!(text.get(out.end + 1), Some(b'n' | b'r' | b't')) => out.end += 1,
            byte if is_scalar_start(*byte) || text[out.end..].starts_with(b"***") => {
                let scalar = scalar(text, out.end);
                out.end = scalar.end;
                let content = &text[scalar.content.clone()];
                let words = match is_sentence {
                    true if is_member => Words::Unusual,
                    true => Words::Credentials,
                    false => Words::Any,
                };
                let is_word = !scalar.is_quoted && (!words.accept(content) || is_plain(content));
                if !scalar.is_key && !is_location && !is_word {
                    out.values.push(scalar.content.clone());
                }
                is_member = scalar.is_key;
                is_location = scalar.is_key && LOCATION_FIELDS.iter().any(|name| name.as_bytes() == content);
                continue;
            }
            _ => {}
        }
        out.end += 1;
    }
    out.end = out.end.min(text.len());
    Some(out)
}

/// Whether a byte can begin a key or a value. `***` stands for a removed value.
fn is_scalar_start(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !b",;:=&*<>|-".contains(&byte)
}

/// A key or a value of a list or an object.
struct Scalar {
    content: Range<usize>,
    is_quoted: bool,
    is_key: bool,
    /// The offset behind it.
    end: usize,
}

/// Returns the key or the value at `at`.
fn scalar(text: &[u8], at: usize) -> Scalar {
    let rest = &text[at..];
    if let Some(quoted) = quoted(rest) {
        let next = rest[quoted.end..].iter().find(|byte| !byte.is_ascii_whitespace());
        let is_key = matches!(next, Some(b':' | b'='));
        let content = at + quoted.content.start..at + quoted.content.end;
        return Scalar { content, is_quoted: true, is_key, end: at + quoted.end };
    }
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"[]{}()\"'`,;\\".contains(byte);
    // Any other byte is a word of one byte.
    let len = rest.iter().position(ends).unwrap_or(rest.len()).max(1);
    let word = &rest[..len];
    let name = word.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(byte)).count();
    // The end of a text in base64 is no separator.
    let is_key = match word.get(name) {
        Some(b':') => true,
        Some(b'=') => {
            name + 1 == len && b"\"'`[{".contains(rest.get(len).unwrap_or(&b' '))
                || word[name..].iter().any(|byte| *byte != b'=')
        }
        _ => false,
    };
    let end = if is_key { name } else { len };
    Scalar { content: at..at + end, is_quoted: false, is_key, end: at + end.max(1) }
}

/// Whether a word without quotes is a literal or a scheme.
fn is_plain(word: &[u8]) -> bool {
    is_literal(word) || is_scheme(word)
}

/// Returns the values in the lines of YAML below a name: items of a list, and lines that are
/// indented more than the line of the name. `at` is the offset behind the name.
pub(super) fn lines(text: &[u8], at: usize, is_sentence: bool) -> Option<Group> {
    let begin = at + memchr::memchr(b'\n', text.get(at..)?)? + 1;
    if !text[at..begin].trim_ascii().is_empty() {
        return None;
    }
    let indent = indent(text, at);
    let mut out = Group { values: Vec::new(), end: begin };
    for line in text[begin..].split_inclusive(|byte| *byte == b'\n') {
        let spaces = spaces(line);
        let is_item = line[spaces..].starts_with(b"- ");
        let is_below = spaces > indent || spaces == indent && is_item;
        if !is_below && !line.trim_ascii().is_empty() {
            break;
        }
        let end = out.end + line.trim_ascii_end().len();
        put_line(&text[..end], out.end.min(end), is_sentence, &mut out.values);
        out.end += line.len();
    }
    Some(out)
}

/// Collects the values of the line of YAML from `at` to the end of the text.
fn put_line(text: &[u8], at: usize, is_sentence: bool, values: &mut Vec<Range<usize>>) {
    let Some(key) = LINE_KEY.captures(&text[at..]) else { return };
    let is_location = |name: regex::bytes::Match<'_>| {
        LOCATION_FIELDS.iter().any(|field| field.as_bytes() == name.as_bytes())
    };
    let at = at + key.get(0).map_or(0, |all| all.len());
    if key.get(1).is_some_and(is_location) || text[at..].starts_with(b"#") {
        return;
    }
    match group(text, at, is_sentence) {
        Some(group) => values.extend(group.values),
        // A sentence may have indented lines.
        None if is_sentence && text[at..].contains(&b' ') => {}
        None => {
            let words = if is_sentence { Words::Unusual } else { Words::Any };
            values.extend(value(text, at, !is_sentence, words));
        }
    }
}
