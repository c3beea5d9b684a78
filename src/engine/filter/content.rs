//! Matching of content for `has:` and `field:`.

use serde_json::Value;

use crate::store::ResourceFact;
use xdscope_wire::event::Seq;

use super::pattern::Pattern;

/// A source of decoded content for rows.
pub trait ContentLookup {
    /// Passes the resources of a message (protobuf JSON) to `visit` until `visit` returns true.
    ///
    /// Skips resources that cannot be decoded.
    fn message(&self, n: Seq, visit: &mut dyn FnMut(&Value) -> bool);
    /// Passes the content of a resource to `visit`.
    fn resource(&self, fact: &ResourceFact, visit: &mut dyn FnMut(&Value) -> bool);
}

/// A lookup without content.
pub struct NoContent;

impl ContentLookup for NoContent {
    fn message(&self, _n: Seq, _see: &mut dyn FnMut(&Value) -> bool) {}
    fn resource(&self, _fact: &ResourceFact, _see: &mut dyn FnMut(&Value) -> bool) {}
}

/// A field path such as `eds_cluster_config.service_name`.
///
/// Matches at any depth, through lists, in either spelling of protobuf JSON (`service_name`,
/// `serviceName`).
#[derive(Clone, Debug)]
pub(super) struct ContentPath(Vec<String>);

impl ContentPath {
    /// Parses a path. Returns `None` if a step is empty.
    pub(super) fn parse(text: &str) -> Option<ContentPath> {
        let steps: Vec<String> = text.split('.').map(normalized).collect();
        steps.iter().all(|step| !step.is_empty()).then_some(ContentPath(steps))
    }

    /// Whether `body` contains the path with a matching value, or any value without a pattern.
    pub(super) fn is_in(&self, body: &Value, value: Option<&Pattern>) -> bool {
        self.starts_at(body, value)
            || match body {
                Value::Object(fields) => fields.values().any(|inner| self.is_in(inner, value)),
                Value::Array(items) => items.iter().any(|inner| self.is_in(inner, value)),
                _ => false,
            }
    }

    /// Whether the path starts at `body`.
    fn starts_at(&self, body: &Value, value: Option<&Pattern>) -> bool {
        let Some((first, rest)) = self.0.split_first() else { return false };
        match body {
            Value::Object(fields) => {
                fields.iter().any(|(key, inner)| normalized(key) == *first && ends(rest, inner, value))
            }
            _ => false,
        }
    }
}

/// Whether a body has a value that matches at the end of these steps.
fn ends(steps: &[String], body: &Value, value: Option<&Pattern>) -> bool {
    if let Value::Array(items) = body {
        return items.iter().any(|item| ends(steps, item, value));
    }
    match (steps.split_first(), body) {
        (None, Value::Object(_)) => value.is_none(),
        (None, body) => value.is_none_or(|pattern| pattern.matches(&text(body))),
        (Some((first, rest)), Value::Object(fields)) => {
            fields.iter().any(|(key, inner)| normalized(key) == *first && ends(rest, inner, value))
        }
        (Some(_), _) => false,
    }
}

/// Formats a scalar without quotes.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Normalizes the spelling of a field name: `serviceName` and `service_name` become equal.
fn normalized(key: &str) -> String {
    key.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect()
}
