//! `has:` and `field:`: what the content of a row says.

use serde_json::Value;

use crate::engine::store::ResourceFact;
use crate::wire::event::Seq;

use super::pattern::Pattern;

/// Where a row's content comes from, decoded. Implemented over the descriptors by whoever filters.
pub trait ContentLookup {
    /// Shows the bodies in a message (protobuf JSON), one after the other, until `see` says that it
    /// has seen enough. What can't be decoded is not shown.
    fn message(&self, n: Seq, see: &mut dyn FnMut(&Value) -> bool);
    /// The same for the one body of a resource.
    fn resource(&self, fact: &ResourceFact, see: &mut dyn FnMut(&Value) -> bool);
}

/// Knows no content.
pub struct NoContent;

impl ContentLookup for NoContent {
    fn message(&self, _n: Seq, _see: &mut dyn FnMut(&Value) -> bool) {}
    fn resource(&self, _fact: &ResourceFact, _see: &mut dyn FnMut(&Value) -> bool) {}
}

/// A field path such as `eds_cluster_config.service_name`, found at any depth, in either spelling
/// of protobuf JSON (`service_name`, `serviceName`). Steps into lists by itself.
#[derive(Clone, Debug)]
pub(super) struct ContentPath(Vec<String>);

impl ContentPath {
    /// `None` if a step is empty.
    pub(super) fn parse(text: &str) -> Option<ContentPath> {
        let steps: Vec<String> = text.split('.').map(plain).collect();
        steps.iter().all(|step| !step.is_empty()).then_some(ContentPath(steps))
    }

    /// Whether the path is in `body` with a value that matches (any, without a pattern).
    pub(super) fn is_in(&self, body: &Value, value: Option<&Pattern>) -> bool {
        self.at(body, value)
            || match body {
                Value::Object(fields) => fields.values().any(|inner| self.is_in(inner, value)),
                Value::Array(items) => items.iter().any(|inner| self.is_in(inner, value)),
                _ => false,
            }
    }

    /// Whether the path starts right at `body`.
    fn at(&self, body: &Value, value: Option<&Pattern>) -> bool {
        let Some((first, rest)) = self.0.split_first() else { return false };
        match body {
            Value::Object(fields) => {
                fields.iter().any(|(key, inner)| plain(key) == *first && ends(rest, inner, value))
            }
            _ => false,
        }
    }
}

fn ends(steps: &[String], body: &Value, value: Option<&Pattern>) -> bool {
    if let Value::Array(items) = body {
        return items.iter().any(|item| ends(steps, item, value));
    }
    match (steps.split_first(), body) {
        (None, Value::Object(_)) => value.is_none(),
        (None, body) => value.is_none_or(|pattern| pattern.matches(&text(body))),
        (Some((first, rest)), Value::Object(fields)) => {
            fields.iter().any(|(key, inner)| plain(key) == *first && ends(rest, inner, value))
        }
        (Some(_), _) => false,
    }
}

/// A scalar as it is typed: texts without their quotes.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// `serviceName` and `service_name` alike.
fn plain(key: &str) -> String {
    key.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect()
}
