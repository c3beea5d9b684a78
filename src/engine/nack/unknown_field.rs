//! Reader of texts about a field that the client does not know.

/// Words before the name of an unknown field, and the text that ends the name.
///
/// By protobuf for C++ and upb, Envoy, protojson, jsonpb and `encoding/json` of Go, protobuf for
/// Java, and protobuf for Python.
const FORMS: [(&str, &str); 10] = [
    ("no such field: '", "'"),
    ("No such field: '", "'"),
    ("No such field: ", " "),
    ("unknown field \"", "\""),
    ("unknown field '", "'"),
    ("unknown field name \"", "\""),
    ("Cannot find field: ", " "),
    ("has no field named \"", "\""),
    ("invalid name ", ": Cannot find field"),
    ("INVALID_ARGUMENT:(", "): Cannot find field"),
];
/// Maximum length of a name, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// Returns the name or the path of the field that a reason calls unknown.
pub(super) fn unknown_field(reason: &str) -> Option<&str> {
    let name = FORMS.iter().find_map(|(before, after)| {
        let rest = reason.split_once(before)?.1;
        let name = rest.split_once(after).map_or(rest, |(name, _)| name);
        let name = name.trim_end_matches(['.', ',', ';', ')']);
        let is_name = |c: char| c.is_alphanumeric() || "_-.[]".contains(c);
        (!name.is_empty() && name.len() <= MAX_NAME_BYTES && name.chars().all(is_name)).then_some(name)
    })?;
    // protobuf for C++ repeats the name when the path of an object is unknown.
    Some(name.trim_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_texts_of_all_parsers() {
        for (text, wanted) in [
            (
                "Unable to parse JSON as proto (INVALID_ARGUMENT: invalid JSON in a.b.C, near 1:40 (offset 39): no such \
              field: 'max_tokens')",
                "max_tokens",
            ),
            (
                "Unable to parse JSON as proto (INVALID_ARGUMENT:(token_bucket.max_token): Cannot find field.): {}",
                "token_bucket.max_token",
            ),
            ("INVALID_ARGUMENT: invalid name maxtokens: Cannot find field.", "maxtokens"),
            ("proto:\u{a0}(line 1:2): unknown field \"max_tokens\"", "max_tokens"),
            ("unknown field \"maxTokens\" in v3.TokenBucket", "maxTokens"),
            (
                "error unmarshaling JSON: while decoding JSON: json: unknown field \"max_tokens\"",
                "max_tokens",
            ),
            ("Cannot find field: max_tokens in message envoy.type.v3.TokenBucket", "max_tokens"),
            (
                "Message type \"envoy.type.v3.TokenBucket\" has no field named \"max_tokens\" at \"TokenBucket\".",
                "max_tokens",
            ),
            ("No such field: max_tokens", "max_tokens"),
        ] {
            assert_eq!(unknown_field(text), Some(wanted), "{text}");
        }
        for text in ["unknown field 12", "no such file: 'x'", "unknown field \"\"", "unknown cluster 'x'"] {
            assert_eq!(unknown_field(text), None, "{text}");
        }
    }
}
