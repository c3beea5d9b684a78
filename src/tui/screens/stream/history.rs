//! The events of a stream: opening, node, TLS, keepalive, close.

use crate::common::Common;
use crate::screens::shared::variant::variant_words;
use crate::widgets::canvas::StyledLine;
use crate::widgets::text::field;
use xdscope_engine::store::{PlaneFact, StreamFact};
use xdscope_present::node;
use xdscope_present::report::{self, Role};
use xdscope_present::text::pad;
use xdscope_wire::event::Time;
use xdscope_wire::text::{age, count, plural};

/// The events of the stream and of those that it continues, newest stream first.
pub(super) fn lines(chain: &[StreamFact], common: &Common, width: usize) -> Vec<StyledLine> {
    chain.iter().flat_map(|stream| stream_lines(common, stream, width)).collect()
}

/// The lines of events.
struct Events<'a> {
    common: &'a Common,
    /// Columns of a line.
    width: usize,
    lines: Vec<StyledLine>,
}

impl Events<'_> {
    /// Adds an event without a time of its own.
    fn add(&mut self, word: &str, role: Role, text: &str) {
        self.push("", word, role, text);
    }

    fn add_at(&mut self, at: Time, word: &str, role: Role, text: &str) {
        self.push(&self.common.time_of_day(at), word, role, text);
    }

    fn push(&mut self, at: &str, word: &str, role: Role, text: &str) {
        let label = format!(" {}  {} ", pad(at, 8), pad(word, 7));
        self.lines.extend(field(&label, text, role, self.width));
    }
}

/// Lists the events of a stream: opening, TLS, traffic and end.
fn stream_lines(common: &Common, stream: &StreamFact, width: usize) -> Vec<StyledLine> {
    let mut events = Events { common, width, lines: Vec::new() };
    add_opening(&mut events, stream);
    add_tls(&mut events, stream);
    add_traffic(&mut events, stream);
    if let Some(closed) = stream.closed {
        add_close(&mut events, stream, closed);
    }
    events.lines
}

/// Adds the opening of a stream, and its node.
fn add_opening(events: &mut Events<'_>, stream: &StreamFact) {
    let method = stream.method.rsplit('/').next().unwrap_or(&stream.method);
    let version = stream.transport.map_or("", |version| version.word());
    let partial = if stream.partial { "; its start was not seen" } else { "" };
    let again = stream.reconnect_of.map(|id| format!(", reconnect of #{}", id.0)).unwrap_or_default();
    let (id, variant) = (stream.stream.0, variant_words(stream.variant));
    let text = format!("#{id} {variant}: {method} {version}{again}{partial}");
    events.add_at(stream.opened, "open", Role::Plain, &text);
    if let Some(node) = &stream.node {
        let features = match node.client_features.as_slice() {
            [] => String::new(),
            [one] => format!(", feature {one}"),
            [first, rest @ ..] => format!(", features {first} +{}", rest.len()),
        };
        let cluster =
            if node.cluster.is_empty() { String::new() } else { format!(" cluster {}", node.cluster) };
        let locality = Some(node::locality(&node.locality)).filter(|text| !text.is_empty());
        let locality = locality.map(|text| format!(" locality {text}")).unwrap_or_default();
        events.add("node", Role::Plain, &format!("id {}{cluster}{locality}{features}", node.id));
    }
    if let Some(format) = &stream.file_format {
        events.add("format", Role::Plain, &format!("{format} by content"));
    }
    add_planes(events, stream);
}

/// Adds the control planes that have answered.
fn add_planes(events: &mut Events<'_>, stream: &StreamFact) {
    let mut before: Option<&PlaneFact> = None;
    for plane in &stream.planes {
        let (n, id) = (plane.n.0, &plane.identifier);
        match before {
            None => events.add_at(plane.at, "plane", Role::Plain, &format!("control plane {id} (#{n})")),
            Some(before) => {
                let text = format!("control plane changed from {} to {id} (#{n})", before.identifier);
                events.add_at(plane.at, "plane", Role::Warn, &text);
            }
        }
        before = Some(plane);
    }
    let more = stream.plane_changes.saturating_sub(stream.planes.len().saturating_sub(1) as u64);
    if more > 0 {
        events.add("plane", Role::Warn, &format!("{} more changes of the control plane", count(more)));
    }
}

/// Adds the TLS sessions of both legs.
fn add_tls(events: &mut Events<'_>, stream: &StreamFact) {
    for (leg, facts) in [("client leg", &stream.tls.client), ("server leg", &stream.tls.server)] {
        for (word, text) in facts.iter().flat_map(|facts| facts.words()) {
            events.add(word, Role::Plain, &format!("{leg}: {text}"));
        }
    }
    if let Some(text) = stream.tls.not_kept() {
        events.add("tls", Role::Warn, &text);
    }
}

/// Adds the account of a reconnect, the newest ping, and lost messages.
fn add_traffic(events: &mut Events<'_>, stream: &StreamFact) {
    if let Some(account) = &stream.account {
        let is_complete = account.counts.left_behind + account.counts.unclaimed == 0;
        let role = if is_complete { Role::Plain } else { Role::Warn };
        events.add("account", role, &report::reconnect(account));
    }
    if let Some(keepalive) = stream.keepalive {
        let (by, every) = (keepalive.by.word(), age(keepalive.every));
        let text = format!("the {by} pings every {every}; the newest");
        events.add_at(keepalive.last, "ping", Role::Plain, &text);
    }
    for text in report::not_kept(&stream.not_kept) {
        events.add("limit", Role::Warn, &text);
    }
    if stream.gaps > 0 {
        events.add("lost", Role::Bad, &format!("{} of the copy", plural(stream.gaps, "message")));
    }
}

/// Adds the end of a stream.
fn add_close(events: &mut Events<'_>, stream: &StreamFact, closed: Time) {
    let end = stream.end.as_ref();
    let by = end.and_then(|end| end.by).map_or(String::new(), |side| format!(" by the {}", side.word()));
    let why = end.map(report::end_words).unwrap_or_default();
    let lasted = age(closed.since(stream.opened));
    let silent = stream.last_message.map(|at| age(closed.since(at)));
    let silent = silent.map(|age| format!(", silent for {age} before")).unwrap_or_default();
    events.add_at(closed, "close", Role::Warn, &format!("{why}{by} after {lasted}{silent}"));
}
