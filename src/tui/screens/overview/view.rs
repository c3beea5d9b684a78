use ratatui::layout::{Position, Rect};
use ratatui::style::Modifier;

use crate::engine::store::{StreamFact, SummaryFact, TypeState};
use crate::present::report::{self, Role, Row};
use crate::tui::screens::overview::scroll;
use crate::tui::shell::model::{Model, Pane};
use crate::tui::widgets::canvas::{Canvas, Line, Span, plain, span};
use crate::tui::widgets::layout::{self, Layout};
use crate::tui::widgets::table::{self, Column, Cut, column};
use crate::tui::widgets::theme;
use crate::wire::event::Variant;
use crate::wire::text::{self, count, pad, plural, size, type_label};

/// Lines of the matrix and of the problems, with their titles and rules.
pub fn overview_lines(model: &Model) -> (usize, usize) {
    let table = &model.overview.table;
    let none = usize::from(table.rows.is_empty() && model.filter.is_some());
    let rows = 1 + none + table.rows.len() + 2 * usize::from(table.folded > 0);
    (rows, 1 + problem_places(model).count().max(1))
}

/// Cells of one row: node, variant, then one per type. Of a closed stream the third tells how it ended.
pub fn overview_row(model: &Model, row: &Row) -> Vec<Span> {
    let narrow = model.layout().is_some_and(|layout| layout.narrow);
    let variant = row.variant.map_or("opaque", Variant::word);
    let role = if row.closed() || row.variant.is_none() { Role::Muted } else { Role::Plain };
    let mut cells = vec![span(row.title(), role), span(variant, Role::Muted)];
    if row.closed() {
        let now = (!model.clock.untimed).then_some(model.now);
        cells.push(span(report::ended(row, now, model.theme.glyphs().times), Role::Muted));
    } else if row.variant.is_none() {
        cells.push(span(row.opaque(), Role::Muted));
    } else {
        cells.extend(row.cells.iter().map(|cell| state(model, cell.as_deref(), narrow)));
    }
    cells
}

/// Symbol, word and age of a cell: `✗ NACK×3 8s`, `∅ MISS 1/119 22s`.
fn state(model: &Model, cell: Option<&SummaryFact>, narrow: bool) -> Span {
    let glyphs = model.theme.glyphs();
    let Some(cell) = cell else {
        return span(if narrow { "-" } else { "- idle" }, Role::Muted);
    };
    let (symbol, _, role) = theme::state(cell.state, glyphs);
    let newest = cell.last_nack.map(|(_, at)| at);
    let age = model.age(report::age_from(cell.state, cell.since, newest));
    let words = report::state_text(cell.state, cell, glyphs.times);
    let text = match cell.state {
        TypeState::Miss if narrow => {
            format!("{symbol} {}/{} {age}", count(cell.missing), count(cell.names))
        }
        TypeState::Synced if narrow => format!("{symbol} OK {age}"),
        TypeState::Idle if narrow => symbol.to_owned(),
        TypeState::Idle => format!("{symbol} {words}"),
        _ => format!("{symbol} {words} {age}"),
    };
    span(text, role)
}

pub fn draw(model: &Model, canvas: &mut Canvas, layout: &Layout) -> Option<Position> {
    let table = &model.overview.table;
    if table.nodes == 0 && model.problems.is_empty() {
        empty(model, canvas, layout.body);
        return None;
    }
    let (rows, problems) = overview_lines(model);
    let parts = layout::overview(layout, rows, problems);
    let mut cursor = matrix(model, canvas, parts.nodes, layout);
    if let Some(at) = problem_list(model, canvas, parts.problems) {
        cursor = Some(at);
    }
    selected(model, canvas, parts.selected);
    cursor
}

fn empty(model: &Model, canvas: &mut Canvas, area: Rect) {
    let lines =
        if model.info.empty.is_empty() { vec!["no stream yet".to_owned()] } else { model.info.empty.clone() };
    let lines: Vec<Line> = lines.into_iter().map(|line| vec![plain(format!("   {line}"))]).collect();
    let (_, area) = layout::split(area, 1);
    canvas.lines(area, &lines, 0);
}

/// The columns and their widths, with as many types as fit around the chosen one.
struct Fitted {
    columns: Vec<Column>,
    titles: Vec<String>,
    widths: Vec<Option<usize>>,
    /// Types hidden at the left and at the right.
    hidden: (usize, usize),
}

fn fitted(model: &Model, rows: &[Line], room: usize, narrow: bool) -> Fitted {
    let overview = &model.overview;
    let types = &overview.table.types;
    let full: Vec<&Line> = rows.iter().filter(|row| row.len() == types.len() + 2).collect();
    let names = rows.iter().filter_map(|row| row.first()).map(|cell| text::width(&cell.text)).max();
    let mut titles = vec!["NODE".to_owned(), "VARIANT".to_owned()];
    let variant = if narrow { 0 } else { 9 };
    let mut columns = vec![
        column("NODE", 12.min(names.unwrap_or(4).max(4)), if narrow { 17 } else { 34 }, Cut::Name, 0),
        column("VARIANT", variant, variant, Cut::Head, 1),
    ];
    for (i, url) in types.iter().enumerate() {
        let label = type_label(url.as_str());
        let title = if overview.column == i + 1 { format!("[{label}]") } else { label };
        let content = full.iter().filter_map(|row| row.get(i + 2)).map(|cell| text::width(&cell.text)).max();
        let width = content.unwrap_or(0).max(text::width(&title));
        titles.push(title);
        columns.push(column("", width, width, Cut::Head, 0));
    }
    let first: Vec<Line> = rows.iter().map(|row| row.iter().take(2).cloned().collect()).collect();
    let (mut left, mut right) = (0, 0);
    loop {
        let shown: Vec<Column> = columns
            .iter()
            .enumerate()
            .filter(|(i, _)| *i < 2 || (*i >= 2 + left && *i < columns.len() - right))
            .map(|(_, column)| *column)
            .collect();
        let widths = table::widths(&shown, &first, room);
        let total: usize = widths.iter().flatten().map(|w| w + 1).sum();
        if total <= room + 1 || left + right + 1 >= types.len() {
            let keep = |i: usize| i < 2 || (i >= 2 + left && i < columns.len() - right);
            let titles = titles.into_iter().enumerate().filter(|(i, _)| keep(*i)).map(|(_, t)| t).collect();
            return Fitted { columns: shown, titles, widths, hidden: (left, right) };
        }
        // The chosen type stays in view: columns go from the right unless it is the last one there.
        if overview.column >= types.len() - right && overview.column > left + 1 {
            left += 1
        } else {
            right += 1
        }
    }
}

fn matrix(model: &Model, canvas: &mut Canvas, area: Rect, layout: &Layout) -> Option<Position> {
    let overview = &model.overview;
    let glyphs = canvas.glyphs();
    let mut area = area;
    if overview.table.folded > 0 {
        let counts = overview.table.counts.iter().map(|(state, n)| {
            let (symbol, word, role) = theme::state(*state, glyphs);
            span(format!("  {symbol} {} {word}", count(*n as u64)), role)
        });
        canvas.line(area, &counts.collect::<Line>());
        area = layout::split(area, 1).1;
    }
    // Widths follow the rows on the screen, so a long list costs no more than a short one.
    let height = usize::from(area.height.saturating_sub(1 + u16::from(overview.table.folded > 0)));
    let rows: Vec<&Row> = overview.table.rows.iter().skip(overview.top).take(height).collect();
    let lines: Vec<Line> = rows.iter().map(|row| overview_row(model, row)).collect();
    let inner = Rect { x: area.x + 2, width: area.width.saturating_sub(2), ..area };
    let fit = fitted(model, &lines, usize::from(inner.width), layout.narrow);
    let titles = fit.titles.iter().zip(&fit.widths).filter_map(|(t, w)| Some((t, (*w)?)));
    let titles: Line = titles.map(|(title, width)| span(pad(title, width + 1), Role::Muted)).collect();
    canvas.line(inner, &titles);
    if rows.is_empty() && model.filter.is_some() && overview.table.folded == 0 {
        let text = format!("0 of {} match; Esc clears the filter", count(overview.table.nodes as u64));
        canvas.text(layout::split(inner, 1).1, &text, Role::Muted);
    }
    if fit.hidden != (0, 0) {
        let (left, right) = fit.hidden;
        let more = match (left, right) {
            (0, n) => format!("{} {n} more", glyphs.to),
            (n, 0) => format!("{n} before"),
            (l, r) => format!("{l} before, {r} more"),
        };
        canvas.right(inner, &format!(" {more}"), Role::Warn);
    }
    let mut cursor = None;
    for ((screen_row, row), line) in inner.rows().skip(1).zip(&rows).zip(&lines) {
        let whole = Rect { x: area.x, width: area.width, ..screen_row };
        let spread = row.closed() || row.variant.is_none();
        let cells: Line = if spread {
            let mut cells = table::fit(&fit.columns[..2], &fit.widths[..2], &line[..2], glyphs);
            cells.extend(line.get(2).cloned());
            cells
        } else {
            let visible = line
                .iter()
                .enumerate()
                .filter(|(i, _)| *i < 2 || (*i >= 2 + fit.hidden.0 && *i < line.len() - fit.hidden.1));
            let visible: Line = visible.map(|(_, cell)| cell.clone()).collect();
            table::fit(&fit.columns, &fit.widths, &visible, glyphs)
        };
        canvas.line(screen_row, &cells);
        if row.closed() {
            canvas.text(whole, "#", Role::Muted);
        }
        if Some(row.key) == overview.selected {
            canvas.text(whole, glyphs.selected, Role::Plain);
            let at = chosen_cell(model, &fit, &cells, spread);
            if model.pane == Pane::Main {
                canvas.select(whole);
                cursor = Some(Position { x: whole.x + at.map_or(0, |(x, _)| x + 2), y: whole.y });
                if let Some((x, width)) = at {
                    let cell = Rect { x: inner.x + x, width, ..screen_row }.intersection(inner);
                    canvas.buf.set_style(cell, canvas.theme.selection().add_modifier(Modifier::UNDERLINED));
                }
            }
        }
    }
    if overview.table.folded > 0 {
        let more =
            format!("  {} more nodes in sync {} z unfolds", count(overview.table.folded as u64), glyphs.dot);
        let y = area.y + 1 + u16::try_from(rows.len()).unwrap_or(0);
        if y < area.bottom() {
            canvas.text(Rect { y, height: 1, ..area }, &more, Role::Muted);
        }
    }
    cursor
}

/// Offset and width of the chosen type's cell in its line.
fn chosen_cell(model: &Model, fit: &Fitted, cells: &Line, spread: bool) -> Option<(u16, u16)> {
    let column = model.overview.column.checked_sub(1)?.checked_sub(fit.hidden.0)?;
    if spread {
        return None;
    }
    let first_type = fit.widths.iter().take(2).flatten().count();
    let before: usize = cells.iter().take(first_type + column).map(|cell| text::width(&cell.text)).sum();
    let cell = cells.get(first_type + column)?;
    Some((u16::try_from(before).ok()?, u16::try_from(text::width(cell.text.trim_end())).ok()?))
}

/// One line a problem, and one for the peer's own words: the index of the problem, and whether it is those. After them the
/// last words of closed streams, which nobody owes anything for any more.
fn problem_places(model: &Model) -> impl Iterator<Item = (usize, bool)> {
    let last = (0..model.overview.table.last_words.len()).map(|i| (model.problems.len() + i, false));
    let problems = model.problems.iter().enumerate().flat_map(|(i, problem)| {
        let quoted = problem.quote().is_some();
        [(i, false)].into_iter().chain(quoted.then_some((i, true)))
    });
    problems.chain(last)
}

fn problem_line(model: &Model, (i, quoted): (usize, bool), width: usize) -> Line {
    let glyphs = model.theme.glyphs();
    let names = if width < 100 { 12 } else { 16 };
    let start = |state, since, node: &str| {
        let (symbol, word, role) = theme::state(state, glyphs);
        let node = text::display_safe(node);
        vec![
            span(format!(" {symbol} {} ", pad(word, 6)), role),
            plain(pad(&model.age(since), 5)),
            plain(pad(&text::cut_name(&node, names, glyphs.cut), names + 1)),
        ]
    };
    let Some(problem) = model.problems.get(i) else {
        let last = i.checked_sub(model.problems.len()).and_then(|i| model.overview.table.last_words.get(i));
        let Some(last) = last else { return Line::new() };
        let mut line = start(last.state, last.closed, &last.node);
        line.push(plain(format!("last {} when its stream closed", last.text)));
        return line;
    };
    if quoted {
        let quote = problem.quote().map_or("", |quote| quote);
        return vec![plain(" ".repeat(15)), span(format!("\"{quote}\""), Role::Muted)];
    }
    let node = problem.node.as_deref().map_or_else(|| format!("#{}", problem.stream.0), str::to_owned);
    let mut line = start(problem.state, problem.since, &node);
    line.push(plain(report::problem(problem, &model.clock)));
    line
}

fn problem_list(model: &Model, canvas: &mut Canvas, area: Rect) -> Option<Position> {
    let (title, list) = layout::split(area, 1);
    if model.problems.is_empty() && model.overview.table.last_words.is_empty() {
        canvas.rule(title, "problems and waits", "");
        canvas.text(list, " none", Role::Muted);
        return None;
    }
    let lines: Vec<(usize, bool)> = problem_places(model).collect();
    let focused = model.pane == Pane::Second;
    let at = lines.iter().position(|(i, _)| *i == model.overview.problem).filter(|_| focused).unwrap_or(0);
    let top = scroll(0, at, usize::from(list.height), lines.len());
    let remark = match lines.len().saturating_sub(top + usize::from(list.height)) {
        0 => "} next problem, Enter open".to_owned(),
        n => format!("{} below, }} next problem", plural(n as u64, "line")),
    };
    canvas.rule(title, "problems and waits, newest first", &remark);
    let mut cursor = None;
    for (row, place) in list.rows().zip(lines.iter().skip(top)) {
        canvas.line(row, &problem_line(model, *place, usize::from(area.width)));
        if focused && place.0 == model.overview.problem && place.0 < model.problems.len() {
            if cursor.is_none() {
                canvas.text(row, canvas.glyphs().selected, Role::Plain);
                cursor = Some(Position { x: row.x, y: row.y });
            }
            canvas.select(row);
        }
    }
    cursor
}

/// Who the selected node is and what passed on its stream.
fn selected(model: &Model, canvas: &mut Canvas, area: Rect) {
    let Some(row) = model.overview.row() else { return };
    let (title, rest) = layout::split(area, 1);
    if area.height < 2 {
        return;
    }
    canvas.rule(title, &format!("selected: {}", row.name), "");
    let mut lines = vec![node_line(row.streams.last().map(AsRef::as_ref))];
    lines.extend(row.streams.iter().map(|stream| stream_line(model, stream, row.reconnects)));
    let sum = |f: fn(&StreamFact) -> u64| row.streams.iter().map(|stream| f(stream)).sum::<u64>();
    let glyphs = model.theme.glyphs();
    let mut traffic = format!(
        "{}  {} {}  {} {}",
        plural(sum(|s| s.messages), "message"),
        glyphs.down,
        size(sum(|s| s.bytes_out)),
        glyphs.up,
        size(sum(|s| s.bytes_in)),
    );
    if let Some(last) = row.streams.iter().filter_map(|stream| stream.last_message).max() {
        traffic.push_str(&format!("  last {} ago", model.age(last)));
    }
    let mut line = vec![span(" traffic  ", Role::Muted), plain(traffic)];
    match sum(|s| s.gaps) {
        0 => {}
        n => line.push(span(format!("  {} lost here", plural(n, "message")), Role::Bad)),
    }
    let most = usize::from(rest.height).saturating_sub(1);
    lines.truncate(most);
    lines.push(line);
    lines.extend(model.overview.table.types.iter().zip(&row.cells).map(|(url, cell)| {
        let nack = cell.as_ref().and_then(|cell| cell.last_nack);
        let nack = nack.map(|(n, _)| format!("  last NACK #{}", n.0)).unwrap_or_default();
        let label = pad(&type_label(url.as_str()), 8);
        vec![span(format!(" {label} "), Role::Muted), state(model, cell.as_deref(), false), plain(nack)]
    }));
    canvas.lines(rest, &lines, 0);
}

fn node_line(stream: Option<&StreamFact>) -> Line {
    let mut words = Vec::new();
    if let Some(node) = stream.and_then(|stream| stream.node.as_ref()) {
        words.push(format!("id {}", node.id));
        if !node.cluster.is_empty() {
            words.push(format!("cluster {}", node.cluster));
        }
        let place: Vec<&str> =
            node.locality.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        if !place.is_empty() {
            words.push(format!("locality {}", place.join("/")));
        }
        if !node.user_agent.is_empty() || !node.user_agent_version.is_empty() {
            words.push(format!("{} {}", node.user_agent, node.user_agent_version).trim().to_owned());
        }
    } else {
        words.push("not told yet".to_owned());
    }
    words.extend(stream.and_then(|stream| stream.peer.as_ref()).map(|peer| format!("peer {peer}")));
    vec![span(" node     ", Role::Muted), plain(words.join("  "))]
}

fn stream_line(model: &Model, stream: &StreamFact, reconnects: usize) -> Line {
    let mut words = format!("#{} {}", stream.stream.0, variant_words(stream.variant));
    match stream.closed {
        None => words.push_str(&format!(", open {}", model.age(stream.opened))),
        Some(at) => words.push_str(&format!(", closed {} ago", model.age(at))),
    }
    words.push_str(&format!(", reconnects {reconnects}"));
    if let Some(plane) = &stream.control_plane {
        words.push_str(&format!(", control plane {plane}"));
    }
    if stream.partial {
        words.push_str(", its start was not seen");
    }
    vec![span(" stream   ", Role::Muted), plain(words)]
}

/// A variant in words.
pub fn variant_words(variant: Option<Variant>) -> &'static str {
    match variant {
        Some(Variant::Ads) => "ADS, state of the world",
        Some(Variant::DeltaAds) => "ADS, delta",
        Some(Variant::Sotw) => "one type, state of the world",
        Some(Variant::Delta) => "one type, delta",
        Some(Variant::Rest) => "REST polling",
        Some(Variant::File) => "a file",
        Some(Variant::Dump) => "what a client has applied",
        None => "not xDS",
    }
}
