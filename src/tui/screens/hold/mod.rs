//! Screen 0: messages that an armed tap holds, and what each choice will cause.

mod load;
#[cfg(test)]
mod tests;
mod view;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ratatui::layout::{Position, Rect};

use crate::common::Common;
use crate::data::Data;
use crate::input::command::Command;
use crate::screens::list_screen::ListScreen;
use crate::screens::screen::{CommandLine, Outcome, Screen, movement};
use crate::widgets::canvas::{Canvas, StyledLine, span};
use crate::widgets::layout::Layout;
use crate::widgets::list::{List, ListRow, SelectionList};
use crate::widgets::table::Column;
use xdscope_engine::hold::HeldRow;
use xdscope_engine::hold::edit::Edited;
use xdscope_engine::hold::{HeldDiff, HeldFact, HeldId, PassedResponse};
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
    /// The response that passed meanwhile, and that the message should have come before.
    passed: Option<PassedResponse>,
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
    queue: SelectionList<HeldRow>,
    loaded: HashMap<HeldId, HeldDetails>,
    /// The content of the second pane, chosen for a message.
    detail: HoldDetail,
    detail_of: Option<HeldId>,
    /// Lines of the second pane.
    lines: Vec<(Role, String)>,
    /// The message and form that `lines` show.
    shown: Option<(HeldId, HoldDetail)>,
    /// The edited message that the user is asked about.
    pub draft: Option<Arc<EditDraft>>,
    /// Open streams of the source.
    open_streams: u64,
    /// Types whose client and server disagree since a decision.
    diverged: Vec<String>,
}

impl ListRow for HeldRow {
    type Key = HeldId;

    fn key(&self) -> HeldId {
        self.fact.id
    }
}

impl HoldScreen {
    /// The selected message.
    pub fn selected(&self) -> Option<&HeldRow> {
        self.queue.row()
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

impl ListScreen for HoldScreen {
    fn list(&self) -> &dyn List {
        &self.queue
    }

    fn areas(&self, common: &Common, layout: &Layout) -> (Rect, Rect) {
        let parts = view::parts(self, common, layout);
        (parts.list, parts.detail)
    }

    fn list_columns(&self, _is_narrow: bool) -> Vec<Column> {
        view::columns().to_vec()
    }

    fn row(&self, common: &Common, at: usize) -> Option<StyledLine> {
        Some(view::held_row(self, common, self.queue.rows.get(at)?))
    }

    fn text_lines(&self, _common: &Common, _area: Rect) -> Vec<StyledLine> {
        let line = |(role, text): &(Role, String)| vec![span(format!("  {text}"), *role)];
        self.lines.iter().map(line).collect()
    }
}

impl Screen for HoldScreen {
    fn update(&mut self, command: Command, common: &mut Common, _data: &dyn Data) -> Outcome {
        if let Some(by) = movement(command, common.page()) {
            self.queue.step_or_scroll(by, common.is_in_second_pane() || self.draft.is_some());
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
        self.queue.scroll = 0;
        Outcome::Done
    }

    fn settle(&mut self, common: &mut Common, data: &dyn Data, layout: &Layout) {
        self.queue.rows = common.info.hold.as_ref().map(|hold| hold.held.clone()).unwrap_or_default();
        self.queue.select_neighbour();
        if self.detail_of != self.queue.selected {
            (self.detail_of, self.detail) = (self.queue.selected, HoldDetail::Diff);
        }
        self.open_streams = data.streams().iter().filter(|stream| stream.closed.is_none()).count() as u64;
        self.load(common, data);
        let parts = view::parts(self, common, layout);
        self.queue.settle(parts.list);
        self.load_lines(common, data);
        self.queue.settle_text(self.lines.len(), parts.detail);
    }

    fn view(&self, common: &Common, canvas: &mut Canvas, layout: &Layout) -> Option<Position> {
        view::draw(self, common, canvas, layout)
    }

    fn summary(&self, _common: &Common, _layout: &Layout) -> String {
        match (self.queue.rows.len(), self.delayed_streams()) {
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
            Command::Open | Command::Diff => !self.queue.rows.is_empty(),
            Command::Filter => false,
            _ => true,
        }
    }

    fn as_list(&self) -> Option<&dyn ListScreen> {
        Some(self)
    }

    fn list_mut(&mut self) -> Option<&mut dyn List> {
        Some(&mut self.queue)
    }

    fn selected_type(&self, _common: &Common) -> Option<TypeUrl> {
        Some(self.selected()?.fact.type_url.clone())
    }

    fn copy_name(&self, _common: &Common) -> Option<String> {
        self.selected()?.fact.node.as_deref().map(str::to_owned)
    }

    fn command_line(&self, _common: &Common, source: &str) -> Option<CommandLine> {
        CommandLine::of_messages(format!("xdscope log {source}"), vec!["kind:intercepted".to_owned()])
    }
}
