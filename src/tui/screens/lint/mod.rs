//! Screen 9: which rules of the protocol or of good order were broken.

pub mod view;

use std::cmp::Reverse;
use std::collections::HashSet;

use ratatui::layout::Rect;

use crate::engine::lint::{Finding, Severity};
use crate::present::report;

use crate::tui::data::{Applied, Data};
use crate::tui::input::command::Command;
use crate::tui::input::sort::Sort;
use crate::tui::screens::lint::view::finding_lines;
use crate::tui::screens::overview::scroll;
use crate::tui::shell::commands::{self, here};
use crate::tui::shell::model::{Model, Pane, Screen};
use crate::tui::shell::places;
use crate::tui::widgets::layout::{self, Layout};

#[derive(Clone, Debug, Default)]
pub struct LintScreen {
    /// Findings of rules that are not hidden, in scope or not: the count of the tab.
    pub total: usize,
    /// How many of those shown are errors, warnings, notes.
    pub counts: [usize; 3],
    /// Places of the findings that are shown, worst first.
    rows: Vec<usize>,
    /// Place of the selected one: findings are never taken back.
    selected: Option<usize>,
    pub top: usize,
    /// Lines scrolled in the detail.
    pub scroll: usize,
    /// Rules that are not shown.
    pub hidden: HashSet<&'static str>,
    /// The manual of the rule stands in place of the finding.
    pub manual: bool,
    /// The findings on the screen.
    pub window: Vec<Finding>,
    /// The selected one.
    pub finding: Option<Finding>,
    /// Evidence: number and what it is in words.
    pub evidence: Vec<(u64, String)>,
}

impl LintScreen {
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn position(&self) -> Option<usize> {
        let selected = self.selected?;
        self.rows.iter().position(|at| *at == selected)
    }

    fn select(&mut self, at: usize) {
        let to = self.rows.get(at.min(self.rows.len().saturating_sub(1))).copied();
        if to != self.selected {
            self.scroll = 0;
        }
        self.selected = to;
    }
}

/// Brings the count of the tab in line.
pub fn count(model: &mut Model, data: &dyn Data, frozen: bool) {
    if !frozen {
        let hidden = &model.lint.hidden;
        model.lint.total = data.findings().iter().filter(|finding| !hidden.contains(finding.rule.id)).count();
    }
}

/// A filter means a finding if it means a message of its evidence, its type's state, or its words.
fn matches(data: &dyn Data, applied: &Applied, finding: &Finding) -> bool {
    let words = format!(
        "{} {} {} {}",
        finding.severity.word(),
        finding.rule.id,
        report::place(finding),
        report::finding(finding, "x")
    );
    let message = |n: &crate::wire::event::Seq| {
        let fact = data.row_of(*n).and_then(|row| data.row(row));
        fact.is_some_and(|fact| data.row_matches(applied, &fact))
    };
    words.to_lowercase().contains(&applied.text.to_lowercase())
        || finding.messages.iter().any(message)
        || data
            .state(finding.stream, &finding.type_url)
            .is_some_and(|state| data.state_matches(applied, &state))
}

/// List and detail.
pub fn parts(model: &Model, layout: &Layout) -> (Rect, Rect) {
    if model.whole {
        return layout::split(layout.body, 0);
    }
    let rows = u16::try_from(model.lint.rows.len() + 1).unwrap_or(u16::MAX);
    let (body, first) = (layout.body, rows.min(layout.body.height / 2).max(2));
    let (list, rest) = layout::split(body, body.height - layout.shifted(body.height - first, body.height, 3));
    (list, layout::split(rest, u16::from(!layout.low)).1)
}

pub fn settle(model: &mut Model, data: &dyn Data, layout: &Layout) {
    let findings = data.findings();
    let (scope, filter) = (&model.scope, model.filter.as_ref());
    let shown = |finding: &&Finding| {
        scope.stream.is_none_or(|stream| stream == finding.stream)
            && scope.type_url.as_ref().is_none_or(|url| *url == finding.type_url)
            && !model.lint.hidden.contains(finding.rule.id)
            && model.paused.is_none_or(|paused| finding.first <= paused.now)
            && filter.is_none_or(|applied| matches(data, applied, finding))
    };
    let mut rows: Vec<(usize, &Finding)> =
        findings.iter().enumerate().filter(|(_, finding)| shown(finding)).collect();
    match model.sorts.of(Screen::Lint) {
        Sort::Worst => {
            rows.sort_by_key(|(at, finding)| (Reverse(finding.severity), Reverse(finding.last), *at));
        }
        Sort::Name => rows.sort_by_key(|(at, finding)| (finding.rule.id, *at)),
        Sort::Newest => rows.sort_by_key(|(at, finding)| (Reverse(finding.last), *at)),
    }
    model.lint.counts =
        Severity::ALL.map(|severity| rows.iter().filter(|(_, finding)| finding.severity == severity).count());
    model.lint.rows = rows.into_iter().map(|(at, _)| at).collect();
    if model.lint.position().is_none() {
        model.lint.select(0);
    }
    let (list, detail) = parts(model, layout);
    let height = usize::from(list.height).saturating_sub(1);
    let at = model.lint.position().unwrap_or(0);
    model.lint.top = scroll(model.lint.top, at, height, model.lint.rows.len());
    let window = model.lint.rows.iter().skip(model.lint.top).take(height);
    model.lint.window = window.filter_map(|at| findings.get(*at)).cloned().collect();
    model.lint.finding = model.lint.selected.and_then(|at| findings.get(at)).cloned();
    let evidence = model.lint.finding.iter().flat_map(|finding| finding.messages.iter());
    let evidence = evidence.map(|n| {
        let line = data.row_of(*n).and_then(|row| data.line(row));
        (n.0, line.map(|line| report::kind(&line, "").0.trim().to_owned()).unwrap_or_default())
    });
    model.lint.evidence = evidence.collect();
    let room = usize::from(detail.height).saturating_sub(1);
    let spare = finding_lines(model, usize::from(detail.width)).len().saturating_sub(room);
    model.lint.scroll = model.lint.scroll.min(spare);
}

/// Commands that mean something of their own here.
pub fn act(model: &mut Model, command: Command, data: &dyn Data) -> bool {
    if let Some(by) = commands::moves(command, commands::page(model)) {
        if model.pane == Pane::Main && !model.whole {
            let at = model.lint.position().unwrap_or(0);
            model.lint.select(at.saturating_add_signed(by));
        } else {
            model.lint.scroll = model.lint.scroll.saturating_add_signed(by);
        }
        return true;
    }
    match command {
        Command::Open => open(model, data),
        Command::Timeline if model.lint.finding.is_some() => open(model, data),
        Command::ExplainRule => {
            model.lint.manual = !model.lint.manual;
            model.lint.scroll = 0;
        }
        Command::HideRule => match model.lint.finding.as_ref().map(|finding| finding.rule.id) {
            Some(rule) => {
                let next = model.lint.position().unwrap_or(0);
                model.lint.hidden.insert(rule);
                model.lint.rows.retain(|at| data.findings().get(*at).is_some_and(|f| f.rule.id != rule));
                model.lint.select(next);
                model.say(format!("{rule} is hidden; H on an empty list shows all rules again"));
            }
            None if !model.lint.hidden.is_empty() => {
                model.lint.hidden.clear();
                model.say("all rules are shown again");
            }
            None => model.say("nothing is selected"),
        },
        Command::NextProblem | Command::PreviousProblem => {
            let at = model.lint.position().unwrap_or(0);
            let to = at.saturating_add_signed(if command == Command::NextProblem { 1 } else { -1 });
            if to == at || to >= model.lint.rows.len() {
                model.say("no further finding this way");
            } else {
                model.lint.select(to);
            }
        }
        _ => return false,
    }
    true
}

/// The message that completed the finding, or the last that speaks for it.
fn open(model: &mut Model, data: &dyn Data) {
    let found = model.lint.finding.as_ref();
    let Some(n) = found.and_then(|finding| finding.at.or(finding.messages.last().copied())) else {
        model.say("nothing to open: a timer found it, no message");
        return;
    };
    let stream = found.map(|finding| finding.stream);
    let step = here(model);
    model.filter = None;
    model.scope.stream = stream;
    model.scope.type_url = None;
    places::goto_message(model, data, n);
    model.steps.push(step);
}
