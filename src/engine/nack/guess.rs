//! Search of the rejected response for the resource and field that a NACK does not state.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::Value;

use xdscope_schema::Schema;

use super::path::{self, PathStep};
use super::unknown_field::unknown_field;
use super::{Extracted, NackFault, RefusedPush};

/// Maximum number of resources to search for a value.
const MAX_SEARCHED_RESOURCES: usize = 50;
/// Maximum number of words of a reason to try as values or fields.
const MAX_WORDS: usize = 32;
/// Length of the part of a reason to search for names, in bytes.
const MAX_NAME_SEARCH_BYTES: usize = 1024;
/// Upper-case words that name a protocol rather than an enum value.
const ACRONYMS: [&str; 14] =
    ["EDS", "CDS", "LDS", "RDS", "SDS", "ADS", "ECDS", "TLS", "HTTP", "URL", "DNS", "TCP", "UDP", "PGV"];

/// A response that decodes each resource at most once.
pub(super) struct DecodedPush<'a> {
    push: &'a dyn RefusedPush,
    bodies: RefCell<HashMap<usize, Option<Rc<Value>>>>,
}

impl<'a> DecodedPush<'a> {
    pub(super) fn new(push: &'a dyn RefusedPush) -> Self {
        DecodedPush { push, bodies: RefCell::default() }
    }

    fn body(&self, index: usize) -> Option<Rc<Value>> {
        let mut bodies = self.bodies.borrow_mut();
        bodies.entry(index).or_insert_with(|| self.push.body(index).map(Rc::new)).clone()
    }
}

/// Fills in the name and field of a fault if the search finds them.
pub(super) fn complete(entry: &mut NackFault, opened: &DecodedPush<'_>, schema: &Schema) {
    let push = opened.push;
    complete_name(entry, push);
    let only = resource_index(entry, push);
    // There is nothing to search if the named resource is not in the response.
    let range = match (only, &entry.name) {
        (Some(only), _) => only..only.saturating_add(1),
        (None, Some(_)) => 0..0,
        (None, None) => 0..push.names().len().min(MAX_SEARCHED_RESOURCES),
    };
    let bodies = SearchRange { push, opened, range };
    if entry.field.is_none() {
        complete_from_violation(entry, &bodies, schema);
    }
    if entry.field.is_none() {
        let found = find_field(entry, &bodies, schema).unwrap_or_default();
        entry.field = found.field;
        if entry.name.is_none()
            && let Some(name) = found.index.and_then(|index| push.names().get(index))
        {
            entry.name = Some(Extracted::guess(name.to_string()));
        }
    }
    if let (None, [only]) = (&entry.name, push.names()) {
        entry.name = Some(Extracted::guess(only.to_string()));
    }
    entry.name = entry.name.take().filter(|name| !name.value.is_empty());
}

/// Fills in the name of a fault by its index, or by the names of the response in its reason.
pub(super) fn complete_name(entry: &mut NackFault, push: &dyn RefusedPush) {
    if entry.name.is_some() {
        return;
    }
    let by_index = entry.index.and_then(|index| push.names().get(index));
    entry.name = match by_index {
        Some(name) => Some(Extracted::stated(name.to_string())),
        None => find_name(&entry.reason, push).map(|name| {
            let is_stated = entry.reason.strip_prefix(&name).is_some_and(|rest| rest.starts_with(':'));
            if is_stated { Extracted::stated(name) } else { Extracted::guess(name) }
        }),
    };
}

/// Returns the index of the faulty resource in the response.
fn resource_index(entry: &NackFault, push: &dyn RefusedPush) -> Option<usize> {
    let named = || {
        let name = entry.name.as_ref()?;
        push.names().iter().position(|known| **known == *name.value)
    };
    entry.index.or_else(named).or((push.names().len() == 1).then_some(0))
}

/// The resources of a response to search.
struct SearchRange<'a> {
    push: &'a dyn RefusedPush,
    opened: &'a DecodedPush<'a>,
    range: Range<usize>,
}

impl SearchRange<'_> {
    /// Returns the first result of `search`, with the index of the resource.
    fn find<T>(&self, mut search: impl FnMut(&Value) -> Option<T>) -> Option<(T, usize)> {
        self.range.clone().find_map(|index| Some((search(&*self.opened.body(index)?)?, index)))
    }
}

/// Returns the longest resource name that occurs in the text as a separate word.
pub(super) fn find_name(text: &str, push: &dyn RefusedPush) -> Option<String> {
    let names = find_names(text, push.names());
    names.into_iter().max_by_key(|name| name.len()).map(str::to_owned)
}

/// Returns the resource names that occur in the text as separate words, outside of longer names.
///
/// A name of one letter counts only in quotes, before a colon at the start of a part, or at the end
/// of the text: otherwise articles would be names.
pub(super) fn find_names<'n>(text: &str, names: &'n [Arc<str>]) -> Vec<&'n str> {
    let text = super::prefix(text, MAX_NAME_SEARCH_BYTES);
    // By start, the longest first.
    let mut found: BTreeMap<(usize, Reverse<usize>), &str> = BTreeMap::new();
    for name in names.iter().filter(|name| !name.is_empty()) {
        let places = text.match_indices(&**name).map(|(at, _)| at..at + name.len());
        let words = places.filter(|place| is_name_at(text, place));
        found.extend(words.map(|place| ((place.start, Reverse(place.end)), &**name)));
    }
    let mut covered = 0;
    found.retain(|(_, Reverse(end)), _| {
        let is_outside = *end > covered;
        covered = covered.max(*end);
        is_outside
    });
    found.into_values().collect()
}

/// Whether a text has a name as a separate word.
pub(crate) fn is_name_in(text: &str, name: &Arc<str>) -> bool {
    !find_names(text, std::slice::from_ref(name)).is_empty()
}

/// Whether the part of a text at `place` is a separate word.
fn is_name_at(text: &str, place: &Range<usize>) -> bool {
    let (head, tail) =
        (text.get(..place.start).unwrap_or_default(), text.get(place.end..).unwrap_or_default());
    let (before, after) = (head.chars().next_back(), tail.chars().next());
    if place.len() < 2 {
        let is_quote = |c: Option<char>| matches!(c, Some('\'' | '"' | '`'));
        let is_start = head.is_empty() || head.ends_with(", ") || head.ends_with('\n');
        let is_end = before == Some(' ') && tail.is_empty();
        return (is_quote(before) && is_quote(after)) || (is_start && after == Some(':')) || is_end;
    }
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || "_-/|".contains(c));
    !is_part(before) && !is_part(after)
}

/// Reads the field from the text of a violated constraint.
fn complete_from_violation(entry: &mut NackFault, bodies: &SearchRange<'_>, schema: &Schema) {
    let Some(violation) = path::violation(&entry.reason) else { return };
    let root = schema.message(bodies.push.type_url());
    let mut steps = violation.steps;
    let mut known =
        root.as_ref().is_some_and(|root| violation.root.is_empty() || root.name() == violation.root)
            && path::to_api_names(root.as_ref(), &mut steps);
    let mut prefix = String::new();
    if !known {
        // The message may be the payload of an `Any` in the resource.
        let inside = bodies.find(|body| find_any(body, &violation.root));
        let message = inside.as_ref().and_then(|((_, url), _)| schema.message(url));
        known = path::to_api_names(message.as_ref(), &mut steps);
        prefix = inside.map(|((path, _), _)| format!("{path}.")).unwrap_or_default();
    }
    let field = format!("{prefix}{}", path::join(&steps));
    entry.field = Some(if known { Extracted::stated(field) } else { Extracted::guess(field) });
    entry.reason = violation.reason;
}

/// Returns the path and type URL of the first `Any` whose message has this short name.
fn find_any(body: &Value, short: &str) -> Option<(String, String)> {
    let is = |url: &str| url.rsplit(['.', '/']).next() == Some(short);
    let path = find(body, &mut |key, value| key == "@type" && value.as_str().is_some_and(is))?;
    let path = path.strip_suffix(".@type")?.to_owned();
    let url = path::value_at(body, &path)?.get("@type")?.as_str()?.to_owned();
    Some((path, url))
}

/// A field that a reason mentions.
#[derive(Default)]
struct MentionedField {
    /// `None` if the reason has only the name of the resource.
    field: Option<Extracted>,
    /// The index of the resource in the response, if it is known.
    index: Option<usize>,
}

/// Searches the response for a field that the reason mentions.
fn find_field(entry: &NackFault, bodies: &SearchRange<'_>, schema: &Schema) -> Option<MentionedField> {
    let reason = &entry.reason;
    // A field alone tells resources of the response apart only if one is searched.
    let is_single = bodies.range.len() == 1;
    if let Some(name) = unknown_field(reason) {
        return Some(find_unknown_field(name, reason, bodies));
    }
    let root = schema.message(bodies.push.type_url());
    // A path with dots is stated if the descriptors know all of its fields.
    for token in tokens(reason, "_.[]").filter(|token| token.contains('.')) {
        let steps = path::steps(token);
        if let Some((found, index)) = bodies.find(|body| dotted(&steps, root.as_ref(), body, schema)) {
            return Some(MentionedField {
                field: Some(found.extracted()),
                index: is_single.then_some(index),
            });
        }
        if let Some(found) = dotted(&steps, root.as_ref(), &Value::Null, schema) {
            return Some(MentionedField { field: Some(found.extracted()), index: None });
        }
    }
    let name = entry.name.as_ref().map(|name| name.value.as_str());
    // Ignore single letters, which occur in too many values.
    let values = values(reason).filter(|value| Some(*value) != name && value.len() > 1);
    let by_value = |value: &str| bodies.find(|body| find_value(body, value));
    if let Some((path, index)) = values.take(MAX_WORDS).find_map(by_value) {
        return Some(MentionedField { field: guess_unless_name(path), index: Some(index) });
    }
    for token in tokens(reason, "_").filter(|token| looks_like_a_field(token)) {
        let field = path::snake(token);
        let key = |body: &Value| find(body, &mut |key, _| key == field);
        if let Some((path, index)) = bodies.find(key) {
            let index = is_single.then_some(index);
            return Some(MentionedField { field: Some(Extracted::guess(path)), index });
        }
        if root.as_ref()?.get_field_by_name(&field).is_some() {
            return Some(MentionedField { field: Some(Extracted::guess(field)), index: None });
        }
    }
    let capitals = |token: &&str| {
        token.len() > 2
            && token.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
            && !ACRONYMS.contains(token)
    };
    let mut enums = tokens(reason, "_").filter(capitals);
    let (path, index) = enums.find_map(|word| bodies.find(|body| find_value(body, word)))?;
    Some(MentionedField { field: guess_unless_name(path), index: Some(index) })
}

/// Finds the field that a reason calls unknown. If the reason names the message, searches the
/// `Any` with this message first.
fn find_unknown_field(name: &str, reason: &str, bodies: &SearchRange<'_>) -> MentionedField {
    let last = name.rsplit('.').next().unwrap_or(name);
    let last = last.split('[').next().unwrap_or(last);
    let messages: Vec<&str> = tokens(reason, "_.").filter(|token| token.contains('.')).collect();
    let named = bodies.find(|body| {
        let within = messages.iter().find_map(|message| find_value(body, message))?;
        let inside = find_keys(path::value_at(body, &within)?, last);
        Some(FoundKeys { path: format!("{within}.{}", inside.path), ..inside }).filter(|keys| keys.count > 0)
    });
    let anywhere = || bodies.find(|body| Some(find_keys(body, last)).filter(|keys| keys.count > 0));
    let (field, index) = match named.or_else(anywhere) {
        Some((keys, index)) if keys.count == 1 => (Extracted::stated(keys.path), Some(index)),
        Some((keys, index)) => (Extracted::guess(keys.path), Some(index)),
        None => (Extracted::stated(name), None),
    };
    MentionedField { field: Some(field), index }
}

/// The members of a body with a given name.
struct FoundKeys {
    count: usize,
    /// Path of the first one.
    path: String,
}

/// Counts the members of a body with a name, and finds the first.
fn find_keys(body: &Value, name: &str) -> FoundKeys {
    let mut count = 0;
    let is = |key: &str| !key.is_empty() && path::is_same_field(key, name);
    find(body, &mut |key, _| {
        count += usize::from(is(key));
        false
    });
    FoundKeys { count, path: find(body, &mut |key, _| is(key)).unwrap_or_default() }
}

/// Marks a path as a guess, unless the path is the name of the resource.
fn guess_unless_name(path: String) -> Option<Extracted> {
    (!["name", "cluster_name"].contains(&path.as_str())).then(|| Extracted::guess(path))
}

/// The part of a path from a reason that the descriptors know.
struct KnownPath {
    path: String,
    /// Whether the descriptors know the entire path.
    is_complete: bool,
}

impl KnownPath {
    fn extracted(self) -> Extracted {
        if self.is_complete { Extracted::stated(self.path) } else { Extracted::guess(self.path) }
    }
}

/// Finds a path from a reason in the resource, or in an `Any` that the first step names by type.
fn dotted(
    steps: &[PathStep],
    root: Option<&prost_reflect::MessageDescriptor>,
    body: &Value,
    schema: &Schema,
) -> Option<KnownPath> {
    let root = root?;
    let known = path::known_steps(root, steps, Some(body), schema);
    if known > 0 {
        let path = path::join(steps.get(..known).unwrap_or_default());
        let is_complete = known == steps.len();
        return (is_complete || known > 1).then_some(KnownPath { path, is_complete });
    }
    let (first, rest) = steps.split_first()?;
    if first.index.is_some() || !first.field.starts_with(|c: char| c.is_ascii_uppercase()) {
        return None;
    }
    let (prefix, url) = find_any(body, &first.field)?;
    let known = path::known_steps(&schema.message(&url)?, rest, None, schema);
    let inside = path::join(rest.get(..known).unwrap_or_default());
    (known > 0).then(|| KnownPath { path: format!("{prefix}.{inside}"), is_complete: known == rest.len() })
}

/// Splits a text into words of letters, digits and the characters in `also`.
fn tokens<'t>(text: &'t str, also: &'static str) -> impl Iterator<Item = &'t str> {
    let parts = text.split(move |c: char| !c.is_ascii_alphanumeric() && !also.contains(c));
    parts.map(|part| part.trim_matches('.')).filter(|part| !part.is_empty()).take(MAX_WORDS)
}

/// Whether a word looks like a field name: `lb_policy`, `lbPolicy` or `ApiListener`.
fn looks_like_a_field(token: &str) -> bool {
    let lower = token.chars().any(|c| c.is_lowercase());
    let hump = token.chars().skip(1).any(|c| c.is_uppercase());
    lower && (token.contains('_') || hump)
}

/// Returns the possible values in a text: quoted texts, words after a colon, and words with digits
/// or punctuation.
fn values(text: &str) -> impl Iterator<Item = &str> {
    let quoted = ['\'', '"', '`'].into_iter().flat_map(move |mark| quoted(text, mark));
    let words = move || text.split_whitespace();
    let after =
        words().zip(words().skip(1)).filter(|(before, _)| before.ends_with(':')).map(|(_, word)| word);
    let dump = |word: &&str| word.contains(":{") || word.contains(":\"");
    let odd = words()
        .filter(move |word| !dump(word))
        .filter(|word| word.chars().any(|c| c.is_ascii_digit() || ".-_/".contains(c)));
    let bare = after.chain(odd).map(trimmed).filter(|word| word.len() > 1);
    quoted.chain(bare)
}

/// Returns the texts between quotes at the edges of words. Ignores apostrophes.
fn quoted(text: &str, mark: char) -> Vec<&str> {
    let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let (mut found, mut open) = (Vec::new(), None);
    for (at, quote) in text.match_indices(mark) {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + quote.len()..).and_then(|text| text.chars().next());
        match open {
            Some(from) if !word(after) => {
                found.extend(text.get(from..at).filter(|part| !part.is_empty()));
                open = None;
            }
            // `field:"value"` belongs to a dump.
            None if !word(before) && before != Some(':') => open = Some(at + quote.len()),
            _ => {}
        }
    }
    found
}

fn trimmed(word: &str) -> &str {
    word.trim_matches(|c: char| ",;:()[]'\"`".contains(c)).trim_end_matches('.')
}

/// Returns the path of the first text equal to `wanted`, or of the first `Any` of this type.
fn find_value(body: &Value, wanted: &str) -> Option<String> {
    let path = find(body, &mut |key, value| {
        let Value::String(text) = value else { return false };
        text == wanted || (key == "@type" && text.rsplit('/').next() == Some(wanted))
    })?;
    // A type URL stands for its `Any`, except for the type URL of the resource itself.
    match path.strip_suffix("@type") {
        Some("") => None,
        Some(any) => Some(any.trim_end_matches('.').to_owned()),
        None => Some(path),
    }
}

/// Returns the path of the first member that matches, depth first.
fn find(value: &Value, is: &mut dyn FnMut(&str, &Value) -> bool) -> Option<String> {
    match value {
        Value::Object(members) => members.iter().find_map(|(key, member)| {
            if is(key, member) {
                return Some(key.clone());
            }
            let rest = find(member, is)?;
            Some(if rest.starts_with('[') { format!("{key}{rest}") } else { format!("{key}.{rest}") })
        }),
        Value::Array(items) => items.iter().enumerate().find_map(|(i, item)| {
            if is("", item) {
                return Some(format!("[{i}]"));
            }
            find(item, is).map(|rest| format!("[{i}].{rest}"))
        }),
        _ => None,
    }
}
