use ratatui::layout::Position;

use crate::engine::applied::AppliedDiff;
use crate::engine::store::{StateFact, StreamFact, TypeState, Wildcard};
use crate::present::report::{self, Role};
use crate::tui::shell::model::{Model, Pane};
use crate::tui::widgets::canvas::{Canvas, Line, Span, plain, span};
use crate::tui::widgets::layout::{self, Layout};
use crate::tui::widgets::table::{self, Column, Cut, column};
use crate::tui::widgets::theme;
use crate::wire::event::TypeUrl;
use crate::wire::text::{count, latency, plural, time_of_day_secs, type_label};

use crate::tui::screens::overview::view::variant_words;
use crate::tui::shell::view::detail::{detail_lines, field};

fn columns() -> [Column; 10] {
    [
        column("TYPE", 4, 16, Cut::Name, 0),
        column("STATE", 11, 22, Cut::Head, 0),
        column("IN FORCE", 8, 24, Cut::Tail, 0),
        column("OFFERED", 7, 24, Cut::Tail, 0),
        column("NONCE", 5, 16, Cut::Tail, 3),
        column("SUBSCRIBED", 10, 20, Cut::Head, 5),
        column("RESOURCES", 9, 16, Cut::Head, 6),
        column("PUSHES", 6, 9, Cut::Head, 2),
        column("ACK p50", 7, 9, Cut::Head, 4),
        column("LAST", 4, 9, Cut::Head, 1),
    ]
}

/// The columns where a dump of the client stands beside: what it has applied, after what it was sent.
const APPLIED: usize = 7;

fn with_applied(columns: [Column; 10]) -> Vec<Column> {
    let mut columns = columns.to_vec();
    columns.insert(APPLIED, column("APPLIED", 9, 40, Cut::Head, 7));
    columns
}

fn applied_span(account: Option<&AppliedDiff>) -> Span {
    match account {
        None => span("-", Role::Muted),
        Some(account) => span(account.summary(), if account.is_problem() { Role::Bad } else { Role::Plain }),
    }
}

/// Cells of one type, in the order of the columns.
pub fn stream_row(model: &Model, state: &StateFact) -> Vec<Span> {
    let muted = |text: Option<&str>| match text {
        Some(text) if !text.is_empty() => plain(text),
        _ => span("-", Role::Muted),
    };
    vec![
        plain(type_label(state.type_url.as_str())),
        state_span(model, state),
        muted(state.in_force.as_deref()),
        muted(state.offered.as_deref()),
        muted(state.nonce.as_deref()),
        plain(report::subscribed(state)),
        plain(match state.wildcard == Wildcard::None && !state.names.is_empty() {
            true => format!("{} of {}", count(state.resources), count(state.names.len() as u64)),
            false => count(state.resources),
        }),
        plain(count(state.pushes)),
        plain(state.ack_ms.map_or("-".to_owned(), |(p50, _)| millis(p50))),
        match state.last_push.as_ref().filter(|_| !model.clock.untimed) {
            Some(push) => plain(format!("{} ago", model.age(push.at))),
            None => span("-", Role::Muted),
        },
    ]
}

/// Milliseconds as a latency.
pub fn millis(ms: f64) -> String {
    std::time::Duration::try_from_secs_f64(ms / 1000.0).map_or("-".to_owned(), latency)
}

fn state_span(model: &Model, state: &StateFact) -> Span {
    let glyphs = model.theme.glyphs();
    let (symbol, _, role) = theme::state(state.state, glyphs);
    let newest = state.nacks.last().map(|nack| nack.at);
    let age = model.age(report::age_from(state.state, state.since, newest));
    let words = report::state_text(state.state, state, glyphs.times);
    let text = match (state.state, state.last_state) {
        (TypeState::Idle, _) => format!("{symbol} {words}"),
        (TypeState::Closed, Some(last)) => format!("{symbol} {words}, was {}", report::state_word(last).0),
        _ => format!("{symbol} {words} {age}"),
    };
    span(text, role)
}

pub fn draw(model: &Model, canvas: &mut Canvas, layout: &Layout) -> Option<Position> {
    let screen = &model.stream;
    if screen.chain.is_empty() {
        canvas.text(layout::split(layout.body, 1).1, "   no stream yet; 1 shows how to get one", Role::Muted);
        return None;
    }
    let detail = detail_lines(model);
    let parts = layout::stream(layout, screen.states.len() + 1, detail.len() + 1);
    let height = usize::from(parts.types.height.saturating_sub(1));
    let beside = screen.applied.iter().any(Option::is_some);
    let row = |(state, account): (&StateFact, &Option<AppliedDiff>)| {
        let mut row = stream_row(model, state);
        if beside {
            row.insert(APPLIED, applied_span(account.as_ref()));
        }
        row
    };
    let rows = screen.states.iter().zip(&screen.applied).skip(screen.top).take(height);
    let rows: Vec<Line> = rows.map(row).collect();
    let selected = screen.position().and_then(|at| at.checked_sub(screen.top));
    let columns = if beside { with_applied(columns()) } else { columns().to_vec() };
    let cursor = table::draw(canvas, parts.types, &columns, &rows, selected);
    let (title, rest) = layout::split(parts.detail, 1);
    let label = screen.selected.as_ref().map_or(String::new(), |url: &TypeUrl| type_label(url.as_str()));
    let hidden = detail.len().saturating_sub(screen.scroll + usize::from(rest.height));
    let below = format!("{} below, Tab j", plural(hidden as u64, "line"));
    let opens = match screen.state().map(|state| state.open_nack.is_some()) {
        _ if hidden > 0 => &below,
        Some(true) => "Enter opens the NACK",
        _ => "Enter opens its messages",
    };
    let label = if label.is_empty() { "no type asked for yet".to_owned() } else { label };
    canvas.rule(title, &focused(model, label), opens);
    canvas.lines(rest, &detail, screen.scroll);
    let (title, rest) = layout::split(parts.history, 1);
    canvas.rule(title, "stream history", "");
    canvas.lines(rest, &history(model, usize::from(rest.width)), 0);
    let second = Position { x: parts.detail.x, y: parts.detail.y };
    match model.pane {
        Pane::Main => cursor.map(|y| Position { x: parts.types.x, y }),
        Pane::Second => Some(second),
    }
}

/// The title of a lower pane, marked if the arrows move in it.
pub fn focused(model: &Model, title: String) -> String {
    if model.pane == Pane::Second { format!("{} {title}", model.theme.glyphs().selected) } else { title }
}

/// What befell the stream and those before it: newest stream first, each from its opening on.
fn history(model: &Model, width: usize) -> Vec<Line> {
    model.stream.chain.iter().flat_map(|stream| stream_history(model, stream, width)).collect()
}

fn stream_history(model: &Model, stream: &StreamFact, width: usize) -> Vec<Line> {
    let time = |at| time_of_day_secs(at, model.clock, &model.zone);
    let mut lines = Vec::new();
    let mut event = |at: String, word: &str, role: Role, text: String| {
        let label = format!(" {}  {} ", crate::wire::text::pad(&at, 8), crate::wire::text::pad(word, 7));
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
        let (by, every) = (keepalive.by.word(), crate::wire::text::age(keepalive.every));
        event(time(keepalive.last), "ping", Role::Plain, format!("the {by} pings every {every}; the newest"));
    }
    if stream.gaps > 0 {
        event(String::new(), "lost", Role::Bad, format!("{} of the copy", plural(stream.gaps, "message")));
    }
    if let Some(closed) = stream.closed {
        let end = stream.end.as_ref();
        let by = end.and_then(|end| end.by).map_or(String::new(), |side| format!(" by the {}", side.word()));
        let why = end.map(report::end_words).unwrap_or_default();
        let age = crate::wire::text::age(closed.since(stream.opened));
        let silent = stream.last_message.map(|at| crate::wire::text::age(closed.since(at)));
        let silent = silent.map(|age| format!(", silent for {age} before")).unwrap_or_default();
        event(time(closed), "close", Role::Warn, format!("{why}{by} after {age}{silent}"));
    }
    lines
}

/// The lower panes, for places that need only their width.
pub fn detail_width(layout: &Layout) -> usize {
    let parts = layout::stream(layout, 2, 2);
    usize::from(parts.detail.width)
}
