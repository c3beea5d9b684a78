//! Screen 3: the messages in order, as a list or a ladder.

mod detail;
mod index;
mod intercepted;
mod ladder;
mod state;
#[cfg(test)]
pub(crate) mod tests;
mod view;

use std::sync::Arc;

use ratatui::layout::{Position, Rect};

use crate::common::{Common, Pane};
use crate::data::{BodyFormat, Data};
use crate::input::command::Command;
use crate::input::screen_id::ScreenId;
use crate::lists::{MAX_COPIED_ROWS, TextTable};
use crate::screens::screen::{CommandLine, Comparable, Outcome, Screen, ScreenText, movement};
use crate::screens::shared::message_rows;
use crate::widgets::canvas::Canvas;
use crate::widgets::layout::{self, Layout};
use crate::widgets::list::line_at;
use crate::widgets::text::{plain_lines, plain_row, texts};
use xdscope_engine::store::MessageFact;
use xdscope_wire::event::{Dir, Seq, TypeUrl};
use xdscope_wire::text::{count, plural};

use state::TimelineRow;
pub(crate) use state::TimelineScreen;

/// Columns that a body moves sideways at once.
const SIDEWAYS_COLUMNS: usize = 8;

impl TimelineScreen {
    fn next_format(&mut self) {
        self.scroll = 0;
        self.format = self.format.map_or(Some(BodyFormat::Yaml), BodyFormat::next);
    }

    /// Scrolls a body by some columns.
    fn scroll_sideways(&mut self, right: bool) -> Outcome {
        if self.format.is_none() {
            return Outcome::NotHandled;
        }
        let columns = if right { SIDEWAYS_COLUMNS as isize } else { -(SIDEWAYS_COLUMNS as isize) };
        self.left = self.left.saturating_add_signed(columns);
        Outcome::Done
    }

    /// Selects the next or previous NACK.
    fn next_nack(&mut self, common: &mut Common, data: &dyn Data, forward: bool) {
        match self.nack_row(data, forward) {
            Some(row) => self.show_row(row, common, data),
            None => common.say("no further NACK this way"),
        }
    }

    /// Returns the row of the next NACK in a direction.
    fn nack_row(&self, data: &dyn Data, forward: bool) -> Option<usize> {
        let current = self.selected?;
        let is_shown = |row: &usize| self.index.get(self.index.rank(*row)) == Some(*row);
        let rows = data.nacks().into_iter().filter_map(|n| data.row_of(n)).filter(is_shown);
        if forward {
            rows.filter(|row| *row > current).min()
        } else {
            rows.filter(|row| *row < current).max()
        }
    }
}

impl Screen for TimelineScreen {
    fn update(&mut self, command: Command, common: &mut Common, data: &dyn Data) -> Outcome {
        if let Some(by) = movement(command, self.page(common)) {
            if common.is_in_second_pane() {
                self.scroll = self.scroll.saturating_add_signed(by);
                return Outcome::Done;
            }
            self.step(by, common.rows(data));
            // Following selects the last row too.
            if command == Command::Last {
                self.follow();
            }
            return Outcome::Done;
        }
        match command {
            Command::NextNack | Command::PreviousNack if !common.has_cursor() => {
                self.next_nack(common, data, command == Command::NextNack);
            }
            Command::Left | Command::Right => return self.scroll_sideways(command == Command::Right),
            Command::Ladder => self.is_ladder = !self.is_ladder,
            Command::Format => self.next_format(),
            Command::Unfold if !self.is_ladder => {
                return Outcome::say(common, "z folds the silences of the ladder: L shows it");
            }
            Command::Unfold => {
                self.is_unfolded = !self.is_unfolded;
                common.say(if self.is_unfolded { "silences are not marked" } else { "silences are marked" });
            }
            Command::Wrap if self.format.is_none() => {
                return Outcome::say(common, "w wraps the lines of a body: v shows it");
            }
            Command::Wrap => {
                self.wraps = !self.wraps;
                common.say(if self.wraps { "long lines wrap" } else { "long lines are cut" });
            }
            _ => return Outcome::NotHandled,
        }
        Outcome::Done
    }

    fn settle(&mut self, common: &mut Common, data: &dyn Data, layout: &Layout) {
        self.search(common, data);
        let (list, detail) = areas(layout, common.is_full_screen);
        let height = usize::from(list.height).saturating_sub(1);
        let room = usize::from(detail.height).saturating_sub(1);
        self.has_body_below = layout.wide;
        self.has_notes_below = message_rows::lacks_notes(&view::columns(common, list.width));
        self.settle_rows(data, height, room, common.is_finding);
        let lines = detail::lines(self, common);
        self.scroll = self.scroll.min(lines.len().saturating_sub(room));
    }

    fn view(&self, common: &Common, canvas: &mut Canvas, layout: &Layout) -> Option<Position> {
        view::draw(self, common, canvas, layout)
    }

    fn summary(&self, common: &Common, layout: &Layout) -> String {
        let (index, rows) = (&self.index, self.total());
        let glyphs = common.theme.glyphs();
        let new = match self.new_below() {
            n if n > 0 && layout.low => {
                format!("{} {} new (f) {} ", glyphs.down, count(n as u64), glyphs.dot)
            }
            _ => String::new(),
        };
        if index.is_complete() {
            return format!("{new}{} of {}", count(index.len() as u64), plural(rows as u64, "row"));
        }
        let percent = index.searched() * 100 / rows.max(1);
        format!("{} of {}, searched {percent}%", count(index.len() as u64), plural(rows as u64, "row"))
    }

    fn hint(&self, common: &Common) -> String {
        let dot = common.theme.glyphs().dot;
        if self.is_following() {
            return format!("following the newest {dot} k or f to stay");
        }
        let new = count(self.new_below() as u64);
        format!("not following: {new} new below {dot} f to follow")
    }

    fn search(&mut self, common: &mut Common, data: &dyn Data) -> bool {
        self.search_rows(data, common.rows(data), &common.scope, common.filter_on(ScreenId::Timeline))
    }

    fn is_searching(&self) -> bool {
        !self.index.is_complete()
    }

    fn forget(&mut self) {
        self.drop_loaded();
    }

    fn label(&self, command: Command) -> Option<&'static str> {
        match command {
            Command::Ladder if self.is_ladder => Some("list"),
            Command::Follow if self.is_following() => Some("stay"),
            _ => None,
        }
    }

    fn point(&mut self, at: Position, selects: bool, common: &mut Common, layout: &Layout) -> Option<bool> {
        let (list, detail) = areas(layout, common.is_full_screen);
        if detail.contains(at) {
            common.pane = Pane::Second;
        }
        if !list.contains(at) {
            return None;
        }
        common.pane = Pane::Main;
        if !selects {
            return None;
        }
        let row = self.row_on_line(line_at(list, at)?)?;
        let is_same = self.selected == Some(row);
        self.stop_following(self.seen_rows());
        self.select(Some(row));
        Some(is_same)
    }

    fn columns(&self, common: &Common) -> Vec<String> {
        view::titles(common).into_iter().filter(|title| !title.is_empty()).map(str::to_owned).collect()
    }

    fn table(&self, common: &Common, data: &dyn Data) -> Option<TextTable> {
        let rows = (0..self.index.len()).take(MAX_COPIED_ROWS).filter_map(|at| self.index.get(at));
        let mut before = None;
        let rows = rows.filter_map(|row| {
            let line = Arc::new(data.line(row)?);
            let delta = before.replace(line.at).map(|before| line.at.since(before));
            Some(texts(&view::timeline_row(common, &TimelineRow { row, line, delta })))
        });
        let titles = view::titles(common).into_iter().map(str::to_owned).collect();
        Some(TextTable { titles, rows: rows.collect() })
    }

    fn page(&self, common: &Common) -> isize {
        let list = |layout: Layout| areas(&layout, common.is_full_screen).0.height.saturating_sub(1);
        common.page_of(common.layout().map_or(1, list))
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
        self.selected_message().map(|fact| fact.type_url.clone())
    }

    fn selected_message(&self) -> Option<&MessageFact> {
        self.selected_message.as_ref().map(|selected| &*selected.fact)
    }

    fn comparable(&self, _common: &Common, _data: &dyn Data) -> Option<Comparable> {
        let fact = self.selected_message()?;
        let push = if fact.dir == Some(Dir::Resp) { fact.n } else { fact.answers };
        push.map(Comparable::Push)
    }

    fn copy_row(&self, common: &Common) -> Option<String> {
        Some(plain_row(&view::timeline_row(common, &self.selected_message.as_ref()?.row)))
    }

    fn copy_name(&self, _common: &Common) -> Option<String> {
        Some(self.selected_message()?.names.join("\n"))
    }

    fn copy_body(&self, format: BodyFormat, data: &dyn Data) -> Option<String> {
        let fact = self.selected_message()?;
        match format {
            BodyFormat::Json => Some(data.json(fact)),
            _ => Some(data.body(fact.n?, format, usize::MAX).join("\n")),
        }
    }

    fn command_line(&self, common: &Common, source: &str) -> Option<CommandLine> {
        let stream = common.scope.stream.map(|stream| format!("stream:{}", stream.0));
        let ladder = if self.is_ladder { " --ladder" } else { "" };
        CommandLine::of_messages(format!("xdscope log {source}{ladder}"), stream.into_iter().collect())
    }
}

impl TimelineScreen {
    /// Selects a message and stops following. Without a message, keeps the selection.
    pub fn show_message(&mut self, n: Option<Seq>, common: &Common, data: &dyn Data) {
        if let Some(row) = n.and_then(|n| data.row_of(n)) {
            self.show_row(row, common, data);
        }
    }

    /// Selects a row and stops following.
    pub fn show_row(&mut self, row: usize, common: &Common, data: &dyn Data) {
        self.stop_following(common.rows(data));
        self.select(Some(row));
    }
}

/// The areas of list and detail. Either may be empty.
pub(crate) fn areas(layout: &Layout, is_full_screen: bool) -> (Rect, Rect) {
    let body = layout.body;
    if is_full_screen {
        return layout::split(body, 0);
    }
    if layout.wide {
        return layout::beside(body, body.width - layout.shifted(body.width * 4 / 9, body.width, 20));
    }
    // The fields of a message take eight lines. The list keeps at least half.
    let detail = layout.shifted((body.height / 2).min(10), body.height, 3);
    layout::split(body, body.height - detail)
}
