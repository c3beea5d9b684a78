//! Resources drawn: tree, versions or referrers, body, documentation.

use ratatui::layout::{Position, Rect};

use super::detail::ResourceDetail;
use super::path::TreePath;
use super::state::{Focus, ResourcesScreen, areas};
use super::tree_view;
use crate::common::Common;
use crate::input::screen_id::ScreenId;
use crate::widgets::canvas::{Canvas, Span, StyledLine, plain, span};
use crate::widgets::layout::{self, Layout};
use crate::widgets::syntax;
use crate::widgets::text::field;
use crate::widgets::theme::Glyphs;
use xdscope_engine::store::{ResourceFact, ResourceState, SummaryFact, Verdict, VersionFact};
use xdscope_present::authority::authority_text;
use xdscope_present::report::{self, Role};
use xdscope_present::structured;
use xdscope_present::text;
use xdscope_present::text::{Keep, cut, pad, wrap};
use xdscope_wire::text::{count, display_safe, plural, shown_name, size, type_label};

/// Counts the resources, and those that are refused or missing, in words.
pub(super) fn summary(screen: &ResourcesScreen, common: &Common) -> String {
    let types = &screen.tree.types;
    let sum = |number: &dyn Fn(&SummaryFact) -> u64| types.iter().map(|list| number(&list.fact)).sum::<u64>();
    let mut words = vec![plural(sum(&|fact| fact.resources), "resource")];
    let (waiting, missing) = (sum(&|fact| fact.missing - fact.overdue), sum(&|fact| fact.overdue));
    let (refused, again) = (sum(&|fact| fact.refused), sum(&|fact| fact.owed_again));
    let counts =
        [(refused, "refused"), (waiting, "waiting"), (missing, "missing"), (again, report::OWED_AGAIN)];
    for (n, word) in counts {
        if n > 0 {
            words.push(format!("{} {word}", count(n)));
        }
    }
    if common.filter_on(ScreenId::Resources).is_some() {
        let matching: usize = types.iter().map(|list| list.len()).sum();
        let more = if screen.tree.is_searching() { ", searching" } else { "" };
        words.push(format!("{} match{more}", count(matching as u64)));
    }
    words.join(", ")
}

/// Draws the tree of resources and the selected content.
pub(super) fn draw(
    screen: &ResourcesScreen,
    common: &Common,
    canvas: &mut Canvas,
    layout: &Layout,
) -> Option<Position> {
    if screen.tree.types.is_empty() {
        let text = match (common.scope.type_url.is_some(), common.filter.is_some()) {
            (true, _) => "   no resource of this type on this stream; T shows all types",
            _ => "   no resource yet: nothing was asked for on this stream",
        };
        canvas.text(layout::split(layout.body, 1).1, text, Role::Muted);
        return None;
    }
    let areas = areas(screen, common, layout);
    let mut cursor = None;
    if !areas.tree.is_empty() {
        let selected_row = tree_view::draw(screen, common, canvas, areas.tree);
        cursor = selected_row.map(|y| Position { x: areas.tree.x, y });
        side(screen, common, canvas, areas.side);
        canvas.bar(areas.bar);
    }
    let line = body(screen, common, canvas, areas.body);
    docs(screen, canvas, areas.docs);
    match screen.focus {
        Focus::Tree if !common.is_full_screen => cursor,
        Focus::Side if !common.is_full_screen => Some(Position { x: areas.side.x, y: areas.side.y }),
        _ => line.map(|y| Position { x: areas.body.x, y }),
    }
}

/// Draws the versions of the resource, or its referrers.
fn side(screen: &ResourcesScreen, common: &Common, canvas: &mut Canvas, area: Rect) {
    let detail = &screen.detail;
    let (title, rest) = layout::split(area, 1);
    let height = usize::from(rest.height);
    let selected = screen.focus == Focus::Side;
    let (heading, at, lines): (String, usize, Vec<StyledLine>) = match &detail.referrers {
        Some(referrers) => {
            let line = |place: &TreePath| {
                let name = shown_name(place.name.as_deref().unwrap_or_default());
                vec![plain(format!("   {} {name}", type_label(place.type_url.as_str())))]
            };
            let more = if referrers.is_partial() { ", at least" } else { "" };
            let heading = format!("used by {}{more}", referrers.found.len());
            (heading, detail.referrer, referrers.found.iter().map(line).collect())
        }
        None => {
            let mut lines: Vec<StyledLine> =
                detail.versions.iter().map(|version| version_line(common, detail, version)).collect();
            if let Some(fact) = &detail.fact {
                let text = match (detail.versions.is_empty(), &fact.version) {
                    (false, _) => "   nothing older is kept",
                    (true, Some(_)) => "   not sent on this stream",
                    (true, None) => "   never sent",
                };
                lines.push(vec![span(text, Role::Muted)]);
            }
            lines.extend(ttl_lines(common, detail.fact.as_ref(), usize::from(rest.width)));
            lines.extend(detail.holders.iter().map(|holder| holder_line(screen, common, holder)));
            ("versions".to_owned(), detail.version_shown(), lines)
        }
    };
    canvas.heading(title, &heading, "", selected);
    let top = at.saturating_sub(height.saturating_sub(1));
    let chooses = detail.referrers.is_some() || !detail.versions.is_empty();
    for (i, (row, line)) in rest.rows().zip(lines.iter().skip(top)).enumerate() {
        canvas.line(row, line);
        if top + i == at && chooses {
            canvas.cursor(row, selected);
        }
    }
}

/// The time to live of the resource, and its history.
fn ttl_lines(common: &Common, fact: Option<&ResourceFact>, width: usize) -> Vec<StyledLine> {
    let left = if common.clock.untimed { None } else { fact.and_then(report::ttl_left) };
    let texts = [left.map(|left| format!("TTL {left}")), fact.and_then(report::ttl_history)];
    let lines = texts.into_iter().flatten().flat_map(|text| wrap(&text, width.saturating_sub(4)));
    lines.map(|line| vec![span(format!("   {line}"), Role::Muted)]).collect()
}

/// A node with a resource of this name, and whether the content is the same.
fn holder_line(screen: &ResourcesScreen, common: &Common, holder: &ResourceFact) -> StyledLine {
    let own = screen.detail.fact.as_ref().and_then(|fact| fact.hash.as_deref());
    let node = common.client_name(holder.node.as_deref(), holder.stream);
    let version = holder.version.as_deref().unwrap_or("-");
    let (word, role) =
        if holder.hash.as_deref() == own { ("same", Role::Muted) } else { ("other content", Role::Warn) };
    vec![plain(format!("   {node} @{version}  ")), span(word, role)]
}

/// Describes a version: its verdict, and when and how often it was sent.
fn version_line(common: &Common, detail: &ResourceDetail, version: &VersionFact) -> StyledLine {
    let glyphs = common.theme.glyphs();
    let (symbol, role) = match version.verdict.map(|by| by.verdict) {
        Some(Verdict::Accepted) => (glyphs.ok, Role::Ok),
        Some(Verdict::Refused) => (glyphs.bad, Role::Bad),
        None => (glyphs.sent, Role::Pending),
    };
    let text = display_safe(&version.version).into_owned();
    let at = common.time_of_day(version.at);
    let times =
        if version.pushes > 1 { format!(" {}{}", glyphs.times, version.pushes) } else { String::new() };
    let gone = if version.content.is_none() { " removed" } else { "" };
    let mut line = vec![
        plain(format!("   {} ", pad(&cut(&text, 12, Keep::Tail, glyphs.cut), 6))),
        span(symbol, role),
        plain(format!(" {at}{times}{gone}")),
        span(format!(" #{}", version.last.0), Role::Muted),
    ];
    if detail.is_in_force(version) {
        line.push(span(" in force", Role::Ok));
    }
    line
}

/// Draws the content of the selected resource. Returns the selected row.
fn body(screen: &ResourcesScreen, common: &Common, canvas: &mut Canvas, area: Rect) -> Option<u16> {
    let detail = &screen.detail;
    let (title, rest) = layout::split(area, 1);
    let place = screen.tree.selected.as_ref()?;
    let Some(name) = &place.name else {
        canvas.rule(title, &type_label(place.type_url.as_str()), "");
        canvas.line(layout::split(rest, 1).1, &[span("   Enter folds and unfolds; j goes on", Role::Muted)]);
        return None;
    };
    let version = detail.versions.get(detail.version_shown());
    let number = version
        .map(|v| v.version.to_string())
        .or_else(|| Some(detail.fact.as_ref()?.version.as_ref()?.to_string()));
    let bytes = detail.fact.as_ref().map(|fact| size(fact.size)).unwrap_or_default();
    let heading = format!(
        "{} {name} @{}  {bytes}  {}",
        type_label(place.type_url.as_str()),
        number.as_deref().unwrap_or("-"),
        detail.format().word()
    );
    let more = plural(detail.holders.len() as u64, "other node");
    let remark = match (detail.holders.len(), detail.variant_count()) {
        (0, _) => String::new(),
        (_, variants) if variants > 1 => format!("{variants} variants on {} nodes", detail.holders.len() + 1),
        _ => format!("also on {more}"),
    };
    canvas.heading(title, &heading, &remark, screen.focus == Focus::Body || common.is_full_screen);
    let about = name_lines(detail, common.theme.glyphs(), rest);
    let (area, rest) = layout::split(rest, layout::height(about.len()));
    canvas.lines(area, &about, 0);
    let remarks = detail.remarks_shown(usize::from(rest.height));
    let (top, rest) = layout::split(rest, layout::height(remarks.len()));
    for (row, (text, role)) in top.rows().zip(remarks) {
        let text = display_safe(text);
        let shown = cut(&text, usize::from(row.width).saturating_sub(2), Keep::Head, canvas.glyphs().cut);
        canvas.line(row, &[span(format!(" {shown}"), *role)]);
    }
    lines(screen, common, canvas, rest)
}

/// The lines about an `xdstp` name above the body: `glob  members 3, 1 deeper`. They take at most
/// half of the rows of the area.
pub(super) fn name_lines(detail: &ResourceDetail, glyphs: &Glyphs, area: Rect) -> Vec<StyledLine> {
    let Some(fact) = &detail.structured else { return Vec::new() };
    let width = usize::from(area.width);
    let lines = structured::lines(fact, glyphs.to).into_iter();
    let lines = lines.flat_map(|(label, text)| field(&format!(" {label:<11} "), &text, Role::Plain, width));
    lines.take(usize::from(area.height / 2)).collect()
}

/// Draws the lines of a content. Returns the selected row.
fn lines(screen: &ResourcesScreen, common: &Common, canvas: &mut Canvas, area: Rect) -> Option<u16> {
    let detail = &screen.detail;
    let width = usize::from(area.width);
    let mut rows = area.rows();
    let mut selected_row = None;
    for (i, line) in detail.lines.iter().enumerate().skip(detail.top) {
        let safe = display_safe(&line.text);
        let pieces =
            if detail.wraps { wrap(&safe, width.saturating_sub(4)) } else { vec![safe.into_owned()] };
        let selected = i == detail.line && (screen.focus == Focus::Body || common.is_full_screen);
        let last = pieces.len() - 1;
        for (k, piece) in pieces.into_iter().enumerate() {
            let Some(row) = rows.next() else { return selected_row };
            let mut shown = syntax::indented(&piece, detail.format());
            if k == last {
                let is_folded = line.fold.as_ref().is_some_and(|(_, open)| !open);
                shown.extend(notes(screen, common, &line.path, is_folded));
            }
            canvas.line(row, &shown);
            if selected {
                canvas.select(row);
                selected_row = selected_row.or(Some(row.y));
            }
        }
    }
    selected_row
}

/// The notes beside a line: fold, refusal, reference.
fn notes(screen: &ResourcesScreen, common: &Common, path: &str, folded: bool) -> Vec<Span> {
    let detail = &screen.detail;
    let glyphs = common.theme.glyphs();
    let mut spans = Vec::new();
    if path.is_empty() {
        return spans;
    }
    if folded {
        spans.push(span(format!("  {} l unfolds", glyphs.folded), Role::Muted));
    }
    if let Some((_, why)) = detail.faults.iter().find(|(field, _)| field.value == path) {
        spans.push(span(format!("   {} refused here: {why}", glyphs.bad), Role::Bad));
    }
    if let Some(reference) = detail.references.iter().find(|reference| reference.link.path == path) {
        let (word, role) = match reference.fact {
            _ if reference.lacks_entry => ("not in the list", Role::Warn),
            Some((_, true)) => (glyphs.bad, Role::Bad),
            Some((ResourceState::Present | ResourceState::Kept, _)) => (glyphs.ok, Role::Ok),
            Some((ResourceState::Waiting, _)) => (glyphs.wait, Role::Pending),
            // Absent by timeout, not by a message.
            Some((ResourceState::Absent, _)) if reference.is_missing => (glyphs.miss, Role::Warn),
            Some((other, _)) => (other.word(), Role::Warn),
            None if reference.link.name.ends_with('*') => ("", Role::Muted),
            None => ("not asked for", Role::Warn),
        };
        spans.push(span(format!("   {} {} ", glyphs.to, reference.link.kind.label()), Role::Key));
        spans.push(span(word, role));
        if let Some(lookup) = &reference.link.authority {
            spans.push(span(format!("  {}", display_safe(&authority_text(lookup))), Role::Muted));
        }
    }
    spans
}

/// Draws the documentation of the selected field.
fn docs(screen: &ResourcesScreen, canvas: &mut Canvas, area: Rect) {
    if area.is_empty() {
        return;
    }
    let detail = &screen.detail;
    let (title, rest) = layout::split(area, 1);
    let mut docs = detail.docs.iter();
    let name = docs.next().map_or("field", String::as_str);
    let short = name.rsplit('.').take(2).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join(".");
    canvas.rule(title, if detail.docs.is_empty() { "docs" } else { &short }, "");
    let width = usize::from(rest.width).saturating_sub(2);
    let lines: Vec<StyledLine> = paragraphs(docs)
        .iter()
        .flat_map(|line| wrap(&display_safe(line), width))
        .map(|line| {
            let is_warning = line.starts_with("rule: ") || line.starts_with("secret: ");
            vec![span(format!(" {line}"), if is_warning { Role::Warn } else { Role::Plain })]
        })
        .collect();
    let none = [vec![span(" no description: Tab to the body and choose a field", Role::Muted)]];
    let drawn = if lines.is_empty() { &none[..] } else { &lines[..] };
    canvas.lines(rest, drawn, 0);
    if lines.len() > usize::from(rest.height) && rest.height > 0 {
        let hidden = (lines.len() - usize::from(rest.height)) as u64;
        let more = format!(" {}: xdscope explain ", plural(hidden, "more line"));
        if text::width(&more) + 2 < usize::from(rest.width) {
            canvas.right(title, &more, Role::Muted);
        }
    }
}

/// Documentation with the lines of each paragraph joined, after the facts line by line.
fn paragraphs<'a>(lines: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let (mut facts, mut joins) = (true, false);
    for line in lines {
        let line = line.trim();
        match (line.is_empty(), joins, out.last_mut()) {
            (true, ..) => (facts, joins) = (false, false),
            (false, true, Some(last)) if !line.starts_with("* ") => {
                last.push(' ');
                last.push_str(line);
            }
            _ => {
                out.push(line.to_owned());
                joins = !facts;
            }
        }
    }
    out.iter().map(|text| plain_words(text)).collect()
}

/// Removes the markup of reStructuredText: ``:ref:`name <target>` `` becomes `name`.
fn plain_words(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(":ref:`") {
        out.push_str(rest.get(..at).unwrap_or_default());
        rest = rest.get(at + 6..).unwrap_or_default();
        let Some(end) = rest.find('`') else { break };
        let inner = rest.get(..end).unwrap_or_default();
        out.push_str(inner.split_once(" <").map_or(inner, |(name, _)| name));
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    out.push_str(rest);
    out.replace("``", "`")
}
