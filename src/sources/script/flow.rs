use serde_json::{Map, Number, Value};

use xdscope_wire::text::json_safe;

use super::lex::{Lexer, Result, is_bare};

/// Deepest nesting of mappings and lists. Parsing is recursive.
const MAX_DEPTH: usize = 60;

/// Parses a YAML flow mapping: `{a: 1, b: [x, "y z"], c: {}, d}`. A key without a value is null.
pub(super) fn mapping(lexer: &mut Lexer<'_>) -> Result<Value> {
    map(lexer, MAX_DEPTH)
}

/// Reads a mapping in braces, as in YAML.
fn map(lexer: &mut Lexer<'_>, depth: usize) -> Result<Value> {
    let mut out = Map::new();
    if depth == 0 {
        return Err(lexer.error(format!("a mapping nested at most {MAX_DEPTH} levels deep")));
    }
    lexer.expect("{")?;
    loop {
        if lexer.at_end() {
            return Err(lexer.error("a key or `}`"));
        }
        if lexer.eat("}") {
            return Ok(Value::Object(out));
        }
        let mark = lexer.mark();
        let key = match lexer.peek() {
            Some('"' | '\'') => quoted(lexer)?,
            _ => plain(lexer)?.into(),
        };
        if key.is_empty() || out.contains_key(&key) {
            return Err(lexer.error_at(mark, "a key that is not repeated or empty"));
        }
        lexer.at_end();
        let value = if lexer.eat(":") { value(lexer, depth - 1)? } else { Value::Null };
        out.insert(key, value);
        separator(lexer, '}')?;
    }
}

/// Consumes a comma. A closing bracket is left for the caller.
fn separator(lexer: &mut Lexer<'_>, close: char) -> Result<()> {
    lexer.at_end();
    if lexer.peek() == Some(close) || lexer.eat(",") {
        return Ok(());
    }
    Err(lexer.error(format!("`,` or `{close}`")))
}

/// Reads a mapping, a list, a quoted text or a plain scalar.
fn value(lexer: &mut Lexer<'_>, depth: usize) -> Result<Value> {
    lexer.at_end();
    match lexer.peek() {
        Some('{') => map(lexer, depth),
        Some('[') => list(lexer, depth),
        Some('"' | '\'') => Ok(Value::String(quoted(lexer)?)),
        _ => Ok(scalar(plain(lexer)?)),
    }
}

/// Reads a list in brackets, as in YAML.
fn list(lexer: &mut Lexer<'_>, depth: usize) -> Result<Value> {
    let mut out = Vec::new();
    if depth == 0 {
        return Err(lexer.error(format!("a list nested at most {MAX_DEPTH} levels deep")));
    }
    lexer.expect("[")?;
    loop {
        if lexer.at_end() {
            return Err(lexer.error("a value or `]`"));
        }
        if lexer.eat("]") {
            return Ok(Value::Array(out));
        }
        out.push(value(lexer, depth - 1)?);
        separator(lexer, ']')?;
    }
}

/// Parses a text in double quotes (JSON) or single quotes (YAML).
fn quoted(lexer: &mut Lexer<'_>) -> Result<String> {
    if lexer.peek() == Some('"') {
        return lexer.quoted();
    }
    let mut out = String::new();
    let mark = lexer.mark();
    lexer.bump();
    while let Some(c) = lexer.bump() {
        match c {
            '\'' if !lexer.eat("'") => return Ok(out),
            c => out.push(c),
        }
    }
    Err(lexer.error_at(mark, "a closing `'` on the same line"))
}

/// Parses a plain scalar, up to a flow indicator, a comment, or a colon that ends a key.
fn plain<'a>(lexer: &mut Lexer<'a>) -> Result<&'a str> {
    let rest = lexer.rest();
    let end = rest.char_indices().find(|(i, c)| match c {
        ',' | '{' | '}' | '[' | ']' | '#' => true,
        ':' => rest[i + 1..].chars().next().is_none_or(|c| c.is_whitespace() || ",{}[]".contains(c)),
        _ => false,
    });
    let text = &rest[..end.map_or(rest.len(), |(i, _)| i)];
    let next = text.chars().next();
    if next.is_some_and(|c| "&*!|>%@`?\"'".contains(c)) {
        return Err(lexer.error("a value; put it in quotes if it begins with this character"));
    }
    lexer.eat(text);
    Ok(text.trim_end())
}

/// Interprets a plain scalar by the YAML 1.2 core schema, with decimal numbers only.
fn scalar(text: &str) -> Value {
    match text {
        "" | "~" | "null" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => text.parse::<Number>().map_or_else(|_| Value::String(text.into()), Value::Number),
    }
}

/// Writes a value in the form that [`mapping`] parses.
pub(super) fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            out.push('{');
            for (i, (key, value)) in map.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                text(key, out);
                if *value != Value::Null {
                    out.push_str(": ");
                    write(value, out);
                }
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                write(item, out);
            }
            out.push(']');
        }
        Value::String(string) => text(string, out),
        other => out.push_str(&other.to_string()),
    }
}

fn text(text: &str, out: &mut String) {
    let plain = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/')
        && text.chars().all(is_bare)
        && scalar(text).is_string();
    if plain { out.push_str(text) } else { out.push_str(&json_safe(&Value::from(text).to_string())) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Result<Value> {
        let mut lexer = Lexer::new("x", 1, text);
        let value = mapping(&mut lexer)?;
        assert!(lexer.at_end(), "{text} is read to its end");
        Ok(value)
    }

    #[test]
    fn parses_flow_mappings() {
        let text =
            r#"{a: 1, b: [x, "y z", two words], c: {}, d, e: 'it''s', f: -1.5, "g h": true, i: a:b, j: ~}"#;
        let want = json!({
            "a": 1, "b": ["x", "y z", "two words"], "c": {}, "d": null, "e": "it's", "f": -1.5, "g h": true,
            "i": "a:b", "j": null
        });
        assert_eq!(read(text).expect("a mapping"), want);
    }

    #[test]
    fn round_trips_mapping() {
        let value = json!({
            "a": ["1", 1, "true", null, "", "*", "x-y/z", "two words", "a#b"],
            "b c": {"d": {"e": -2.5}}, "null": "~", "n": null, "[]": []
        });
        let mut text = String::new();
        write(&value, &mut text);
        assert_eq!(read(&text).expect("a mapping"), value, "{text}");
    }

    #[test]
    fn rejects_malformed_mappings() {
        for text in ["{a: 1", "{a: [1}", "{a: 1, a: 2}", "{a: *x}", "{: 1}", "{a: 'x}", "{a # b}"] {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(read(&"{a: ".repeat(10_000)).is_err(), "depth is bounded");
    }
}
