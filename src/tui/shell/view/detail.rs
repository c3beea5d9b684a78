//! The selected thing in full: nothing cut, long texts wrapped.

use crate::engine::store::{StateFact, TypeState};
use crate::present::report::{self, Role};
use crate::tui::screens::timeline::Current;
use crate::tui::shell::model::{Model, Screen};
use crate::tui::widgets::canvas::{Line, plain, span};
use crate::tui::widgets::layout;
use crate::wire::event::{Dir, Seq};
use crate::wire::text::{self, count, latency, plural, size, time_of_day, wrap};

use crate::tui::screens::stream::view::detail_width;

/// Names listed in full; of longer lists the rest is counted.
const NAMES: usize = 200;

/// Bytes of one text that are laid out; a peer may send megabytes.
const MOST: usize = 1 << 16;

/// What of a text is laid out, and what is said of the rest of a very long one.
pub fn bounded(text: &str) -> (&str, Option<String>) {
    let mut end = text.len().min(MOST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let (head, rest) = text.split_at(end);
    let more = || format!("({} more: v on screen 3 shows the message)", size(rest.len() as u64));
    (head, (!rest.is_empty()).then(more))
}

/// A label and a text of any length, wrapped under itself.
pub fn field(label: &str, value: &str, role: Role, width: usize) -> Vec<Line> {
    let indent = text::width(label);
    let (head, more) = bounded(value);
    let mut wrapped = wrap(&text::display_safe(head), width.saturating_sub(indent + 1).max(16));
    wrapped.extend(more);
    let line = |(i, text): (usize, String)| {
        let label = if i == 0 { label.to_owned() } else { " ".repeat(indent) };
        vec![span(label, Role::Muted), span(text, role)]
    };
    wrapped.into_iter().enumerate().map(line).collect()
}

/// The lines of the detail pane: the selected type on screen 2, the selected message on screen 3.
pub fn detail_lines(model: &Model) -> Vec<Line> {
    let Some(layout) = model.layout() else { return Vec::new() };
    match model.screen {
        Screen::Overview | Screen::Resources | Screen::Diff | Screen::Nack => Vec::new(),
        Screen::Subs | Screen::Graph | Screen::Lint => Vec::new(),
        Screen::Stream => {
            model.stream.state().map(|state| of_type(model, state, detail_width(&layout))).unwrap_or_default()
        }
        Screen::Timeline => {
            let width = usize::from(layout::timeline(&layout, model.whole).1.width);
            match (&model.timeline.body, &model.timeline.current) {
                (Some(body), _) if model.timeline.wrap => {
                    let width = width.saturating_sub(2).max(16);
                    let lines = body.lines.iter().flat_map(|line| wrap(line, width));
                    lines.map(|line| vec![plain(format!(" {line}"))]).collect()
                }
                (Some(body), _) => {
                    let from = |line: &String| line.chars().skip(model.timeline.left).collect::<String>();
                    body.lines.iter().map(|line| vec![plain(format!(" {}", from(line)))]).collect()
                }
                (None, Some(current)) => of_message(current, width),
                (None, None) => Vec::new(),
            }
        }
    }
}

fn numbers(seqs: impl Iterator<Item = Seq>) -> String {
    seqs.map(|n| format!("#{}", n.0)).collect::<Vec<_>>().join(" ")
}

fn of_type(model: &Model, state: &StateFact, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut add = |label: &str, value: &str, role| {
        lines.extend(field(&text::pad(&format!(" {label}"), 12), value, role, width));
    };
    let glyphs = model.theme.glyphs();
    match (&state.in_force, state.in_force_since) {
        (Some(version), Some((n, at))) => {
            let at = time_of_day(at, model.clock, &model.zone);
            add("in force", &format!("{}   acked {at} (#{})", quoted_if_empty(version), n.0), Role::Ok);
        }
        (Some(version), None) => add("in force", quoted_if_empty(version), Role::Ok),
        (None, _) => add("in force", "nothing acknowledged on this stream", Role::Muted),
    }
    if let Some(reported) =
        state.reported.as_ref().filter(|reported| Some(*reported) != state.in_force.as_ref())
    {
        add("reported", &format!("{}   what the client claims", quoted_if_empty(reported)), Role::Warn);
    }
    let last = state.nacks.last();
    if let Some(last) = last {
        let same = || state.nacks.iter().filter(|nack| nack.version == last.version);
        let offered = numbers(same().filter_map(|nack| nack.refused));
        let refused = numbers(same().map(|nack| nack.n));
        let repeat = match same().count() {
            1 => "",
            _ if same().all(|nack| nack.message == last.message) => ", same error each time",
            _ => ", errors differ",
        };
        let fixed = if state.open_nack.is_none() { "; a later version was accepted" } else { "" };
        let text =
            format!("{}   offered {offered}   NACK {refused}{repeat}{fixed}", quoted_if_empty(&last.version));
        add("rejected", &text, if state.open_nack.is_some() { Role::Bad } else { Role::Muted });
    }
    let mut nonces: Vec<&str> = state.nacks.iter().rev().take(6).rev().map(|nack| &*nack.nonce).collect();
    nonces.extend(state.nonce.as_deref());
    nonces.dedup();
    if !nonces.is_empty() {
        let waiting = match state.pending.len() {
            0 => String::new(),
            n => format!("   {} without an answer", plural(n as u64, "nonce")),
        };
        add("nonces", &format!("{}{waiting}", nonces.join(&format!(" {} ", glyphs.to))), Role::Plain);
    }
    if let Some(nack) = last {
        let by = if nack.implied { " (told by its version alone, without an error)" } else { "" };
        add("error", &format!("{} ({}){by} {}", nack.code, nack.code.0, nack.message), Role::Bad);
    }
    if !state.missing.is_empty() {
        let late = state.last_state.unwrap_or(state.state) == TypeState::Miss;
        let word = if late { "missing" } else { "not sent" };
        add(word, &report::names(&state.missing, NAMES), Role::Warn);
    }
    for silence in &model.stream.silent.known {
        add("perhaps", &report::silence(silence), Role::Muted);
    }
    if !state.absent.is_empty() {
        add("absent", &report::names(&state.absent, NAMES), Role::Plain);
    }
    if let Some(account) = model.stream.account() {
        let role = if account.is_problem() { Role::Bad } else { Role::Plain };
        add("applied", &format!("{}, by the dump of the client", account.summary()), role);
        for (what, names) in account.lines() {
            add("", &format!("{what}: {}", report::names(names, NAMES)), Role::Plain);
        }
    }
    if let Some(push) = &state.last_push {
        let text = format!(
            "#{}  +{} ~{} -{}  ={} unchanged re-sent   {}, {} of it unchanged",
            push.n,
            count(push.added),
            count(push.changed),
            count(push.removed),
            count(push.same),
            size(push.bytes),
            size(push.bytes_same)
        );
        add("last push", &text, Role::Plain);
    }
    if let Some((p50, p99)) = state.ack_ms {
        let text = format!(
            "p50 {} p99 {}",
            crate::tui::screens::stream::view::millis(p50),
            crate::tui::screens::stream::view::millis(p99)
        );
        add("answers", &text, Role::Plain);
    }
    lines
}

fn quoted_if_empty(version: &str) -> &str {
    if version.is_empty() { "\"\"" } else { version }
}

/// The fields that the message has, by their names in the API.
fn of_message(current: &Current, width: usize) -> Vec<Line> {
    let fact = &*current.fact;
    let mut lines = Vec::new();
    let room = if current.delta { 27 } else { 17 };
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
    match (current.delta, request) {
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
    if !(current.delta && request && fact.nonce.is_empty()) {
        add(if request { "response_nonce" } else { "nonce" }, &nonce, Role::Plain);
    }
    if let Some((code, message)) = &fact.error {
        add("error_detail", &format!("code {} {code}", code.0), Role::Bad);
        add("  message", message, Role::Bad);
    } else if fact.implied {
        add("refused", "told by the version alone, without an error", Role::Bad);
    }
    for (label, role, list) in [
        ("+ added", Role::Added, &fact.added),
        ("~ changed", Role::Changed, &fact.changed),
        ("- removed", Role::Removed, &fact.removed),
    ] {
        if !list.is_empty() {
            add(label, &report::names(list, NAMES), role);
        }
    }
    let list = format!(
        "{} {}",
        count(fact.count),
        if fact.names.is_empty() { String::new() } else { report::names(&fact.names, NAMES) }
    );
    match (current.delta, request) {
        (_, false) => add("resources", list.trim_end(), Role::Plain),
        (false, true) => add("resource_names", list.trim_end(), Role::Plain),
        (true, true) if fact.count > 0 => add("resource_names_subscribe", list.trim_end(), Role::Plain),
        (true, true) => {}
    }
    let class = fact.class.map(|class| format!("   class {}", class.word())).unwrap_or_default();
    add("size", &format!("{}{class}", size(fact.size)), Role::Muted);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_very_long_text_is_laid_out_up_to_a_bound() {
        assert_eq!(bounded("short"), ("short", None));
        let long = "é".repeat(MOST);
        let (head, more) = bounded(&long);
        assert_eq!(head.len(), MOST);
        assert_eq!(more.as_deref(), Some("(66 kB more: v on screen 3 shows the message)"));
        assert_eq!(field("a", &long, Role::Plain, 66).len(), MOST / 2 / 64 + 1);
    }
}
