//! Values behind secret names in texts: in JSON, YAML, Go's dumps, XML, calls and command lines.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::{Captures, Regex};

use super::nested::{self, Group};
use super::schemes::SCHEMES;
use super::values::{block, value};
use crate::schema::secret_names::SecretNames;

/// Names with a separator and a value: of YAML, JSON, also in quotes, and of `name=value`.
static MEMBER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?-u)([A-Za-z0-9_.-]{2,64})(\\{0,3}["'])?[ \t]{0,8}(:=|=>|[:=]|%3[aAdD]|[ \t]\{)[ \t]{0,8}"#,
    )
    .expect("a pattern of ours")
});

/// Names with a value as elements of a list, as arguments of a call or as options:
/// `["authorization", "..."]`.
static PAIR: LazyLock<Regex> = LazyLock::new(|| {
    let quote = r#"\\{0,3}["']"#;
    Regex::new(&format!(
        r"(?-u)(?:[\[({{][ \t]{{0,8}}{quote}|,\s{{0,8}}{quote}--?)([A-Za-z0-9_.-]{{2,64}}){quote}[ \t]{{0,8}},\s{{0,8}}({quote})"
    ))
    .expect("a pattern of ours")
});

/// Options of a command line with a value.
static OPTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?-u)(?:^|[\s"'`(])--?([A-Za-z][A-Za-z0-9_.-]{1,63})[ \t]{1,8}[^\s-]"#)
        .expect("a pattern of ours")
});

/// Elements of XML with a text.
static ELEMENT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?-u)<([A-Za-z][A-Za-z0-9_.:-]{1,63})(?:\s[^<>]{0,256})?>([^<>]{1,4096})</")
        .expect("a pattern of ours")
});

/// Members with the name of a value that another member has.
static NAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?i-u)\b(?:key|name|header|header_?name|field)(?:\\{0,3}["'])?\s{0,8}[:=]\s{0,8}(?:\\{0,3}["'])?([A-Z0-9_.-]{2,128})"#,
    )
    .expect("a pattern of ours")
});

/// Members with the value of such a name.
static VALUE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?i-u)\b(?:value|raw_?value|string_?value|default_?value|literal|exact|(?:exact|string|prefix|suffix|contains)_?match)(?:\\{0,3}["'])?\s{0,8}(?:[:=]\s{0,8}|\{)"#,
    )
    .expect("a pattern of ours")
});

/// Most bytes between a name and its value.
const MAX_GAP_BYTES: usize = 256;

/// Collects the values of secret names.
pub(super) fn find(text: &[u8], names: &SecretNames, is_sentence: bool, found: &mut Vec<Range<usize>>) {
    let mut from = 0;
    while let Some(member) = MEMBER.captures_at(text, from) {
        let Some(all) = member.get(0) else { break };
        // A value may be a name with a value itself.
        from = all.end();
        if let Some(group) = member_value(text, &member, names, is_sentence) {
            from = from.max(group.end);
            found.extend(group.values);
        }
    }
    from = 0;
    while let Some(pair) = PAIR.captures_at(text, from) {
        let (Some(name), Some(quote)) = (pair.get(1), pair.get(2)) else { break };
        from = name.end();
        if name_text(name.as_bytes()).is_some_and(|name| names.is_header(name)) {
            found.extend(value(text, quote.start(), false, false));
        }
    }
    for option in OPTION.captures_iter(text) {
        let (Some(all), Some(name)) = (option.get(0), option.get(1)) else { continue };
        if name_text(name.as_bytes()).is_some_and(|name| names.is_key(name)) {
            found.extend(value(text, all.end() - 1, false, is_sentence));
        }
    }
    for element in ELEMENT.captures_iter(text) {
        let (Some(name), Some(content)) = (element.get(1), element.get(2)) else { continue };
        if name_text(name.as_bytes()).is_some_and(|name| names.is_key(name)) {
            found.push(content.range());
        }
    }
    named_values(text, names, is_sentence, found);
}

fn name_text(name: &[u8]) -> Option<&str> {
    std::str::from_utf8(name).ok()
}

/// Returns the values behind a name and its separator, if the name is secret.
fn member_value(text: &[u8], member: &Captures<'_>, names: &SecretNames, is_sentence: bool) -> Option<Group> {
    let (all, name, separator) = (member.get(0)?, member.get(1)?, member.get(3)?);
    let word = name_text(name.as_bytes())?;
    if separator.as_bytes().starts_with(b"%") {
        return encoded_value(text, name.start(), word, all.end(), names);
    }
    if !names.is_key(word) && (word.contains('_') || !names.is_header(word)) {
        return None;
    }
    if separator.as_bytes().ends_with(b"{") {
        return nested::group(text, separator.end() - 1, true);
    }
    let is_colon = separator.as_bytes() == b":";
    if let Some(group) = nested::group(text, all.end(), is_sentence || !is_colon) {
        return Some(group);
    }
    let starts_line = text[..all.start()]
        .iter()
        .rev()
        .find(|byte| !b" \t-\"'".contains(byte))
        .is_none_or(|byte| *byte == b'\n');
    let is_member = is_colon && starts_line;
    if is_member && let Some(group) = nested::lines(text, all.end(), is_sentence) {
        return Some(group);
    }
    let is_yaml = is_member && !is_sentence;
    let block = block(text, all.end()).filter(|_| is_member);
    let value = block.or_else(|| value(text, all.end(), is_yaml, is_sentence))?;
    // Another search finds the credential behind a scheme.
    let is_scheme = SCHEMES.iter().any(|scheme| text[value.clone()].eq_ignore_ascii_case(scheme.as_bytes()));
    (!is_scheme).then(|| Group { end: value.end, values: vec![value] })
}

/// Returns the value of a query parameter whose separator is percent-encoded.
fn encoded_value(text: &[u8], start: usize, name: &str, at: usize, names: &SecretNames) -> Option<Group> {
    // The name begins with the digits of an encoded `?` or `&`.
    let is_encoded = start > 0 && text.get(start - 1) == Some(&b'%');
    let name = if is_encoded { name.get(2..)? } else { name };
    if !names.is_parameter(name) {
        return None;
    }
    let mut value = value(text, at, false, false)?;
    let end = memchr::memmem::find(&text[value.clone()], b"%26").unwrap_or(value.len());
    value.end = value.start + end;
    Some(Group { end: value.end, values: vec![value] })
}

/// Collects values whose name is the value of another member, as of
/// `{"name": "x-api-key", "value": "..."}`.
fn named_values(text: &[u8], names: &SecretNames, is_sentence: bool, found: &mut Vec<Range<usize>>) {
    let secret = |name: &Captures<'_>| {
        let (all, name) = (name.get(0)?, name.get(1)?);
        name_text(name.as_bytes()).filter(|name| names.is_header(name))?;
        Some(all.range())
    };
    let secrets: Vec<Range<usize>> = NAME.captures_iter(text).filter_map(|name| secret(&name)).collect();
    if secrets.is_empty() {
        return;
    }
    let mut members: Vec<(usize, Group)> = Vec::new();
    let mut from = 0;
    while let Some(member) = VALUE.find_at(text, from) {
        let at = if member.as_bytes().ends_with(b"{") { member.end() - 1 } else { member.end() };
        let group = nested::group(text, at, is_sentence).or_else(|| {
            let value = value(text, at, false, is_sentence)?;
            Some(Group { end: value.end, values: vec![value] })
        });
        from = member.end();
        if let Some(group) = group {
            from = from.max(group.end);
            members.push((member.start(), group));
        }
    }
    for name in secrets {
        let next = members.partition_point(|(start, _)| *start < name.end);
        let behind = members.get(next).filter(|(start, _)| is_one_object(text, name.end, *start));
        let front = || {
            members.get(next.checked_sub(1)?).filter(|(_, group)| is_one_object(text, group.end, name.start))
        };
        if let Some((_, group)) = behind.or_else(front) {
            found.extend(group.values.iter().cloned());
        }
    }
}

/// Whether no object and no item of YAML begins or ends in a part of a text.
fn is_one_object(text: &[u8], from: usize, to: usize) -> bool {
    let Some(gap) = text.get(from..to).filter(|gap| gap.len() <= MAX_GAP_BYTES) else { return false };
    let starts_item = |line: &[u8]| line.trim_ascii_start().starts_with(b"- ");
    !gap.iter().any(|byte| b"{}[]()".contains(byte))
        && !gap.split(|byte| *byte == b'\n').skip(1).any(starts_item)
}
