//! The timeline drawn as a ladder between client and server, with folded silences.

use ratatui::layout::Rect;

use super::state::{TimelineRow, TimelineScreen};
use crate::common::Common;
use crate::screens::shared::message_rows;
use crate::widgets::canvas::{Canvas, StyledLine, plain, span};
use xdscope_present::report::{self, Role};
use xdscope_present::text::{self, Keep, cut, pad};
use xdscope_wire::text::{display_safe, latency};

/// Columns to the left of the client's line: mark and time.
const LEFT_WIDTH: usize = 14;

/// Draws the rows. Returns the screen row of the selected one.
pub(super) fn draw(screen: &TimelineScreen, common: &Common, canvas: &mut Canvas, area: Rect) -> Option<u16> {
    let glyphs = canvas.glyphs();
    let width = usize::from(area.width);
    let lane =
        width.saturating_sub(LEFT_WIDTH + 2 + 40).clamp(34, 72).min(width.saturating_sub(LEFT_WIDTH + 2));
    canvas.line(area, &names(screen, common, lane));
    let mut rows = area.rows().skip(1);
    let mut selected_row = None;
    for (i, shown) in screen.window.iter().enumerate() {
        if i > 0 && !screen.is_unfolded && shown.is_after_gap() {
            let Some(row) = rows.next() else { break };
            let gap = shown.delta.map(latency).unwrap_or_default();
            let label = pad(&format!("    {} {gap}", glyphs.gap), LEFT_WIDTH);
            let lanes = format!("{}{}{}", glyphs.bar, " ".repeat(lane), glyphs.bar);
            canvas.line(row, &[span(label, Role::Muted), span(lanes, Role::Muted)]);
        }
        let Some(row) = rows.next() else { break };
        canvas.line(row, &line(common, shown, lane));
        if Some(shown.row) == screen.selected {
            canvas.cursor(row, !common.is_in_second_pane());
            selected_row = Some(row.y);
        }
    }
    selected_row
}

/// Returns the names above the two ends of the arrows.
fn names(screen: &TimelineScreen, common: &Common, lane: usize) -> StyledLine {
    let current = screen.selected_message.as_ref().and_then(|current| current.fact.node.clone());
    let client = match (common.scope.stream, current) {
        (Some(_), Some(node)) => display_safe(&node).into_owned(),
        (Some(_), None) => "client".to_owned(),
        (None, _) => "clients".to_owned(),
    };
    let client = text::cut_name(&client, lane / 2, common.theme.glyphs().cut).into_owned();
    let server = "control plane";
    let gap = (lane + 2).saturating_sub(text::width(&client) + text::width(server));
    vec![span(format!("{}{client}{}{server}", " ".repeat(LEFT_WIDTH), " ".repeat(gap)), Role::Muted)]
}

/// Returns the line of a message: an arrow between client and server.
fn line(common: &Common, shown: &TimelineRow, lane: usize) -> StyledLine {
    let glyphs = common.theme.glyphs();
    let fact = &*shown.line;
    let row = message_rows::log_row(common, fact, None);
    let time = pad(&format!(" {}", row.time()), LEFT_WIDTH);
    let (_, role) = row.kind();
    let safe = report::arrow_text(fact);
    let words = display_safe(&safe);
    let room = lane.saturating_sub(8);
    let words = cut(&words, room, Keep::Head, glyphs.cut);
    let arrow = row.ladder_arrow(&words, lane);
    let node = match (&fact.node, common.scope.stream) {
        (Some(node), None) => format!("{}  ", common.client_name(Some(node), fact.stream)),
        _ => String::new(),
    };
    vec![
        plain(time),
        span(glyphs.bar, Role::Muted),
        span(arrow, role),
        span(glyphs.bar, Role::Muted),
        plain(pad(&format!(" {}", row.ladder_number()), 12)),
        plain(node),
        span(row.ladder_remark(|line| report::error_reason(line.stated_faults())), role),
    ]
}
