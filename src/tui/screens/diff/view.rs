//! Screen 5: the push's summary, then what changed by path and by line.

use ratatui::layout::{Position, Rect};

use crate::engine::diff::{DiffSide, LinePart, LineTag, Op, Verdict, emphasis};
use crate::present::report::Role;
use crate::tui::screens::diff::{Row, absent, ready};
use crate::tui::shell::model::{Model, Pane};
use crate::tui::widgets::canvas::{Canvas, Line, Span, plain, span};
use crate::tui::widgets::layout::{self, Layout};
use crate::wire::text::{count, display_safe, pad, pad_left, plural, size, type_label, width, wrap_parts};

use crate::tui::screens::stream::view::focused;
use crate::tui::shell::view::frame::node_of;

/// What of a line is drawn at most: more than a screen holds.
const LONGEST: usize = 16_000;
/// A column of two is never wider.
const WIDEST: usize = 90;

pub fn draw(model: &Model, canvas: &mut Canvas, layout: &Layout) -> Option<Position> {
    let diff = &model.diff;
    if !ready(model) {
        let text = " Nothing to compare yet: choose a push on the timeline (3) and press d.";
        canvas.text(layout.body, text, Role::Plain);
        return None;
    }
    if let Some(why) = absent(model) {
        canvas.text(layout.body, &format!(" {why}"), Role::Plain);
        return None;
    }
    let entries = diff.push.as_ref().map(|push| push.entries.len());
    let (top, detail) = layout::diff(layout, entries, model.whole);
    let mut cursor = Position { x: detail.x, y: detail.y };
    if !top.is_empty() {
        let at = summary(model, canvas, top);
        if let (Some(y), Pane::Main) = (at, model.pane) {
            cursor = Position { x: top.x, y };
        }
    }
    let (rule, rest) = layout::split(detail, 1);
    let dot = canvas.glyphs().dot;
    let how = format!("u layout {dot} c context {dot} b base");
    canvas.rule(rule, &focused(model, title(model)), &how);
    let room = usize::from(rest.width);
    let mut rows = rest.rows();
    for (at, row) in diff.rows.iter().enumerate().skip(diff.scroll) {
        for (i, line) in lines(model, *row, room).into_iter().enumerate() {
            let Some(area) = rows.next() else { return Some(cursor) };
            canvas.line(area, &line);
            if diff.mark == Some(at) && i == 0 {
                canvas.select(area);
                cursor = Position { x: area.x, y: area.y };
            }
        }
    }
    Some(cursor)
}

/// The first row at which the last one is still on the screen.
pub fn diff_last(model: &Model, layout: &Layout, high: usize) -> usize {
    let room = usize::from(layout.body.width);
    let mut used = 0;
    for (at, row) in model.diff.rows.iter().enumerate().rev() {
        used += lines(model, *row, room).len();
        if used > high {
            return at + 1;
        }
    }
    0
}

/// The text of each row, for finding in it.
pub fn diff_texts(model: &Model) -> Vec<String> {
    let text = |line: Line| line.into_iter().map(|span| span.text).collect::<String>();
    let rows = model.diff.rows.iter();
    rows.map(|row| lines(model, *row, 1 << 12).into_iter().map(text).collect::<Vec<_>>().join(" ")).collect()
}

/// What the push did, and its entries. Returns the row of the chosen one.
fn summary(model: &Model, canvas: &mut Canvas, area: Rect) -> Option<u16> {
    let push = model.diff.push.as_ref()?;
    let glyphs = canvas.glyphs();
    let number = |sign: char, op: Op, word: &str, role| {
        let n = push.count(op);
        span(format!("  {sign}{} {word}", count(n as u64)), if n > 0 { role } else { Role::Muted })
    };
    let from = push.before.as_ref().map(|before| format!("{before} {} ", glyphs.to)).unwrap_or_default();
    let against = push.against.map(|n| format!(" against #{}", n.0)).unwrap_or_default();
    let label = type_label(push.type_url.as_str());
    let mut line: Line = vec![
        span(format!(" push #{}{against}  {label} {from}{}  ", push.n.0, push.version), Role::Title),
        number('+', Op::Added, "added", Role::Added),
        number('~', Op::Changed, "changed", Role::Changed),
        number('-', Op::Removed, "removed", Role::Removed),
    ];
    if push.same > 0 {
        let bytes = format!("{} of {}", size(push.bytes_same), size(push.bytes));
        line.push(span(format!("   {} re-sent unchanged ({bytes})", count(push.same)), Role::Muted));
    }
    canvas.line(area, &line);
    let (_, list) = layout::split(area, 1);
    if push.entries.is_empty() {
        canvas.text(list, "   nothing changed in it", Role::Muted);
        return None;
    }
    let shown = push.entries.iter().enumerate().skip(model.diff.top);
    let wide = shown.clone().take(usize::from(list.height)).map(|(_, entry)| width(&entry.name)).max();
    let wide = wide.unwrap_or(0).min(usize::from(list.width) / 2);
    let mut at = None;
    for (row, (i, entry)) in list.rows().zip(shown) {
        let role = match entry.op {
            Op::Added => Role::Added,
            Op::Removed => Role::Removed,
            Op::Changed | Op::Reordered => Role::Changed,
        };
        let chosen = i == model.diff.chosen;
        let mark = if chosen { glyphs.selected } else { " " };
        let mut line: Line = vec![
            plain(format!("{} {} ", pad(mark, 1), entry.op.sign())),
            span(pad(&display_safe(&entry.name), wide), role),
        ];
        match model.diff.counts.get(&i) {
            Some(Some(0)) => line.push(span("   bytes differ, same meaning", Role::Muted)),
            Some(Some(n)) => line.push(plain(format!("   {} changed", plural(*n as u64, "field")))),
            _ => {}
        }
        if push.refused && entry.op != Op::Removed {
            line.push(span(format!("   {} push refused", glyphs.bad), Role::Bad));
        }
        canvas.line(row, &line);
        if chosen {
            if model.pane == Pane::Main {
                canvas.select(row);
            }
            at = Some(row.y);
        }
    }
    at
}

/// `reviews  @41 (in force) → @42 (rejected)`; of two streams `edge-gw-2 @41 (in force) → edge-gw-1 @42 (rejected)`.
fn title(model: &Model) -> String {
    let diff = &model.diff;
    let Some(target) = &diff.target else { return "no resource".to_owned() };
    let stream = |at| diff.version(at).map(|version| version.stream);
    let two = stream(diff.old).zip(stream(diff.new)).is_some_and(|(old, new)| old != new);
    let word = |at: Option<usize>| {
        let Some(version) = diff.version(at) else { return "nothing".to_owned() };
        let own = |other: &&crate::engine::diff::ResourceVersion| {
            other.stream == version.stream && other.verdict == Verdict::Accepted
        };
        let in_force = diff.versions.iter().rev().find(own).is_some_and(|last| std::ptr::eq(last, version));
        let said = match version.verdict {
            _ if version.content.is_none() => "removed",
            Verdict::Accepted if in_force => "in force",
            Verdict::Accepted => "accepted",
            Verdict::Refused => "rejected",
            Verdict::Open => "not answered",
        };
        let times = if version.times > 1 { format!(", sent {}×", version.times) } else { String::new() };
        let node = if two { node_of(model, version.stream) } else { None };
        let node = node.map_or(String::new(), |node| format!("{} ", display_safe(&node)));
        format!("{node}@{} ({said}{times})", version.version)
    };
    let label = type_label(target.type_url.as_str());
    let arrow = model.theme.glyphs().to;
    format!("{label} {}  {} {arrow} {}", target.name, word(diff.old), word(diff.new))
}

/// A row as it is drawn, wrapped, never cut.
fn lines(model: &Model, row: Row, room: usize) -> Vec<Line> {
    let diff = &model.diff;
    let compared = &diff.compared;
    match row {
        Row::Blank => vec![vec![]],
        Row::Same => vec![vec![span(format!(" {}", same(model)), Role::Ok)]],
        Row::Fold(n) => {
            let text = format!("    {} {}", model.theme.glyphs().cut, plural(n as u64, "unchanged line"));
            vec![vec![span(text, Role::Muted)]]
        }
        Row::Path(at) => {
            let Some(change) = compared.change(at) else { return vec![vec![]] };
            let order = if change.op == Op::Reordered { "   in another order" } else { "" };
            wrapped("", &[(display_safe(&change.path.to_string()).into_owned(), false)], room, Role::Title)
                .into_iter()
                .enumerate()
                .map(|(i, mut line)| {
                    line.extend((i == 0 && !order.is_empty()).then(|| span(order, Role::Muted)));
                    line
                })
                .collect()
        }
        Row::Value { change, new, line } => {
            let values = compared.values.get(change);
            let text = values.and_then(|[from, to]| if new { to.get(line) } else { from.get(line) });
            let (sign, role) = if new { ("  +   ", Role::Added) } else { ("  -   ", Role::Removed) };
            let text = display_safe(text.map_or("", String::as_str)).into_owned();
            wrapped(sign, &[(text, false)], room, role)
        }
        Row::Line(at) => unified(model, at, room),
        Row::Pair(at) => pair(model, at, room),
    }
}

/// Why nothing is shown as changed.
fn same(model: &Model) -> &'static str {
    let diff = &model.diff;
    match diff.compared.comparison.reordered.is_empty() {
        _ if diff.compared.identical => "the content is the same, byte for byte",
        false => "only the order of keyed lists differs (o compares it)",
        true => "bytes differ, same meaning",
    }
}

fn wrapped(sign: &str, parts: &[(String, bool)], room: usize, role: Role) -> Vec<Line> {
    let room = room.saturating_sub(width(sign) + 1);
    let line = |(i, line): (usize, Vec<(String, bool)>)| -> Line {
        let head = if i == 0 { sign.to_owned() } else { " ".repeat(width(sign)) };
        let head = std::iter::once(span(if head.is_empty() { " ".to_owned() } else { head }, role));
        head.chain(line.into_iter().map(|(text, strong)| word(text, strong, role))).collect()
    };
    wrap_parts(parts, room).into_iter().enumerate().map(line).collect()
}

fn word(text: String, strong: bool, role: Role) -> Span {
    let role = match (strong, role) {
        (true, Role::Added) => Role::AddedWord,
        (true, Role::Removed) => Role::RemovedWord,
        (_, role) => role,
    };
    span(text, role)
}

fn short(text: &str) -> &str {
    text.char_indices().nth(LONGEST).and_then(|(at, _)| text.get(..at)).unwrap_or(text)
}

fn safe(parts: Vec<LinePart<'_>>) -> Vec<(String, bool)> {
    parts.into_iter().map(|part| (display_safe(short(part.text)).into_owned(), part.changed)).collect()
}

fn unified(model: &Model, at: usize, room: usize) -> Vec<Line> {
    let lines = &model.diff.compared.lines;
    let Some(row) = lines.rows().get(at) else { return vec![vec![]] };
    let (old, new) =
        (row.old.map(|n| lines.line(DiffSide::Old, n)), row.new.map(|n| lines.line(DiffSide::New, n)));
    let (sign, role) = match row.tag {
        LineTag::Same => ("    ", Role::Plain),
        LineTag::Removed => ("  - ", Role::Removed),
        LineTag::Added => ("  + ", Role::Added),
    };
    let parts = match (row.tag, old, new) {
        (LineTag::Removed, Some(old), Some(new)) => emphasis(old, new).0,
        (LineTag::Added, Some(old), Some(new)) => emphasis(old, new).1,
        (LineTag::Removed, text, _) | (_, _, text) => {
            vec![LinePart { text: text.unwrap_or_default(), changed: false }]
        }
    };
    wrapped(sign, &safe(parts), room, role)
}

fn pair(model: &Model, at: usize, room: usize) -> Vec<Line> {
    let lines = &model.diff.compared.lines;
    let Some(pair) = lines.pairs().get(at) else { return vec![vec![]] };
    let side = (room.saturating_sub(4) / 2).min(WIDEST);
    let bar = model.theme.glyphs().bar;
    let (old, new) =
        (pair.left.map(|n| lines.line(DiffSide::Old, n)), pair.right.map(|n| lines.line(DiffSide::New, n)));
    let whole = |text: &'_ str| vec![(display_safe(short(text)).into_owned(), false)];
    let (left, right) = match (old, new) {
        (Some(old), Some(new)) if pair.changed => {
            let (old, new) = emphasis(old, new);
            (Some(safe(old)), Some(safe(new)))
        }
        (old, new) => (old.map(whole), new.map(whole)),
    };
    let both = left.is_some() && right.is_some();
    let half =
        |parts: Option<Vec<(String, bool)>>, number: Option<u32>, sign: &str, role: Role| -> Vec<Line> {
            let (Some(parts), Some(number)) = (parts, number) else { return Vec::new() };
            let (sign, role) = match (pair.changed, both) {
                (false, _) => (" ", Role::Plain),
                (true, true) => ("~", role),
                (true, false) => (sign, role),
            };
            let mut out = Vec::new();
            for (i, line) in wrap_parts(&parts, side.saturating_sub(7)).into_iter().enumerate() {
                let number = if i == 0 { (u64::from(number) + 1).to_string() } else { String::new() };
                let mut spans = vec![span(format!("{sign}{} ", pad_left(&number, 5)), Role::Muted)];
                spans.extend(line.into_iter().map(|(text, strong)| word(text, strong, role)));
                out.push(spans);
            }
            out
        };
    let left = half(left, pair.left, "-", Role::Removed);
    let right = half(right, pair.right, "+", Role::Added);
    (0..left.len().max(right.len()).max(1))
        .map(|i| {
            let mut line = left.get(i).cloned().unwrap_or_default();
            let used: usize = line.iter().map(|span| width(&span.text)).sum();
            line.push(plain(" ".repeat(side.saturating_sub(used))));
            line.push(span(format!(" {bar} "), Role::Muted));
            line.extend(right.get(i).cloned().unwrap_or_default());
            line
        })
        .collect()
}

/// What the third line says at its right.
pub fn diff_summary(model: &Model) -> String {
    let diff = &model.diff;
    if diff.target.is_none() || absent(model).is_some() {
        return String::new();
    }
    let version = diff.new.map(|at| format!("version {} of {}, ", at + 1, diff.versions.len()));
    let changed = match diff.compared.comparison.changes.len() as u64 {
        _ if diff.compared.one_sided => "on one side only".to_owned(),
        0 => "no field changed".to_owned(),
        n => format!("{} changed", plural(n, "field")),
    };
    format!("{}{changed}", version.unwrap_or_default())
}

/// What the notice line says.
pub fn diff_hint(model: &Model) -> String {
    let comparison = &model.diff.compared.comparison;
    let order = match (model.diff.strict_order, comparison.reordered.len()) {
        (true, _) => "order of keyed lists counts (o ignores it)".to_owned(),
        (false, 0) => "ignored: order of maps and keyed lists".to_owned(),
        (false, n) => format!("ignored: map order, {} reordered (o shows)", plural(n as u64, "keyed list")),
    };
    let dot = model.theme.glyphs().dot;
    format!("{order} {dot} compared with {}", model.diff.base.word())
}
