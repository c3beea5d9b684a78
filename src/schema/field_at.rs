//! Descriptions of fields by their path in protobuf JSON.

use prost_reflect::DynamicMessage;
use prost_reflect::text_format::FormatOptions;
use serde_json::Value;

use xdscope_wire::pb::Fields;

use super::{ExplainError, Explanation, Schema};

impl Schema {
    /// Formats a serialized `Any` in the protobuf text format.
    ///
    /// Returns `None` if the type is unknown or the bytes cannot be decoded.
    pub fn text_format(&self, any: &[u8]) -> Option<String> {
        let (mut url, mut value) = (String::new(), &[][..]);
        for field in Fields::new(any) {
            let field = field.ok()?;
            match field.number {
                1 => url = field.text().into_owned(),
                2 => value = field.bytes(),
                _ => {}
            }
        }
        let message = DynamicMessage::decode(self.message_among_all(&url)?, value).ok()?;
        Some(message.to_text_format_with_options(&FormatOptions::new().pretty(true)))
    }

    /// Describes the field at `path` of a resource, such as `eds_cluster_config.service_name`.
    ///
    /// `body` is protobuf JSON with the original field names and an `@type`. The path may lead
    /// through `Any`s.
    ///
    /// # Errors
    ///
    /// Returns an error if `body` has no `@type`, or the message has no such field.
    pub fn explain_at(&self, body: &Value, path: &str) -> Result<Explanation, ExplainError> {
        self.explain(&self.field_at(body, path).ok_or_else(|| ExplainError::NoMessage(path.to_owned()))?)
    }

    /// Returns the names of the fields of a message; empty if the message is unknown.
    pub fn field_names(&self, type_url: &str) -> Vec<String> {
        let message = self.message(type_url);
        message.iter().flat_map(|message| message.fields()).map(|field| field.name().to_owned()).collect()
    }

    /// Returns the constraints of the field at `path`, such as `duration.gt = 0s`.
    pub fn rules_at(&self, body: &Value, path: &str) -> Vec<String> {
        match self.explain_at(body, path) {
            Ok(Explanation::Field(field)) => field.rules,
            Ok(Explanation::Message(_)) | Err(_) => Vec::new(),
        }
    }

    /// Returns the full name of the field, starting at the innermost `Any`.
    ///
    /// Example: `envoy.config.cluster.v3.Cluster.connect_timeout`.
    fn field_at(&self, body: &Value, path: &str) -> Option<String> {
        let mut message = body.get("@type")?.as_str()?;
        let mut fields: Vec<&str> = Vec::new();
        let mut current = Some(body);
        let steps = split_path(path);
        for (i, step) in steps.iter().enumerate() {
            let (name, index) = step.split_once('[').map_or((*step, None), |(name, rest)| (name, Some(rest)));
            current = current.and_then(|value| value.get(name));
            fields.push(name);
            if let Some(index) = index.map(|index| index.trim_end_matches(']').trim_matches('"')) {
                current = current.and_then(|value| match value {
                    Value::Array(items) => items.get(index.parse::<usize>().ok()?),
                    other => other.get(index),
                });
            }
            if let Some(payload_type) = current.and_then(|value| value.get("@type")).and_then(Value::as_str) {
                // A path that ends at an `Any` means the field that contains the `Any`.
                if i + 1 < steps.len() {
                    message = payload_type;
                    fields.clear();
                }
            }
        }
        Some(std::iter::once(super::message_name(message)).chain(fields).collect::<Vec<_>>().join("."))
    }
}

/// Splits a path at its dots, except for dots in brackets.
fn split_path(path: &str) -> Vec<&str> {
    let mut in_brackets = false;
    path.split(|c: char| {
        in_brackets = (in_brackets || c == '[') && c != ']';
        c == '.' && !in_brackets
    })
    .filter(|step| !step.is_empty())
    .collect()
}
