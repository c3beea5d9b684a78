//! Paths of fields: out of clients' notations, and through a resource.

use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};
use serde_json::Value;

use crate::schema::Schema;

/// One step of a path: a field, and with it an index or a map key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathStep {
    pub field: String,
    /// What stands in brackets; empty for `[]`.
    pub index: Option<String>,
}

/// The steps of `a.b[0].c["k"]`. Dots inside of brackets separate nothing.
pub fn steps(path: &str) -> Vec<PathStep> {
    let mut steps: Vec<PathStep> = vec![PathStep { field: String::new(), index: None }];
    let mut inside = false;
    for c in path.chars() {
        let Some(step) = steps.last_mut() else { break };
        match c {
            '[' if !inside => {
                inside = true;
                step.index = Some(String::new());
            }
            ']' if inside => inside = false,
            '"' if inside => {}
            c if inside => step.index.get_or_insert_default().push(c),
            '.' => steps.push(PathStep { field: String::new(), index: None }),
            c => step.field.push(c),
        }
    }
    steps.retain(|step| !step.field.is_empty());
    steps
}

/// The steps as a path again.
pub fn join(steps: &[PathStep]) -> String {
    let text = |step: &PathStep| match &step.index {
        Some(index) => format!("{}[{index}]", step.field),
        None => step.field.clone(),
    };
    steps.iter().map(text).collect::<Vec<_>>().join(".")
}

/// C-core's notation: `typed_config.value[pkg.Type].field` is `typed_config.field` in protobuf JSON.
pub(super) fn from_core(path: &str) -> String {
    let mut steps = steps(path);
    let is_any = |step: &PathStep| {
        step.field == "value" && step.index.as_ref().is_some_and(|index| index.contains('.'))
    };
    steps.retain(|step| !is_any(step));
    join(&steps)
}

/// The value at a path. A name in brackets stands for the item of that name (grpc-js).
pub fn value_at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    let mut here = value;
    for step in steps(path) {
        here = here.get(&step.field)?;
        let Some(index) = step.index.filter(|index| !index.is_empty()) else { continue };
        here = match here {
            Value::Array(items) => match index.parse::<usize>() {
                Ok(index) => items.get(index)?,
                Err(_) => items.iter().find(|item| item.get("name") == Some(&Value::from(index.as_str())))?,
            },
            other => other.get(&index)?,
        };
    }
    Some(here)
}

/// How many steps of a path the descriptors know, from a message on; `Any`s are looked into in `body`.
pub(super) fn known_steps(
    message: &MessageDescriptor,
    steps: &[PathStep],
    body: Option<&Value>,
    schema: &Schema,
) -> usize {
    let mut message = message.clone();
    for (done, step) in steps.iter().enumerate() {
        if message.full_name() == "google.protobuf.Any" {
            let any = body.zip(steps.get(..done)).and_then(|(body, before)| value_at(body, &join(before)));
            let url = any.and_then(|any| any.get("@type")).and_then(Value::as_str);
            match url.and_then(|url| schema.message(url)) {
                Some(inside) => message = inside,
                None => return done,
            }
        }
        let Some(field) = message.get_field_by_name(&step.field) else { return done };
        match inner(&field) {
            Some(next) => message = next,
            None => return done + 1,
        }
    }
    steps.len()
}

/// The message in a field, of a map its value.
pub(super) fn inner(field: &FieldDescriptor) -> Option<MessageDescriptor> {
    match field.kind() {
        Kind::Message(entry) if field.is_map() => match entry.map_entry_value_field().kind() {
            Kind::Message(message) => Some(message),
            _ => None,
        },
        Kind::Message(message) => Some(message),
        _ => None,
    }
}

/// What a violated constraint says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    /// The message that the path starts in, by its short name.
    pub root: String,
    pub steps: Vec<PathStep>,
    pub reason: String,
}

/// Reads `AValidationError.Field[0]: … | caused by BValidationError.Other: why`, wherever it stands in a text. Names
/// are in Go's capitals: [`settle`] finds the fields they stand for.
pub(super) fn violation(text: &str) -> Option<Violation> {
    let (mut root, mut steps, mut reason) = (None, Vec::new(), "");
    let start = text.find("ValidationError.")?;
    let from = text.get(..start)?.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
    for part in text.get(from..)?.split(" | caused by ") {
        let (message, rest) = part.split_once("ValidationError.")?;
        let (field, why) = rest.split_once(": ")?;
        root.get_or_insert_with(|| message.to_owned());
        steps.extend(self::steps(field));
        reason = why;
    }
    let reason = reason.trim_end();
    let closes = reason.matches(')').count() > reason.matches('(').count();
    let reason = if closes { reason.rsplit_once(')').map_or(reason, |(reason, _)| reason) } else { reason };
    Some(Violation { root: root?, steps, reason: reason.to_owned() })
}

/// Turns Go's names into the API's, as far as the descriptors know them. True if they know all.
pub(super) fn to_api_names(message: Option<&MessageDescriptor>, steps: &mut [PathStep]) -> bool {
    let mut message = message.cloned();
    let mut all = true;
    for step in steps {
        let field = message
            .as_ref()
            .and_then(|message| message.fields().find(|f| is_same_field(f.name(), &step.field)));
        all &= field.is_some();
        match &field {
            Some(field) => field.name().clone_into(&mut step.field),
            None => step.field = snake(&step.field),
        }
        message = field.as_ref().and_then(inner);
    }
    all
}

/// Equal but for capitals and underscores.
pub(super) fn is_same_field(ours: &str, theirs: &str) -> bool {
    let plain =
        |text: &str| text.bytes().filter(|b| *b != b'_').map(|b| b.to_ascii_lowercase()).collect::<Vec<_>>();
    plain(ours) == plain(theirs)
}

/// `ConnectTimeout` as `connect_timeout`.
pub(super) fn snake(name: &str) -> String {
    let mut out = String::new();
    for (i, c) in name.chars().enumerate() {
        if c.is_uppercase() && i > 0 && !out.ends_with('_') {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}
