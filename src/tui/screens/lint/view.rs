//! Findings drawn: the list, and the selected finding or the manual of its rule.

use ratatui::layout::{Position, Rect};

use super::{LintScreen, checked};
use crate::common::Common;
use crate::input::screen_id::ScreenId;
use crate::screens::list_screen::{ListScreen, draw_list, draw_text};
use crate::widgets::canvas::{Canvas, Span, StyledLine, plain, span};
use crate::widgets::layout::{self, Layout};
use crate::widgets::table::{Column, column};
use xdscope_engine::lint::Finding;
use xdscope_present::report::{self, Role};
use xdscope_present::text::{Keep, shell_word, wrap};
use xdscope_wire::text::{count, plural};

use crate::widgets::text::{field, paragraph};

/// The columns of the list.
pub(super) fn columns(narrow: bool) -> [Column; 5] {
    [
        column("SEV", 4, if narrow { 0 } else { 5 }, Keep::Head, 0),
        column("RULE", 16, 32, Keep::Head, 0).keeping(24),
        column("WHERE", 13, 32, Keep::Name, 0),
        column("SINCE", 6, if narrow { 0 } else { 8 }, Keep::Head, 0),
        column("FINDING", 16, 400, Keep::Head, 0).keeping(41),
    ]
}

/// The cells of a finding, in the order of the columns.
pub(super) fn finding_row(common: &Common, finding: &Finding) -> Vec<Span> {
    let times = common.theme.glyphs().times;
    let severity = report::severity_role(finding.severity);
    // Without its column, the severity is the colour of the rule.
    let is_narrow = common.layout().is_some_and(|layout| layout.narrow);
    vec![
        span(finding.severity.word(), severity),
        span(finding.rule.id, if is_narrow { severity } else { Role::Plain }),
        plain(report::place(finding, &common.marks)),
        plain(common.time_of_day(finding.first)),
        plain(report::finding(finding, times)),
    ]
}

/// Counts the findings by severity, in words.
pub(super) fn summary(screen: &LintScreen, common: &Common) -> String {
    let [errors, warnings, notes] = screen.counts;
    let parts = [(errors, "error"), (warnings, "warn"), (notes, "info")];
    let parts: Vec<String> =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    let (rows, total) = (errors + warnings + notes, screen.total);
    let mut words = match rows < total && !screen.is_unfolded {
        true => format!("{} of {}", count(rows as u64), plural(total as u64, "finding")),
        false => plural(rows as u64, "finding"),
    };
    if screen.findings > rows {
        words.push_str(&format!(" (z: {} one by one)", count(screen.findings as u64)));
    }
    if !parts.is_empty() {
        words.push_str(&format!(": {}", parts.join(", ")));
    }
    match screen.hidden_rules.len() as u64 {
        0 => words,
        n => format!("{words} {} {} hidden, U shows", common.theme.glyphs().dot, plural(n, "rule")),
    }
}

/// Draws the findings, and the manual of the selected rule.
pub(super) fn draw(
    screen: &LintScreen,
    common: &Common,
    canvas: &mut Canvas,
    layout: &Layout,
) -> Option<Position> {
    if screen.list.rows.is_empty() {
        checked::draw(screen, common, canvas, layout);
        return None;
    }
    let cursor = draw_list(screen, ScreenId::Lint, common, canvas, layout);
    let (_, detail) = screen.areas(common, layout);
    let (lines, manual) = pane_lines(screen, common, detail);
    let (detail, beside) = panes(screen, common, detail);
    let name = screen.finding.as_ref().map(|finding| finding.rule.id).unwrap_or_default();
    let remark = match screen.shows_manual {
        true => "x the finding".to_owned(),
        false => format!("x explain rule {} Enter evidence", common.theme.glyphs().dot),
    };
    let text = draw_text(common, canvas, detail, name, &remark, &lines, screen.list.scroll);
    draw_manual(screen, canvas, beside, &manual);
    text.or(cursor)
}

/// The areas of the finding and of the manual beside it.
fn panes(screen: &LintScreen, common: &Common, detail: Rect) -> (Rect, Rect) {
    match has_manual_beside(screen, common) {
        true => layout::beside(detail, detail.width / 2),
        false => (detail, Rect { width: 0, ..detail }),
    }
}

/// The lines of the finding, and of the manual beside it.
pub(super) fn pane_lines(
    screen: &LintScreen,
    common: &Common,
    detail: Rect,
) -> (Vec<StyledLine>, Vec<StyledLine>) {
    let (finding, beside) = panes(screen, common, detail);
    let lines = finding_lines(screen, common, usize::from(finding.width));
    let mut manual = Vec::new();
    if let Some(finding) = &screen.finding
        && !beside.is_empty()
    {
        manual = manual_lines(&finding.rule.manual(), usize::from(beside.width));
        manual.pop();
    }
    (lines, manual)
}

/// The lines about the selected finding, or the manual of its rule.
pub(super) fn finding_lines(screen: &LintScreen, common: &Common, width: usize) -> Vec<StyledLine> {
    let Some(finding) = &screen.finding else { return Vec::new() };
    let manual = finding.rule.manual();
    if screen.shows_manual {
        return manual_lines(&manual, width);
    }
    let glyphs = common.theme.glyphs();
    let role = report::severity_role(finding.severity);
    let mut lines = paragraph(&report::finding(finding, glyphs.times), 1, role, width);
    lines.push(vec![]);
    let mut add = |label: &str, value: &str| {
        if !value.is_empty() {
            lines.extend(field(&format!(" {label:<9} "), value, Role::Plain, width));
        }
    };
    let evidence: Vec<String> =
        screen.evidence.iter().map(|(n, what)| format!("#{n} {what}").trim_end().to_owned()).collect();
    add(
        "evidence",
        &if evidence.is_empty() { "a timer, no message".to_owned() } else { evidence.join("  ") },
    );
    add("also", &screen.also.join(", "));
    let mut when = common.time_of_day(finding.first);
    if finding.count > 1 {
        let last = common.time_of_day(finding.last);
        when.push_str(&format!(", last {last}, {}", plural(finding.count, "time")));
    }
    add("seen", &when);
    if common.layout().is_some_and(|layout| layout.narrow) {
        add("severity", finding.severity.word());
    }
    add("blame", finding.blame.word());
    add("names", &report::listed_names(&finding.names, 0));
    if !has_manual_beside(screen, common) {
        for (label, start) in [("why", "Why: "), ("advice", "Advice: "), ("reference", "Reference: ")] {
            add(label, &manual_part(&manual, start));
        }
    }
    let rule = finding.rule.id;
    add("check", &format!("xdscope lint {} --rule {rule}", shell_word(&common.info.rerun)));
    lines
}

/// Whether the manual of the rule stands beside the finding, as on a wide terminal.
fn has_manual_beside(screen: &LintScreen, common: &Common) -> bool {
    let is_wide = common.layout().is_some_and(|layout| layout.wide);
    is_wide && !screen.shows_manual && !common.is_full_screen
}

/// Wraps a manual by paragraphs. Example scripts keep their lines.
fn manual_lines(manual: &str, width: usize) -> Vec<StyledLine> {
    let width = width.saturating_sub(2);
    let paragraph = |text: &str| match text.starts_with("Example") {
        // A script keeps its lines.
        true => text.lines().flat_map(|line| wrap(line, width)).collect::<Vec<_>>(),
        false => wrap(&text.split_whitespace().collect::<Vec<_>>().join(" "), width),
    };
    let lines = manual.trim_end().split("\n\n").flat_map(|text| {
        let mut lines = paragraph(text);
        lines.push(String::new());
        lines
    });
    lines.map(|line| vec![plain(format!(" {line}"))]).collect()
}

/// Draws the manual of the rule of the selected finding.
fn draw_manual(screen: &LintScreen, canvas: &mut Canvas, area: Rect, lines: &[StyledLine]) {
    let Some(finding) = &screen.finding else { return };
    if area.is_empty() {
        return;
    }
    let (title, rest) = layout::split(area, 1);
    canvas.rule(title, &format!("rule {}", finding.rule.id), "x");
    canvas.lines(rest, lines, 0);
}

/// The paragraph of a manual that begins with `start`, without it.
fn manual_part(manual: &str, start: &str) -> String {
    let found = manual.split("\n\n").find_map(|part| part.strip_prefix(start));
    found.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}
