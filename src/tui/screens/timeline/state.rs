//! The state of the timeline: rows found, selection, and the body shown.

use std::sync::Arc;
use std::time::Duration;

use xdscope_engine::store::{LineFact, MessageFact, WarmingFact};
use xdscope_wire::event::{Dir, Seq, Variant};

use super::index::RowIndex;
use super::intercepted::InterceptedTexts;
use crate::common::Scope;
use crate::data::{AppliedFilter, BodyFormat, Data};
use crate::widgets::list::scroll;

/// Rows examined in one step of a search.
const ROWS_PER_STEP: usize = 256;
/// Rows examined in one step of a search that decodes their contents.
const DECODED_ROWS_PER_STEP: usize = 8;
/// Lines of a body that are searched.
const MAX_SEARCHED_LINES: usize = 200_000;
/// A silence from which on the ladder shows a gap.
const MIN_GAP: Duration = Duration::from_secs(5);

/// Scope and filter of a search. A change starts the search again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct SearchKey {
    scope: Scope,
    filter: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub struct TimelineScreen {
    /// The selected row of the source. Rows before and after may come and go.
    pub selected: Option<usize>,
    /// The first row of the list.
    pub top: usize,
    /// Rows of the source when following ended, after which rows count as new; `None` while the
    /// newest row is selected as rows arrive.
    seen: Option<usize>,
    pub is_ladder: bool,
    /// The ladder shows no gaps.
    pub is_unfolded: bool,
    /// The list has no column of notes: they take lines of their own.
    pub has_notes_below: bool,
    /// `None` shows the message's fields.
    pub format: Option<BodyFormat>,
    /// The body is shown below the fields.
    pub has_body_below: bool,
    /// Lines scrolled in the detail pane.
    pub scroll: usize,
    /// Columns scrolled to the right in a body.
    pub left: usize,
    /// Long lines of a body wrap.
    pub wraps: bool,
    pub index: RowIndex,
    search_key: Option<SearchKey>,
    /// The rows on the screen.
    pub window: Vec<TimelineRow>,
    pub selected_message: Option<SelectedMessage>,
    pub body: Option<BodyText>,
}

/// A row on the screen.
#[derive(Clone, Debug)]
pub struct TimelineRow {
    pub row: usize,
    pub line: Arc<LineFact>,
    /// The time since the previous row shown.
    pub delta: Option<Duration>,
}

impl TimelineRow {
    /// A list without a column of notes shows a note below this row. Events of a stream have it in
    /// place of the values that they lack.
    pub fn has_note_below(&self) -> bool {
        self.line.dir.is_some() && self.line.note.is_some()
    }

    /// The ladder shows a gap above this row.
    pub fn is_after_gap(&self) -> bool {
        self.delta.is_some_and(|delta| delta > MIN_GAP)
    }
}

/// The selected row with its resource names.
#[derive(Clone, Debug)]
pub struct SelectedMessage {
    pub row: TimelineRow,
    pub fact: Arc<MessageFact>,
    /// The stream is a delta stream, whose messages have other fields.
    pub is_delta: bool,
    /// The method of the stream has one type.
    pub has_one_type: bool,
    /// Resources of the response that warm now.
    pub warming: Vec<WarmingFact>,
    /// The messages of an intervention of xdscope.
    pub intercepted: Option<Arc<InterceptedTexts>>,
}

impl SelectedMessage {
    /// Reads the message of a row. `current`: the message that was selected before.
    fn load(data: &dyn Data, row: TimelineRow, current: Option<SelectedMessage>) -> Option<SelectedMessage> {
        if let Some(current) = current
            && current.row.row == row.row
        {
            let warming = warming(data, &current.fact);
            return Some(SelectedMessage { row, warming, ..current });
        }
        let fact = Arc::new(data.row(row.row)?);
        let variant = data.stream(fact.stream).and_then(|stream| stream.variant);
        let is_delta = variant.is_some_and(Variant::is_delta);
        let has_one_type = !variant.is_some_and(Variant::is_aggregated);
        let warming = warming(data, &fact);
        let intercepted = InterceptedTexts::read(data, &fact).map(Arc::new);
        Some(SelectedMessage { row, fact, is_delta, has_one_type, warming, intercepted })
    }
}

/// The first lines of a body.
#[derive(Clone, Debug)]
pub struct BodyText {
    pub n: Seq,
    pub format: BodyFormat,
    pub limit: usize,
    pub lines: Vec<String>,
}

impl TimelineScreen {
    /// Examines another slice of rows. Returns whether there are more.
    pub fn search_rows(
        &mut self,
        data: &dyn Data,
        total: usize,
        scope: &Scope,
        filter: Option<&AppliedFilter>,
    ) -> bool {
        let key = SearchKey { scope: scope.clone(), filter: filter.map(|f| f.text.clone()) };
        let rows = data.store().first_row().min(total)..total;
        if self.search_key.as_ref() != Some(&key) {
            let all = *scope == Scope::default() && filter.is_none();
            let anchor = if self.is_following() { total } else { self.selected.unwrap_or(total) };
            self.index = if all { RowIndex::all(rows.clone()) } else { RowIndex::at(anchor.min(total)) };
            self.search_key = Some(key);
        }
        let needs_content = filter.is_some_and(|applied| applied.filter.needs_content());
        let slice = if needs_content { DECODED_ROWS_PER_STEP } else { ROWS_PER_STEP };
        self.index.extend(rows, slice, |row| is_listed(data, row, scope, filter));
        !self.index.is_complete()
    }

    /// Drops everything loaded.
    pub fn drop_loaded(&mut self) {
        self.search_key = None;
        self.window.clear();
        self.selected_message = None;
        self.body = None;
    }

    /// The position of the selected row among the rows found.
    pub fn position(&self) -> Option<usize> {
        self.index.nearest(self.selected?)
    }

    /// Moves the selection by some rows. Going up ends following.
    pub fn step(&mut self, by: isize, total: usize) {
        let Some(at) = self.position() else { return };
        let last = self.index.len().saturating_sub(1);
        let to = at.saturating_add_signed(by).min(last);
        if by < 0 {
            self.stop_following(total);
        }
        self.select(self.index.get(to));
    }

    pub fn select(&mut self, row: Option<usize>) {
        if row != self.selected {
            self.scroll = 0;
            self.left = 0;
        }
        self.selected = row;
    }

    /// The lines of a row of the window: that of a gap above, its own, and that of a note below.
    fn lines_of(&self, at: usize, row: &TimelineRow) -> [usize; 3] {
        let has_gap = self.is_ladder && at > 0 && !self.is_unfolded && row.is_after_gap();
        let has_note = !self.is_ladder && self.has_notes_below && row.has_note_below();
        [usize::from(has_gap), 1, usize::from(has_note)]
    }

    /// The row on a line of the list. The lines of gaps have none.
    pub(super) fn row_on_line(&self, line: usize) -> Option<usize> {
        let mut next_line = 0;
        for (i, row) in self.window.iter().enumerate() {
            let [gap, own, note] = self.lines_of(i, row);
            if (next_line + gap..next_line + gap + own + note).contains(&line) {
                return Some(row.row);
            }
            next_line += gap + own + note;
        }
        None
    }

    /// The number after that of the last row that was found.
    pub(super) fn seen_rows(&self) -> usize {
        self.index.end()
    }

    pub fn is_following(&self) -> bool {
        self.seen.is_none()
    }

    pub fn follow(&mut self) {
        self.seen = None;
    }

    pub fn stop_following(&mut self, total: usize) {
        self.seen.get_or_insert(total);
    }

    /// Rows of the source.
    pub fn total(&self) -> usize {
        self.index.total()
    }

    /// Rows found that arrived since following ended.
    pub fn new_below(&self) -> usize {
        let Some(seen) = self.seen else { return 0 };
        // New rows above the selected one are not below.
        let seen = self.selected.map_or(seen, |selected| seen.max(selected + 1));
        self.index.len() - self.index.rank(seen)
    }

    /// Brings selection, scroll offset and loaded rows in line with the rows found. `needs_all`
    /// loads all lines of the body.
    pub fn settle_rows(&mut self, data: &dyn Data, height: usize, detail: usize, needs_all: bool) {
        let last = self.index.len().checked_sub(1);
        let position = if self.is_following() { last } else { self.position().or(last) };
        let Some(position) = position else {
            self.window.clear();
            self.selected_message = None;
            return;
        };
        self.select(self.index.get(position));
        let mut top = scroll(self.index.rank(self.top), position, height, self.index.len());
        self.load(data, top, height, position);
        // Lines of gaps and notes take room too, so the selected row may lie below the last line.
        while top < position && self.lines_to_selected() > height {
            top += 1;
            self.load(data, top, height, position);
        }
        self.top = self.index.get(top).unwrap_or(0);
        self.load_body(data, detail, needs_all);
    }

    /// Counts the lines of the list up to the selected row, with those of gaps and notes.
    fn lines_to_selected(&self) -> usize {
        let rows = self.window.iter().take_while(|row| Some(row.row) <= self.selected).enumerate();
        rows.map(|(i, row)| self.lines_of(i, row).iter().sum::<usize>()).sum()
    }

    /// Loads the rows from position `top` on, and the selected message.
    fn load(&mut self, data: &dyn Data, top: usize, height: usize, selected: usize) {
        let mut loaded = std::mem::take(&mut self.window);
        let current = self.selected_message.take();
        let mut before = None;
        if let Some(above) = top.checked_sub(1)
            && let Some(row) = self.fetch(data, &mut loaded, above)
        {
            before = Some(row.line.at);
        }
        let mut window = Vec::with_capacity(height);
        for position in top..top + height {
            let Some(mut row) = self.fetch(data, &mut loaded, position) else { break };
            row.delta = before.map(|before| row.line.at.since(before));
            before = Some(row.line.at);
            window.push(row);
        }
        if let Some(row) = self.fetch(data, &mut loaded, selected) {
            self.selected_message = SelectedMessage::load(data, row, current);
        }
        self.window = window;
    }

    /// Returns the row at a position, and adds the row to those that are loaded.
    fn fetch(&self, data: &dyn Data, loaded: &mut Vec<TimelineRow>, position: usize) -> Option<TimelineRow> {
        let row = self.index.get(position)?;
        if let Some(known) = loaded.iter().find(|known| known.row == row) {
            return Some(known.clone());
        }
        let fetched = TimelineRow { row, line: Arc::new(data.line(row)?), delta: None };
        loaded.push(fetched.clone());
        Some(fetched)
    }

    /// Loads the lines of the body that the detail pane shows, and a page more.
    fn load_body(&mut self, data: &dyn Data, detail: usize, needs_all: bool) {
        let n = self.selected_message.as_ref().and_then(|current| current.fact.n);
        let format = self.format.or(self.has_body_below.then_some(BodyFormat::Yaml));
        let (Some(format), Some(n)) = (format, n) else {
            self.body = None;
            return;
        };
        let limit = if needs_all { MAX_SEARCHED_LINES } else { self.scroll + detail + 1 };
        let enough = |body: &BodyText| body.n == n && body.format == format && body.limit >= limit;
        if !self.body.as_ref().is_some_and(enough) {
            // A page ahead, so that scrolling by lines does not load each time.
            let limit = (limit + detail).min(MAX_SEARCHED_LINES.max(limit));
            self.body = Some(BodyText { n, format, limit, lines: data.body(n, format, limit) });
        }
    }
}

/// Whether a row is in the scope and matches the filter.
fn is_listed(data: &dyn Data, row: usize, scope: &Scope, filter: Option<&AppliedFilter>) -> bool {
    if *scope != Scope::default() {
        let Some((stream, type_url)) = data.place_of(row) else { return false };
        if !scope.has(stream, &type_url) {
            return false;
        }
    }
    match filter {
        Some(applied) => data.row(row).is_some_and(|fact| data.row_matches(applied, &fact)),
        None => true,
    }
}

/// Returns the resources of a response that warm now.
fn warming(data: &dyn Data, fact: &MessageFact) -> Vec<WarmingFact> {
    if fact.dir != Some(Dir::Resp) {
        return Vec::new();
    }
    let mut all = data.store().warming_of(fact.stream);
    all.retain(|warming| Some(warming.response) == fact.n);
    all
}
