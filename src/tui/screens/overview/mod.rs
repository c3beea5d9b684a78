//! Screen 1: nodes by types, worst first, and the open problems.

mod cells;
mod charts;
mod compare_nodes;
mod fleet;
mod matrix;
mod node;
mod plan;
mod problems;
mod state;
mod table;
#[cfg(test)]
pub(crate) mod tests;
mod view;

use std::collections::BTreeSet;

use ratatui::layout::Position;

use crate::common::{Common, Pane};
use crate::data::Data;
use crate::input::command::Command;
use crate::input::screen_id::ScreenId;
use crate::lists::{MAX_COPIED_ROWS, TextTable, sort_rows};
use crate::screens::screen::{CommandLine, Comparable, Destination, Outcome, Screen, ScreenText, movement};
use crate::screens::shared::traffic::Traffic;
use crate::screens::shared::{problem_place, pushes};
use crate::widgets::canvas::Canvas;
use crate::widgets::layout::Layout;
use crate::widgets::text::{plain_lines, plain_row, texts};
use xdscope_engine::problems::{Problem, ProblemFact};
use xdscope_present::body_comparison::BodyComparison;
use xdscope_present::report::{self, Row};
use xdscope_wire::event::{StreamId, TypeUrl};
use xdscope_wire::text::{count, plural, size, type_label};

pub(crate) use state::OverviewScreen;
use state::{RefusalKey, stream_of};
pub(crate) use table::NodeTable;
use table::TableKey;
pub(crate) use view::{OverviewAreas, areas};

impl OverviewScreen {
    /// The stream of the selected row and column.
    pub fn selected_stream(&self) -> Option<StreamId> {
        self.row().and_then(|row| stream_of(row, self.column))
    }

    fn column_type(&self) -> Option<&TypeUrl> {
        self.column.checked_sub(1).and_then(|at| self.table.types.get(at))
    }

    /// Selects the row of a stream.
    pub fn select_stream(&mut self, stream: Option<StreamId>) {
        let has = |row: &&Row| row.streams.iter().any(|s| Some(s.stream) == stream);
        if let Some(key) = self.table.rows.iter().find(has).map(|row| row.key) {
            self.selected = Some(key);
            self.was_moved = true;
        }
    }

    /// The name of a stream's node, if its row is in the table.
    pub fn node_name(&self, stream: StreamId) -> Option<String> {
        let row = self.table.rows.iter().find(|row| row.streams.iter().any(|s| s.stream == stream));
        row.map(|row| row.name.clone())
    }

    /// Opens the selected node, or the chosen problem in the second pane.
    fn open(&self, common: &mut Common) -> Outcome {
        match (common.pane, self.selected_stream(), common.problems.chosen()) {
            (Pane::Main, Some(stream), _) => {
                Outcome::Open(Destination::Stream { stream, type_url: self.column_type().cloned() })
            }
            (Pane::Second, _, Some(problem)) => Outcome::OpenProblem(problem_place::destination(problem)),
            _ => Outcome::say(common, "nothing to open"),
        }
    }

    /// Looks up the rules that were broken by the cause of the chosen problem.
    fn load_rules(&mut self, common: &Common, data: &dyn Data) {
        let indices = common.problems.chosen().into_iter().flat_map(|problem| &problem.findings);
        let findings = indices.filter_map(|at| data.findings().get(*at));
        let rules: BTreeSet<&str> = findings.map(|finding| finding.rule.id).collect();
        self.rules = rules.into_iter().collect();
    }

    /// The problem that the detail is about: the chosen one if its list has the focus, else the
    /// worst of the selected node.
    fn problem_in_detail<'a>(&self, common: &'a Common) -> Option<&'a ProblemFact> {
        match common.pane {
            Pane::Second => common.problems.chosen(),
            Pane::Main => common.problems.worst_of(self.row()?),
        }
    }

    /// Looks up the refused content of the problem in the detail.
    fn load_refused(&mut self, common: &Common, data: &dyn Data) {
        let problem = self.problem_in_detail(common);
        let refusal = problem.filter(|problem| matches!(problem.problem, Problem::Refused(_)));
        let key = refusal.and_then(|problem| Some((problem.stream, problem.type_url.clone(), problem.at?)));
        if self.refused.as_ref().map(|(known, _)| known) == key.as_ref() {
            return;
        }
        self.refused = key.map(|key| {
            let compared = refused_content(&key, data);
            (key, compared)
        });
    }

    /// Moves to the list of problems, or to the next problem.
    fn next_problem(&mut self, common: &mut Common, forward: bool) {
        let (at, count) = (common.problems.index(), common.problems.count());
        let listed: Vec<usize> = common.problems.listed().into_iter().filter(|at| *at < count).collect();
        let to = match (common.pane, forward) {
            _ if listed.is_empty() => {
                let none =
                    if count == 0 { "no problems" } else { "no problem matches; Esc clears the filter" };
                return common.say(none);
            }
            // The first problem comes first.
            (Pane::Main, _) if !common.problems.has_choice() => listed.first(),
            (_, true) => listed.iter().find(|index| **index > at),
            (_, false) => listed.iter().rfind(|index| **index < at),
        };
        common.pane = Pane::Second;
        match to {
            Some(to) => self.choose(common, *to),
            None => common.say("no further problem this way"),
        }
    }

    /// Chooses a problem, and selects its node.
    fn choose(&mut self, common: &mut Common, problem: usize) {
        common.problems.choose(problem);
        self.select_stream(common.problems.all.get(problem).map(|problem| problem.stream));
    }

    /// Moves the selection in the pane that has the focus, or the text in the full screen.
    fn step(&mut self, common: &mut Common, by: isize) {
        match common.pane {
            _ if common.is_full_screen => self.scroll = self.scroll.saturating_add_signed(by),
            Pane::Main => self.step_node(by),
            Pane::Second => {
                let listed = common.problems.listed();
                let at = listed.partition_point(|index| *index < common.problems.index());
                let to = at.saturating_add_signed(by).min(listed.len().saturating_sub(1));
                if let Some(problem) = listed.get(to) {
                    self.choose(common, *problem);
                }
            }
        }
    }

    /// The titles of all columns.
    fn titles(&self) -> Vec<String> {
        let types = self.table.all_types.iter().map(|url| type_label(url.as_str()));
        let others = [plan::PUSHES, plan::ANSWERS, plan::STREAM].map(str::to_owned);
        ["NODE".to_owned()].into_iter().chain(types).chain(others).collect()
    }

    /// Sorts the rows by a column, if the user has chosen one.
    fn sort_by_column(&mut self, common: &Common, data: &dyn Data) {
        let sort = common.sorts.get(ScreenId::Overview);
        let Some(by) = sort.column() else { return };
        let mut types = self.table.types.iter().map(|url| type_label(url.as_str()));
        let type_column = types.position(|title| title == *by.title);
        let cell = |row: &Row| match (type_column, &*by.title) {
            (Some(type_column), _) => match row.cells.get(type_column) {
                Some(cell) => cells::state(common, cell.as_deref()).text,
                None => String::new(),
            },
            (None, plan::PUSHES) => charts::pushes(common, data, row).to_string(),
            (None, plan::ANSWERS) => {
                let streams = row.streams.iter().map(|stream| stream.stream);
                data.store().ack_ms(streams).map(|(median, _)| format!("{median}")).unwrap_or_default()
            }
            (None, plan::STREAM) => cells::stream(common, row).text,
            _ => row.title(),
        };
        sort_rows(&mut self.table.rows, by.is_descending, cell);
    }

    /// The areas of the screen.
    fn areas(&self, common: &Common, layout: &Layout) -> OverviewAreas {
        areas(layout, view::wanted_lines(self, common, layout))
    }
}

/// Compares the first resource that a NACK refuses with its last good content.
fn refused_content((stream, type_url, n): &RefusalKey, data: &dyn Data) -> Option<BodyComparison> {
    let state = data.state(*stream, type_url)?;
    let nack = state.verdicts.nacks.iter().find(|nack| nack.n == *n)?;
    let report = data.contents().card(*stream, type_url, std::slice::from_ref(nack));
    report.subjects.first().map(BodyComparison::new)
}

/// Chooses the nearest problem of the list if the chosen one is not in the list. An empty list
/// loses the focus.
fn keep_chosen_in_list(common: &mut Common) {
    let (listed, at) = (common.problems.listed(), common.problems.index());
    if common.pane != Pane::Second || common.is_full_screen || listed.contains(&at) {
        return;
    }
    match listed.iter().min_by_key(|index| index.abs_diff(at)) {
        Some(index) => common.problems.choose(*index),
        None if common.problems.all.is_empty() => {}
        None => common.pane = Pane::Main,
    }
}

impl Screen for OverviewScreen {
    fn update(&mut self, command: Command, common: &mut Common, data: &dyn Data) -> Outcome {
        if let Some(by) = movement(command, common.page()) {
            self.step(common, by);
            return Outcome::Done;
        }
        match command {
            Command::Open => return self.open(common),
            Command::NextProblem => self.next_problem(common, true),
            Command::PreviousProblem => self.next_problem(common, false),
            Command::Left => self.column = self.column.saturating_sub(1),
            Command::Right => self.column += 1,
            Command::Unfold if self.table.folded == 0 && !self.is_unfolded => {
                common.say("all nodes are shown: healthy ones fold above 50");
            }
            Command::Unfold => self.is_unfolded = !self.is_unfolded,
            Command::DiffMarked => compare_nodes::compare_nodes(self, common, data),
            _ => return Outcome::NotHandled,
        }
        Outcome::Done
    }

    fn settle(&mut self, common: &mut Common, data: &dyn Data, layout: &Layout) {
        let filter = common.filter_on(ScreenId::Overview);
        let key = TableKey {
            moment: data.moment(),
            type_url: common.scope.type_url.clone(),
            filter: filter.map(|filter| filter.text.clone()),
            is_unfolded: self.is_unfolded,
            sort: common.sorts.get(ScreenId::Overview),
            hidden: common.hidden_columns.titles(ScreenId::Overview),
        };
        self.table.settle(data, filter, key, common.refresh, &common.problems.worst);
        self.sort_by_column(common, data);
        common.problems.listed = self.table.matching(&common.problems.all);
        keep_chosen_in_list(common);
        let areas = self.areas(common, layout);
        let table = fleet::parts(&self.table, areas.nodes).table;
        let height = usize::from(table.height).saturating_sub(1 + usize::from(self.table.folded > 0));
        self.settle_rows(height);
        let end = self.table.rows.len().min(self.top + height);
        let cells = Traffic::columns(areas.band.width);
        let newest = usize::from(areas.newest.height).saturating_sub(2);
        let rows = (data.store().first_row()..common.rows(data)).rev();
        self.newest = rows.filter_map(|row| data.line(row)).take(newest).collect();
        self.newest.reverse();
        let rows = &self.table.rows[self.top.min(end)..end];
        self.charts.settle(common, data, rows, cells, &self.table);
        if let Some(traffic) = Traffic::recorded(common, data, layout, None) {
            self.charts.traffic = traffic;
        }
        self.load_rules(common, data);
        self.load_refused(common, data);
        if !common.is_full_screen {
            self.scroll = 0;
        }
        let lines = view::detail_lines(self, common, usize::from(layout.body.width)).len();
        self.scroll = self.scroll.min((lines + 1).saturating_sub(usize::from(layout.body.height)));
    }

    fn view(&self, common: &Common, canvas: &mut Canvas, layout: &Layout) -> Option<Position> {
        view::draw(self, common, canvas, layout)
    }

    fn summary(&self, common: &Common, layout: &Layout) -> String {
        let (dot, table) = (common.theme.glyphs().dot, &self.table);
        let matching = table.matching_nodes;
        if layout.narrow {
            return plural(matching as u64, "node");
        }
        let (matching, nodes) = (count(matching as u64), plural(table.nodes as u64, "node"));
        let streams = plural(table.streams as u64, "stream");
        let sort = common.sorts.get(ScreenId::Overview).words();
        format!("{matching} of {nodes} {dot} {streams} {dot} {sort}")
    }

    fn hint(&self, common: &Common) -> String {
        let dot = common.theme.glyphs().dot;
        let recorded = match &common.info.recording {
            Some((name, _)) => format!("recording to {name} {dot} dropped {}", count(common.info.dropped)),
            None => "not recording".to_owned(),
        };
        match common.info.tap.and_then(|tap| tap.shown_backlog()) {
            Some(backlog) => format!("{recorded} {dot} {} not analysed yet", size(backlog)),
            None => recorded,
        }
    }

    fn is_searching(&self) -> bool {
        self.table.is_behind || self.charts.traffic.is_partial
    }

    fn has_text_focus(&self, common: &Common) -> bool {
        common.is_full_screen
    }

    fn text(&self, common: &Common) -> Option<ScreenText> {
        let width = common.layout().map_or(0, |layout| usize::from(layout.body.width));
        let lines = plain_lines(view::detail_lines(self, common, width));
        Some(ScreenText { lines, at: self.scroll })
    }

    fn show_line(&mut self, line: usize) {
        self.scroll = line.saturating_sub(1);
    }

    fn forget(&mut self) {
        self.table = NodeTable::default();
        self.refused = None;
    }

    fn point(&mut self, at: Position, selects: bool, common: &mut Common, layout: &Layout) -> Option<bool> {
        let areas = self.areas(common, layout);
        if areas.nodes.contains(at) && !common.is_full_screen {
            let first = fleet::parts(&self.table, areas.nodes).table.y + 1;
            let had_focus = std::mem::replace(&mut common.pane, Pane::Main) == Pane::Main;
            let key = self.table.rows.get(self.top + usize::from(at.y.checked_sub(first)?))?.key;
            if !selects {
                return None;
            }
            let column = matrix::column_at(self, common, areas.nodes, at.x);
            let is_same = had_focus && (self.selected, self.column) == (Some(key), column);
            (self.selected, self.column, self.was_moved) = (Some(key), column, true);
            return Some(is_same);
        }
        if areas.problems.contains(at) && !common.is_full_screen && !common.problems.all.is_empty() {
            let index = problems::problem_at(self, common, areas.problems, at.y);
            let had_focus = std::mem::replace(&mut common.pane, Pane::Second) == Pane::Second;
            let index = index?;
            if !selects {
                return None;
            }
            let is_same = had_focus && index == common.problems.index();
            self.choose(common, index);
            return Some(is_same);
        }
        None
    }

    fn columns(&self, _common: &Common) -> Vec<String> {
        self.titles()
    }

    fn table(&self, common: &Common, _data: &dyn Data) -> Option<TextTable> {
        let types = self.table.types.iter().map(|url| type_label(url.as_str()));
        let first = ["NODE", "VARIANT"].map(str::to_owned).into_iter();
        let titles = first.chain(types).chain(["REASON".to_owned()]).collect();
        let rows = self.table.rows.iter().take(MAX_COPIED_ROWS);
        let rows = rows.map(|row| texts(&cells::overview_row(common, row))).collect();
        Some(TextTable { titles, rows })
    }

    fn selected_type(&self, _common: &Common) -> Option<TypeUrl> {
        self.column_type().cloned()
    }

    fn comparable(&self, common: &Common, data: &dyn Data) -> Option<Comparable> {
        let push = match common.pane {
            Pane::Main => {
                let (stream, url) = self.selected_stream().zip(self.column_type())?;
                pushes::push_to_compare(data, stream, url)
            }
            Pane::Second => pushes::push_of_problem(data, common.problems.chosen()?),
        };
        push.map(Comparable::Push)
    }

    fn copy_row(&self, common: &Common) -> Option<String> {
        if common.pane == Pane::Second {
            let problem = common.problems.chosen()?;
            let place = report::problem_place(problem);
            return Some(format!("{place} {}", report::problem(problem, &common.clock)));
        }
        Some(plain_row(&cells::overview_row(common, self.row()?)))
    }

    fn copy_name(&self, common: &Common) -> Option<String> {
        match common.pane {
            Pane::Main => Some(self.row()?.name.clone()),
            Pane::Second => Some(common.problems.chosen()?.node.as_deref()?.to_owned()),
        }
    }

    fn command_line(&self, _common: &Common, source: &str) -> Option<CommandLine> {
        CommandLine::of_states(format!("xdscope status {source}"))
    }
}
