//! Patterns for fields to ignore.

use serde_json::Value;

use super::keys;
use super::path::{ListKey, key_text};

/// A pattern such as `circuit_breakers.thresholds[priority=DEFAULT].max_connections`.
///
/// Matches the fields at the path and everything below. `*` matches one field, `**` any number of
/// fields and `[*]` any item. A list without brackets stands for all of its items. Accepts both
/// spellings of field names. A map key that is not an identifier stands in brackets and quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnorePattern(Vec<PatternPart>);

/// An invalid pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at column {}", .at + 1)]
pub struct PatternError {
    /// Byte offset of the error.
    pub at: usize,
    /// The reason of the error.
    pub reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PatternPart {
    Field(String),
    AnyField,
    Deep,
    /// The text in the brackets.
    Item(String),
    AnyItem,
}

impl IgnorePattern {
    /// Parses a pattern.
    ///
    /// # Errors
    ///
    /// Returns the byte offset and the reason if the pattern is invalid.
    pub fn parse(text: &str) -> Result<IgnorePattern, PatternError> {
        let error = |at, reason| PatternError { at, reason };
        let mut parts = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let rest = text.get(at..).unwrap_or_default();
            if let Some(inner) = rest.strip_prefix('[') {
                let end = closing(inner).ok_or(error(at, "`[` without `]`"))?;
                parts.push(item(inner.get(..end).unwrap_or_default()).ok_or(error(at + 1, "an empty item"))?);
                at += end + 2;
                let after = text.get(at..).unwrap_or_default();
                if !after.is_empty() && !after.starts_with(['.', '[']) {
                    return Err(error(at, "expected `.` or `[`"));
                }
                at += usize::from(after.starts_with('.'));
                if after == "." {
                    return Err(error(at, "an empty field"));
                }
                continue;
            }
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            parts.push(match rest.get(..end).unwrap_or_default() {
                "" => return Err(error(at, "an empty field")),
                "*" => PatternPart::AnyField,
                "**" => PatternPart::Deep,
                name => PatternPart::Field(spelled(name)),
            });
            at += end;
            if text.get(at..).is_some_and(|after| after.starts_with('.')) {
                at += 1;
                if at == text.len() {
                    return Err(error(at, "an empty field"));
                }
            }
        }
        match parts.last() {
            None => Err(error(0, "an empty path")),
            Some(PatternPart::Deep) => Err(error(0, "a path that ends in `**` ignores everything")),
            Some(_) => Ok(IgnorePattern(parts)),
        }
    }
}

/// Returns the offset of the closing bracket, ignoring brackets in quotes.
fn closing(text: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

/// Reads what stands between brackets: `*`, a quoted field, or an item.
fn item(text: &str) -> Option<PatternPart> {
    match text {
        "" => None,
        "*" => Some(PatternPart::AnyItem),
        text => match serde_json::from_str::<String>(text) {
            Ok(key) => Some(PatternPart::Field(spelled(&key))),
            Err(_) => Some(PatternPart::Item(text.to_owned())),
        },
    }
}

/// Normalizes the spelling of a field name: `serviceName` and `service_name` become equal.
fn spelled(name: &str) -> String {
    name.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect()
}

/// Removes the fields that match the patterns.
pub(super) fn without(value: &Value, patterns: &[IgnorePattern]) -> Value {
    let states: Vec<&[PatternPart]> = patterns.iter().map(|pattern| pattern.0.as_slice()).collect();
    prune("", value, &states).unwrap_or(Value::Null)
}

/// Removes matching fields. Returns `None` if the value itself matches.
///
/// `states` has the remaining parts of each pattern that matches so far.
fn prune(field: &str, value: &Value, states: &[&[PatternPart]]) -> Option<Value> {
    if states.iter().any(|state| state.is_empty()) {
        return None;
    }
    if states.is_empty() {
        return Some(value.clone());
    }
    Some(match value {
        Value::Object(fields) => {
            let inside = |(name, value): (&String, &Value)| {
                Some((name.clone(), prune(name, value, &into_field(states, &spelled(name)))?))
            };
            Value::Object(fields.iter().filter_map(inside).collect())
        }
        Value::Array(items) => {
            let inside = |(at, item): (usize, &Value)| prune("", item, &into_item(states, field, at, item));
            Value::Array(items.iter().enumerate().filter_map(inside).collect())
        }
        other => other.clone(),
    })
}

/// Returns what is left of the patterns inside a field.
fn into_field<'a>(states: &[&'a [PatternPart]], name: &str) -> Vec<&'a [PatternPart]> {
    let mut out = Vec::new();
    for state in states {
        match state {
            [PatternPart::Field(wanted), rest @ ..] if wanted == name => out.push(rest),
            [PatternPart::AnyField, rest @ ..] => out.push(rest),
            [PatternPart::Deep, rest @ ..] => {
                out.push(*state);
                out.extend(into_field(&[rest], name));
            }
            _ => {}
        }
    }
    out
}

/// Returns what is left of the patterns inside an item of a list.
fn into_item<'a>(
    states: &[&'a [PatternPart]],
    field: &str,
    at: usize,
    item: &Value,
) -> Vec<&'a [PatternPart]> {
    let named = |text: &str| {
        let keyed = |by: ListKey| {
            let key = keys::key(by, field, item)?;
            Some(format!("{}={}", by.word(), key_text(&key)))
        };
        text.parse() == Ok(at) || ListKey::ALL.into_iter().any(|by| keyed(by).as_deref() == Some(text))
    };
    let mut out = Vec::new();
    for state in states {
        match state {
            [PatternPart::AnyItem, rest @ ..] => out.push(rest),
            [PatternPart::Item(text), rest @ ..] if named(text) => out.push(rest),
            [PatternPart::Deep, rest @ ..] => {
                out.push(*state);
                out.extend(into_item(&[rest], field, at, item));
            }
            // A field without brackets stands for all items of a list.
            [PatternPart::Field(_) | PatternPart::AnyField, ..] => out.push(*state),
            _ => {}
        }
    }
    out
}
