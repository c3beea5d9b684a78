//! Field paths in the notations of clients, and lookup of paths in resources.

use prost_reflect::MessageDescriptor;
use serde_json::Value;

use xdscope_schema::Schema;
use xdscope_schema::links::inner_message;

/// A step of a path: a field with an optional index or map key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathStep {
    /// Name of the field.
    pub field: String,
    /// The text in brackets. Empty for `[]`.
    pub index: Option<String>,
}

/// Splits a path such as `a.b[0].c["k"]` at its dots, except for dots in brackets.
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

/// Joins steps to a path.
pub(super) fn join(steps: &[PathStep]) -> String {
    let text = |step: &PathStep| match &step.index {
        Some(index) => format!("{}[{index}]", step.field),
        None => step.field.clone(),
    };
    steps.iter().map(text).collect::<Vec<_>>().join(".")
}

/// Converts C-core's notation to protobuf JSON: `typed_config.value[pkg.Type].field` to
/// `typed_config.field`.
pub(super) fn from_core(path: &str) -> String {
    let mut steps = steps(path);
    let is_any = |step: &PathStep| {
        step.field == "value" && step.index.as_ref().is_some_and(|index| index.contains('.'))
    };
    steps.retain(|step| !is_any(step));
    join(&steps)
}

/// Returns the value at a path. A name in brackets selects the item with this name, as in grpc-js.
pub fn value_at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    let mut current = value;
    for step in steps(path) {
        current = current.get(&step.field)?;
        let Some(index) = step.index.filter(|index| !index.is_empty()) else { continue };
        current = match current {
            Value::Array(items) => match index.parse::<usize>() {
                Ok(index) => items.get(index)?,
                Err(_) => items.iter().find(|item| item.get("name") == Some(&Value::from(index.as_str())))?,
            },
            other => other.get(&index)?,
        };
    }
    Some(current)
}

/// Returns how many steps of a path the descriptors know, starting at `message`.
///
/// Takes the types of `Any`s from `body`.
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
        match inner_message(&field) {
            Some(next) => message = next,
            None => return done + 1,
        }
    }
    steps.len()
}

/// The text of a violated constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    /// Short name of the message in which the path starts. Empty if the text does not state it.
    pub root: String,
    /// The path from that message on.
    pub steps: Vec<PathStep>,
    /// The text of the innermost error.
    pub reason: String,
}

/// Finds `AValidationError.Field[0]: … | caused by BValidationError.Other: reason` in a text.
///
/// The last part may be `field: "oneof", reason: is required`. Field names are in Go's spelling;
/// [`to_api_names`] converts them.
pub(super) fn violation(text: &str) -> Option<Violation> {
    let (mut root, mut steps, mut reason) = (String::new(), Vec::new(), "");
    let from = match text.find("ValidationError.") {
        Some(start) => {
            text.get(..start)?.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1)
        }
        None => text
            .find(UNSET_ONEOF)
            .filter(|at| text.get(*at..).is_some_and(|rest| unset_oneof(rest).is_some()))?,
    };
    for part in text.get(from..)?.split(" | caused by ") {
        if let Some((oneof, why)) = unset_oneof(part) {
            steps.extend(self::steps(oneof));
            reason = why;
            continue;
        }
        let (message, rest) = part.split_once("ValidationError.")?;
        let (field, why) = rest.split_once(": ")?;
        if steps.is_empty() {
            message.clone_into(&mut root);
        }
        steps.extend(self::steps(field));
        reason = why;
    }
    let reason = up_to_unopened_bracket(reason).trim_end();
    Some(Violation { root, steps, reason: reason.to_owned() })
}

/// Returns the part of a text before the bracket that closes a list around the text.
fn up_to_unopened_bracket(text: &str) -> &str {
    let mut open = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' => open += 1,
            ')' if open == 0 => return text.get(..at).unwrap_or(text),
            ')' => open -= 1,
            _ => {}
        }
    }
    text
}

/// The beginning of the text about a oneof without a member.
const UNSET_ONEOF: &str = "field: ";

/// Splits `field: "oneof", reason: is required` into the name of the oneof and the reason.
fn unset_oneof(text: &str) -> Option<(&str, &str)> {
    let (oneof, reason) = text.strip_prefix(UNSET_ONEOF)?.split_once(", reason: ")?;
    let oneof = oneof.trim_matches('"');
    let is_name = !oneof.is_empty() && oneof.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some((oneof, reason))
}

/// Converts Go's field names to the names of the API. Returns whether the descriptors know all
/// fields.
pub(super) fn to_api_names(message: Option<&MessageDescriptor>, steps: &mut [PathStep]) -> bool {
    let mut message = message.cloned();
    let mut all = true;
    for step in steps {
        let field = message
            .as_ref()
            .and_then(|message| message.fields().find(|f| is_same_field(f.name(), &step.field)));
        let oneof = message
            .as_ref()
            .and_then(|message| message.oneofs().find(|oneof| is_same_field(oneof.name(), &step.field)));
        all &= field.is_some() || oneof.is_some();
        match (&field, oneof) {
            (Some(field), _) => field.name().clone_into(&mut step.field),
            (None, Some(oneof)) => oneof.name().clone_into(&mut step.field),
            (None, None) => step.field = snake(&step.field),
        }
        message = field.as_ref().and_then(inner_message);
    }
    all
}

/// Whether two field names are equal except for case and underscores.
pub(super) fn is_same_field(ours: &str, theirs: &str) -> bool {
    let plain =
        |text: &str| text.bytes().filter(|b| *b != b'_').map(|b| b.to_ascii_lowercase()).collect::<Vec<_>>();
    plain(ours) == plain(theirs)
}

/// Converts `ConnectTimeout` to `connect_timeout`.
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
