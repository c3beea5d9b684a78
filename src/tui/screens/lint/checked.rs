//! The screen without findings: the rules, and the messages that were checked.

use crate::common::{Common, Scope};
use crate::data::Data;
use crate::input::screen_id::ScreenId;
use crate::widgets::canvas::{Canvas, StyledLine, plain, span};
use crate::widgets::layout::{self, Layout};
use crate::widgets::table::{self, Column, column};
use xdscope_engine::lint;
use xdscope_present::report::{self, Role};
use xdscope_present::text::Keep;
use xdscope_wire::text::{count, plural};

use super::LintScreen;

/// The blank row, the words, the blank row and the heading above the rules.
const LINES_ABOVE: usize = 4;

/// A scope without findings, and the numbers of its rows and streams.
#[derive(Clone, Debug, Default)]
pub(super) struct CheckedScope {
    pub(super) scope: Scope,
    rows: usize,
    streams: usize,
}

impl CheckedScope {
    pub(super) fn load(common: &Common, data: &dyn Data) -> CheckedScope {
        CheckedScope {
            scope: common.scope.clone(),
            rows: common.rows(data) - data.store().first_row().min(common.rows(data)),
            streams: data.stream_ids().len(),
        }
    }
}

/// The rows that all rules take.
pub(super) fn lines() -> usize {
    LINES_ABOVE + 1 + lint::rules().count()
}

/// The words of an empty list.
fn words(screen: &LintScreen, common: &Common) -> String {
    let is_filtered = common.filter_on(ScreenId::Lint).is_some();
    match (is_filtered, screen.hidden_rules.is_empty(), screen.total as u64) {
        (true, ..) => "no finding matches; Esc clears the filter".to_owned(),
        (false, false, 0) => "every rule with a finding is hidden; U shows all again".to_owned(),
        (false, _, 0) => format!(
            "no finding: {} checked {} of {}, and none is broken so far",
            plural(lint::rules().count() as u64, "rule"),
            plural(screen.checked.rows as u64, "row"),
            plural(screen.checked.streams as u64, "stream")
        ),
        (false, is_all, n) => {
            let hidden = if is_all { "" } else { "; some rules are hidden: U shows them again" };
            format!("no finding in this scope, {} in others: Enter shows all{hidden}", plural(n, "finding"))
        }
    }
}

pub(super) fn draw(screen: &LintScreen, common: &Common, canvas: &mut Canvas, layout: &Layout) {
    let area = layout::split(layout.body, 1).1;
    canvas.text(area, &format!("   {}", words(screen, common)), Role::Muted);
    let (title, list) = layout::split(layout::split(area, 2).1, 1);
    if common.filter_on(ScreenId::Lint).is_some() || list.height < 2 {
        return;
    }
    let room = usize::from(list.height) - 1;
    let hidden = lint::rules().count().saturating_sub(room);
    let remark = match hidden {
        0 => String::new(),
        n => format!("{} more: xdscope lint --list-rules", count(n as u64)),
    };
    canvas.rule(title, "rules", &remark);
    let row = |rule: &'static lint::Rule| {
        let severity = span(rule.severity.word(), report::severity_role(rule.severity));
        vec![severity, plain(rule.id), span(rule.title(), Role::Muted)]
    };
    let rows: Vec<StyledLine> = lint::rules().take(room).map(row).collect();
    table::draw(canvas, list, &columns(), &rows, None, false);
}

fn columns() -> [Column; 3] {
    [
        column("SEV", 5, 5, Keep::Head, 0),
        column("RULE", 16, 40, Keep::Head, 0).keeping(24),
        column("A FINDING SAYS", 16, 400, Keep::Head, 0),
    ]
}
