use serde_json::Value;

use crate::parse_error::yaml_error;
use xdscope_wire::text::must_escape;

/// A text that is not YAML. The reason states the line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct YamlError(String);

/// Reads YAML as a JSON value.
///
/// # Errors
///
/// The text is not YAML, or has values that JSON lacks.
pub fn from_yaml(text: &str) -> Result<Value, YamlError> {
    serde_saphyr::from_str(text).map_err(|error| YamlError(yaml_error(&error)))
}

/// Formats a JSON value as block-style YAML that parses back to an equal value.
pub fn to_yaml(value: &Value) -> String {
    let mut out = String::new();
    block(value, 0, &mut out);
    out
}

fn block(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (i, (key, value)) in fields.iter().enumerate() {
                if i > 0 {
                    out.push_str(&" ".repeat(indent));
                }
                out.push_str(&scalar(key));
                out.push(':');
                member_value(value, indent, matches!(value, Value::Array(_)), out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push_str(&" ".repeat(indent));
                }
                out.push_str("- ");
                block(item, indent + 2, out);
            }
        }
        other => {
            out.push_str(&leaf(other));
            out.push('\n');
        }
    }
}

/// Writes the value of a key: a scalar on the same line, or a block below. Lists are not indented.
fn member_value(value: &Value, indent: usize, is_list: bool, out: &mut String) {
    let is_scalar = match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => true,
    };
    if is_scalar {
        out.push(' ');
        out.push_str(&leaf(value));
        out.push('\n');
        return;
    }
    let indent = if is_list { indent } else { indent + 2 };
    out.push('\n');
    out.push_str(&" ".repeat(indent));
    block(value, indent, out);
}

fn leaf(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        Value::Object(_) => "{}".into(),
        Value::Array(_) => "[]".into(),
        other => other.to_string(),
    }
}

/// Formats a text. Quotes the text as in JSON, which is valid YAML, unless a plain scalar is
/// unambiguous.
fn scalar(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./|*@ ".contains(c);
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '/');
    let number = text.parse::<f64>().is_ok();
    let lower = text.to_ascii_lowercase();
    let word =
        ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"].contains(&lower.as_str());
    // Durations such as 5s begin with a digit but are unambiguous.
    let duration = text.strip_suffix('s').is_some_and(|n| n.parse::<f64>().is_ok());
    if (starts || duration) && text.chars().all(plain) && !text.ends_with(' ') && !word && !number {
        text.to_owned()
    } else {
        quoted(text)
    }
}

/// Quotes as in JSON and escapes the characters that YAML does not allow verbatim, or that a reader
/// would not see.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    for c in Value::String(text.to_owned()).to_string().chars() {
        match u32::from(c) {
            code @ 0x1_0000.. if must_escape(c) => out.push_str(&format!("\\U{code:08x}")),
            code if must_escape(c) || matches!(code, 0xfffe | 0xffff) => {
                out.push_str(&format!("\\u{code:04x}"))
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn formats_block_style() {
        let value = json!({"name": "reviews", "connect_timeout": "0s", "empty": {}, "none": [], "on": "off",
            "list": [{"a": 1, "b": ["x", true]}, "12"], "inner": {"url": "a:b"}});
        insta::assert_snapshot!(to_yaml(&value), @r#"
        name: reviews
        connect_timeout: 0s
        empty: {}
        none: []
        "on": "off"
        list:
        - a: 1
          b:
          - x
          - true
        - "12"
        inner:
          url: "a:b"
        "#);
    }

    fn values() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            "[a-z0-9 :#*&-]{0,8}",
            ".{0,6}",
            "[\u{e0040}-\u{e0044}\u{202e}\u{7f}]{1,3}",
            Just("1e3".to_owned())
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            text.clone().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 30, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(text.clone(), inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn parses_back_to_the_same_value(value in values()) {
            let text = to_yaml(&value);
            let back: Value = serde_saphyr::from_str(&text).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
            prop_assert_eq!(back, value, "{}", text);
            prop_assert!(!text.chars().any(|c| c != '\n' && must_escape(c)), "{}", text);
        }
    }
}
