//! The summary of a push, and the title of the changes.

use ratatui::layout::Rect;

use crate::common::{Common, Pane};
use crate::widgets::canvas::{Canvas, StyledLine, plain, span};
use crate::widgets::layout;
use xdscope_engine::diff::{Op, ResourceVersion, Verdict};
use xdscope_present::report::Role;
use xdscope_present::text::{pad, width};
use xdscope_wire::text::{count, display_safe, plural, size, type_label};

use super::state::DiffScreen;

/// Draws the counts and entries of a push. Returns the row of the selected entry.
pub(super) fn draw(screen: &DiffScreen, common: &Common, canvas: &mut Canvas, area: Rect) -> Option<u16> {
    let push = screen.push.as_ref()?;
    let glyphs = canvas.glyphs();
    let number = |sign: char, op: Op, word: &str, role| {
        let n = push.count(op);
        span(format!("  {sign}{} {word}", count(n as u64)), if n > 0 { role } else { Role::Muted })
    };
    let from = push.before.as_ref().map(|before| format!("{before} {} ", glyphs.to)).unwrap_or_default();
    let against = push.against.map(|n| format!(" against #{}", n.0)).unwrap_or_default();
    let label = type_label(push.type_url.as_str());
    let mut line: StyledLine = vec![
        span(format!(" push #{}{against}  {label} {from}{}  ", push.n.0, push.version), Role::Title),
        number('+', Op::Added, "added", Role::Added),
        number('~', Op::Changed, "changed", Role::Changed),
        number('-', Op::Removed, "removed", Role::Removed),
    ];
    if push.same > 0 {
        let bytes = format!("{} of {}", size(push.bytes_same), size(push.bytes));
        line.push(span(format!("  {} unchanged ({bytes})", count(push.same)), Role::Muted));
    }
    canvas.line(area, &line);
    let (_, list) = layout::split(area, 1);
    if push.entries.is_empty() {
        canvas.text(list, "   nothing changed in it", Role::Muted);
        return None;
    }
    let entries = push.entries.iter().enumerate().skip(screen.top);
    let name_width =
        entries.clone().take(usize::from(list.height)).map(|(_, entry)| width(&entry.name)).max();
    let name_width = name_width.unwrap_or(0).min(usize::from(list.width) / 2);
    let mut selected_row = None;
    for (row, (i, entry)) in list.rows().zip(entries) {
        let role = match entry.op {
            Op::Added => Role::Added,
            Op::Removed => Role::Removed,
            Op::Changed | Op::Reordered => Role::Changed,
        };
        let chosen = i == screen.chosen;
        let mut line: StyledLine = vec![
            plain(format!("  {} ", entry.op.sign())),
            span(pad(&display_safe(&entry.name), name_width), role),
        ];
        match screen.counts.get(&i) {
            Some(Some(0)) => line.push(span("   bytes differ, same meaning", Role::Muted)),
            Some(Some(n)) => line.push(plain(format!("   {} changed", plural(*n as u64, "field")))),
            _ => {}
        }
        if push.refused && entry.op != Op::Removed {
            line.push(span(format!("   {} push refused", glyphs.bad), Role::Bad));
        }
        canvas.line(row, &line);
        if chosen {
            canvas.cursor(row, common.pane == Pane::Main);
            selected_row = Some(row.y);
        }
    }
    selected_row
}

/// `reviews  @41 (in force) → @42 (rejected)`, with two streams
/// `edge-gw-2 @41 (in force) → edge-gw-1 @42 (rejected)`.
pub(super) fn title(screen: &DiffScreen, common: &Common) -> String {
    let Some(target) = &screen.target else { return "no resource".to_owned() };
    let stream = |at| screen.version(at).map(|version| version.stream);
    let two = stream(screen.old).zip(stream(screen.new)).is_some_and(|(old, new)| old != new);
    let word = |at: Option<usize>| {
        let Some(version) = screen.version(at) else { return "nothing".to_owned() };
        let own =
            |other: &&ResourceVersion| other.stream == version.stream && other.verdict == Verdict::Accepted;
        let in_force = screen.versions.iter().rev().find(own).is_some_and(|last| std::ptr::eq(last, version));
        let again = match version.refusals {
            1 => "rejected, sent again".to_owned(),
            n => format!("rejected {n}×, sent again"),
        };
        let verdict = match version.verdict {
            _ if version.content.is_none() => "removed",
            Verdict::Accepted if in_force => "in force",
            Verdict::Accepted => "accepted",
            Verdict::Refused => "rejected",
            Verdict::Open if version.refusals > 0 => &again,
            Verdict::Open => "not answered",
        };
        // `sent again` says so already.
        let is_told = std::ptr::eq(verdict, again.as_str());
        let times =
            if version.times > 1 && !is_told { format!(", sent {}×", version.times) } else { String::new() };
        let node = if two { screen.nodes.get(&version.stream) } else { None };
        let node = node.map_or(String::new(), |node| format!("{} ", display_safe(node)));
        format!("{node}@{} ({verdict}{times})", version.version)
    };
    let label = type_label(target.type_url.as_str());
    let arrow = common.theme.glyphs().to;
    format!("{label} {}  {} {arrow} {}", target.name, word(screen.old), word(screen.new))
}
