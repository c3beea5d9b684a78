//! Screen 5: the changes of a push, and the differences between two versions of a resource.

mod keys;
mod load;
mod open;
mod rows;
mod state;
mod summary;
#[cfg(test)]
mod tests;
mod view;

use ratatui::layout::{Position, Rect};
use serde_json::Value;

use crate::common::{Common, Pane, Scope};
use crate::data::{BodyFormat, Data};
use crate::input::command::Command;
use crate::screens::list_screen;
use crate::screens::screen::{CommandLine, Outcome, ResourcePlace, Screen, ScreenText};
use crate::widgets::canvas::Canvas;
use crate::widgets::layout::{self, Content, Layout};
use crate::widgets::list::line_at;
use crate::widgets::text::plain_lines;
use xdscope_engine::diff::Change;
use xdscope_present::text::shell_word;
use xdscope_wire::event::{Kind, Seq};
use xdscope_wire::text::{display_safe, plural};

pub(crate) use state::{DiffRow, DiffScreen};

/// Columns that are enough for a row in a search.
const SEARCH_WIDTH: usize = 1 << 12;

impl DiffScreen {
    /// The change that was jumped to, or the first one on the screen.
    fn change(&self) -> Option<&Change> {
        let rows = self.rows.iter().skip(self.mark.unwrap_or(self.scroll));
        let index =
            rows.filter_map(|row| if let DiffRow::Path(index) = row { Some(*index) } else { None }).next();
        self.compared.change(index.unwrap_or_default())
    }
}

impl Screen for DiffScreen {
    fn update(&mut self, command: Command, common: &mut Common, data: &dyn Data) -> Outcome {
        keys::update(self, command, common, data)
    }

    fn settle(&mut self, common: &mut Common, data: &dyn Data, layout: &Layout) {
        if std::mem::take(&mut self.chooses_entry) {
            self.choose_entry(data, common.rows(data));
        }
        self.follow(data, common.rows(data));
        let areas = self.areas(common, layout);
        let room = usize::from(areas.1.height).saturating_sub(1);
        self.compare(data, self.has_columns(common), room);
        self.name_nodes(data);
        self.count_changes(data, usize::from(areas.0.height).saturating_sub(1));
        self.scroll = self.scroll.min(rows::last_top(self, common, layout, room));
    }

    fn view(&self, common: &Common, canvas: &mut Canvas, layout: &Layout) -> Option<Position> {
        view::draw(self, common, canvas, layout)
    }

    fn summary(&self, _common: &Common, _layout: &Layout) -> String {
        if self.target.is_none() || self.absence().is_some() {
            return String::new();
        }
        let version = self.new.map(|at| format!("version {} of {}, ", at + 1, self.versions.len()));
        let changed = match self.compared.comparison.changes.len() as u64 {
            _ if self.compared.one_sided => "on one side only".to_owned(),
            0 => "no field changed".to_owned(),
            n => format!("{} changed", plural(n, "field")),
        };
        format!("{}{changed}", version.unwrap_or_default())
    }

    fn hint(&self, common: &Common) -> String {
        let order = match (self.is_strict_order, self.compared.comparison.reordered.len()) {
            (true, _) => "order of keyed lists counts (o ignores it)".to_owned(),
            (false, 0) => "ignored: order of maps and keyed lists".to_owned(),
            (false, n) => {
                format!("ignored: map order, {} reordered (o shows)", plural(n as u64, "keyed list"))
            }
        };
        format!("{order} {} compared with {}", common.theme.glyphs().dot, self.base.word())
    }

    fn point(&mut self, at: Position, selects: bool, common: &mut Common, layout: &Layout) -> Option<bool> {
        let (top, detail) = self.areas(common, layout);
        if detail.contains(at) {
            common.pane = Pane::Second;
        }
        if !top.contains(at) {
            return None;
        }
        common.pane = Pane::Main;
        let row = self.top + line_at(top, at)?;
        let entries = self.push.as_ref().map_or(0, |push| push.entries.len());
        if !selects || row >= entries {
            return None;
        }
        let is_same = std::mem::replace(&mut self.chosen, row) == row;
        self.chooses_entry |= !is_same;
        Some(is_same)
    }

    fn forget(&mut self) {
        self.is_stale = true;
    }

    fn has_text_focus(&self, _common: &Common) -> bool {
        self.target.is_some()
    }

    fn text(&self, common: &Common) -> Option<ScreenText> {
        let text = |row: &DiffRow| plain_lines(rows::lines(self, common, *row, SEARCH_WIDTH)).join(" ");
        Some(ScreenText { lines: self.rows.iter().map(text).collect(), at: self.scroll })
    }

    fn show_line(&mut self, line: usize) {
        self.scroll = line.saturating_sub(1);
    }

    fn messages(&self, _data: &dyn Data) -> Option<(Scope, Option<Seq>)> {
        let target = self.target.as_ref()?;
        let scope = Scope { stream: Some(target.stream), type_url: Some(target.type_url.clone()) };
        Some((scope, self.version(self.new).map(|version| version.n)))
    }

    fn content(&self, common: &Common, largest: &Layout) -> Option<Content> {
        let room = usize::from(self.areas(common, largest).1.height).saturating_sub(1);
        let lines = rows::count_lines(self, common, largest, room);
        let folded = self.unfolded_rows.saturating_sub(self.rows.len());
        let unfolded = if lines + folded <= room { lines + folded } else { lines };
        let Some(push) = &self.push else { return Content::new(1 + unfolded) };
        Content::stacked(push.entries.len().max(1) + 1, 3, 1 + unfolded)
    }

    /// The change with its old and new value.
    fn copy_row(&self, _common: &Common) -> Option<String> {
        let change = self.change()?;
        let value = |value: &Option<Value>| value.as_ref().map_or_else(|| "-".to_owned(), Value::to_string);
        let text = format!("{}  {}  {}", change.path, value(&change.from), value(&change.to));
        Some(display_safe(&text).into_owned())
    }

    fn copy_name(&self, _common: &Common) -> Option<String> {
        Some(self.target.as_ref()?.name.to_string())
    }

    fn selected_resource(&self) -> Option<ResourcePlace> {
        self.target.clone()
    }

    fn copy_path(&self) -> Option<String> {
        Some(self.change()?.path.to_string())
    }

    fn copy_body(&self, format: BodyFormat, data: &dyn Data) -> Option<String> {
        Some(data.contents().text(self.version(self.new)?.content?, format))
    }

    fn command_line(&self, common: &Common, source: &str) -> Option<CommandLine> {
        if self.absence().is_some() {
            return None;
        }
        let target = self.target.as_ref()?;
        let type_url = target.type_url.as_str();
        let word = Kind::of_type_url(type_url).map_or(type_url, |(kind, _)| kind.word());
        let what = shell_word(&format!("{word}/{}", target.name));
        let message = |at| self.version(at).map(|version| format!(" '#{}'", version.n.0));
        let stream = target.stream.0;
        let Some(old) = message(self.old) else {
            // There is no older version, so the new one is printed.
            let new = self.version(self.new)?.n.0;
            let line = format!("xdscope get {source} {what} -o yaml --at '#{new}' --stream '#{stream}'");
            return CommandLine::complete(line);
        };
        let new = message(self.new)?;
        let order = if self.is_strict_order { " --strict-order" } else { "" };
        let columns = if self.has_columns(common) { " --side-by-side" } else { "" };
        CommandLine::complete(format!(
            "xdscope diff {source} {what}{old}{new} --stream '#{stream}'{order}{columns}"
        ))
    }
}

impl DiffScreen {
    /// The areas of the push's summary and of the changes. Without a push the first one is empty.
    fn areas(&self, common: &Common, layout: &Layout) -> (Rect, Rect) {
        match &self.push {
            Some(push) => list_screen::areas(common, layout, push.entries.len().max(1), 3),
            None => layout::split(layout.body, 0),
        }
    }
}
