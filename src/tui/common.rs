//! State that all screens share: terminal, scope, filter, panes and time.

use std::collections::HashMap;
use std::time::Duration;

use jiff::tz::TimeZone;
use ratatui::layout::Rect;

use xdscope_engine::activity::{
    Axis, RecentActivity, RecordedActivity, SPAN, column_of_part, messages_by_part,
};
use xdscope_engine::problems::{FindingGroup, ProblemFact};
use xdscope_engine::store::{ClientMarks, Store};
use xdscope_present::report::{self, Census, Role};
use xdscope_wire::event::{Clock, StreamId, Time, TypeUrl};
use xdscope_wire::text;

use super::data::{AppliedFilter, Data, Info};
use super::input::screen_id::ScreenId;
use super::lists::{HiddenColumns, Sorts};
use super::problem_list::ProblemList;
use super::widgets::chart::{SparkValue, spark_text};
use super::widgets::layout::{Content, Layout, layout};
use super::widgets::table::GrownWidths;
use super::widgets::theme::Theme;

/// The stream and type that the screens are narrowed to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    pub stream: Option<StreamId>,
    pub type_url: Option<TypeUrl>,
}

impl Scope {
    pub fn has(&self, stream: StreamId, type_url: &TypeUrl) -> bool {
        self.stream.is_none_or(|wanted| wanted == stream)
            && self.type_url.as_ref().is_none_or(|wanted| wanted == type_url)
    }
}

/// The part of a screen that has the focus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pane {
    #[default]
    Main,
    Second,
}

/// Rows and time of a paused screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paused {
    pub rows: usize,
    pub now: Time,
}

/// Messages over the time of a recording, up to the time cursor.
#[derive(Clone, Debug, Default)]
pub struct Density {
    /// Rows and end of the recording at which this was counted.
    key: Option<(usize, Time)>,
    /// Messages by equal parts of the time.
    parts: Vec<u64>,
}

impl Density {
    /// Counts again if the time cursor moved.
    pub fn settle(&mut self, store: &Store, end: Time) {
        let key = Some((store.rows(), end));
        if self.key != key {
            *self = Density { key, parts: messages_by_part(store, end) };
        }
    }

    /// Returns the messages in `cells` columns as bars, blanks without messages.
    pub fn spark(&self, theme: Theme, cells: usize) -> String {
        let mut out = vec![SparkValue { value: None, role: Role::Muted }; cells];
        for (part, messages) in self.parts.iter().enumerate().filter(|(_, messages)| **messages > 0) {
            if let Some(slot) = out.get_mut(column_of_part(part, cells)) {
                *slot.value.get_or_insert(0) += messages;
            }
        }
        spark_text(theme, &out).text
    }
}

/// When facts about all streams are read again.
#[derive(Clone, Copy, Debug, Default)]
pub struct RefreshPolicy {
    /// The source is live. At a point of a recording, facts are those of the point.
    pub is_live: bool,
    /// A key waits for its frame.
    pub has_key: bool,
    /// Keys come one after another.
    pub is_typing: bool,
    /// The key went into a prompt, where no command acts on rows.
    pub is_in_prompt: bool,
    /// The screen is paused.
    pub is_paused: bool,
}

/// State that all screens share.
#[derive(Clone, Debug)]
pub struct Common {
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    pub theme: Theme,
    pub zone: TimeZone,
    pub info: Info,
    pub scope: Scope,
    pub filter: Option<AppliedFilter>,
    pub sorts: Sorts,
    pub hidden_columns: HiddenColumns,
    /// Rows or columns that the user gave to the second pane.
    pub shift: i16,
    pub pane: Pane,
    /// The detail pane has the whole screen.
    pub is_full_screen: bool,
    pub paused: Option<Paused>,
    /// Shown until the next key.
    pub notice: Option<String>,
    pub now: Time,
    pub clock: Clock,
    pub problems: ProblemList,
    /// The clients of the source.
    pub census: Census,
    /// The last minutes of the source.
    pub activity: RecentActivity,
    /// The whole time of a recording, up to the time cursor.
    pub recorded: RecordedActivity,
    /// Messages over the time of a recording, up to the time cursor.
    pub density: Density,
    /// The marks that tell clients with one node id apart.
    pub marks: ClientMarks,
    /// The findings by cause, as indices.
    pub finding_groups: Vec<FindingGroup>,
    /// The stream in scope, else the one selected on Overview.
    pub current_stream: Option<StreamId>,
    pub refresh: RefreshPolicy,
    /// A text is being searched, so that all of it is needed.
    pub is_finding: bool,
    /// Lines below the screen that the tour takes.
    pub tour_lines: u16,
    /// Lines below the screen for the messages around its selection.
    pub message_lines: u16,
    /// The content of the screen above the messages, with the most lines that it had so far.
    pub content: Option<Content>,
    /// The widths of the tables of the screen so far.
    pub widths: GrownWidths,
    /// The screen that the lines of content are of.
    shown: Option<ScreenId>,
    /// The scope and the size of the terminal that the widths of each screen are of.
    shown_scopes: HashMap<ScreenId, (Scope, (u16, u16))>,
}

impl Common {
    pub fn new(size: (u16, u16), theme: Theme, zone: TimeZone) -> Common {
        Common {
            size,
            theme,
            zone,
            info: Info::default(),
            scope: Scope::default(),
            filter: None,
            sorts: Sorts::default(),
            hidden_columns: HiddenColumns::default(),
            shift: 0,
            pane: Pane::default(),
            is_full_screen: false,
            paused: None,
            notice: None,
            now: Time::ZERO,
            clock: Clock::default(),
            problems: ProblemList::default(),
            census: Census::default(),
            activity: RecentActivity::default(),
            recorded: RecordedActivity::default(),
            density: Density::default(),
            marks: ClientMarks::default(),
            finding_groups: Vec::new(),
            current_stream: None,
            refresh: RefreshPolicy::default(),
            is_finding: false,
            tour_lines: 0,
            message_lines: 0,
            content: None,
            widths: GrownWidths::default(),
            shown: None,
            shown_scopes: HashMap::new(),
        }
    }

    /// Notes the shown screen. Content may shrink when the screen, the scope or the size of the
    /// terminal changes; columns of a screen when the scope or the size does.
    pub(crate) fn note_shown(&mut self, screen: ScreenId) {
        let scope = (self.scope.clone(), self.size);
        let is_changed = self.shown_scopes.get(&screen) != Some(&scope);
        if is_changed || self.shown != Some(screen) {
            self.widths.show(screen, is_changed);
            self.content = None;
        }
        self.shown = Some(screen);
        self.shown_scopes.insert(screen, scope);
    }

    /// The areas of the frame; `None` if the terminal is too small.
    pub fn layout(&self) -> Option<Layout> {
        let mut layout = Layout { shift: self.shift, ..layout(self.size.0, self.size.1)? };
        layout.body.height = layout.body.height.saturating_sub(self.tour_lines + self.message_lines);
        Some(if self.info.bar.is_some() { layout.with_bar() } else { layout })
    }

    /// The time that charts show: the last minutes, or less of a source that is younger.
    fn chart_window(&self) -> Duration {
        match self.now.as_secs_f64() {
            secs if secs < 60.0 => Duration::from_secs(60),
            secs if secs < 120.0 => Duration::from_secs(120),
            _ => SPAN,
        }
    }

    /// The time axis of charts in at most `cells` cells: the last minutes.
    pub fn chart_axis(&self, cells: usize) -> Axis {
        self.activity.axis(self.chart_window(), cells)
    }

    /// The time axis of charts that are `columns` wide, with cells of whole columns that fill most
    /// of them.
    pub fn wide_chart_axis(&self, columns: usize) -> Axis {
        let is_filled = |axis: &Axis| {
            let cells = axis.cell_count().max(1);
            columns / cells * cells * 5 >= columns * 4
        };
        let all = (1..=columns).rev().map(|cells| self.chart_axis(cells));
        all.clone().find(is_filled).or_else(|| all.into_iter().next()).unwrap_or_else(|| self.chart_axis(1))
    }

    /// The area of the tour; `None` if the tour is not shown.
    pub fn tour_area(&self) -> Option<Rect> {
        let body = layout(self.size.0, self.size.1)?.body;
        let height = self.tour_lines.min(body.height);
        if height == 0 { None } else { Some(Rect { y: body.bottom() - height, height, ..body }) }
    }

    /// The filter in force on a screen; `None` if the rows of the screen lack one of its fields.
    pub fn filter_on(&self, screen: ScreenId) -> Option<&AppliedFilter> {
        self.filter.as_ref().filter(|applied| screen.applies(&applied.filter))
    }

    /// There is a time cursor.
    pub fn has_cursor(&self) -> bool {
        self.info.bar.is_some()
    }

    /// Rows of the source up to the moment that is shown.
    pub fn rows(&self, data: &dyn Data) -> usize {
        self.paused.map_or(data.rows(), |paused| paused.rows)
    }

    /// The current stream, else the first one of the source.
    pub fn stream_or_first(&self, data: &dyn Data) -> Option<StreamId> {
        self.current_stream.or_else(|| data.stream_ids().first().copied())
    }

    /// A problem in words: its place, its state, and a sentence.
    pub fn problem_words(&self, problem: &ProblemFact) -> String {
        let (place, word) = (report::problem_place(problem), report::problem_word(problem).0);
        format!("{place} {word}: {}", report::problem(problem, &self.clock))
    }

    /// The name of a client, told apart from others with its node id: `edge-gw-1 cluster=b`.
    pub fn client_name(&self, node: Option<&str>, stream: StreamId) -> String {
        report::client_name(node, stream, &self.marks)
    }

    /// The time of day of an event, in whole seconds.
    pub fn time_of_day(&self, at: Time) -> String {
        text::time_of_day_secs(at, self.clock, &self.zone)
    }

    /// The age of an event at the moment that is shown.
    pub fn age(&self, since: Time) -> String {
        if self.clock.untimed { "-".to_owned() } else { text::age(self.now.since(since)) }
    }

    /// Like [`Common::age`], for a state that lasts until `ended` at most.
    pub fn age_until(&self, since: Time, ended: Option<Time>) -> String {
        let until = ended.map_or(self.now, |ended| ended.min(self.now));
        if self.clock.untimed { "-".to_owned() } else { text::age(until.since(since)) }
    }

    /// Like [`Common::age`], in one unit, for narrow cells.
    pub fn short_age(&self, since: Time) -> String {
        if self.clock.untimed { "-".to_owned() } else { text::short_age(self.now.since(since)) }
    }

    pub fn say(&mut self, notice: impl Into<String>) {
        self.notice = Some(notice.into());
    }

    /// The arrows move in the second pane.
    pub fn is_in_second_pane(&self) -> bool {
        self.is_full_screen || self.pane == Pane::Second
    }

    /// How to scroll to the hidden lines of the second pane.
    pub fn lines_below(&self, hidden: usize) -> String {
        let keys = if self.is_full_screen { "j" } else { "Tab j" };
        format!("{} below, {keys}", text::plural(hidden as u64, "line"))
    }

    /// The `--stream` flag of a command line for the scope; empty for all streams.
    pub fn stream_flag(&self) -> String {
        self.scope.stream.map(|stream| format!(" --stream '#{}'", stream.0)).unwrap_or_default()
    }

    /// Rows of a page where a screen has no other measure.
    pub fn page(&self) -> isize {
        self.page_of(self.layout().map_or(1, |layout| layout.body.height / 2))
    }

    /// Rows of a page in a list of `rows` rows, or in the detail pane while it has the whole
    /// screen.
    pub fn page_of(&self, rows: u16) -> isize {
        let rows = if self.is_full_screen { self.size.1.saturating_sub(8) } else { rows };
        isize::try_from(rows.max(1)).unwrap_or(1)
    }
}
