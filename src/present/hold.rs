//! Words about messages that an armed tap holds.

use std::time::Duration;

use serde_json::Value;

use xdscope_engine::diff::{Change, Op};
use xdscope_engine::hold::{HeldDiff, HeldFact, PassedResponse};
use xdscope_wire::event::Dir;
use xdscope_wire::text::{age, count, plural, type_label};

use super::report::Role;

/// Longest value of a field that is quoted, in characters.
const MAX_VALUE_CHARS: usize = 40;

/// Names of resources in one line.
const MAX_NAMES: usize = 40;

/// The consequence of a key for a held message.
pub struct HoldChoice {
    /// The key.
    pub key: char,
    /// The label of the key.
    pub label: &'static str,
    /// The consequence.
    pub consequence: String,
}

/// Returns what each key would do with a message.
pub fn hold_choices(fact: &HeldFact) -> [HoldChoice; 5] {
    let label = type_label(fact.type_url.as_str());
    let node = fact.node.as_deref().unwrap_or("the client");
    let what = if fact.version.is_empty() { "the push".to_owned() } else { fact.version.to_string() };
    let is_push = fact.is_push();
    let (allow, drop, bounce) = if is_push {
        (
            format!("send {} as it is: {node} gets {label} {what}", fact.id),
            format!("the client never sees {what}; the server waits for an answer to nonce {}", fact.nonce),
            format!(
                "answer the server with a NACK for {} (text asked for); the client never sees {what}",
                fact.nonce
            ),
        )
    } else {
        let answer = match &*fact.nonce {
            "" => "the server never sees it and does not answer".to_owned(),
            nonce => format!("the server never sees it and waits for an answer to nonce {nonce}"),
        };
        (format!("send {} as it is", fact.id), answer, "only a push can be refused".to_owned())
    };
    let choice = |key, label, consequence| HoldChoice { key, label, consequence };
    [
        choice('A', "allow", allow),
        choice(
            'E',
            "edit",
            "open in $EDITOR as YAML, check it, show the diff, then ask before sending".into(),
        ),
        choice('X', "drop", drop),
        choice('B', "bounce", bounce),
        choice('Z', "release", "send everything held as it is, and disarm".to_owned()),
    ]
}

/// Returns the consequence of holding one type alone: `EDS 7 has passed meanwhile: ...`.
pub fn held_alone(fact: &HeldFact, passed: &PassedResponse) -> String {
    let [held, other] = [&fact.type_url, &passed.type_url].map(|url| type_label(url.as_str()));
    let node = fact.node.as_deref().unwrap_or("the client");
    let version = if passed.version.is_empty() { String::new() } else { format!(" {}", passed.version) };
    format!(
        "{other}{version} has passed meanwhile: once {} is sent, {node} asks for {other} again, and what \
         {held} adds or changes waits for the answer, up to 15s. :hold stream holds all types",
        fact.id
    )
}

/// Returns the title of a comparison: `h1 against the last version that the client acknowledged
/// (41)`.
pub fn held_title(fact: &HeldFact, diff: Option<&HeldDiff>) -> String {
    match (fact.dir(), diff.and_then(|diff| diff.base.as_ref())) {
        (Dir::Req, _) => format!("request {}", fact.id),
        (_, Some(base)) if !base.is_empty() => {
            format!("{} against the last version that the client acknowledged ({base})", fact.id)
        }
        (_, Some(_)) => format!("{} against what the client acknowledged", fact.id),
        (_, None) => format!("{}: the client has acknowledged nothing of this type", fact.id),
    }
}

/// Returns an age or a time that is left, with tenths of a second below a minute.
pub fn hold_time(time: Duration) -> String {
    if time < Duration::from_secs(60) { format!("{:.1}s", time.as_secs_f64()) } else { age(time) }
}

/// Returns the number of resources and what changes: `119 +0 ~1 -0`.
pub fn held_counts(fact: &HeldFact, diff: Option<&HeldDiff>) -> String {
    let counts = diff.filter(|_| fact.is_push()).map(HeldDiff::counts);
    let counts = counts.map(|[added, changed, removed]| format!(" +{added} ~{changed} -{removed}"));
    format!("{}{}", count(fact.count), counts.unwrap_or_default())
}

/// Returns the lines of a comparison, a resource each.
pub fn held_changes(diff: &HeldDiff, arrow: &str) -> Vec<(Role, String)> {
    let mut lines = Vec::new();
    for resource in &diff.changed {
        let changes = match &resource.changes {
            Some(changes) => changes.iter().map(|of| change(of, arrow)).collect::<Vec<_>>().join("   "),
            None => "not compared in detail".to_owned(),
        };
        lines.push((Role::Changed, format!("~ {}   {changes}", resource.name)));
    }
    for (sign, role, names) in [('+', Role::Added, &diff.added), ('-', Role::Removed, &diff.removed)] {
        lines.extend(names.iter().take(MAX_NAMES).map(|name| (role, format!("{sign} {name}"))));
        if let Some(more) = names.len().checked_sub(MAX_NAMES).filter(|more| *more > 0) {
            lines.push((role, format!("{sign} {}", plural(more as u64, "more resource"))));
        }
    }
    if diff.same > 0 {
        lines.push((Role::Muted, format!("= {} unchanged", plural(diff.same, "resource"))));
    }
    if diff.uncompared > 0 {
        lines.push((Role::Warn, format!("? {} not compared", plural(diff.uncompared, "resource"))));
    }
    if lines.is_empty() {
        lines.push((Role::Muted, "no resources".to_owned()));
    }
    lines
}

/// Returns a changed field in one line: `connect_timeout  5s → 1s`.
pub fn change(change: &Change, arrow: &str) -> String {
    let value = |value: &Option<Value>| value.as_ref().map_or_else(|| "unset".to_owned(), short_value);
    match change.op {
        Op::Reordered => format!("{}  in another order", change.path),
        _ => format!("{}  {} {arrow} {}", change.path, value(&change.from), value(&change.to)),
    }
}

fn short_value(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if text.chars().count() <= MAX_VALUE_CHARS {
        return text;
    }
    let head: String = text.chars().take(MAX_VALUE_CHARS).collect();
    format!("{head}…")
}
