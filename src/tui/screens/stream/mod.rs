//! Screen 2: the types of one client, with the versions offered and in force.

mod detail;
mod history;
#[cfg(test)]
pub(crate) mod tests;
mod view;

use ratatui::layout::{Position, Rect};

use crate::engine::applied::AppliedDiff;
use crate::engine::store::{LineFact, ReconnectFact, StateFact, Store, StreamFact, TypeState};
use crate::present::node;
use crate::present::report::{severity, type_order};
use crate::tui::common::{Common, Pane, Scope};
use crate::tui::data::Data;
use crate::tui::input::command::Command;
use crate::tui::screens::screen::{
    CommandLine, Comparable, Destination, Outcome, Screen, ScreenText, movement,
};
use crate::tui::screens::shared::missing_answers::MissingAnswers;
use crate::tui::screens::shared::pushes;
use crate::tui::screens::shared::traffic::{self, Traffic};
use crate::tui::widgets::canvas::{Canvas, Span, plain};
use crate::tui::widgets::chart;
use crate::tui::widgets::layout::{self, Layout};
use crate::tui::widgets::list::scroll;
use crate::tui::widgets::text::{plain_lines, plain_row};
use crate::tui::widgets::theme;
use crate::wire::event::{Seq, StreamId, TypeUrl};
use crate::wire::text;

/// Cells of the bars of a type.
const RECENT_CELLS: usize = 16;

/// Streams of a session that the history shows, newest first.
const MAX_CHAIN: usize = 50;

#[derive(Clone, Debug, Default)]
pub struct StreamScreen {
    /// The selected type, also across streams.
    pub selected: Option<TypeUrl>,
    top: usize,
    /// Lines scrolled in the detail pane.
    pub scroll: usize,
    states: Vec<StateFact>,
    /// The applied resources of each state, if the source comes with a dump of the client.
    applied: Vec<Option<AppliedDiff>>,
    /// Likely reasons why names of the selected type are missing.
    missing_answers: MissingAnswers,
    /// Fates of the resources of the selected type that the client had before the stream.
    brought: Option<ReconnectFact>,
    /// The stream and those that it continues, newest first.
    chain: Vec<StreamFact>,
    /// The pushes of each state in the last minutes, as bars.
    recent: Vec<Span>,
    /// The newest messages of the stream, if they are shown.
    newest: Vec<LineFact>,
    /// The last minutes of the selected type.
    traffic: Traffic,
    /// The detail pane shows the node in place of the type.
    is_node_open: bool,
    /// The lines of the node, if it is shown.
    node: Vec<(&'static str, String)>,
}

impl StreamScreen {
    fn load(&mut self, data: &dyn Data, stream: Option<StreamId>) {
        self.states = stream.map(|stream| data.states_of(stream)).unwrap_or_default();
        self.states.sort_by_cached_key(|state| type_order(&state.type_url));
        self.applied = self.states.iter().map(|state| data.applied(state)).collect();
        self.chain.clear();
        let mut next = stream;
        while let Some(id) = next.filter(|_| self.chain.len() < MAX_CHAIN) {
            let Some(fact) = data.stream(id) else { break };
            // Guards against a cycle: a stream continues an earlier one.
            next = fact.reconnect_of.filter(|before| *before < id);
            self.chain.push(fact);
        }
        if self.position().is_none() {
            self.selected = self.states.first().map(|state| state.type_url.clone());
        }
    }

    /// Loads the node of the stream, if it is shown.
    fn load_node(&mut self, data: &dyn Data) {
        self.node.clear();
        let Some(fact) = self.chain.first().filter(|_| self.is_node_open) else { return };
        let body = data.contents().and_then(|contents| contents.node(fact));
        self.node = node::lines(fact, body.as_ref());
    }

    /// Loads the last minutes of each type, and of the selected one.
    fn load_recent(&mut self, common: &Common, data: &dyn Data, layout: &Layout) {
        self.traffic = Traffic::default();
        self.recent = vec![plain(""); self.states.len()];
        let store = data.contents().map(|contents| contents.store());
        let Some(store) = store.filter(|store| !store.clock().untimed && store.rows() > 0) else { return };
        let (activity, window) = (&common.activity, common.chart_window());
        let axis = activity.axis(window, RECENT_CELLS);
        let recent = self.states.iter().map(|state| {
            let cells = activity.of_type(store, state.stream, &state.type_url, axis);
            chart::spark_text(common.theme, &traffic::pushes(&cells))
        });
        self.recent = recent.collect();
        if let Some(state) = self.state() {
            let (stream, type_url) = (state.stream, state.type_url.clone());
            let axis = activity.axis(window, Traffic::cell_count(traffic::charts_width(layout.body)));
            let cells = activity.of_type(store, stream, &type_url, axis);
            self.traffic = Traffic { cells, cell: axis.cell(), span: axis.span() };
        }
    }

    /// The lines that the parts of the screen have content for, with their titles.
    fn wanted_lines(&self, detail: usize) -> WantedLines {
        WantedLines {
            lives: if self.chain.len() > 1 { self.chain.len() + 1 } else { 0 },
            types: self.states.len() + 1,
            detail: detail + 1,
            has_charts: !self.traffic.cells.is_empty(),
        }
    }

    /// Looks up why names of the selected type are missing.
    fn explain(&mut self, data: &dyn Data) {
        let stream = self.fact().map(|fact| fact.stream);
        let selected = self.state().map(|state| state.type_url.clone());
        let brought = |store: &Store| store.reconnect(stream?, selected.as_ref()?);
        self.brought = data.source().and_then(|(store, _)| brought(store));
        self.missing_answers.load(data, stream, selected.as_ref());
    }

    /// The stream shown.
    pub fn fact(&self) -> Option<&StreamFact> {
        self.chain.first()
    }

    fn position(&self) -> Option<usize> {
        self.states.iter().position(|state| Some(&state.type_url) == self.selected.as_ref())
    }

    /// The state of the selected type.
    pub fn state(&self) -> Option<&StateFact> {
        self.states.get(self.position()?)
    }

    /// The applied resources of the selected type.
    fn applied(&self) -> Option<&AppliedDiff> {
        self.applied.get(self.position()?)?.as_ref()
    }

    fn select(&mut self, at: usize) {
        let at = at.min(self.states.len().saturating_sub(1));
        self.selected = self.states.get(at).map(|state| state.type_url.clone());
        self.scroll = 0;
    }

    /// Opens the refusal of the selected type, else its messages.
    fn open(&self, common: &mut Common) -> Outcome {
        let Some(state) = self.state() else { return Outcome::say(common, "nothing to open") };
        let (stream, type_url) = (state.stream, state.type_url.clone());
        Outcome::Open(match state.open_nack {
            Some(n) => Destination::Nack { stream, type_url, n },
            None => {
                let n = state.last_push.as_ref().map(|push| Seq(push.n));
                let scope = Scope { stream: Some(stream), type_url: Some(type_url) };
                Destination::Messages { scope, n }
            }
        })
    }
}

impl Screen for StreamScreen {
    fn update(&mut self, command: Command, common: &mut Common, _data: &dyn Data) -> Outcome {
        if let Some(by) = movement(command, common.page()) {
            match common.pane {
                Pane::Main => self.select(self.position().unwrap_or(0).saturating_add_signed(by)),
                Pane::Second => self.scroll = self.scroll.saturating_add_signed(by),
            }
            return Outcome::Done;
        }
        match command {
            Command::Open => return self.open(common),
            Command::Unfold => {
                self.is_node_open = !self.is_node_open;
                self.scroll = 0;
            }
            _ => return Outcome::NotHandled,
        }
        Outcome::Done
    }

    fn settle(&mut self, common: &mut Common, data: &dyn Data, layout: &Layout) {
        let stream = common.current_stream;
        if common.paused.is_none() || self.fact().map(|fact| fact.stream) != stream {
            self.load(data, stream);
        }
        if let Some(applied) = &common.filter {
            self.states.retain(|state| data.state_matches(applied, state));
        }
        self.explain(data);
        self.load_node(data);
        self.load_recent(common, data, layout);
        let rows = self.states.len();
        let lines = detail::lines(self, common).len();
        let (areas, detail) = (areas(layout, self.wanted_lines(lines)), lines + 1);
        let height = usize::from(areas.types.height).saturating_sub(1);
        let newest = usize::from(areas.newest.height).saturating_sub(2);
        let all = (data.first_row()..common.rows(data)).rev().take(MAX_SEARCHED_ROWS);
        let own = all.filter(|row| data.place_of(*row).is_some_and(|(of, _)| Some(of) == stream));
        self.newest = own.filter_map(|row| data.line(row)).take(newest).collect();
        self.top = scroll(self.top, self.position().unwrap_or(0), height, rows);
        self.scroll = self.scroll.min(detail.saturating_sub(usize::from(areas.detail.height)));
    }

    fn view(&self, common: &Common, canvas: &mut Canvas, layout: &Layout) -> Option<Position> {
        view::draw(self, common, canvas, layout)
    }

    fn summary(&self, common: &Common, _layout: &Layout) -> String {
        let mut parts = vec![text::plural(self.states.len() as u64, "type")];
        let mut kinds: Vec<_> = self.states.iter().map(|state| state.state).collect();
        kinds.sort_by_key(|state| severity(*state));
        kinds.dedup();
        for kind in kinds.into_iter().filter(|kind| severity(*kind) < severity(TypeState::Synced)) {
            let n = self.states.iter().filter(|state| state.state == kind).count();
            parts.push(format!("{n} {}", theme::state_mark(kind, common.theme.glyphs()).word));
        }
        parts.join(", ")
    }

    fn hint(&self, _common: &Common) -> String {
        "IN FORCE is the version that the client uses; OFFERED is the newest version pushed to it".to_owned()
    }

    fn has_resizable_panes(&self) -> bool {
        false
    }

    fn has_text_focus(&self, common: &Common) -> bool {
        common.is_in_second_pane()
    }

    fn text(&self, common: &Common) -> Option<ScreenText> {
        Some(ScreenText { lines: plain_lines(detail::lines(self, common)), at: self.scroll })
    }

    fn show_line(&mut self, line: usize) {
        self.scroll = line.saturating_sub(1);
    }

    fn selected_type(&self, _common: &Common) -> Option<TypeUrl> {
        self.selected.clone()
    }

    fn select_type(&mut self, type_url: &TypeUrl) {
        self.selected = Some(type_url.clone());
    }

    fn comparable(&self, _common: &Common, data: &dyn Data) -> Option<Comparable> {
        pushes::push_of(data, self.state()?).map(Comparable::Push)
    }

    fn copy_row(&self, common: &Common) -> Option<String> {
        Some(plain_row(&view::stream_row(common, self.state()?, plain(""))))
    }

    fn copy_name(&self, _common: &Common) -> Option<String> {
        Some(self.state()?.node.as_deref()?.to_owned())
    }

    fn command_line(&self, common: &Common, source: &str) -> Option<CommandLine> {
        CommandLine::filtered(format!("xdscope status {source} -o wide{}", common.stream_flag()), Vec::new())
    }
}

/// The areas of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamAreas {
    /// The lives of the streams, if there are several.
    pub lives: Rect,
    pub types: Rect,
    /// The selected type.
    pub detail: Rect,
    pub history: Rect,
    /// The newest messages of the stream, on a high and wide terminal.
    pub newest: Rect,
    /// The last minutes of the selected type.
    pub charts: Rect,
}

/// The fewest lines of the newest messages, with their heading.
const MIN_NEWEST_LINES: u16 = 6;
/// The fewest lines of detail and history above the newest messages.
const MIN_DETAIL_LINES: u16 = 12;
/// Rows that are looked at for the newest messages of the stream.
const MAX_SEARCHED_ROWS: usize = 2_000;

/// The lines that parts of the screen have content for, with their titles.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WantedLines {
    pub lives: usize,
    pub types: usize,
    pub detail: usize,
    pub has_charts: bool,
}

/// The lines of the charts in a body of this height.
fn chart_lines(height: u16) -> u16 {
    match height {
        0..26 => 0,
        26..34 => 3,
        34..46 => 8,
        _ => 11,
    }
}

/// Divides the body.
pub(crate) fn areas(layout: &Layout, wanted: WantedLines) -> StreamAreas {
    let body = layout.body;
    let want = |lines: usize| u16::try_from(lines).unwrap_or(u16::MAX);
    let gap = u16::from(!layout.low);
    let charts = if wanted.has_charts { chart_lines(body.height) } else { 0 };
    let (body, charts) = layout::split(body, body.height - charts);
    let lives = want(wanted.lives).min((body.height / 4).max(3));
    let (lives, rest) = layout::split(body, if wanted.lives > 0 { lives } else { 0 });
    let (_, rest) = layout::split(rest, if lives.is_empty() { 0 } else { gap });
    let (types, rest) = layout::split(rest, want(wanted.types).min(rest.height / 2));
    let (_, rest) = layout::split(rest, gap);
    let nothing = Rect { height: 0, ..charts };
    if layout.wide {
        let upper = want(wanted.detail).max(MIN_DETAIL_LINES).min(rest.height);
        let is_high = rest.height - upper > MIN_NEWEST_LINES;
        let (rest, newest) = if is_high { layout::split(rest, upper) } else { (rest, nothing) };
        let (detail, history) = layout::beside(rest, rest.width * 5 / 9);
        return StreamAreas { lives, types, detail, history, newest, charts };
    }
    let (detail, rest) = layout::split(rest, want(wanted.detail).min(rest.height.saturating_sub(4)));
    let (_, history) = layout::split(rest, gap);
    StreamAreas { lives, types, detail, history, newest: nothing, charts }
}
