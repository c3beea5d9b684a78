//! What a place in a body is: the way from a path in protobuf JSON to the field's description.

use prost_reflect::DynamicMessage;
use prost_reflect::text_format::FormatOptions;
use serde_json::Value;

use crate::wire::pb::Fields;

use super::{ExplainError, Schema};

impl Schema {
    /// A serialized `Any` in protobuf's text format. `None` if its type is not known or its bytes can't be read.
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
        let message = DynamicMessage::decode(self.message(&url)?, value).ok()?;
        Some(message.to_text_format_with_options(&FormatOptions::new().pretty(true)))
    }

    /// What the field at `path` of a resource's JSON is: `eds_cluster_config.service_name`, through `Any`s too.
    /// `body` has the API's own field names, and an `@type`.
    pub fn explain_at(&self, body: &Value, path: &str) -> Result<String, ExplainError> {
        self.explain(&self.field_at(body, path).ok_or_else(|| ExplainError::NoMessage(path.to_owned()))?)
    }

    /// What the descriptors demand of that field: `duration.gt = 0s`.
    pub fn rules_at(&self, body: &Value, path: &str) -> Vec<String> {
        let text = self.explain_at(body, path).unwrap_or_default();
        text.lines().filter_map(|line| line.trim_start().strip_prefix("rule: ")).map(str::to_owned).collect()
    }

    /// The path from the innermost `Any` on: `envoy.config.cluster.v3.Cluster.connect_timeout`.
    fn field_at(&self, body: &Value, path: &str) -> Option<String> {
        let mut message = body.get("@type")?.as_str()?;
        let mut fields: Vec<&str> = Vec::new();
        let mut here = Some(body);
        let steps = split(path);
        for (i, step) in steps.iter().enumerate() {
            let (name, index) = step.split_once('[').map_or((*step, None), |(name, rest)| (name, Some(rest)));
            here = here.and_then(|value| value.get(name));
            fields.push(name);
            if let Some(index) = index.map(|index| index.trim_end_matches(']').trim_matches('"')) {
                here = here.and_then(|value| match value {
                    Value::Array(items) => items.get(index.parse::<usize>().ok()?),
                    other => other.get(index),
                });
            }
            if let Some(inside) = here.and_then(|value| value.get("@type")).and_then(Value::as_str) {
                // The `Any` itself is described by the field that it is in, what is inside by its own type.
                if i + 1 < steps.len() {
                    message = inside;
                    fields.clear();
                }
            }
        }
        Some(std::iter::once(super::message_name(message)).chain(fields).collect::<Vec<_>>().join("."))
    }
}

/// Steps of a path; dots in brackets separate nothing.
fn split(path: &str) -> Vec<&str> {
    let mut inside = false;
    path.split(|c: char| {
        inside = (inside || c == '[') && c != ']';
        c == '.' && !inside
    })
    .filter(|step| !step.is_empty())
    .collect()
}
