//! Syntax colours of bodies in YAML, JSON, protobuf text and hex, line by line.

use crate::data::BodyFormat;
use crate::widgets::canvas::{StyledLine, plain, span};
use xdscope_present::report::Role;

/// Lines after the first one shown that are coloured: more than a screen has.
pub(crate) const MAX_COLORED_LINES: usize = 300;
/// Characters of a line that are coloured.
const MAX_COLORED_CHARS: usize = 2_000;

/// Returns a line of a body as spans that have its characters.
pub(crate) fn colored(line: &str, format: BodyFormat) -> StyledLine {
    if line.len() > MAX_COLORED_CHARS {
        return vec![plain(line)];
    }
    match format {
        BodyFormat::Yaml => yaml(line),
        BodyFormat::Json | BodyFormat::Text => tokens(line),
        BodyFormat::Hex => hex(line),
    }
}

/// Returns a line of a body as spans, after a blank.
pub(crate) fn indented(line: &str, format: BodyFormat) -> StyledLine {
    [plain(" ")].into_iter().chain(colored(line, format)).collect()
}

/// A field, its value, and a comment.
fn yaml(line: &str) -> StyledLine {
    let body = line.trim_start_matches([' ', '-']);
    // A dash is an item of a list only before a blank.
    let at = line.len() - body.len();
    let lead_end = match line.get(..at).unwrap_or_default().trim_end() {
        lead if lead.is_empty() || line.as_bytes().get(at.wrapping_sub(1)) == Some(&b' ') => at,
        lead => lead.len() - lead.chars().rev().take_while(|c| *c == '-').count(),
    };
    let (lead, rest) = line.split_at(lead_end);
    let mut out = vec![span(lead, Role::Muted)];
    let (field, value) = match field_end(rest) {
        Some(end) => rest.split_at(end),
        None => ("", rest),
    };
    let is_type = field.trim_matches('"').starts_with("@type");
    out.push(span(field, if is_type { Role::Muted } else { Role::Name }));
    let is_quoted = value.trim_start().starts_with(['"', '\'']);
    let (value, comment) = match value.find(" #") {
        Some(start) if !is_quoted => value.split_at(start),
        _ if rest.starts_with('#') => ("", value),
        _ => (value, ""),
    };
    let colon = usize::from(!field.is_empty() && value.starts_with(':'));
    let (colon, word) = value.split_at(colon);
    out.push(span(colon, Role::Muted));
    if word.trim_start().starts_with(['{', '[']) {
        out.extend(tokens(word));
    } else {
        out.push(span(word, if is_type { Role::Muted } else { value_role(word) }));
    }
    out.push(span(comment, Role::Muted));
    out.retain(|span| !span.text.is_empty());
    out
}

/// The end of the field that a line of YAML begins with.
fn field_end(text: &str) -> Option<usize> {
    if text.starts_with(['{', '[', '#']) {
        return None;
    }
    let end = match text.chars().next() {
        Some(quote @ ('"' | '\'')) => quoted_end(text, quote)?,
        _ => text.find(": ").or_else(|| text.ends_with(':').then(|| text.len() - 1))?,
    };
    let rest = text.get(end..)?;
    (rest == ":" || rest.starts_with(": ")).then_some(end)
}

/// The offset after a quoted text.
fn quoted_end(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' if quote == '"' => escaped = true,
            c if c == quote => return Some(at + c.len_utf8()),
            _ => {}
        }
    }
    None
}

/// The role of a value: numbers, words of the language and enums stand out.
fn value_role(word: &str) -> Role {
    let word = word.trim().trim_end_matches(',');
    let is_number = word.parse::<f64>().is_ok();
    let is_constant = matches!(word, "true" | "false" | "null");
    let mut chars = word.chars();
    let is_enum = chars.next().is_some_and(|c| c.is_ascii_uppercase())
        && word.len() > 1
        && chars.all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    if is_number || is_constant || is_enum { Role::Value } else { Role::Plain }
}

/// JSON and protobuf text: names before a colon or a brace, texts, numbers, types in brackets.
fn tokens(line: &str) -> StyledLine {
    let mut out = StyledLine::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '"' | '\'' => quoted_end(rest, first).unwrap_or(rest.len()),
            '[' => rest.find(']').filter(|end| is_type(&rest[..*end])).map_or(1, |end| end + 1),
            '#' => rest.len(),
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            c => rest.find(|other| other != c).unwrap_or(rest.len()).max(c.len_utf8()),
        };
        let (token, after) = rest.split_at(end);
        let next = after.trim_start();
        let is_name = next.starts_with(':') || (is_word(first) && next.starts_with('{'));
        let is_type_name = out.last().is_some_and(|before| before.text == ": ")
            && out.iter().rev().nth(1).is_some_and(|name| name.text == "\"@type\"");
        let role = match first {
            '#' => Role::Muted,
            '[' if token.len() > 1 => Role::Muted,
            _ if token == "\"@type\"" || is_type_name => Role::Muted,
            '"' | '\'' if is_name => Role::Name,
            '"' | '\'' => Role::Plain,
            c if is_word(c) && is_name => Role::Name,
            c if is_word(c) => value_role(token),
            ' ' => Role::Plain,
            _ => Role::Muted,
        };
        match out.last_mut() {
            Some(last) if last.role == role => last.text.push_str(token),
            Some(last) if token.trim().is_empty() => last.text.push_str(token),
            _ => out.push(span(token, role)),
        }
        rest = after;
    }
    out
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '+' | '/' | '@')
}

/// Whether a text in brackets is the type of an `Any`.
fn is_type(text: &str) -> bool {
    text.contains('/')
}

/// An offset, bytes, and their characters.
fn hex(line: &str) -> StyledLine {
    let Some((offset, rest)) = line.split_once("  ") else { return vec![plain(line)] };
    let (bytes, text) = match rest.rfind("  ") {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    vec![span(format!("{offset}  "), Role::Muted), plain(bytes), span(text, Role::Muted)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn roles(line: &str, format: BodyFormat) -> Vec<(String, Role)> {
        let spans = colored(line, format);
        let text: String = spans.iter().map(|span| span.text.as_str()).collect();
        assert_eq!(text, line, "every character is drawn");
        let words = spans.into_iter().map(|span| (span.text.trim().to_owned(), span.role));
        words.filter(|(word, _)| !word.is_empty()).collect()
    }

    fn role_of(line: &str, format: BodyFormat, word: &str) -> Role {
        let found = roles(line, format);
        let found = found.iter().find(|(text, _)| text.contains(word));
        found.unwrap_or_else(|| panic!("no {word} in {line}")).1
    }

    #[test]
    fn colors_yaml() {
        let role = |line, word| role_of(line, BodyFormat::Yaml, word);
        assert_eq!(role("  connect_timeout: 5s", "connect_timeout"), Role::Name);
        assert_eq!(role("  connect_timeout: 5s", "5s"), Role::Plain);
        assert_eq!(role("- max_connections: 1024", "1024"), Role::Value);
        assert_eq!(role("  lb_policy: LEAST_REQUEST", "LEAST"), Role::Value);
        assert_eq!(role("  - address: -1", "-1"), Role::Value);
        assert_eq!(role("  \"@type\": type.googleapis.com/x.Y", "x.Y"), Role::Muted);
        assert_eq!(role("name: a # why", "# why"), Role::Muted);
        assert_eq!(role("# a comment", "comment"), Role::Muted);
        assert_eq!(role("url: http://a:80/b", "http"), Role::Plain);
        assert_eq!(role("eds_config: {ads: {}, resource_api_version: V3}", "V3"), Role::Value);
    }

    #[test]
    fn colors_json_and_text() {
        let json = |line, word| role_of(line, BodyFormat::Json, word);
        assert_eq!(json("  \"name\": \"a: b\",", "name"), Role::Name);
        assert_eq!(json("  \"name\": \"a: b\",", "a: b"), Role::Plain);
        assert_eq!(json("  \"port\": 80, \"tls\": true", "80"), Role::Value);
        let text = |line, word| role_of(line, BodyFormat::Text, word);
        assert_eq!(text("circuit_breakers {", "circuit"), Role::Name);
        assert_eq!(text("[type.googleapis.com/a.B] {", "a.B"), Role::Muted);
        assert_eq!(text("type: EDS", "EDS"), Role::Value);
    }

    proptest::proptest! {
        #[test]
        fn keeps_every_character(line in "[ \\-a-zA-Z0-9:#\"'{}\\[\\],/\\\\é]{0,60}") {
            for format in [BodyFormat::Yaml, BodyFormat::Json, BodyFormat::Text, BodyFormat::Hex] {
                roles(&line, format);
            }
        }
    }
}
