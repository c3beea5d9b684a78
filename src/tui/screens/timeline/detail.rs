//! The selected message in full: its fields, or its body.

use crate::common::Common;
use crate::widgets::canvas::{StyledLine, plain};
use crate::widgets::syntax;
use crate::widgets::text::field;
use crate::widgets::theme::Glyphs;
use xdscope_engine::nack::without_long_dumps;
use xdscope_engine::store::{MessageFact, OfferVerdict, Wildcard};
use xdscope_present::report::{self, Role};
use xdscope_present::text;
use xdscope_present::text::wrap;
use xdscope_wire::event::Dir;
use xdscope_wire::text::{count, display_safe, latency, shown_name, size};

use super::areas;
use super::state::{SelectedMessage, TimelineScreen};

/// Names listed in full. The rest of a longer list is counted.
const MAX_LISTED_NAMES: usize = 200;

/// Warming resources listed.
const MAX_LISTED_WARMING: usize = 3;

/// The lines of the detail pane.
pub(super) fn lines(screen: &TimelineScreen, common: &Common) -> Vec<StyledLine> {
    let Some(layout) = common.layout() else { return Vec::new() };
    let width = usize::from(areas(&layout, common.is_full_screen).1.width);
    match (&screen.body, &screen.selected_message) {
        (Some(body), Some(selected)) if screen.format.is_none() => {
            let mut lines = message_lines(selected, width, common.theme.glyphs());
            lines.push(vec![]);
            lines.extend(body.lines.iter().map(|line| syntax::indented(line, body.format)));
            lines
        }
        (Some(body), _) if screen.wraps => {
            let width = width.saturating_sub(2).max(16);
            let lines = body.lines.iter().flat_map(|line| wrap(line, width));
            lines.map(|line| vec![plain(format!(" {line}"))]).collect()
        }
        (Some(body), _) => {
            let colored = screen.scroll..screen.scroll + syntax::MAX_COLORED_LINES;
            let line = |(at, line): (usize, &String)| {
                let shown: String = line.chars().skip(screen.left).collect();
                match colored.contains(&at) {
                    true => syntax::indented(&shown, body.format),
                    false => vec![plain(format!(" {shown}"))],
                }
            };
            body.lines.iter().enumerate().map(line).collect()
        }
        (None, Some(selected)) => message_lines(selected, width, common.theme.glyphs()),
        (None, None) => Vec::new(),
    }
}

/// The fields of a message, by their names in the API.
fn message_lines(selected: &SelectedMessage, width: usize, glyphs: &Glyphs) -> Vec<StyledLine> {
    let fact = &*selected.fact;
    let mut lines = Vec::new();
    let room = if selected.is_delta { 27 } else { 17 };
    let mut add = |label: &str, value: &str, role| {
        lines.extend(field(&text::pad(&format!(" {label}"), room), value, role, width));
    };
    if let Some(note) = &fact.note {
        add("note", &report::row_note(note), Role::Warn);
    }
    if fact.n.is_none() {
        lines.extend(selected.intercepted.iter().flat_map(|texts| texts.lines(width, glyphs.cut)));
        return lines;
    }
    for event in report::events(&fact.details, true) {
        add("event", &event, Role::Pending);
    }
    let request = fact.dir == Some(Dir::Req);
    let implied = match (fact.details.is_type_implied, selected.has_one_type) {
        (false, _) => "",
        (true, true) => "   (implied by method)",
        (true, false) => "   (implied by the names)",
    };
    add("type_url", &format!("{}{implied}", fact.type_url), Role::Plain);
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
        add("  message", &without_long_dumps(message), Role::Bad);
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
    for warming in selected.warming.iter().take(MAX_LISTED_WARMING) {
        add("warming", &display_safe(&report::warming(warming, None)), Role::Warn);
    }
    if let Some(label) = names_label(selected) {
        add(label, &format!("{}{}", names_text(fact), wildcard_text(fact)), Role::Plain);
    }
    add_response(&mut add, fact, glyphs);
    if let Some(from) = fact.details.node_from {
        let id = fact.node.as_deref().unwrap_or_default();
        let place =
            if fact.n == Some(from) { String::new() } else { format!("   (from message {})", from.0) };
        add("node", &format!("id \"{id}\"{place}"), Role::Plain);
    }
    if let Some(stated) = &fact.stated {
        add("initial_resource_versions", &report::stated_versions(stated), Role::Plain);
    }
    let class = fact.class.map(|class| format!("   class {}", class.word())).unwrap_or_default();
    add("size", &format!("{}{class}", size(fact.size)), Role::Muted);
    lines
}

/// Adds the fields that only some responses have.
fn add_response(add: &mut dyn FnMut(&str, &str, Role), fact: &MessageFact, glyphs: &Glyphs) {
    let details = &fact.details;
    if let Some(offer) = &details.offer {
        if let Some(verdict) = report::offer_verdict(offer) {
            let is_refused = offer.verdict == Some(OfferVerdict::Refused);
            add("verdict", &verdict, if is_refused { Role::Bad } else { Role::Plain });
        }
        let set = offer.is_full_state.map(|is_full| report::offered_set(is_full).to_owned());
        let parts = [report::offer_change(offer, &fact.version, glyphs.to), set];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if !parts.is_empty() {
            add("offer", &parts.join("; "), Role::Plain);
        }
    }
    if details.is_canary {
        add("canary", "true", Role::Plain);
    }
    if let Some(plane) = &details.control_plane {
        add("control_plane", &format!("identifier \"{plane}\""), Role::Plain);
    }
    for error in details.resource_errors.iter().take(MAX_LISTED_NAMES) {
        let text = format!("{}: {}", shown_name(&error.name), report::resource_error(error));
        add("resource_errors", &text, Role::Warn);
    }
}

/// The field of a message that lists resources or their names.
fn names_label(selected: &SelectedMessage) -> Option<&'static str> {
    let fact = &*selected.fact;
    match (fact.dir, selected.is_delta) {
        (Some(Dir::Req), false) => Some("resource_names"),
        (Some(Dir::Req), true) => {
            (fact.count > 0 || has_wildcard(fact)).then_some("resource_names_subscribe")
        }
        _ => Some("resources"),
    }
}

fn has_wildcard(fact: &MessageFact) -> bool {
    fact.details.wildcard.is_some_and(|wildcard| wildcard != Wildcard::None)
}

/// The kind of the wildcard subscription after a request.
fn wildcard_text(fact: &MessageFact) -> String {
    let wildcard = fact.details.wildcard.filter(|wildcard| *wildcard != Wildcard::None);
    wildcard.map(|wildcard| format!("   wildcard ({})", wildcard.word())).unwrap_or_default()
}

/// The number of resources or names, and the first of the names.
fn names_text(fact: &MessageFact) -> String {
    let number = count(fact.count);
    if fact.names.is_empty() {
        return number;
    }
    format!("{number} {}", report::names(&fact.names, MAX_LISTED_NAMES))
}
