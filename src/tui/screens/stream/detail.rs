//! The selected type in full: nothing cut, long texts wrapped.

use std::time::Duration;

use crate::engine::store::{StateFact, TypeState};
use crate::present::applied::{applied_lines, applied_summary};
use crate::present::report::{self, Role};
use crate::tui::common::Common;
use crate::tui::widgets::canvas::StyledLine;
use crate::tui::widgets::text::field;
use crate::wire::event::Seq;
use crate::wire::text::{self, count, latency, plural, size, time_of_day};

use super::{StreamScreen, areas};

/// Names listed in full. The rest of a longer list is counted.
const MAX_LISTED_NAMES: usize = 200;

/// The lines of the detail pane.
pub(super) fn lines(screen: &StreamScreen, common: &Common) -> Vec<StyledLine> {
    let (Some(layout), Some(state)) = (common.layout(), screen.state()) else { return Vec::new() };
    let width = usize::from(areas(&layout, 2, 2).detail.width);
    type_lines(screen, common, state, width)
}

pub(super) fn millis(ms: f64) -> String {
    Duration::try_from_secs_f64(ms / 1000.0).map_or("-".to_owned(), latency)
}

fn numbers(seqs: impl Iterator<Item = Seq>) -> String {
    seqs.map(|n| format!("#{}", n.0)).collect::<Vec<_>>().join(" ")
}

fn type_lines(screen: &StreamScreen, common: &Common, state: &StateFact, width: usize) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    let mut add = |label: &str, value: &str, role| {
        lines.extend(field(&text::pad(&format!(" {label}"), 12), value, role, width));
    };
    let glyphs = common.theme.glyphs();
    match (&state.in_force, state.in_force_since) {
        (Some(version), Some((n, at))) => {
            let at = time_of_day(at, common.clock, &common.zone);
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
        add(word, &report::names(&state.missing, MAX_LISTED_NAMES), Role::Warn);
    }
    for silence in &screen.missing_answers.known {
        add("perhaps", &report::silence(silence), Role::Muted);
    }
    if !state.absent.is_empty() {
        add("absent", &report::names(&state.absent, MAX_LISTED_NAMES), Role::Plain);
    }
    if let Some(applied) = screen.applied() {
        let role = if applied.is_problem() { Role::Bad } else { Role::Plain };
        add("applied", &format!("{}, by the dump of the client", applied_summary(applied)), role);
        for (what, names) in applied_lines(applied) {
            add("", &format!("{what}: {}", report::names(names, MAX_LISTED_NAMES)), Role::Plain);
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
        let text = format!("p50 {} p99 {}", millis(p50), millis(p99));
        add("answers", &text, Role::Plain);
    }
    lines
}

fn quoted_if_empty(version: &str) -> &str {
    if version.is_empty() { "\"\"" } else { version }
}
