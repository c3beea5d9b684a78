//! The selected type in full: nothing cut, long texts wrapped.

use crate::common::Common;
use crate::screens::shared::millis;
use crate::widgets::canvas::StyledLine;
use crate::widgets::text::field;
use xdscope_engine::store::{StateFact, TypeState};
use xdscope_present::applied::{applied_lines, applied_summary};
use xdscope_present::report::{self, Role};
use xdscope_present::text;
use xdscope_wire::event::Seq;
use xdscope_wire::text::{count, plural, size, time_of_day};

use super::{StreamScreen, WantedLines, areas};

/// Names listed in full. The rest of a longer list is counted.
const MAX_LISTED_NAMES: usize = 200;

/// The lines of the detail pane.
pub(super) fn lines(screen: &StreamScreen, common: &Common) -> Vec<StyledLine> {
    let Some(layout) = common.layout() else { return Vec::new() };
    let width = usize::from(areas(&layout, WantedLines::default()).detail.width);
    if screen.is_node_open {
        return node_lines(screen, width);
    }
    let Some(state) = screen.state() else { return Vec::new() };
    type_lines(screen, common, state, width)
}

/// The lines of the node card.
fn node_lines(screen: &StreamScreen, width: usize) -> Vec<StyledLine> {
    let mut fields = DetailFields { lines: Vec::new(), width };
    for (label, text) in &screen.node {
        fields.add(label, text, Role::Plain);
    }
    if screen.node.is_empty() {
        fields.add("node", "no request has stated a node", Role::Muted);
    }
    fields.lines
}

fn numbers(seqs: impl Iterator<Item = Seq>) -> String {
    seqs.map(|n| format!("#{}", n.0)).collect::<Vec<_>>().join(" ")
}

/// Labelled lines of the detail pane.
struct DetailFields {
    lines: Vec<StyledLine>,
    width: usize,
}

impl DetailFields {
    fn add(&mut self, label: &str, value: &str, role: Role) {
        self.lines.extend(field(&text::pad(&format!(" {label}"), 12), value, role, self.width));
    }
}

/// Lists versions, nonces, NACKs and waits of the selected type.
fn type_lines(screen: &StreamScreen, common: &Common, state: &StateFact, width: usize) -> Vec<StyledLine> {
    let mut fields = DetailFields { lines: Vec::new(), width };
    add_versions(&mut fields, common, state);
    add_nonces(&mut fields, common, state);
    if let Some(diverged) = &state.diverged {
        fields.add("tap", &report::diverged(diverged), Role::Warn);
    }
    if let Some(nack) = state.verdicts.nacks.last() {
        let by = if nack.implied { " (by its version alone, without error_detail)" } else { "" };
        let error = format!("{}{by} {}", report::nack_code(nack), screen.faults);
        fields.add("error", &error, Role::Bad);
    }
    add_names(&mut fields, screen, state);
    add_traffic(&mut fields, state);
    fields.lines
}

/// Adds the versions in force, reported and rejected.
fn add_versions(fields: &mut DetailFields, common: &Common, state: &StateFact) {
    match (&state.versions.in_force, state.versions.in_force_since) {
        (Some(version), Some((n, at))) => {
            let at = time_of_day(at, common.clock, &common.zone);
            let text = format!("{}   acked {at} (#{})", quoted_if_empty(version), n.0);
            fields.add("in force", &text, Role::Ok);
        }
        (Some(version), None) => {
            let text = format!("{}   as the client states", quoted_if_empty(version));
            fields.add("in force", &text, Role::Ok);
        }
        (None, _)
            if [Some(state.summary.state), state.summary.last_state].contains(&Some(TypeState::Synced)) =>
        {
            fields.add("in force", "what the client had before this stream", Role::Ok);
        }
        (None, _) => fields.add("in force", "nothing acknowledged on this stream", Role::Muted),
    }
    let reported = state
        .versions
        .reported
        .as_ref()
        .filter(|reported| Some(*reported) != state.versions.in_force.as_ref());
    if let Some(reported) = reported {
        let text = format!("{}   what the client claims", quoted_if_empty(reported));
        fields.add("reported", &text, Role::Warn);
    }
    let Some(last) = state.verdicts.nacks.last() else { return };
    let same = || state.verdicts.nacks.iter().filter(|nack| nack.version == last.version);
    let offered = numbers(same().filter_map(|nack| nack.refused));
    let refused = numbers(same().map(|nack| nack.n));
    let repeat = match same().count() {
        1 => "",
        _ if same().all(|nack| nack.message == last.message) => ", same error each time",
        _ => ", errors differ",
    };
    let is_open = state.summary.open_nack.is_some();
    let fixed = if state.is_mended(last) { "; a later version was accepted" } else { "" };
    let version = report::refused_version(last);
    let version = quoted_if_empty(&version);
    let text = format!("{version}   offered {offered}   NACK {refused}{repeat}{fixed}");
    fields.add("rejected", &text, if is_open { Role::Bad } else { Role::Muted });
}

/// Adds the newest nonces, and how many wait for an answer.
fn add_nonces(fields: &mut DetailFields, common: &Common, state: &StateFact) {
    let mut nonces: Vec<&str> =
        state.verdicts.nacks.iter().rev().take(6).rev().map(|nack| &*nack.nonce).collect();
    nonces.extend(state.nonce.as_deref());
    nonces.dedup();
    if nonces.is_empty() {
        return;
    }
    let waiting = match state.pending.len() {
        0 => String::new(),
        n => format!("   {} without an answer", plural(n as u64, "nonce")),
    };
    let arrow = format!(" {} ", common.theme.glyphs().to);
    fields.add("nonces", &format!("{}{waiting}", nonces.join(&arrow)), Role::Plain);
}

/// Adds missing and absent names, and what the client has applied.
fn add_names(fields: &mut DetailFields, screen: &StreamScreen, state: &StateFact) {
    if !state.subscription.missing.is_empty() {
        let is_late = state.summary.last_state.unwrap_or(state.summary.state) == TypeState::Miss;
        let label = if is_late { "missing" } else { "not sent" };
        fields.add(label, &report::names(&state.subscription.missing, MAX_LISTED_NAMES), Role::Warn);
    }
    if !state.subscription.owed_again.is_empty() {
        fields.add(
            report::OWED_AGAIN,
            &report::names(&state.subscription.owed_again, MAX_LISTED_NAMES),
            Role::Warn,
        );
    }
    for answer in &screen.missing_answers.answers {
        fields.add("perhaps", &report::missing_answer(answer), Role::Muted);
    }
    for reading in &screen.missing_answers.readings {
        fields.add("reading", &report::open_reading(reading, None), Role::Muted);
    }
    if !state.subscription.absent.is_empty() {
        fields.add("absent", &report::names(&state.subscription.absent, MAX_LISTED_NAMES), Role::Plain);
    }
    if let Some(brought) = &screen.brought {
        let is_complete = brought.counts.left_behind + brought.counts.unclaimed == 0;
        let role = if is_complete { Role::Plain } else { Role::Warn };
        fields.add("reconnect", &report::reconnect(brought), role);
    }
    if let Some(applied) = screen.applied() {
        let role = if applied.is_problem() { Role::Bad } else { Role::Plain };
        fields.add("applied", &format!("{}, by the dump of the client", applied_summary(applied)), role);
        for (what, names) in applied_lines(applied) {
            let text = format!("{what}: {}", report::names(names, MAX_LISTED_NAMES));
            fields.add("", &text, Role::Plain);
        }
    }
}

/// Adds the last push, and the time that the client takes to answer.
fn add_traffic(fields: &mut DetailFields, state: &StateFact) {
    if let Some(push) = &state.traffic.last_push {
        let parts = [
            (push.added, "added"),
            (push.changed, "changed"),
            (push.removed, "removed"),
            (push.same, "unchanged"),
        ];
        let parts = parts.into_iter().filter(|(n, _)| *n > 0);
        let parts: Vec<String> = parts.map(|(n, word)| format!("{} {word}", count(n))).collect();
        let mut text = format!("#{}  {}   {}", push.n, parts.join(", "), size(push.bytes));
        if push.bytes_same > 0 && push.bytes_same < push.bytes {
            text.push_str(&format!(", {} of it unchanged", size(push.bytes_same)));
        }
        fields.add("last push", &text, Role::Plain);
    }
    if let Some((p50, p99)) = state.verdicts.ack_ms {
        fields.add("answers", &format!("p50 {} p99 {}", millis(p50), millis(p99)), Role::Plain);
    }
}

fn quoted_if_empty(version: &str) -> &str {
    if version.is_empty() { "\"\"" } else { version }
}
