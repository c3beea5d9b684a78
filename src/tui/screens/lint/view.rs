use ratatui::layout::Position;

use crate::engine::lint::Finding;
use crate::present::report::{self, Role};
use crate::tui::screens::lint::parts;
use crate::tui::shell::model::{Model, Pane};
use crate::tui::widgets::canvas::{Canvas, Line, Span, plain, span};
use crate::tui::widgets::layout::{self, Layout};
use crate::tui::widgets::table::{self, Column, Cut, column};
use crate::wire::text::{display_safe, plural, time_of_day_secs, wrap};

use crate::tui::screens::stream::view::focused;
use crate::tui::shell::view::detail::field;

fn columns() -> [Column; 5] {
    [
        column("SEV", 4, 5, Cut::Head, 0),
        column("RULE", 12, 32, Cut::Head, 0),
        column("WHERE", 10, 32, Cut::Name, 0),
        column("SINCE", 5, 8, Cut::Head, 0),
        column("FINDING", 16, 160, Cut::Head, 0),
    ]
}

/// Cells of one finding, in the order of the columns.
pub fn finding_row(model: &Model, finding: &Finding) -> Vec<Span> {
    let times = model.theme.glyphs().times;
    vec![
        span(finding.severity.word(), report::severity_role(finding.severity)),
        plain(finding.rule.id),
        plain(report::place(finding)),
        plain(time_of_day_secs(finding.first, model.clock, &model.zone)),
        plain(report::finding(finding, times)),
    ]
}

pub fn summary(model: &Model) -> String {
    let [errors, warnings, notes] = model.lint.counts;
    let parts = [(errors, "error"), (warnings, "warn"), (notes, "info")];
    let parts: Vec<String> =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    let all = plural((errors + warnings + notes) as u64, "finding");
    let shown = if parts.is_empty() { all } else { format!("{all}: {}", parts.join(", ")) };
    match model.lint.hidden.len() as u64 {
        0 => shown,
        n => format!("{shown} {} {} hidden", model.theme.glyphs().dot, plural(n, "rule")),
    }
}

pub fn hint(model: &Model) -> String {
    match model.lint.hidden.is_empty() {
        true => "findings never change what is forwarded".to_owned(),
        false => "some rules are hidden: H on an empty list shows all again".to_owned(),
    }
}

pub fn draw(model: &Model, canvas: &mut Canvas, layout: &Layout) -> Option<Position> {
    let screen = &model.lint;
    if screen.len() == 0 {
        let text = match (&model.filter, screen.hidden.is_empty()) {
            (Some(_), _) => "   no finding matches; Esc clears the filter",
            (None, false) => "   every rule with a finding is hidden; H shows all again",
            (None, true) => "   no finding: no rule of the protocol was seen to be broken here",
        };
        canvas.text(layout::split(layout.body, 1).1, text, Role::Muted);
        return None;
    }
    let (list, detail) = parts(model, layout);
    let mut cursor = None;
    if !list.is_empty() {
        let rows: Vec<Line> = screen.window.iter().map(|finding| finding_row(model, finding)).collect();
        let selected = screen.position().and_then(|at| at.checked_sub(screen.top));
        let at = table::draw(canvas, list, &columns(), &rows, selected);
        cursor = at.map(|y| Position { x: list.x, y });
    }
    let (title, rest) = layout::split(detail, 1);
    let lines = finding_lines(model, usize::from(rest.width));
    let name = screen.finding.as_ref().map(|finding| finding.rule.id).unwrap_or_default();
    let hidden = lines.len().saturating_sub(screen.scroll + usize::from(rest.height)) as u64;
    let remark = match hidden {
        0 if screen.manual => "x the finding".to_owned(),
        0 => format!("x explain rule {} Enter evidence", model.theme.glyphs().dot),
        n => format!("{} below, {}", plural(n, "line"), if model.whole { "j" } else { "Tab j" }),
    };
    canvas.rule(title, &focused(model, name.to_owned()), &remark);
    canvas.lines(rest, &lines, screen.scroll);
    if model.pane == Pane::Second || model.whole {
        cursor = Some(Position { x: detail.x, y: detail.y });
    }
    cursor
}

/// Everything about the selected finding, or the manual of its rule.
pub fn finding_lines(model: &Model, width: usize) -> Vec<Line> {
    let Some(finding) = &model.lint.finding else { return Vec::new() };
    let manual = finding.rule.manual();
    if model.lint.manual {
        let lines = manual.lines().flat_map(|line| match line.trim().is_empty() {
            true => vec![String::new()],
            false => wrap(line, width.saturating_sub(2)),
        });
        return lines.map(|line| vec![plain(format!(" {line}"))]).collect();
    }
    let glyphs = model.theme.glyphs();
    let mut lines: Vec<Line> = Vec::new();
    for line in wrap(&display_safe(&report::finding(finding, glyphs.times)), width.saturating_sub(2)) {
        lines.push(vec![span(format!(" {line}"), report::severity_role(finding.severity))]);
    }
    lines.push(vec![]);
    let mut add = |label: &str, value: &str| {
        if !value.is_empty() {
            lines.extend(field(&format!(" {label:<9} "), value, Role::Plain, width));
        }
    };
    let evidence: Vec<String> =
        model.lint.evidence.iter().map(|(n, what)| format!("#{n} {what}").trim_end().to_owned()).collect();
    add(
        "evidence",
        &match evidence.is_empty() {
            true => "a timer, no message".to_owned(),
            false => evidence.join("  "),
        },
    );
    let time = |at| time_of_day_secs(at, model.clock, &model.zone);
    let mut when = time(finding.first);
    if finding.count > 1 {
        when.push_str(&format!(", last {}, {} times", time(finding.last), finding.count));
    }
    add("seen", &when);
    add("blame", finding.blame.word());
    add("names", &finding.names.iter().map(|name| &**name).collect::<Vec<_>>().join(", "));
    for (label, start) in [("why", "Why: "), ("instead", "Instead: "), ("protocol", "Protocol: ")] {
        add(label, &paragraph(&manual, start));
    }
    let rule = finding.rule.id;
    add("check", &format!("xdscope lint {} --rule {rule}", model.info.rerun));
    lines
}

/// The paragraph of a manual that begins with a word.
fn paragraph(manual: &str, start: &str) -> String {
    let found = manual.split("\n\n").find_map(|part| part.strip_prefix(start));
    found.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}
