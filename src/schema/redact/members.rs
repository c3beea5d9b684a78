//! Values behind secret names in texts: in JSON, YAML, Go's dumps, XML, calls and command lines.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::{Captures, Match, Regex};

use super::nested::{self, Group};
use super::schemes::{is_scheme, scheme_len};
use super::values::{Words, block, has_digit, is_code, is_credential, value};
use crate::secret_names::{SecretNames, is_function};

/// Words in front of `key`, with a space between.
pub(super) const KEY_KINDS: &str =
    "(?i:access|account|api|auth|client|encryption|master|private|secret|session|shared|signing)";

/// Names with a separator and a value: of YAML, JSON, also in quotes, of `name=value`, of blocks of
/// the text format of protobuf, and of `name(value)`.
static MEMBER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?-u)((?:{KEY_KINDS} )?[A-Za-z0-9_.\x80-\xff-]{2,64})(?:\\{0,7}["'`])?\]?(?:[ \t]{0,8}(:=|=>|<-|->|[:=]|[{<])[ \t]{0,8}|(\())"#
            .replace("{KEY_KINDS}", KEY_KINDS)
            .as_str(),
    )
    .expect("a pattern of ours")
});

/// Names with a value as elements of a list, as arguments of a call or as options:
/// `["authorization", "..."]`.
static PAIR: LazyLock<Regex> = LazyLock::new(|| {
    let quote = r#"\\{0,7}["']"#;
    Regex::new(&format!(
        r"(?-u)(?:[\[({{][ \t]{{0,8}}{quote}|,\s{{0,8}}{quote}--?)([A-Za-z0-9_.-]{{2,64}}){quote}[ \t]{{0,8}},\s{{0,8}}({quote})"
    ))
    .expect("a pattern of ours")
});

/// Further cookies.
static COOKIES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?-u)^(?:; ?[^\s=;,]{1,128}=[^\s;,]{1,4096})+").expect("a pattern of ours")
});

/// Options of a command line with a value.
static OPTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?-u)(?:^|[\s"'`(])--?([A-Za-z][A-Za-z0-9_.-]{1,63})[ \t]{1,8}[^\s-]"#)
        .expect("a pattern of ours")
});

/// Elements of XML with a text.
static ELEMENT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?-u)<([A-Za-z][A-Za-z0-9_.:-]{1,63})(?:\s[^<>]{0,256})?>(?:<!\[CDATA\[)?([^<>]{1,4096}?)(?:\]\]>)?</")
        .expect("a pattern of ours")
});

/// Members with the name of a value that another member has.
static NAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?i-u)\b(?:key|name|header|header_?name|field)(?:\\{0,7}["'])?\s{0,8}[:=]\s{0,8}(?:\\{0,7}["'])?([A-Z0-9_.-]{2,128})"#,
    )
    .expect("a pattern of ours")
});

/// Members with the value of such a name.
static VALUE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?i-u)\b(?:value|raw_?value|string_?value|default_?value|literal|exact|(?:exact|string|prefix|suffix|contains)_?match)(?:\\{0,7}["'])?\s{0,8}(?:[:=]\s{0,8}|[{<])"#,
    )
    .expect("a pattern of ours")
});

/// Secret members of a JSON Web Key.
static KEY_MEMBER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?-u)\\{0,7}"(?:k|d|p|q|dp|dq|qi|r|t)\\{0,7}"\s{0,8}:\s{0,8}(\\{0,7}")"#)
        .expect("a pattern of ours")
});

/// Words in front of `secret` in errors about a secret that has no content.
const SECRET_KINDS: [&str; 7] = ["duplicate", "dynamic", "missing", "SDS", "static", "TLS", "unknown"];

/// Longest such word that is read, in bytes.
const MAX_KIND_BYTES: usize = 16;

/// Most bytes between a name and its value.
const MAX_GAP_BYTES: usize = 256;

/// Collects the values of secret names.
pub(super) fn find(text: &[u8], names: &SecretNames, is_sentence: bool, found: &mut Vec<Range<usize>>) {
    let words = if is_sentence { Words::Unusual } else { Words::Any };
    Search { text, names, is_sentence, words, found }.run();
}

/// The search of a text.
struct Search<'a> {
    text: &'a [u8],
    names: &'a SecretNames,
    is_sentence: bool,
    /// The words behind `:` and `=` that are values.
    words: Words,
    found: &'a mut Vec<Range<usize>>,
}

impl Search<'_> {
    fn run(&mut self) {
        self.members();
        let mut from = 0;
        while let Some(pair) = PAIR.captures_at(self.text, from) {
            let (Some(name), Some(quote)) = (pair.get(1), pair.get(2)) else { break };
            from = name.end();
            if name_text(name).is_some_and(|name| self.names.is_header(name)) {
                self.found.extend(value(self.text, quote.start(), false, Words::Any));
            }
        }
        for option in named(&OPTION, self.text, self.names) {
            let (Some(all), Some(name)) = (option.get(0), option.get(1)) else { continue };
            if name_text(name).is_some_and(|name| self.names.is_key(name)) {
                self.found.extend(value(self.text, all.end() - 1, false, self.words));
            }
        }
        for element in named(&ELEMENT, self.text, self.names) {
            let (Some(name), Some(content)) = (element.get(1), element.get(2)) else { continue };
            if name_text(name).is_some_and(|name| self.names.is_key(name)) {
                self.found.push(content.range());
            }
        }
        if memchr::memmem::find(self.text, b"kty").is_some() {
            let quotes = KEY_MEMBER.captures_iter(self.text).filter_map(|member| member.get(1));
            self.found.extend(quotes.filter_map(|quote| value(self.text, quote.start(), false, Words::Any)));
        }
        self.named_values();
    }

    /// Collects the values of names with a separator.
    fn members(&mut self) {
        let mut from = 0;
        // The end of the lists, objects and lines that are collected already. Names within are
        // searched for single values only: a text of 10,000 openings is not read 10,000 times.
        let mut collected = 0;
        while let Some(all) = MEMBER.find_at(self.text, from) {
            // A value may be a name with a value itself.
            from = all.end();
            if !self.names.may_be_in(all.as_bytes()) {
                continue;
            }
            let Some(member) = MEMBER.captures_at(self.text, all.start()) else { break };
            if all.start() >= collected
                && let Some(group) = self.group(&member)
            {
                collected = group.end;
                self.found.extend(group.values);
            } else if let Some(value) = self.value(&member) {
                from = from.max(value.end);
                self.found.push(value);
            }
        }
    }

    /// Returns the values of a list, an object or lines of YAML behind a name, if the name is
    /// secret.
    fn group(&self, member: &Captures<'_>) -> Option<Group> {
        let (all, name, separator) = (member.get(0)?, name_text(member.get(1)?)?, member.get(2)?);
        let is_secret = self.names.is_name_in_text(name);
        let is_block = self.is_sentence && self.names.is_block(name);
        if !is_secret && !is_block {
            return None;
        }
        match separator.as_bytes() {
            b"{" | b"<" => return nested::group(self.text, separator.start(), true),
            b":" => {}
            _ => return nested::group(self.text, all.end(), true),
        }
        let group = nested::group(self.text, all.end(), self.is_sentence);
        let lines = || nested::lines(self.text, all.end(), self.is_sentence);
        group.or_else(|| (self.starts_line(all) || self.starts_text(all)).then(lines).flatten())
    }

    /// Returns the value behind a name and its separator, if the name is secret.
    fn value(&self, member: &Captures<'_>) -> Option<Range<usize>> {
        let (all, name) = (member.get(0)?, member.get(1)?);
        let word = name_text(name)?;
        let Some(separator) = member.get(2) else {
            let is_secret = self.names.is_key(word);
            let found =
                is_secret.then(|| value(self.text, all.end(), false, Words::Credentials)).flatten()?;
            return (!is_code(&self.text[found.clone()])).then_some(found);
        };
        if !self.names.is_name_in_text(word) || matches!(separator.as_bytes(), b"{" | b"<") {
            return None;
        }
        if self.is_sentence && names_kind(self.text, name) {
            return None;
        }
        let is_member = separator.as_bytes() == b":" && self.starts_line(all);
        if (is_member || self.starts_text(all))
            && let Some(block) = block(self.text, all.end())
        {
            return Some(block);
        }
        // Operators: `==` and `::`.
        let doubled = usize::from(self.text.get(all.end()) == separator.as_bytes().last());
        let at = behind_space(self.text, all.end() + doubled);
        let is_operator = doubled > 0 || separator.as_bytes().contains(&b'-');
        let is_scope = doubled > 0 && separator.as_bytes() == b":";
        let words = if is_operator || self.precedes_words(word) { Words::Credentials } else { self.words };
        let found = value(self.text, at, is_member && !self.is_sentence, words)?;
        let content = &self.text[found.clone()];
        // A reason quotes a word behind a name without quotes: `jwt: 'issuer' is not allowed`.
        let is_reason = found.start > at
            && words == Words::Credentials
            && separator.range().start == name.end()
            && separator.as_bytes() == b":"
            && !content.split(u8::is_ascii_whitespace).any(is_credential);
        if is_reason || self.is_other(word, content, is_scope) {
            return None;
        }
        if word.to_ascii_lowercase().contains("cookie") {
            let len = COOKIES.find(&self.text[found.end..]).map_or(0, |cookies| cookies.len());
            return Some(found.start..found.end + len);
        }
        if !is_scheme(content) {
            let is_line = found.start == at && is_member;
            let scheme = if is_line { scheme_len(content) } else { 0 };
            let is_credential = scheme == 0 || words.accept(&content[scheme..]);
            return is_credential.then_some(found.start + scheme..found.end);
        }
        // Another search finds the credential behind a scheme, if the credential looks like one.
        let credential = value(self.text, behind_space(self.text, found.end), false, Words::Unusual)?;
        let word = &self.text[credential.clone()];
        (!word.contains(&b'=') && !word.eq_ignore_ascii_case(b"token")).then_some(credential)
    }

    /// Whether words may follow a name, so that its value must look like a credential.
    fn precedes_words(&self, name: &str) -> bool {
        self.names.is_session(name)
            || self.is_sentence && (is_function(name) || self.names.is_sentence_word(name))
    }

    /// Whether what looks like a value is code, a word, or another member.
    fn is_other(&self, name: &str, value: &[u8], is_scope: bool) -> bool {
        if is_scope {
            return !has_digit(value) || is_code(value);
        }
        if self.names.is_session(name) {
            return !is_credential(value) || starts_member(value);
        }
        self.is_sentence && is_function(name) && !has_digit(value)
    }

    /// Whether nothing but quotes and the mark of a list item precedes a name in its line.
    fn starts_line(&self, member: Match<'_>) -> bool {
        let front = self.text[..member.start()].iter().rev().find(|byte| !b" \t-\"'".contains(byte));
        front.is_none_or(|byte| *byte == b'\n')
    }

    /// Whether a name without quotes is behind a quote: the first name of YAML in a quoted text.
    fn starts_text(&self, member: Match<'_>) -> bool {
        let is_quote = |byte: &u8| matches!(byte, b'"' | b'\'');
        self.text[..member.start()].last().is_some_and(is_quote) && !member.as_bytes().iter().any(is_quote)
    }

    /// Collects values whose name is the value of another member, as of
    /// `{"name": "x-api-key", "value": "..."}`.
    fn named_values(&mut self) {
        let secret = |name: &Captures<'_>| {
            let (all, name) = (name.get(0)?, name_text(name.get(1)?)?);
            self.names.is_header(name).then(|| (all.range(), self.names.is_session(name)))
        };
        let secrets: Vec<(Range<usize>, bool)> =
            named(&NAME, self.text, self.names).filter_map(|name| secret(&name)).collect();
        if secrets.is_empty() {
            return;
        }
        let mut members: Vec<(usize, Group)> = Vec::new();
        let mut from = 0;
        while let Some(member) = VALUE.find_at(self.text, from) {
            let is_block = member.as_bytes().ends_with(b"{") || member.as_bytes().ends_with(b"<");
            let at = member.end() - usize::from(is_block);
            let group = nested::group(self.text, at, self.is_sentence).or_else(|| {
                let value = value(self.text, at, false, self.words)?;
                Some(Group { end: value.end, values: vec![value] })
            });
            from = member.end();
            if let Some(group) = group {
                from = from.max(group.end);
                members.push((member.start(), group));
            }
        }
        for (name, is_session) in secrets {
            let next = members.partition_point(|(start, _)| *start < name.end);
            let behind = members.get(next).filter(|(start, _)| is_one_object(self.text, name.end, *start));
            let front = || {
                let last = members.get(next.checked_sub(1)?);
                last.filter(|(_, group)| is_one_object(self.text, group.end, name.start))
            };
            if let Some((_, group)) = behind.or_else(front) {
                let is_value =
                    |place: &&Range<usize>| !is_session || is_credential(&self.text[(*place).clone()]);
                self.found.extend(group.values.iter().filter(is_value).cloned());
            }
        }
    }
}

/// Returns the matches of a pattern that may contain the name of a secret.
pub(super) fn named<'a>(
    pattern: &'a Regex,
    text: &'a [u8],
    names: &SecretNames,
) -> impl Iterator<Item = Captures<'a>> {
    let matches = pattern.find_iter(text).filter(|found| names.may_be_in(found.as_bytes()));
    matches.filter_map(|found| pattern.captures_at(text, found.start()))
}

pub(super) fn name_text(name: Match<'_>) -> Option<&str> {
    std::str::from_utf8(name.as_bytes()).ok()
}

/// Whether a name is `secret` behind a word for a kind of secret: the value is the name of one.
fn names_kind(text: &[u8], name: Match<'_>) -> bool {
    let front = text[..name.start()].trim_ascii_end();
    let len = front.iter().rev().take(MAX_KIND_BYTES).take_while(|byte| byte.is_ascii_alphabetic()).count();
    let kind = &front[front.len() - len..];
    name.as_bytes().eq_ignore_ascii_case(b"secret")
        && SECRET_KINDS.iter().any(|known| kind.eq_ignore_ascii_case(known.as_bytes()))
}

/// Whether a value begins with a name and `=`.
fn starts_member(value: &[u8]) -> bool {
    let len = value.iter().take_while(|byte| byte.is_ascii_lowercase() || **byte == b'_').count();
    len > 0 && value.get(len) == Some(&b'=') && value.len() > len + 1
}

/// Returns the offset behind spaces, and behind line breaks in front of a quote.
fn behind_space(text: &[u8], at: usize) -> usize {
    let rest = &text[at..text.len().min(at + MAX_GAP_BYTES)];
    let behind = |is_space: fn(&u8) -> bool| rest.iter().take_while(|byte| is_space(byte)).count();
    let (spaces, breaks) = (behind(|byte| b" \t".contains(byte)), behind(u8::is_ascii_whitespace));
    let has_quote = rest.get(breaks).is_some_and(|byte| b"\"'\\".contains(byte));
    at + if has_quote { breaks } else { spaces }
}

/// Whether no object and no item of YAML begins or ends in a part of a text.
fn is_one_object(text: &[u8], from: usize, to: usize) -> bool {
    let Some(gap) = text.get(from..to).filter(|gap| gap.len() <= MAX_GAP_BYTES) else { return false };
    let starts_item = |line: &[u8]| line.trim_ascii_start().starts_with(b"- ");
    !gap.iter().any(|byte| b"{}[]()".contains(byte))
        && !gap.split(|byte| *byte == b'\n').skip(1).any(starts_item)
}
