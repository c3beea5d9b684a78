//! NACKs drawn: the list of groups, and the card of the selected one.

use ratatui::layout::{Position, Rect};

use super::NackScreen;
use crate::common::Common;
use crate::input::screen_id::ScreenId;
use crate::screens::list_screen::{ListScreen, draw_list, draw_text};
use crate::screens::shared::side_by_side;
use crate::widgets::canvas::{Canvas, Span, StyledLine, plain, span};
use crate::widgets::layout::Layout;
use crate::widgets::table::{Column, column};
use xdscope_engine::nack::NackGroup;
use xdscope_engine::store::NackFact;
use xdscope_present::nack_card::{self, CardLine, NackCard};
use xdscope_present::report::{self, Role};
use xdscope_present::text::Keep;
use xdscope_wire::text::{count, plural, type_label};

use crate::widgets::text::{field, long_text};

/// The columns of the list.
pub(super) fn columns(narrow: bool) -> [Column; 8] {
    [
        column("NODE", 10, 24, Keep::Name, 0),
        column("TYPE", 4, 16, Keep::Name, 0),
        column("VER", 3, 24, Keep::Tail, 0),
        column("×", 1, 6, Keep::Head, 0),
        column("FIRST", 5, if narrow { 0 } else { 12 }, Keep::Head, 0),
        column("LAST", 5, 12, Keep::Head, 0),
        column("IN FORCE", 8, 24, Keep::Tail, 0),
        column("ERROR", 20, 400, Keep::Reason, 0).keeping(36),
    ]
}

/// The cells of a group, in the order of the columns.
pub(super) fn nack_row(common: &Common, group: &NackGroup) -> Vec<Span> {
    let time = |nack: Option<&NackFact>| nack.map(|nack| common.time_of_day(nack.at)).unwrap_or_default();
    let text = report::error_reason(&group.faults.to_string());
    let node = common.client_name(group.node.as_deref(), group.stream);
    let kept = nack_card::kept_version(group);
    let in_force = if kept.is_empty() { "-" } else { &kept };
    let version = nack_card::refused_version(group);
    vec![
        plain(node),
        plain(type_label(group.type_url.as_str())),
        plain(if version.is_empty() { "-".to_owned() } else { version }),
        span(count(group.nacks.len() as u64), if group.nacks.len() > 1 { Role::Bad } else { Role::Plain }),
        plain(time(group.nacks.first())),
        plain(time(group.last())),
        match group.is_mended {
            true => span(format!("{in_force} fixed"), Role::Ok),
            false => span(in_force, Role::Plain),
        },
        span(text, if group.is_mended { Role::Muted } else { Role::Bad }),
    ]
}

/// Counts the refusals, their streams and the open ones, in words.
pub(super) fn summary(screen: &NackScreen) -> String {
    let groups = &screen.groups.rows;
    let mut streams: Vec<_> = groups.iter().map(|group| group.stream).collect();
    streams.sort_unstable();
    streams.dedup();
    let open = groups.iter().filter(|group| group.is_open).count() as u64;
    let all = plural(groups.len() as u64, "refusal");
    format!("{all} in {}, {} open", plural(streams.len() as u64, "stream"), count(open))
}

/// Draws the groups of NACKs and the card of the selected one.
pub(super) fn draw(
    screen: &NackScreen,
    common: &Common,
    canvas: &mut Canvas,
    layout: &Layout,
) -> Option<Position> {
    if !screen.has_refusal() {
        screen.accepted.draw(common, canvas, layout);
        return None;
    }
    let cursor = draw_list(screen, ScreenId::Nack, common, canvas, layout);
    let (_, card) = screen.areas(common, layout);
    let lines = card_lines(screen, common, card);
    let name = screen.group().map(|group| {
        let node = common.client_name(group.node.as_deref(), group.stream);
        let version = nack_card::refused_version(group);
        format!("{node} {} {version}", type_label(group.type_url.as_str()))
    });
    let remark = match screen.group().and_then(NackGroup::last) {
        Some(nack) if nack.implied => "no error_detail".to_owned(),
        Some(nack) => report::nack_code(nack),
        None => String::new(),
    };
    let (name, scroll) = (name.unwrap_or_default(), screen.groups.scroll);
    draw_text(common, canvas, card, &name, &remark, &lines, scroll).or(cursor)
}

/// The lines about the selected group, in an area with a title. Bodies are unfolded if all lines
/// fit then; if the area is too low for all lines, the bodies come first.
pub(super) fn card_lines(screen: &NackScreen, common: &Common, area: Rect) -> Vec<StyledLine> {
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let (Some(group), Some(last)) = (screen.group(), screen.group().and_then(NackGroup::last)) else {
        return Vec::new();
    };
    let texts = NackCard {
        group,
        report: &screen.card,
        warming: &screen.warming,
        clock: common.clock,
        now: common.now,
        zone: &common.zone,
    };
    let fields = |lines: Vec<CardLine>| {
        let field = |line: CardLine| field(&format!(" {:<9} ", line.label), &line.text, line.role, width);
        lines.into_iter().flat_map(field).collect::<Vec<StyledLine>>()
    };
    let bodies = |is_unfolded: bool| {
        let comparisons = screen.comparisons.iter();
        comparisons
            .map(|pair| side_by_side::bodies(common.theme, pair, is_unfolded, width))
            .collect::<Vec<_>>()
    };
    let message = long_text(&nack_card::nack_message(last), Role::Bad, width);
    let (faults, history) = (fields(texts.faults()), fields(texts.history()));
    let card = |bodies: Vec<Vec<StyledLine>>, has_bodies_first: bool| {
        let mut parts = vec![message.clone(), faults.clone()];
        let at = if has_bodies_first { 1 } else { 2 };
        parts.splice(at..at, bodies);
        parts.push(history.clone());
        parts.retain(|part| !part.is_empty());
        parts.join(&vec![])
    };
    let folded = card(bodies(screen.is_unfolded), false);
    if folded.len() >= height {
        return card(bodies(screen.is_unfolded), true);
    }
    let unfolded = card(bodies(true), false);
    if unfolded.len() < height { unfolded } else { folded }
}
