//! The match of a NACK's text with a resource and a field that may explain the NACK.

use std::sync::Arc;

use serde_json::Value;

use super::path::{self, PathStep};
use super::{MAX_TEXT_BYTES, NackFault, RefusedPush, guess, prefix, stated};

/// A rejected response of which only the names matter.
pub(super) struct Names<'a>(pub(super) &'a [Arc<str>]);

impl RefusedPush for Names<'_> {
    fn type_url(&self) -> &str {
        ""
    }
    fn names(&self) -> &[Arc<str>] {
        self.0
    }
    fn body(&self, _index: usize) -> Option<Value> {
        None
    }
}

/// Whether the text of a NACK rejects the resource `name` for the field at `path`.
///
/// The text must name the resource, unless the response has no other resource, and must name the
/// field in the reason for that resource. `names` are the names in the response.
pub fn refuses_field(text: &str, names: &[Arc<str>], name: &str, path: &str) -> bool {
    NamedFields::read(text, names, name).contains(path)
}

/// The fields of one resource that the text of a NACK names.
#[derive(Clone, Debug, Default)]
pub struct NamedFields {
    reasons: Vec<String>,
}

impl NamedFields {
    /// Reads the text of a NACK. `names` are the names in the response, `name` is the resource.
    pub fn read(text: &str, names: &[Arc<str>], name: &str) -> NamedFields {
        let push = Names(names);
        let faults = stated(prefix(text, MAX_TEXT_BYTES), &push).entries.into_iter();
        let own = faults.filter(|fault| is_about(fault, &push, name));
        NamedFields { reasons: own.map(|fault| fault.reason).collect() }
    }

    /// Whether the text names the field at `path`.
    pub fn contains(&self, path: &str) -> bool {
        self.reasons.iter().any(|reason| names_field(reason, path))
    }
}

/// Whether a fault is about a resource: the only one of the response, or the one named in the text.
fn is_about(fault: &NackFault, push: &Names<'_>, name: &str) -> bool {
    if let [only] = push.0 {
        return **only == *name;
    }
    let by_index = fault.index.and_then(|index| push.0.get(index)).map(|name| &**name);
    match fault.name.as_ref().map(|name| name.value.as_str()).or(by_index) {
        Some(stated) => stated == name,
        None => guess::find_name(&fault.reason, push).is_some_and(|found| found == name),
    }
}

/// Whether a reason names the field at `path`.
///
/// The text of a broken constraint names the whole path, without the path of the `Any` around the
/// message. Other texts name the field, or its path.
fn names_field(reason: &str, path: &str) -> bool {
    let steps = path::steps(path);
    if let Some(violation) = path::violation(reason) {
        let before = steps.len().checked_sub(violation.steps.len());
        let end = before.and_then(|before| steps.get(before..));
        return end
            .is_some_and(|end| end.iter().zip(&violation.steps).all(|(ours, theirs)| is_same(ours, theirs)));
    }
    let Some(last) = steps.last() else { return false };
    // Ordinary words occur in any text: they count as parts of a path, in quotes or before a colon.
    let is_plain = !last.field.contains('_');
    words(reason).any(|word| {
        let is_field = path::is_same_field(&last.field, word.text);
        is_field && (!is_plain || word.is_marked)
    })
}

/// Whether two steps name the same field, and the same item of a list.
fn is_same(ours: &PathStep, theirs: &PathStep) -> bool {
    // Keys of maps are escaped in different ways.
    let position = |step: &PathStep| step.index.as_ref().and_then(|index| index.parse::<usize>().ok());
    let is_same_item = position(ours).zip(position(theirs)).is_none_or(|(ours, theirs)| ours == theirs);
    path::is_same_field(&ours.field, &theirs.field) && is_same_item
}

struct Word<'t> {
    text: &'t str,
    /// Whether punctuation marks the word as a field: a quote or dot before, or a colon behind.
    is_marked: bool,
}

/// Splits a text into words of letters, digits and `_`.
fn words(text: &str) -> impl Iterator<Item = Word<'_>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text.get(at..)?.find(is_part)?;
        let rest = text.get(start..)?;
        let end = start + rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        at = end;
        let before = text.get(..start)?.chars().next_back();
        let after = text.get(end..)?.chars().next();
        let is_marked = matches!(before, Some('.' | '\'' | '"' | '`')) || after == Some(':');
        Some(Word { text: text.get(start..end)?, is_marked })
    })
}
