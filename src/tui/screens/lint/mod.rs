//! Screen 9: findings of the rules.

mod checked;
#[cfg(test)]
mod tests;
mod view;

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

use ratatui::layout::{Position, Rect};

use crate::common::{Common, Scope};
use crate::data::{AppliedFilter, Data};
use crate::input::command::Command;
use crate::input::screen_id::ScreenId;
use crate::lists::{MAX_COPIED_ROWS, Sort, TextTable, sort_by_column};
use crate::screens::list_screen::{self, ListScreen};
use crate::screens::screen::{CommandLine, Destination, Outcome, Screen, movement};
use crate::widgets::canvas::{Canvas, StyledLine};
use crate::widgets::layout::{Content, Layout};
use crate::widgets::list::{List, SelectionList};
use crate::widgets::table::Column;
use crate::widgets::text::{plain_row, texts};
use xdscope_engine::lint::{Finding, Severity};
use xdscope_engine::problems::{findings_about, merged};
use xdscope_engine::store::ClientMarks;
use xdscope_present::report;
use xdscope_wire::event::{Seq, StreamId};

use checked::CheckedScope;

#[derive(Clone, Debug, Default)]
pub struct LintScreen {
    /// Shown while there is no finding in scope.
    checked: CheckedScope,
    /// Causes of findings of rules that are not hidden, whatever the scope: the count of the tab.
    pub total: usize,
    /// Rows by severity: errors, warnings, notes.
    counts: [usize; 3],
    /// Findings in the rows, if several with one cause are folded.
    findings: usize,
    /// Indices of the findings shown, in display order. Findings are never taken back.
    pub list: SelectionList<usize>,
    /// The findings that are folded into one with the same cause, by its index.
    folded: HashMap<usize, Vec<usize>>,
    /// Findings with one cause are shown one by one.
    is_unfolded: bool,
    hidden_rules: HashSet<&'static str>,
    /// The detail pane shows the manual of the rule.
    shows_manual: bool,
    /// The findings on the screen.
    pub window: Vec<Finding>,
    /// The selected finding.
    pub finding: Option<Finding>,
    /// Rules that the findings folded into the selected one are about.
    also: Vec<&'static str>,
    /// Messages of the evidence: number and kind.
    evidence: Vec<(u64, String)>,
}

impl LintScreen {
    /// Updates the count of the tab.
    pub fn count(&mut self, common: &Common, data: &dyn Data) {
        let findings = data.findings();
        let is_shown = |at: &usize| {
            findings.get(*at).is_some_and(|finding| !self.hidden_rules.contains(finding.rule.id))
        };
        self.total = common.finding_groups.iter().filter(|group| group.iter().any(is_shown)).count();
    }

    /// Opens the message that completed the finding, or the last one of its evidence.
    fn open(&self, common: &mut Common) -> Outcome {
        if let Some(finding) = &self.finding
            && let Some(n) = message_of(finding)
        {
            common.filter = None;
            let scope = Scope { stream: Some(finding.stream), type_url: None };
            return Outcome::Open(Destination::Messages { scope, n: Some(n) });
        }
        Outcome::say(common, "nothing to open: a timer found it, no message")
    }

    /// There is no finding in scope, and there are findings in a wider one.
    fn can_widen(&self, common: &Common) -> bool {
        self.list.rows.is_empty() && self.total > 0 && common.filter_on(ScreenId::Lint).is_none()
    }

    /// Hides all findings that have the rule of the selected one.
    fn hide_rule(&mut self, common: &mut Common, data: &dyn Data) {
        match self.finding.as_ref().map(|finding| finding.rule.id) {
            Some(rule) => {
                self.hidden_rules.insert(rule);
                self.list.rows.retain(|at| data.findings().get(*at).is_some_and(|f| f.rule.id != rule));
                self.list.select_neighbour();
                common.say(format!("{rule} is hidden; U shows all rules again"));
            }
            None => common.say("nothing is selected"),
        }
    }

    /// Folds findings that have one cause into the first one that is shown.
    fn fold(&mut self, rows: &mut Vec<(usize, &Finding)>, common: &Common) {
        self.folded.clear();
        if self.is_unfolded {
            return;
        }
        let listed: HashSet<usize> = rows.iter().map(|(at, _)| *at).collect();
        for group in &common.finding_groups {
            let mut group = group.iter().copied().filter(|at| listed.contains(at));
            let (Some(lead), others) = (group.next(), group.collect::<Vec<usize>>()) else { continue };
            if !others.is_empty() {
                self.folded.insert(lead, others);
            }
        }
        let hidden: HashSet<usize> = self.folded.values().flatten().copied().collect();
        rows.retain(|(at, _)| !hidden.contains(at));
    }

    /// Returns a finding with those that are folded into it.
    fn of_group(&self, data: &dyn Data, at: usize) -> Option<Finding> {
        let findings = data.findings();
        let folded = self.folded.get(&at).into_iter().flatten();
        Some(merged(findings.get(at)?, folded.filter_map(|at| findings.get(*at))))
    }

    /// Returns the rules of findings that are folded into another one, each once.
    fn other_rules(&self, at: usize, findings: &[Finding]) -> Vec<&'static str> {
        let folded = self.folded.get(&at).into_iter().flatten();
        let own = findings.get(at).map(|finding| finding.rule.id);
        let rules = folded.filter_map(|at| findings.get(*at)).map(|finding| finding.rule.id);
        let rules: BTreeSet<&str> = rules.filter(|rule| Some(*rule) != own).collect();
        rules.into_iter().collect()
    }

    /// Lists the findings in scope, in the order that the user chose.
    fn list_findings(&mut self, common: &Common, data: &dyn Data) {
        let findings = data.findings();
        let filter = common.filter_on(ScreenId::Lint);
        let is_shown = |finding: &&Finding| {
            common.scope.type_url.as_ref().is_none_or(|wanted| *wanted == finding.type_url)
                && !self.hidden_rules.contains(finding.rule.id)
                && common.paused.is_none_or(|paused| finding.first <= paused.now)
                && filter.is_none_or(|applied| matches(data, &common.marks, applied, finding))
        };
        let in_scope = in_scope(common, data).into_iter();
        let mut rows: Vec<(usize, &Finding)> = in_scope
            .filter_map(|at| Some((at, findings.get(at)?)))
            .filter(|(_, finding)| is_shown(finding))
            .collect();
        self.findings = rows.len();
        self.fold(&mut rows, common);
        let severities: Vec<Severity> =
            rows.iter().filter_map(|(at, _)| Some(self.of_group(data, *at)?.severity)).collect();
        self.counts =
            Severity::ALL.map(|severity| severities.iter().filter(|known| **known == severity).count());
        match common.sorts.get(ScreenId::Lint) {
            // The order of the problems that the findings belong to.
            Sort::Worst => {
                let order: HashMap<usize, usize> =
                    common.finding_groups.iter().flatten().copied().zip(0..).collect();
                rows.sort_by_key(|(at, _)| (order.get(at).copied().unwrap_or(usize::MAX), *at));
            }
            Sort::Name => rows.sort_by_key(|(at, finding)| (finding.rule.id, *at)),
            Sort::Newest => rows.sort_by_key(|(at, finding)| (Reverse(finding.last), *at)),
            Sort::Column(by) => {
                sort_by_column(&mut rows, &by, &view::columns(false), |(_, finding)| {
                    view::finding_row(common, finding)
                });
            }
        }
        self.list.rows = rows.into_iter().map(|(at, _)| at).collect();
        if self.list.position().is_none() {
            self.list.select(0);
        }
    }
}

impl ListScreen for LintScreen {
    fn list(&self) -> &dyn List {
        &self.list
    }

    fn areas(&self, common: &Common, layout: &Layout) -> (Rect, Rect) {
        list_screen::areas(common, layout, self.list.rows.len(), 2)
    }

    fn list_columns(&self, is_narrow: bool) -> Vec<Column> {
        view::columns(is_narrow).to_vec()
    }

    fn row(&self, common: &Common, at: usize) -> Option<StyledLine> {
        Some(view::finding_row(common, self.window.get(at.checked_sub(self.list.top)?)?))
    }

    fn text_lines(&self, common: &Common, area: Rect) -> Vec<StyledLine> {
        view::pane_lines(self, common, area).0
    }
}

impl Screen for LintScreen {
    fn update(&mut self, command: Command, common: &mut Common, data: &dyn Data) -> Outcome {
        if let Some(by) = movement(command, common.page()) {
            self.list.step_or_scroll(by, common.is_in_second_pane());
            return Outcome::Done;
        }
        match command {
            Command::Open if self.can_widen(common) => common.scope = Scope::default(),
            Command::Open => return self.open(common),
            Command::Timeline if self.finding.is_some() => return self.open(common),
            Command::ExplainRule => {
                self.shows_manual = !self.shows_manual;
                self.list.scroll = 0;
            }
            Command::Unfold if self.folded.is_empty() && !self.is_unfolded => {
                common.say("no finding is folded: each has a cause of its own");
            }
            Command::Unfold => self.is_unfolded = !self.is_unfolded,
            Command::HideRule => self.hide_rule(common, data),
            Command::ShowRules if self.hidden_rules.is_empty() => common.say("no rule is hidden"),
            Command::ShowRules => {
                self.hidden_rules.clear();
                common.say("all rules are shown again");
            }
            _ => return Outcome::NotHandled,
        }
        Outcome::Done
    }

    fn settle(&mut self, common: &mut Common, data: &dyn Data, layout: &Layout) {
        self.list_findings(common, data);
        self.checked = match self.list.rows.is_empty() {
            true => CheckedScope::load(common, data),
            false => CheckedScope::default(),
        };
        let findings = data.findings();
        let (list, detail) = self.areas(common, layout);
        self.list.settle(list);
        self.window = self.list.window(list).filter_map(|at| self.of_group(data, *at)).collect();
        self.finding = self.list.selected.and_then(|at| self.of_group(data, at));
        self.also = self.list.selected.map(|at| self.other_rules(at, findings)).unwrap_or_default();
        let evidence = self.finding.iter().flat_map(|finding| finding.messages.iter());
        let evidence = evidence.map(|n| {
            let line = data.row_of(*n).and_then(|row| data.line(row));
            (n.0, line.map(|line| report::kind(&line, "").0.trim().to_owned()).unwrap_or_default())
        });
        self.evidence = evidence.collect();
        self.list.settle_text(self.text_lines(common, detail).len(), detail);
    }

    fn view(&self, common: &Common, canvas: &mut Canvas, layout: &Layout) -> Option<Position> {
        view::draw(self, common, canvas, layout)
    }

    fn summary(&self, common: &Common, _layout: &Layout) -> String {
        view::summary(self, common)
    }

    fn hint(&self, _common: &Common) -> String {
        if self.hidden_rules.is_empty() {
            "findings never change what is forwarded".to_owned()
        } else {
            "some rules are hidden: U shows all again".to_owned()
        }
    }

    fn badge(&self, _common: &Common) -> usize {
        self.total
    }

    fn as_list(&self) -> Option<&dyn ListScreen> {
        Some(self)
    }

    fn list_mut(&mut self) -> Option<&mut dyn List> {
        Some(&mut self.list)
    }

    fn table(&self, common: &Common, data: &dyn Data) -> Option<TextTable> {
        let rows = self.list.rows.iter().take(MAX_COPIED_ROWS).filter_map(|at| self.of_group(data, *at));
        let rows = rows.map(|finding| texts(&view::finding_row(common, &finding))).collect();
        Some(TextTable { titles: self.columns(common), rows })
    }

    fn messages(&self, _data: &dyn Data) -> Option<(Scope, Option<Seq>)> {
        let Some(finding) = &self.finding else { return Some((self.checked.scope.clone(), None)) };
        Some((Scope { stream: Some(finding.stream), type_url: None }, message_of(finding)))
    }

    fn content(&self, common: &Common, largest: &Layout) -> Option<Content> {
        if self.list.rows.is_empty() {
            return Content::new(checked::lines());
        }
        let (finding, manual) = view::pane_lines(self, common, self.areas(common, largest).1);
        Content::stacked(self.list.rows.len() + 1, 2, 1 + finding.len().max(manual.len()))
    }

    fn copy_row(&self, common: &Common) -> Option<String> {
        Some(plain_row(&view::finding_row(common, self.finding.as_ref()?)))
    }

    fn copy_name(&self, _common: &Common) -> Option<String> {
        Some(self.finding.as_ref()?.rule.id.to_owned())
    }

    fn command_line(&self, common: &Common, source: &str) -> Option<CommandLine> {
        CommandLine::of_moment(format!("xdscope lint {source}{}", common.stream_flag()))
    }
}

/// Returns the message that completed the finding, or the last one of its evidence.
fn message_of(finding: &Finding) -> Option<Seq> {
    finding.at.or(finding.messages.last().copied())
}

/// The findings about the client in scope, or all of them.
fn in_scope(common: &Common, data: &dyn Data) -> Vec<usize> {
    let findings = data.findings();
    let Some(stream) = common.scope.stream else { return (0..findings.len()).collect() };
    let node = data.stream(stream).and_then(|fact| fact.node).map(|node| node.id.clone());
    let node = node.filter(|node| !node.is_empty());
    let is_own =
        |other: StreamId, name: Option<&str>| other == stream || (node.is_some() && name == node.as_deref());
    findings_about(&common.problems.all, findings, is_own)
}

/// Whether a filter matches a finding: its fields, its words, a message of its evidence, or the
/// state of its type.
fn matches(data: &dyn Data, marks: &ClientMarks, applied: &AppliedFilter, finding: &Finding) -> bool {
    let words = format!(
        "{} {} {} {}",
        finding.severity.word(),
        finding.rule.id,
        report::place(finding, marks),
        report::finding(finding, "x")
    );
    let message = |n: &Seq| {
        let fact = data.row_of(*n).and_then(|row| data.row(row));
        fact.is_some_and(|fact| data.row_matches(applied, &fact))
    };
    let is_found = applied.filter.finding(finding, data.store());
    // Messages and states have no rule.
    if is_found || applied.filter.is_about_rules() {
        return is_found;
    }
    words.to_lowercase().contains(&applied.text.to_lowercase())
        || finding.messages.iter().any(message)
        || data
            .state(finding.stream, &finding.type_url)
            .is_some_and(|state| data.state_matches(applied, &state))
}
