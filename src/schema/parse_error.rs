//! Errors of parsers without the text that was parsed, which may be a secret.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Values behind the words of serde and of the parsers of protobuf text and YAML.
static VALUES: LazyLock<[(Regex, &str); 6]> = LazyLock::new(|| {
    [
        (r#"(?s)\b(string|character|byte array|integer|floating point|boolean) ("(?:[^"\\]|\\.)*"|`[^`]*`)"#, "$1"),
        (r"(?s),? but found '.*'", ""),
        (r"(?s)\bthe value .* is out of range", "the value is out of range"),
        (r"(?s)\bvalue '[^']*[^A-Z0-9_'].*' was not found", "the value was not found"),
        (r"(?s)\bunrecognized enum value '[^']*[^A-Z0-9_'].*'", "unrecognized enum value"),
        (r"(?s)\bstring value \[.*\]", "string value"),
    ]
    .map(|(pattern, text)| (Regex::new(pattern).expect("a pattern of ours"), text))
});

/// Texts in quotes.
static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?s) ?("(?:[^"\\]|\\.)*"|`[^`]*`|\B'[^']*'\B)"#).expect("a pattern of ours")
});

/// Names of fields and types.
static NAME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[A-Za-z_@\[][A-Za-z0-9_.@/\[\]$-]{0,99}$").expect("a pattern of ours"));

/// Returns the message of a parser without the values that it quotes. Names of fields stay.
pub fn without_values(error: impl ToString) -> String {
    let mut text = error.to_string();
    for (pattern, replacement) in &*VALUES {
        if let Cow::Owned(clean) = pattern.replace_all(&text, *replacement) {
            text = clean;
        }
    }
    let keep_names = |found: &Captures<'_>| {
        let inner = found[1].get(1..found[1].len() - 1).unwrap_or_default();
        // Punctuation is what a parser expects.
        let is_kept = NAME.is_match(inner) || inner.chars().count() <= 2;
        if is_kept { found[0].to_owned() } else { String::new() }
    };
    QUOTED.replace_all(&text, keep_names).into_owned()
}

/// Returns the message of the YAML parser with line and column, without lines and values of the
/// text.
pub fn yaml_error(error: &serde_saphyr::Error) -> String {
    let text = without_values(error.without_snippet());
    match text.strip_prefix("budget breached: ") {
        // The parser names the limit by its own identifiers, before the place in the text.
        Some(rest) => {
            let place = rest.find(" at line ").and_then(|at| rest.get(at..)).unwrap_or_default();
            let place = place.split(" (").next().unwrap_or_default();
            format!("too many values or too deep, counting repeated aliases{place}")
        }
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_values_out_of_errors() {
        for (text, wanted) in [
            ("invalid type: string \"SZ\\\"be\", expected a map", "invalid type: string, expected a map"),
            (
                "invalid type: integer `5`, expected a string at line 1 column 2",
                "invalid type: integer, expected a string at line 1 column 2",
            ),
            ("expected '}', but found 'it's a secret'", "expected '}'"),
            ("unrecognized field name 'bogus'", "unrecognized field name 'bogus'"),
            ("unrecognized field name 'a secret'", "unrecognized field name"),
            ("value 's3' was not found for enum 'acme.Kind'", "the value was not found for enum 'acme.Kind'"),
            ("it can't be read, and won't", "it can't be read, and won't"),
            (
                "unknown field `nam`, expected `name` or `key`",
                "unknown field `nam`, expected `name` or `key`",
            ),
        ] {
            assert_eq!(without_values(text), wanted);
        }
    }

    #[test]
    fn says_that_aliases_repeat_too_many_values() {
        let levels = (1..9).map(|n| format!("k{n}: &k{n} [{}]\n", format!("*k{},", n - 1).repeat(9)));
        let text = format!("k0: &k0 [1,1,1,1,1,1,1,1,1]\n{}", levels.collect::<String>());
        let error = serde_saphyr::from_str::<serde_json::Value>(&text).expect_err("a bomb");
        let text = yaml_error(&error);
        assert!(
            text.starts_with("too many values or too deep, counting repeated aliases at line "),
            "{text}"
        );
    }

    #[test]
    fn takes_lines_out_of_errors() {
        for text in
            ["a: 1\nb: [hunter2, \"x\n", "a:\n  password: hunter2\n bad: \"hunter2\n", "hunter2: *hunter2"]
        {
            let error = serde_saphyr::from_str::<serde_json::Value>(text).expect_err(text);
            let text = yaml_error(&error);
            assert!(!text.contains("hunter2") && text.contains("line "), "{text}");
        }
    }
}
