//! The contents of messages, which the script shows with an opened row of the timeline.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::message_text::message_text;
use crate::report;
use xdscope_engine::lint::Finding;
use xdscope_engine::nack::without_long_dumps;
use xdscope_engine::store::{MessageFact, MessageKind};
use xdscope_wire::event::Seq;
use xdscope_wire::text::{count, plural, size};

use super::Page;
use super::html::{Html, cell, json_bytes};

/// Bytes of the contents.
const MAX_BYTES: usize = 500_000;
/// Bytes of the body of a message.
const MAX_BODY_BYTES: usize = 8_000;
/// Bytes of the error of a NACK.
const MAX_ERROR_BYTES: usize = 4_000;
/// Size of a message beyond which its body is not decoded, in bytes.
const MAX_DECODED_BYTES: u64 = 500_000;
/// Size of all messages that are decoded, in bytes.
const MAX_DECODED_BYTES_OF_PAGE: u64 = 20_000_000;
/// Names of a message.
const MAX_NAMES: usize = 40;
/// Findings of a message.
const MAX_FINDINGS: usize = 5;

/// Adds the contents of rows: those of problems and NACKs first, then the newest.
///
/// `rows` are the indices of the rows of the timeline. Contents are numbered by their place in it.
pub(super) fn contents(page: &Page<'_>, rows: &[usize], room: usize, html: &mut Html) {
    let mut findings: HashMap<Seq, Vec<&Finding>> = HashMap::new();
    for finding in page.findings {
        finding.at.into_iter().for_each(|n| findings.entry(n).or_default().push(finding));
    }
    let messages = page.problems.iter().flat_map(|problem| &problem.messages);
    let evidence: BTreeSet<Seq> = messages.copied().collect();
    let is_last = |index: usize| match page.store.kind_of(index) {
        Some((n, kind)) => kind != MessageKind::Nack && n.is_none_or(|n| !evidence.contains(&n)),
        None => true,
    };
    let mut order: Vec<(usize, usize)> = rows.iter().copied().enumerate().rev().collect();
    order.sort_by_cached_key(|(_, index)| is_last(*index));
    // The number of the message stands between both parts of the command.
    let command = json!([page.source.command("log", " --body --filter '#"), "'"]);
    let room = room.saturating_sub(json_bytes(&command.to_string()) + 200);
    let (mut left, mut decoded, mut messages) = (room.min(MAX_BYTES), 0, Map::new());
    for (at, index) in order {
        let Some(fact) = page.store.row(index) else { continue };
        let found = fact.n.and_then(|n| findings.get(&n)).map(Vec::as_slice).unwrap_or_default();
        let content = content(page, &fact, found, &mut decoded);
        let bytes = json_bytes(&content.to_string()) + 12;
        if bytes > left {
            break;
        }
        left -= bytes;
        messages.insert(at.to_string(), content);
    }
    html.json("contents", &json!({ "command": command, "messages": messages }).to_string());
}

/// Returns the content of a message. `decoded` is the size of the messages that were decoded.
fn content(page: &Page<'_>, fact: &MessageFact, findings: &[&Finding], decoded: &mut u64) -> Value {
    let mut content = Map::new();
    if fact.kind == MessageKind::Intercepted {
        let command = page.source.command("log", " --body --filter 'kind:intercepted'");
        content.insert("command".into(), json!(command));
    }
    let names = names(fact);
    if !names.is_empty() {
        content.insert("names".into(), json!(names));
    }
    let all = fact.names.len() + fact.removed.len();
    if let Some(more) = all.checked_sub(names.len()).filter(|more| *more > 0) {
        content.insert("more".into(), json!(format!("and {} more", count(more as u64))));
    }
    if let Some((_, text)) = &fact.error {
        let text = without_long_dumps(text);
        let shown = start(&text, MAX_ERROR_BYTES);
        let rest = if shown.len() < text.len() { "…" } else { "" };
        content.insert("error".into(), json!(format!("{shown}{rest}")));
    }
    if !findings.is_empty() {
        let rule = |finding: &&Finding| json!([finding.rule.id, cell(&report::finding(finding, "×"))]);
        content.insert("rules".into(), findings.iter().take(MAX_FINDINGS).map(rule).collect());
    }
    if fact.size > MAX_DECODED_BYTES || *decoded + fact.size > MAX_DECODED_BYTES_OF_PAGE {
        content.insert("left_out".into(), json!(format!("the body, {},", size(fact.size))));
        return Value::Object(content);
    }
    *decoded += fact.size;
    let text = message_text(page.store, page.schema, fact);
    let shown = match start(&text, MAX_BODY_BYTES) {
        shown if shown.len() == text.len() => shown,
        shown => shown.get(..shown.rfind('\n').map_or(0, |end| end + 1)).unwrap_or_default(),
    };
    if shown.len() < text.len() {
        let lines = text.get(shown.len()..).unwrap_or_default().lines().count() as u64;
        content.insert("left_out".into(), json!(format!("{} of the body", plural(lines, "line"))));
    }
    if !shown.is_empty() {
        content.insert("body".into(), json!(shown));
    }
    Value::Object(content)
}

/// Returns the first names of a message: those of changes first, with the signs of the column
/// RESOURCES.
fn names(fact: &MessageFact) -> Vec<String> {
    let changes = [('+', &fact.added), ('~', &fact.changed), ('-', &fact.removed)];
    let signed = changes.iter().flat_map(|(sign, list)| list.iter().map(move |name| (Some(*sign), name)));
    let known: HashSet<&str> = changes.iter().flat_map(|(_, list)| list.iter()).map(|name| &**name).collect();
    let others = fact.names.iter().filter(|name| !known.contains(&***name)).map(|name| (None, name));
    let text = |(sign, name): (Option<char>, &Arc<str>)| {
        sign.map_or_else(|| cell(name), |sign| format!("{sign}{}", cell(name)))
    };
    signed.chain(others).take(MAX_NAMES).map(text).collect()
}

/// Returns the first bytes of a text.
fn start(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}
