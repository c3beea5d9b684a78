//! Screen 2: the types of one client, with the versions offered and in force.

mod detail;
mod history;
mod streams;
#[cfg(test)]
pub(crate) mod tests;
mod view;

use ratatui::layout::{Position, Rect};

use crate::common::{Common, Pane, Scope};
use crate::data::Data;
use crate::input::command::Command;
use crate::input::screen_id::ScreenId;
use crate::lists::{MAX_COPIED_ROWS, TextTable, sort_by_column};
use crate::screens::screen::{CommandLine, Comparable, Destination, Outcome, Screen, ScreenText, movement};
use crate::screens::shared::lifetimes;
use crate::screens::shared::missing_answers::MissingAnswers;
use crate::screens::shared::pushes;
use crate::screens::shared::traffic::{self, Traffic};
use crate::widgets::canvas::{Canvas, Span, plain};
use crate::widgets::chart;
use crate::widgets::layout::{self, Content, Layout};
use crate::widgets::list::{List, ListRow, SelectionList};
use crate::widgets::table::titles_of;
use crate::widgets::text::{plain_lines, plain_row, texts};
use crate::widgets::theme;
use xdscope_engine::applied::AppliedDiff;
use xdscope_engine::nack::StatedFaults;
use xdscope_engine::store::{LineFact, ReconnectFact, StateFact, StreamFact, TypeState};
use xdscope_present::node;
use xdscope_present::report::{severity, type_order};
use xdscope_wire::event::{Seq, StreamId, TypeUrl};
use xdscope_wire::text;

use streams::ClientStreams;

/// Cells of the bars of a type.
const RECENT_CELLS: usize = 16;

/// Streams of a session that the history shows, newest first.
const MAX_CHAIN: usize = 50;

#[derive(Clone, Debug, Default)]
pub struct StreamScreen {
    /// All types of the stream.
    all_states: Vec<StateFact>,
    /// The types that match the filter. The selected type stays selected across streams.
    pub types: SelectionList<StateFact>,
    /// The applied resources of each state, if the source comes with a dump of the client.
    applied: Vec<Option<AppliedDiff>>,
    /// Likely reasons why names of the selected type are missing.
    missing_answers: MissingAnswers,
    /// The faults that the newest NACK of the selected type states.
    faults: StatedFaults,
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
    /// The stream of the types.
    loaded: Option<StreamId>,
    /// The type was chosen for a stream that is not loaded yet.
    is_type_chosen: bool,
    /// All streams of the client are listed in place of the types of one.
    pub lists_streams: bool,
    /// The list was opened on this screen, so that Esc closes it.
    is_list_opened_here: bool,
    /// The stream was opened from the list, so that Esc leads back to the list.
    is_opened_from_list: bool,
    pub client: ClientStreams,
}

impl ListRow for StateFact {
    type Key = TypeUrl;

    fn key(&self) -> TypeUrl {
        self.summary.type_url.clone()
    }
}

impl StreamScreen {
    /// Reads the facts of a stream, and of the streams before it.
    fn load(&mut self, data: &dyn Data, stream: Option<StreamId>) {
        self.all_states = stream.map(|stream| data.states_of(stream)).unwrap_or_default();
        self.all_states.sort_by_cached_key(|state| type_order(&state.summary.type_url));
        if self.loaded != stream {
            self.loaded = stream;
            if !std::mem::take(&mut self.is_type_chosen) {
                self.types.selected = None;
            }
        }
        self.chain.clear();
        let mut next = stream;
        while let Some(id) = next
            && self.chain.len() < MAX_CHAIN
            && let Some(fact) = data.stream(id)
        {
            // Guards against a cycle: a stream continues an earlier one.
            next = fact.reconnect_of.filter(|before| *before < id);
            self.chain.push(fact);
        }
    }

    /// Lists the types that match the filter, in the chosen order. The worst is selected at first.
    fn list(&mut self, data: &dyn Data, common: &Common) {
        let types = &mut self.types.rows;
        types.clone_from(&self.all_states);
        if let Some(applied) = common.filter_on(ScreenId::Stream) {
            types.retain(|state| data.state_matches(applied, state));
        }
        if let Some(by) = common.sorts.get(ScreenId::Stream).column() {
            sort_by_column(types, by, &view::columns(), |state| view::stream_row(common, state, plain("")));
        }
        let dump = data.applied_state();
        self.applied = types.iter().map(|state| dump?.compare(state, data.store())).collect();
        if self.types.position().is_none() {
            let rank = |state: &&StateFact| severity(state.summary.last_state.unwrap_or(state.summary.state));
            self.types.selected = self.types.rows.iter().min_by_key(rank).map(ListRow::key);
        }
    }

    /// Loads the node of the stream, if it is shown.
    fn load_node(&mut self, data: &dyn Data) {
        self.node.clear();
        if self.is_node_open
            && let Some(fact) = self.chain.first()
        {
            self.node = node::lines(fact, data.contents().node(fact).as_ref());
        }
    }

    /// Loads the newest messages of the stream, if there is room for them.
    fn load_newest(&mut self, common: &Common, data: &dyn Data, layout: &Layout) {
        let most = if layout.wide { usize::from(layout.body.height) } else { 0 };
        let stream = common.current_stream;
        let all = (data.store().first_row()..common.rows(data)).rev().take(MAX_SEARCHED_ROWS);
        let own = all.filter(|row| data.place_of(*row).is_some_and(|(own, _)| Some(own) == stream));
        self.newest = own.filter_map(|row| data.line(row)).take(most).collect();
    }

    /// Loads the last minutes of each type, and of the selected one.
    fn load_recent(&mut self, common: &mut Common, data: &dyn Data, layout: &Layout) {
        self.traffic = Traffic::default();
        self.recent = vec![plain(""); self.types.rows.len()];
        let store = data.store();
        if store.clock().untimed || store.rows() == 0 {
            return;
        }
        let activity = &common.activity;
        let axis = common.chart_axis(RECENT_CELLS);
        let recent = self.types.rows.iter().map(|state| {
            let cells = activity.of_type(store, state.summary.stream, &state.summary.type_url, axis);
            chart::spark_text(common.theme, &traffic::pushes(&cells))
        });
        self.recent = recent.collect();
        if let Some(state) = self.state() {
            let (stream, type_url) = (state.summary.stream, state.summary.type_url.clone());
            let columns = Traffic::columns(layout.body.width);
            let axis = common.wide_chart_axis(columns);
            let cells = activity.of_type(store, stream, &type_url, axis);
            let only = store.track_of(stream, &type_url).map(|track| (stream, track));
            let recorded = Traffic::recorded(common, data, layout, only);
            self.traffic = recorded.unwrap_or_else(|| Traffic::new(cells, axis));
        }
    }

    /// The lines that the parts of the screen have content for, with their titles.
    fn wanted_lines(&self, common: &Common, layout: &Layout, detail: usize) -> WantedLines {
        WantedLines {
            lives: if self.chain.len() > 1 { lifetimes::lives(&self.chain).len() + 1 } else { 0 },
            types: self.types.rows.len() + 1,
            detail: detail + 1,
            newest: self.newest.len() + 2,
            charts: if self.traffic.cells.is_empty() { 0 } else { traffic::band_lines(common, layout) },
        }
    }

    /// Looks up what the selected type is refused for, and why names of it are missing.
    fn explain(&mut self, data: &dyn Data) {
        let stream = self.fact().map(|fact| fact.stream);
        let selected = self.state().map(ListRow::key);
        let store = data.store();
        let track = stream.zip(selected.as_ref());
        self.brought = track.and_then(|(stream, type_url)| store.reconnect(stream, type_url));
        let nack = self.state().and_then(|state| state.verdicts.nacks.last());
        let faults = nack.map(|nack| store.stated_nack_faults(&nack.message, nack.refused));
        self.faults = faults.unwrap_or_default();
        self.missing_answers.load(data, stream, selected.as_ref());
    }

    /// Lists all streams of the client of a stream, with that one selected.
    pub fn list_streams(&mut self, stream: StreamId) {
        self.lists_streams = true;
        self.is_list_opened_here = false;
        self.client = ClientStreams::default();
        self.client.list.selected = Some(stream);
    }

    /// Shows the types of one stream.
    pub fn show_types(&mut self) {
        self.lists_streams = false;
        self.is_opened_from_list = false;
    }

    /// The stream shown.
    pub fn fact(&self) -> Option<&StreamFact> {
        self.chain.first()
    }

    /// The state of the selected type.
    pub fn state(&self) -> Option<&StateFact> {
        self.types.row()
    }

    /// The applied resources of the selected type.
    fn applied(&self) -> Option<&AppliedDiff> {
        self.applied.get(self.types.position()?)?.as_ref()
    }

    /// Handles a command while the streams of the client are listed.
    fn update_streams(&mut self, command: Command, common: &mut Common) -> Outcome {
        if let Some(by) = movement(command, common.page()) {
            self.client.list.step(by);
            return Outcome::Done;
        }
        match (command, self.client.fact().map(|fact| fact.stream)) {
            (Command::Open, Some(stream)) => {
                common.scope.stream = Some(stream);
                self.lists_streams = false;
                self.is_opened_from_list = true;
                Outcome::Done
            }
            (Command::Back, _) if self.is_list_opened_here && common.filter.is_none() => {
                self.lists_streams = false;
                Outcome::Done
            }
            (Command::Unfold, _) => Outcome::say(common, "nothing to unfold in the list of streams"),
            (Command::Timeline, Some(stream)) => {
                let scope = Scope { stream: Some(stream), type_url: None };
                Outcome::Open(Destination::Messages { scope, n: None })
            }
            _ => Outcome::NotHandled,
        }
    }

    /// Opens the refusal of the selected type, else its messages.
    fn open(&self, common: &mut Common) -> Outcome {
        let Some(state) = self.state() else { return Outcome::say(common, "nothing to open") };
        let (stream, type_url) = (state.summary.stream, state.summary.type_url.clone());
        Outcome::Open(match state.summary.open_nack {
            Some((n, _)) => Destination::Nack { stream, n },
            None => {
                let n = state.traffic.last_push.as_ref().map(|push| Seq(push.n));
                let scope = Scope { stream: Some(stream), type_url: Some(type_url) };
                Destination::Messages { scope, n }
            }
        })
    }
}

impl Screen for StreamScreen {
    fn update(&mut self, command: Command, common: &mut Common, _data: &dyn Data) -> Outcome {
        if command == Command::Streams {
            self.lists_streams = !self.lists_streams;
            self.is_list_opened_here = true;
            self.client = ClientStreams::default();
            return Outcome::Done;
        }
        if self.lists_streams {
            return self.update_streams(command, common);
        }
        let is_unchanged = common.filter.is_none() && !common.is_full_screen;
        if command == Command::Back && self.is_opened_from_list && is_unchanged {
            self.is_opened_from_list = false;
            self.lists_streams = true;
            return Outcome::Done;
        }
        if let Some(by) = movement(command, common.page()) {
            self.types.step_or_scroll(by, common.pane == Pane::Second);
            return Outcome::Done;
        }
        match command {
            Command::Open => return self.open(common),
            Command::Unfold => {
                self.is_node_open = !self.is_node_open;
                self.types.scroll = 0;
            }
            _ => return Outcome::NotHandled,
        }
        Outcome::Done
    }

    fn settle(&mut self, common: &mut Common, data: &dyn Data, layout: &Layout) {
        let stream = common.current_stream;
        if self.lists_streams {
            self.client.load(data, common, stream);
            self.client.settle(common, layout);
        }
        if common.paused.is_none() || self.fact().map(|fact| fact.stream) != stream {
            self.load(data, stream);
        }
        self.list(data, common);
        self.explain(data);
        self.load_node(data);
        self.load_recent(common, data, layout);
        let lines = detail::lines(self, common).len();
        self.load_newest(common, data, layout);
        let areas = areas(layout, self.wanted_lines(common, layout, lines));
        self.types.settle(areas.types);
        self.types.settle_text(lines, areas.detail);
    }

    fn view(&self, common: &Common, canvas: &mut Canvas, layout: &Layout) -> Option<Position> {
        if self.lists_streams && !self.client.list.rows.is_empty() {
            return self.client.draw(common, canvas, layout);
        }
        view::draw(self, common, canvas, layout)
    }

    fn is_searching(&self) -> bool {
        self.traffic.is_partial
    }

    fn summary(&self, common: &Common, _layout: &Layout) -> String {
        if self.lists_streams {
            return format!("{} of this client", text::plural(self.client.list.rows.len() as u64, "stream"));
        }
        let types = &self.types.rows;
        let mut parts = vec![text::plural(types.len() as u64, "type")];
        let mut kinds: Vec<_> = types.iter().map(|state| state.summary.state).collect();
        kinds.sort_by_key(|state| severity(*state));
        kinds.dedup();
        for kind in kinds.into_iter().filter(|kind| severity(*kind) < severity(TypeState::Synced)) {
            let n = types.iter().filter(|state| state.summary.state == kind).count();
            parts.push(format!("{n} {}", theme::state_mark(kind, common.theme.glyphs()).word));
        }
        parts.join(", ")
    }

    fn has_target(&self, command: Command, _common: &Common) -> bool {
        !self.lists_streams || !matches!(command, Command::Unfold | Command::NextPane)
    }

    fn label(&self, command: Command) -> Option<&'static str> {
        match command {
            Command::Streams if self.lists_streams => Some("types"),
            Command::Open if self.lists_streams => Some("its types"),
            _ => None,
        }
    }

    fn hint(&self, _common: &Common) -> String {
        if self.lists_streams {
            return "PAUSE is the time from the end of the stream before".to_owned();
        }
        "IN FORCE is the version that the client uses; OFFERED is the newest version pushed to it".to_owned()
    }

    fn point(&mut self, at: Position, selects: bool, common: &mut Common, layout: &Layout) -> Option<bool> {
        if self.lists_streams {
            let list = self.client.areas(common, layout).list;
            return self.client.list.point(at, list, selects);
        }
        let lines = detail::lines(self, common).len();
        let areas = areas(layout, self.wanted_lines(common, layout, lines));
        if areas.types.contains(at) {
            common.pane = Pane::Main;
        }
        if areas.detail.contains(at) {
            common.pane = Pane::Second;
        }
        self.types.point(at, areas.types, selects)
    }

    fn columns(&self, _common: &Common) -> Vec<String> {
        if self.lists_streams {
            return Vec::new();
        }
        titles_of(&view::columns())
    }

    fn table(&self, common: &Common, _data: &dyn Data) -> Option<TextTable> {
        if self.lists_streams {
            let titles = titles_of(&streams::columns());
            let rows = (0..MAX_COPIED_ROWS).map_while(|at| self.client.row(common, at));
            return Some(TextTable { titles, rows: rows.map(|row| texts(&row)).collect() });
        }
        let types = self.types.rows.iter();
        let rows = types.map(|state| texts(&view::stream_row(common, state, plain("")))).collect();
        Some(TextTable { titles: self.columns(common), rows })
    }

    fn has_text_focus(&self, common: &Common) -> bool {
        common.is_in_second_pane() && !self.lists_streams
    }

    fn text(&self, common: &Common) -> Option<ScreenText> {
        Some(ScreenText { lines: plain_lines(detail::lines(self, common)), at: self.types.scroll })
    }

    fn show_line(&mut self, line: usize) {
        self.types.scroll = line.saturating_sub(1);
    }

    fn selected_type(&self, _common: &Common) -> Option<TypeUrl> {
        self.types.selected.clone()
    }

    fn select_type(&mut self, type_url: &TypeUrl) {
        self.types.selected = Some(type_url.clone());
        self.is_type_chosen = true;
    }

    fn comparable(&self, _common: &Common, data: &dyn Data) -> Option<Comparable> {
        pushes::push_of(data, self.state()?).map(Comparable::Push)
    }

    fn messages(&self, _data: &dyn Data) -> Option<(Scope, Option<Seq>)> {
        if !self.lists_streams {
            return None;
        }
        let stream = self.client.fact()?.stream;
        Some((Scope { stream: Some(stream), type_url: None }, None))
    }

    fn content(&self, common: &Common, largest: &Layout) -> Option<Content> {
        if self.lists_streams { self.client.content(common, largest) } else { None }
    }

    fn copy_row(&self, common: &Common) -> Option<String> {
        if self.lists_streams {
            return Some(plain_row(&self.client.selected_row(common)?));
        }
        Some(plain_row(&view::stream_row(common, self.state()?, plain(""))))
    }

    fn copy_name(&self, _common: &Common) -> Option<String> {
        Some(self.state()?.summary.node.as_deref()?.to_owned())
    }

    fn command_line(&self, common: &Common, source: &str) -> Option<CommandLine> {
        CommandLine::of_states(format!("xdscope status {source} -o wide{}", common.stream_flag()))
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
    /// The last minutes of the selected type or, in a recording, the whole time.
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
    pub newest: usize,
    /// The lines of the charts of the selected type.
    pub charts: u16,
}

/// Divides the body.
pub(crate) fn areas(layout: &Layout, wanted: WantedLines) -> StreamAreas {
    let body = layout.body;
    let gap = u16::from(!layout.low);
    let (body, charts) = layout::split(body, body.height.saturating_sub(wanted.charts));
    let lives = layout::height(wanted.lives).min((body.height / 4).max(3));
    let (lives, rest) = layout::split(body, if wanted.lives > 0 { lives } else { 0 });
    let (_, rest) = layout::split(rest, if lives.is_empty() { 0 } else { gap });
    let (types, rest) = layout::split(rest, layout::height(wanted.types).min(rest.height / 2));
    let (_, rest) = layout::split(rest, gap);
    let nothing = Rect { height: 0, ..charts };
    if layout.wide {
        let upper = layout::height(wanted.detail).max(MIN_DETAIL_LINES).min(rest.height);
        let is_high = rest.height - upper > MIN_NEWEST_LINES;
        // The history takes what the messages leave.
        let upper = upper.max(rest.height.saturating_sub(layout::height(wanted.newest)));
        let (rest, newest) = if is_high { layout::split(rest, upper) } else { (rest, nothing) };
        let (detail, history) = layout::beside(rest, rest.width * 5 / 9);
        return StreamAreas { lives, types, detail, history, newest, charts };
    }
    let (detail, rest) =
        layout::split(rest, layout::height(wanted.detail).min(rest.height.saturating_sub(4)));
    let (_, history) = layout::split(rest, gap);
    StreamAreas { lives, types, detail, history, newest: nothing, charts }
}
