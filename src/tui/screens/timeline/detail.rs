//! The selected message in full: its fields, or its body.

use crate::engine::store::MessageFact;
use crate::present::report::{self, Role};
use crate::tui::common::Common;
use crate::tui::widgets::canvas::{StyledLine, plain};
use crate::tui::widgets::text::field;
use crate::wire::event::Dir;
use crate::wire::text::{self, count, latency, size, wrap};

use super::areas;
use super::state::{SelectedMessage, TimelineScreen};

/// Names listed in full. The rest of a longer list is counted.
const MAX_LISTED_NAMES: usize = 200;

/// The lines of the detail pane.
pub(super) fn lines(screen: &TimelineScreen, common: &Common) -> Vec<StyledLine> {
    let Some(layout) = common.layout() else { return Vec::new() };
    let width = usize::from(areas(&layout, common.is_full_screen).1.width);
    match (&screen.body, &screen.selected_message) {
        (Some(body), _) if screen.wraps => {
            let width = width.saturating_sub(2).max(16);
            let lines = body.lines.iter().flat_map(|line| wrap(line, width));
            lines.map(|line| vec![plain(format!(" {line}"))]).collect()
        }
        (Some(body), _) => {
            let from = |line: &String| line.chars().skip(screen.left).collect::<String>();
            body.lines.iter().map(|line| vec![plain(format!(" {}", from(line)))]).collect()
        }
        (None, Some(selected)) => message_lines(selected, width),
        (None, None) => Vec::new(),
    }
}

/// The fields of a message, by their names in the API.
fn message_lines(selected: &SelectedMessage, width: usize) -> Vec<StyledLine> {
    let fact = &*selected.fact;
    let mut lines = Vec::new();
    let room = if selected.is_delta { 27 } else { 17 };
    let mut add = |label: &str, value: &str, role| {
        lines.extend(field(&text::pad(&format!(" {label}"), room), value, role, width));
    };
    if let Some(note) = &fact.note {
        add("note", note, Role::Warn);
    }
    if fact.n.is_none() {
        return lines;
    }
    let request = fact.dir == Some(Dir::Req);
    add("type_url", fact.type_url.as_str(), Role::Plain);
    match (selected.is_delta, request) {
        (false, _) => add("version_info", &format!("\"{}\"", fact.version), Role::Plain),
        (true, false) if !fact.version.is_empty() => {
            add("system_version_info", &format!("\"{}\"", fact.version), Role::Plain);
        }
        (true, _) => {}
    }
    let answer = fact.answers.map(|n| {
        let after = fact.latency.map(|time| format!(", {} later", latency(time))).unwrap_or_default();
        let word = if request { "answers" } else { "first answer to" };
        format!("   {word} #{}{after}", n.0)
    });
    let nonce = format!("\"{}\"{}", fact.nonce, answer.unwrap_or_default());
    if !(selected.is_delta && request && fact.nonce.is_empty()) {
        add(if request { "response_nonce" } else { "nonce" }, &nonce, Role::Plain);
    }
    if let Some((code, message)) = &fact.error {
        add("error_detail", &format!("code {} {code}", code.0), Role::Bad);
        add("  message", message, Role::Bad);
    } else if fact.implied {
        add("refused", "by the version alone, without error_detail", Role::Bad);
    }
    for (label, role, list) in [
        ("+ added", Role::Added, &fact.added),
        ("~ changed", Role::Changed, &fact.changed),
        ("- removed", Role::Removed, &fact.removed),
    ] {
        if !list.is_empty() {
            add(label, &report::names(list, MAX_LISTED_NAMES), role);
        }
    }
    if let Some(label) = names_label(selected) {
        add(label, &names_text(fact), Role::Plain);
    }
    let class = fact.class.map(|class| format!("   class {}", class.word())).unwrap_or_default();
    add("size", &format!("{}{class}", size(fact.size)), Role::Muted);
    lines
}

/// The field of a message that lists resources or their names.
fn names_label(selected: &SelectedMessage) -> Option<&'static str> {
    let fact = &*selected.fact;
    match (fact.dir, selected.is_delta) {
        (Some(Dir::Req), false) => Some("resource_names"),
        (Some(Dir::Req), true) => (fact.count > 0).then_some("resource_names_subscribe"),
        _ => Some("resources"),
    }
}

/// The number of resources or names, and the first of the names.
fn names_text(fact: &MessageFact) -> String {
    let number = count(fact.count);
    if fact.names.is_empty() {
        return number;
    }
    format!("{number} {}", report::names(&fact.names, MAX_LISTED_NAMES))
}
