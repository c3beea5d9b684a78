//! Held messages drawn: the queue, the selected message, and what each key would do.

use ratatui::layout::{Position, Rect};

use super::HoldScreen;
use crate::common::Common;
use crate::input::screen_id::ScreenId;
use crate::screens::list_screen::{ListScreen, draw_list, draw_text};
use crate::widgets::canvas::{Canvas, StyledLine, plain, span};
use crate::widgets::layout::{self, Layout};
use crate::widgets::table::{Column, column};
use crate::widgets::text::{hanging, paragraph};
use xdscope_engine::hold::{HeldRow, HoldStatus};
use xdscope_present::hold::{HoldChoice, held_alone, held_counts, held_title, hold_choices, hold_time};
use xdscope_present::report::Role;
use xdscope_present::text::{Keep, cut, pad, wrap};
use xdscope_wire::event::Dir;
use xdscope_wire::text::{age, count, display_safe, plural, size, type_label};

/// The least height of the comparison, with its title.
const MIN_DETAIL: u16 = 4;
/// The least height of the queue, with its titles, if it has as many messages.
const MIN_LIST: u16 = 4;
/// The most lines of a diverged type while nothing is held.
const MAX_DIVERGED_LINES: usize = 4;

/// The areas of the screen.
pub(super) struct HoldParts {
    /// The expression, and the streams that it covers.
    head: Rect,
    pub(super) list: Rect,
    pub(super) detail: Rect,
    choices: Rect,
}

/// The columns of the queue; the last one is a note without a title.
pub(super) fn columns() -> [Column; 11] {
    [
        column("#", 2, 6, Keep::Head, 0),
        column("HELD", 6, 6, Keep::Head, 0),
        column("RELEASE", 8, 8, Keep::Head, 0),
        column("DIR", 3, 3, Keep::Head, 4),
        column("NODE", 8, 30, Keep::Name, 0),
        column("TYPE", 4, 14, Keep::Head, 0),
        column("VER", 3, 16, Keep::Tail, 0),
        column("NONCE", 5, 12, Keep::Tail, 2),
        column("RESOURCES", 9, 24, Keep::Head, 1),
        column("SIZE", 4, 8, Keep::Head, 3),
        column("", 0, 16, Keep::Head, 0),
    ]
}

/// The cells of a message, in the order of the columns.
pub(super) fn held_row(screen: &HoldScreen, common: &Common, row: &HeldRow) -> StyledLine {
    let (fact, glyphs) = (&row.fact, common.theme.glyphs());
    let stream = screen.loaded.get(&fact.id).and_then(|loaded| loaded.stream);
    let node = match (&fact.node, stream) {
        (node, Some(stream)) => common.client_name(node.as_deref(), stream),
        (Some(node), None) => node.to_string(),
        (None, None) => "-".to_owned(),
    };
    let left = if row.is_edited { span("editing", Role::Pending) } else { plain(hold_time(row.left)) };
    let note = row.waits_for.map(|id| format!("waits for {id}")).unwrap_or_default();
    vec![
        plain(fact.id.to_string()),
        span(hold_time(row.age), Role::Warn),
        left,
        plain(if fact.dir() == Dir::Resp { glyphs.response } else { glyphs.request }),
        plain(node),
        plain(type_label(fact.type_url.as_str())),
        plain(&*fact.version),
        plain(&*fact.nonce),
        plain(held_counts(fact, screen.diff(fact.id))),
        plain(size(fact.bytes.len() as u64)),
        span(note, Role::Muted),
    ]
}

/// Returns the expression, and the streams that it covers.
fn head_lines(screen: &HoldScreen, hold: &HoldStatus, width: usize, mark: &str) -> Vec<StyledLine> {
    let timeout = age(hold.timeout);
    let first = match &hold.armed {
        Some(text) => {
            let text = if text.is_empty() { "all messages".into() } else { display_safe(text) };
            vec![
                span(" armed: ", Role::Muted),
                span(text, Role::Warn),
                span(format!("   sent unmodified after {timeout}   I! changes it"), Role::Muted),
            ]
        }
        None => vec![span(" not armed: I! holds messages that match an expression", Role::Muted)],
    };
    let mut lines = vec![first];
    if hold.armed.is_some() || hold.streams > 0 {
        lines.extend(paragraph(&coverage(screen, hold), 1, Role::Muted, width + 2));
    }
    let most = if screen.queue.rows.is_empty() { MAX_DIVERGED_LINES } else { 1 };
    for text in &screen.diverged {
        let text = cut(&display_safe(text), width * most, Keep::Head, mark).into_owned();
        lines.extend(paragraph(&text, 1, Role::Warn, width + 2).into_iter().take(most));
    }
    lines
}

/// Says which streams messages are held of.
fn coverage(screen: &HoldScreen, hold: &HoldStatus) -> String {
    let (covered, open) = (hold.streams, screen.open_streams.max(hold.streams));
    let covers = format!("covers {} of {}", count(covered), plural(open, "open stream"));
    match (open - covered, hold.passing) {
        (0, 0) if open == 0 => "covers streams that are opened from now on".to_owned(),
        (0, 0) => format!("{covers}; each type keeps its order, other types flow"),
        (_, 0) => format!("{covers}: the others cannot match"),
        (_, passing) => {
            let passing = plural(passing, "connection");
            format!(
                "{covers}. Nothing can be held on {passing} from before: R! closes such connections, and their clients connect again"
            )
        }
    }
}

/// The areas of the screen.
pub(super) fn parts(screen: &HoldScreen, common: &Common, layout: &Layout) -> HoldParts {
    let body = layout.body;
    let none = Rect { height: 0, ..body };
    if common.is_full_screen {
        return HoldParts { head: none, list: none, detail: body, choices: none };
    }
    let (width, mark) = (usize::from(body.width).saturating_sub(2), common.theme.glyphs().cut);
    let head = common.info.hold.as_ref().map_or(0, |hold| head_lines(screen, hold, width, mark).len());
    let most = if screen.queue.rows.is_empty() { body.height.saturating_sub(2) } else { body.height / 3 };
    let (head, rest) = layout::split(body, layout::height(head).min(most));
    let choices = layout::height(1 + hold_lines(screen, width).len());
    let rows = layout::height(screen.queue.rows.len() + 1);
    let least = rows.min(MIN_LIST);
    let choices = choices.min(rest.height.saturating_sub(least + MIN_DETAIL));
    let room = rest.height - choices;
    let wanted = layout.shifted(room.saturating_sub(rows), room, MIN_DETAIL);
    let list = rows.min(room.saturating_sub(wanted)).max(least).min(room.saturating_sub(MIN_DETAIL).max(1));
    let (list, rest) = layout::split(rest, list);
    let (detail, choices) = layout::split(rest, rest.height - choices);
    HoldParts { head, list, detail, choices }
}

/// The keys and what they would do.
fn hold_lines(screen: &HoldScreen, width: usize) -> Vec<StyledLine> {
    let Some(row) = screen.selected() else { return Vec::new() };
    let line = |choice: HoldChoice| {
        let lead = format!(" {}! {} ", choice.key, pad(choice.label, 8));
        let room = width.saturating_sub(lead.len()).max(20);
        let lines = wrap(&display_safe(&choice.consequence), room);
        hanging(span(lead, Role::Key), lines, Role::Plain)
    };
    let mut lines: Vec<StyledLine> = hold_choices(&row.fact).into_iter().flat_map(line).collect();
    if let Some(passed) = screen.loaded.get(&row.fact.id).and_then(|loaded| loaded.passed.as_ref()) {
        lines.extend(paragraph(&held_alone(&row.fact, passed), 1, Role::Warn, width));
    }
    lines
}

/// Draws the queue of held messages and the selected one.
pub(super) fn draw(
    screen: &HoldScreen,
    common: &Common,
    canvas: &mut Canvas,
    layout: &Layout,
) -> Option<Position> {
    let Some(hold) = &common.info.hold else {
        let reason = common.info.no_hold.clone();
        let reason = reason.unwrap_or_else(|| "only a live tap can hold messages: xdscope tap SERVER".into());
        let (_, rest) = layout::split(layout.body, 1);
        canvas.text(rest, &format!("   {}", display_safe(&reason)), Role::Muted);
        return None;
    };
    let parts = parts(screen, common, layout);
    let width = usize::from(parts.head.width).saturating_sub(2);
    canvas.lines(parts.head, &head_lines(screen, hold, width, common.theme.glyphs().cut), 0);
    if screen.queue.rows.is_empty() && screen.draft.is_none() {
        let text = match &hold.armed {
            Some(_) => "nothing is held: no message has matched, or all were decided about",
            None => "nothing is held",
        };
        let (_, rest) = layout::split(layout.body, parts.head.height + 1);
        canvas.text(rest, &format!("   {text}"), Role::Muted);
        return None;
    }
    let cursor = draw_list(screen, ScreenId::Hold, common, canvas, layout);
    detail(screen, common, canvas, parts.detail);
    if !parts.choices.is_empty() {
        let (title, rest) = layout::split(parts.choices, 1);
        canvas.rule(title, "what each key would do", "");
        canvas.lines(rest, &hold_lines(screen, usize::from(rest.width).saturating_sub(2)), 0);
    }
    cursor
}

/// Draws the comparison or the message, or the edited message.
fn detail(screen: &HoldScreen, common: &Common, canvas: &mut Canvas, area: Rect) {
    if area.is_empty() {
        return;
    }
    let title = match (&screen.draft, screen.selected()) {
        (Some(draft), _) if draft.edited.is_ok() => {
            format!("what would be sent in place of {}", draft.fact.id)
        }
        (Some(draft), _) => format!("{} cannot be sent as edited", draft.fact.id),
        (None, Some(row)) if screen.detail == super::HoldDetail::Message => {
            format!("{} as it came, without secrets", row.fact.id)
        }
        (None, Some(row)) => held_title(&row.fact, screen.diff(row.fact.id)),
        (None, None) => String::new(),
    };
    let (title, lines) = (display_safe(&title), screen.text_lines(common, area));
    draw_text(common, canvas, area, &title, "", &lines, screen.queue.scroll);
}
