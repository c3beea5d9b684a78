//! Screen 0: messages that an armed tap holds, and what each choice will cause.

mod load;
#[cfg(test)]
mod tests;
mod view;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ratatui::layout::Position;

use crate::common::{Common, Pane};
use crate::data::Data;
use crate::input::command::Command;
use crate::lists::TextTable;
use crate::screens::screen::{CommandLine, Outcome, Screen, ScreenText, movement};
use crate::widgets::canvas::Canvas;
use crate::widgets::layout::Layout;
use crate::widgets::list::scroll;
use crate::widgets::table::titles_of;
use crate::widgets::text::{plain_row, texts};
use xdscope_engine::hold::HeldRow;
use xdscope_engine::hold::edit::Edited;
use xdscope_engine::hold::{HeldDiff, HeldFact, HeldId};
use xdscope_present::report::Role;
use xdscope_wire::event::{StreamId, TypeUrl};
use xdscope_wire::text::{age, plural};

/// A message that was edited, until it is sent or discarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditDraft {
    /// The message as it came.
    pub fact: Arc<HeldFact>,
    /// The text of the editor.
    pub text: String,
    /// The message of the text, or why it cannot be sent.
    pub edited: Result<Edited, String>,
}

/// Facts about a held message besides its row.
#[derive(Clone, Debug, Default)]
struct HeldDetails {
    stream: Option<StreamId>,
    diff: Option<HeldDiff>,
}

/// The content of the second pane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum HoldDetail {
    #[default]
    Diff,
    /// The whole message.
    Message,
}

#[derive(Clone, Debug, Default)]
pub struct HoldScreen {
    /// The held messages, the oldest first.
    rows: Vec<HeldRow>,
    selected: Option<HeldId>,
    top: usize,
    loaded: HashMap<HeldId, HeldDetails>,
    detail: HoldDetail,
    /// Lines of the second pane, and those that are scrolled off.
    lines: Vec<(Role, String)>,
    scroll: usize,
    /// The message and form that `lines` show.
    shown: Option<(HeldId, HoldDetail)>,
    /// The edited message that the user is asked about.
    pub draft: Option<Arc<EditDraft>>,
    /// Open streams of the source.
    open_streams: u64,
    /// Types whose client and server disagree since a decision.
    diverged: Vec<String>,
}

impl HoldScreen {
    fn position(&self) -> Option<usize> {
        let selected = self.selected?;
        self.rows.iter().position(|row| row.fact.id == selected)
    }

    /// The selected message.
    pub fn selected(&self) -> Option<&HeldRow> {
        self.rows.get(self.position()?)
    }

    fn select(&mut self, at: usize) {
        let to = self.rows.get(at.min(self.rows.len().saturating_sub(1))).map(|row| row.fact.id);
        if to != self.selected {
            (self.scroll, self.detail) = (0, HoldDetail::Diff);
        }
        self.selected = to;
    }

    fn diff(&self, id: HeldId) -> Option<&HeldDiff> {
        self.loaded.get(&id)?.diff.as_ref()
    }

    /// The number of streams that wait for a decision.
    fn delayed_streams(&self) -> u64 {
        let streams = self.loaded.values().filter_map(|loaded| loaded.stream);
        streams.collect::<HashSet<_>>().len() as u64
    }
}

impl Screen for HoldScreen {
    fn update(&mut self, command: Command, common: &mut Common, _data: &dyn Data) -> Outcome {
        if let Some(by) = movement(command, common.page()) {
            if common.is_in_second_pane() || self.draft.is_some() {
                self.scroll = self.scroll.saturating_add_signed(by);
            } else {
                self.select(self.position().unwrap_or(0).saturating_add_signed(by));
            }
            return Outcome::Done;
        }
        match command {
            Command::Open | Command::Diff | Command::FullScreen if self.selected().is_none() => {
                return Outcome::say(common, "nothing is held");
            }
            Command::Open if self.detail == HoldDetail::Diff => self.detail = HoldDetail::Message,
            Command::Open | Command::Diff => self.detail = HoldDetail::Diff,
            _ => return Outcome::NotHandled,
        }
        self.scroll = 0;
        Outcome::Done
    }

    fn settle(&mut self, common: &mut Common, data: &dyn Data, layout: &Layout) {
        let before = self.position();
        self.rows = common.info.hold.as_ref().map(|hold| hold.held.clone()).unwrap_or_default();
        if self.position().is_none() {
            self.select(before.unwrap_or(0));
        }
        self.open_streams = data.streams().iter().filter(|stream| stream.closed.is_none()).count() as u64;
        self.load(common, data);
        let parts = view::parts(self, common, layout);
        let height = usize::from(parts.list.height).saturating_sub(1);
        self.top = scroll(self.top, self.position().unwrap_or(0), height, self.rows.len());
        self.load_lines(common, data);
        let room = usize::from(parts.detail.height).saturating_sub(1);
        self.scroll = self.scroll.min(self.lines.len().saturating_sub(room));
    }

    fn view(&self, common: &Common, canvas: &mut Canvas, layout: &Layout) -> Option<Position> {
        view::draw(self, common, canvas, layout)
    }

    fn summary(&self, _common: &Common, _layout: &Layout) -> String {
        match (self.rows.len(), self.delayed_streams()) {
            (0, _) => "nothing held".to_owned(),
            (held, 0) => format!("{held} held"),
            (held, delayed) => format!("{held} held, {} delayed", plural(delayed, "stream")),
        }
    }

    fn hint(&self, common: &Common) -> String {
        match &common.info.hold {
            Some(hold) if hold.released > 0 => format!(
                "{} sent unmodified because nobody decided within {}",
                plural(hold.released, "message"),
                age(hold.timeout)
            ),
            _ => "keys marked ! change what goes on the wire".to_owned(),
        }
    }

    fn badge(&self, common: &Common) -> usize {
        common.info.hold.as_ref().map_or(0, |hold| hold.held.len())
    }

    fn forget(&mut self) {
        self.loaded.clear();
        self.shown = None;
    }

    fn label(&self, command: Command) -> Option<&'static str> {
        match command {
            Command::AckHeld => Some("allow"),
            Command::NackHeld => Some("bounce"),
            Command::Open if self.detail == HoldDetail::Message => Some("diff"),
            Command::Open => Some("message"),
            _ => None,
        }
    }

    fn has_target(&self, command: Command, _common: &Common) -> bool {
        match command {
            Command::Open | Command::Diff => !self.rows.is_empty(),
            Command::Filter => false,
            _ => true,
        }
    }

    fn point(&mut self, at: Position, selects: bool, common: &mut Common, layout: &Layout) -> Option<bool> {
        let parts = view::parts(self, common, layout);
        if parts.detail.contains(at) {
            common.pane = Pane::Second;
        }
        if !parts.list.contains(at) {
            return None;
        }
        common.pane = Pane::Main;
        let row = self.top + usize::from(at.y.checked_sub(parts.list.y + 1)?);
        let before = self.position();
        (selects && row < self.rows.len()).then(|| self.select(row))?;
        Some(before == Some(row))
    }

    fn columns(&self, _common: &Common) -> Vec<String> {
        let mut titles = titles_of(&view::columns());
        titles.retain(|title| !title.is_empty());
        titles
    }

    fn is_sortable_by_column(&self) -> bool {
        false
    }

    fn table(&self, common: &Common, _data: &dyn Data) -> Option<TextTable> {
        let rows = self.rows.iter().map(|row| texts(&view::held_row(self, common, row))).collect();
        Some(TextTable { titles: self.columns(common), rows })
    }

    fn has_text_focus(&self, common: &Common) -> bool {
        common.is_in_second_pane()
    }

    fn text(&self, _common: &Common) -> Option<ScreenText> {
        let lines = self.lines.iter().map(|(_, text)| text.clone()).collect();
        Some(ScreenText { lines, at: self.scroll })
    }

    fn show_line(&mut self, line: usize) {
        self.scroll = line.saturating_sub(1);
    }

    fn selected_type(&self, _common: &Common) -> Option<TypeUrl> {
        Some(self.selected()?.fact.type_url.clone())
    }

    fn copy_row(&self, common: &Common) -> Option<String> {
        Some(plain_row(&view::held_row(self, common, self.selected()?)))
    }

    fn copy_name(&self, _common: &Common) -> Option<String> {
        self.selected()?.fact.node.as_deref().map(str::to_owned)
    }

    fn command_line(&self, _common: &Common, source: &str) -> Option<CommandLine> {
        CommandLine::of_messages(format!("xdscope log {source}"), vec!["kind:intercepted".to_owned()])
    }
}
