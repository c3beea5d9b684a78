//! The events of a stream: opening, node, TLS, keepalive, close.

use crate::engine::store::StreamFact;
use crate::present::report::{self, Role};
use crate::tui::common::Common;
use crate::tui::screens::shared::variant::variant_words;
use crate::tui::widgets::canvas::StyledLine;
use crate::tui::widgets::text::field;
use crate::wire::text::{age, count, pad, plural, time_of_day_secs};

/// The events of the stream and of those that it continues, newest stream first.
pub(super) fn lines(chain: &[StreamFact], common: &Common, width: usize) -> Vec<StyledLine> {
    chain.iter().flat_map(|stream| stream_lines(common, stream, width)).collect()
}

fn stream_lines(common: &Common, stream: &StreamFact, width: usize) -> Vec<StyledLine> {
    let time = |at| time_of_day_secs(at, common.clock, &common.zone);
    let mut lines = Vec::new();
    let mut event = |at: String, word: &str, role: Role, text: String| {
        let label = format!(" {}  {} ", pad(&at, 8), pad(word, 7));
        lines.extend(field(&label, &text, role, width));
    };
    let method = stream.method.rsplit('/').next().unwrap_or(&stream.method);
    let version = stream.transport.map_or("", |version| version.word());
    let partial = if stream.partial { "; its start was not seen" } else { "" };
    let again = stream.reconnect_of.map(|id| format!(", reconnect of #{}", id.0)).unwrap_or_default();
    event(
        time(stream.opened),
        "open",
        Role::Plain,
        format!("#{} {}: {method} {version}{again}{partial}", stream.stream.0, variant_words(stream.variant)),
    );
    if let Some(node) = &stream.node {
        let features = match node.client_features.as_slice() {
            [] => String::new(),
            [one] => format!(", feature {one}"),
            [first, rest @ ..] => format!(", features {first} +{}", rest.len()),
        };
        let cluster =
            if node.cluster.is_empty() { String::new() } else { format!(" cluster {}", node.cluster) };
        event(String::new(), "node", Role::Plain, format!("id {}{cluster}{features}", node.id));
    }
    for (leg, facts) in [("client leg", &stream.tls.client), ("server leg", &stream.tls.server)] {
        for (word, text) in facts.iter().flat_map(|facts| facts.words()) {
            event(String::new(), word, Role::Plain, format!("{leg}: {text}"));
        }
    }
    if let Some(text) = stream.tls.not_kept() {
        event(String::new(), "tls", Role::Warn, text);
    }
    if let Some(account) = &stream.account {
        let role = if account.left_behind > 0 { Role::Warn } else { Role::Plain };
        event(
            String::new(),
            "account",
            role,
            format!(
                "claimed {}, re-sent {}, removed {}, left behind {}",
                count(account.claimed),
                count(account.resent),
                count(account.removed),
                count(account.left_behind)
            ),
        );
    }
    if let Some(keepalive) = stream.keepalive {
        let (by, every) = (keepalive.by.word(), age(keepalive.every));
        event(time(keepalive.last), "ping", Role::Plain, format!("the {by} pings every {every}; the newest"));
    }
    if stream.gaps > 0 {
        event(String::new(), "lost", Role::Bad, format!("{} of the copy", plural(stream.gaps, "message")));
    }
    if let Some(closed) = stream.closed {
        let end = stream.end.as_ref();
        let by = end.and_then(|end| end.by).map_or(String::new(), |side| format!(" by the {}", side.word()));
        let why = end.map(report::end_words).unwrap_or_default();
        let lasted = age(closed.since(stream.opened));
        let silent = stream.last_message.map(|at| age(closed.since(at)));
        let silent = silent.map(|age| format!(", silent for {age} before")).unwrap_or_default();
        event(time(closed), "close", Role::Warn, format!("{why}{by} after {lasted}{silent}"));
    }
    lines
}
