//! The trait of a screen, and how one screen leads to another.

use std::sync::Arc;

use ratatui::layout::Position;

use crate::common::{Common, Pane, Scope};
use crate::data::{BodyFormat, Data};
use crate::input::command::Command;
use crate::lists::TextTable;
use crate::screens::list_screen::{self, ListScreen};
use crate::widgets::canvas::Canvas;
use crate::widgets::layout::{Content, Layout};
use crate::widgets::list::List;
use crate::widgets::text::{plain_lines, plain_row};
use xdscope_engine::store::MessageFact;
use xdscope_wire::event::{Kind, Seq, StreamId, TypeUrl};

/// A screen: state, commands of its own, and how it is drawn.
///
/// The shell calls [`Screen::settle`] after each key and each change of the facts, so that
/// [`Screen::view`] reads nothing but the state.
pub trait Screen {
    /// Handles a command that belongs to the screen.
    fn update(&mut self, command: Command, common: &mut Common, data: &dyn Data) -> Outcome;

    /// Updates the state to the facts.
    fn settle(&mut self, common: &mut Common, data: &dyn Data, layout: &Layout);

    /// Draws the body. Returns where the terminal's cursor belongs.
    fn view(&self, common: &Common, canvas: &mut Canvas, layout: &Layout) -> Option<Position>;

    /// The right end of the scope line.
    fn summary(&self, common: &Common, layout: &Layout) -> String;

    /// The notice line while there is no notice.
    fn hint(&self, common: &Common) -> String;

    /// Continues a search in slices. Returns whether rows are left.
    fn search(&mut self, _common: &mut Common, _data: &dyn Data) -> bool {
        false
    }

    fn is_searching(&self) -> bool {
        false
    }

    /// Drops what was loaded: the time cursor went back.
    fn forget(&mut self) {}

    /// The count in the tab; 0 shows none.
    fn badge(&self, _common: &Common) -> usize {
        0
    }

    /// Whether a command of the footer has something to act on.
    fn has_target(&self, _command: Command, _common: &Common) -> bool {
        true
    }

    /// A footer label that depends on the state.
    fn label(&self, _command: Command) -> Option<&'static str> {
        None
    }

    /// The screen as a list above a text about the selected row, if the screen is one.
    fn as_list(&self) -> Option<&dyn ListScreen> {
        None
    }

    /// The rows of that list.
    fn list_mut(&mut self) -> Option<&mut dyn List> {
        None
    }

    /// The titles of the columns of the list, which can be hidden and sorted by. Empty for a tree
    /// or a text.
    fn columns(&self, _common: &Common) -> Vec<String> {
        self.as_list().map(list_screen::titles).unwrap_or_default()
    }

    /// The list with all its rows, for a copy.
    fn table(&self, common: &Common, _data: &dyn Data) -> Option<TextTable> {
        Some(list_screen::table(self.as_list()?, common))
    }

    /// Gives the focus to the pane at a position and, if `selects`, selects the row there. Returns
    /// whether that row was selected before; `None` beside rows.
    fn point(&mut self, at: Position, selects: bool, common: &mut Common, layout: &Layout) -> Option<bool> {
        let (list, text) = self.as_list()?.areas(common, layout);
        if text.contains(at) {
            common.pane = Pane::Second;
        }
        if list.contains(at) {
            common.pane = Pane::Main;
        }
        self.list_mut()?.point(at, list, selects)
    }

    /// Unfolds the text, because a search goes through all of it.
    fn unfold_text(&mut self) {}

    /// Rows of a page.
    fn page(&self, common: &Common) -> isize {
        common.page()
    }

    /// The text that the arrows move in, if they do.
    fn text(&self, common: &Common) -> Option<ScreenText> {
        let screen = self.as_list()?;
        let (_, area) = screen.areas(common, &common.layout()?);
        Some(ScreenText { lines: plain_lines(screen.text_lines(common, area)), at: screen.list().scroll() })
    }

    fn has_text_focus(&self, common: &Common) -> bool {
        self.as_list().is_some() && common.is_in_second_pane()
    }

    /// Scrolls the text to a line.
    fn show_line(&mut self, line: usize) {
        if let Some(list) = self.list_mut() {
            list.scroll_to(line.saturating_sub(1));
        }
    }

    fn selected_type(&self, _common: &Common) -> Option<TypeUrl> {
        None
    }

    fn select_type(&mut self, _type_url: &TypeUrl) {}

    fn selected_message(&self) -> Option<&MessageFact> {
        None
    }

    /// The messages that the selection is about: their scope, and one of them.
    fn messages(&self, _data: &dyn Data) -> Option<(Scope, Option<Seq>)> {
        None
    }

    /// The lines that the screen fills, if the messages of the selection are shown below. `largest`
    /// is the layout with the lowest pane of messages.
    fn content(&self, _common: &Common, _largest: &Layout) -> Option<Content> {
        None
    }

    /// The push or resource that Diff compares for the selection.
    fn comparable(&self, _common: &Common, _data: &dyn Data) -> Option<Comparable> {
        None
    }

    /// The selected row as text, uncut.
    fn copy_row(&self, common: &Common) -> Option<String> {
        let screen = self.as_list()?;
        Some(plain_row(&screen.row(common, screen.list().position()?)?))
    }

    /// The name of the selected node or resource.
    fn copy_name(&self, common: &Common) -> Option<String>;

    fn selected_resource(&self) -> Option<ResourcePlace> {
        None
    }

    /// The path of the selected field.
    fn copy_path(&self) -> Option<String> {
        None
    }

    /// The selected message or resource in a format.
    fn copy_body(&self, _format: BodyFormat, _data: &dyn Data) -> Option<String> {
        None
    }

    /// The command line that prints this view of `source`.
    fn command_line(&self, common: &Common, source: &str) -> Option<CommandLine>;
}

/// The text of a screen that has the focus.
pub struct ScreenText {
    pub lines: Vec<String>,
    /// The selected line, or the first one shown.
    pub at: usize,
}

/// The result of a command.
#[derive(Debug)]
pub enum Outcome {
    Done,
    /// The command is not one of the screen's own.
    NotHandled,
    /// Another screen opens, with a way back.
    Open(Destination),
    /// The evidence of a problem opens, whatever the filter.
    OpenProblem(Destination),
}

impl Outcome {
    /// Shows the reason why nothing happened.
    pub fn say(common: &mut Common, notice: impl Into<String>) -> Outcome {
        common.say(notice);
        Outcome::Done
    }
}

/// A place on another screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    Stream {
        stream: StreamId,
        type_url: Option<TypeUrl>,
    },
    /// The list of all streams of a client, at one of them.
    Streams {
        stream: StreamId,
    },
    /// The refusal that message `n` belongs to.
    Nack {
        stream: StreamId,
        n: Seq,
    },
    /// The subscription of a stream to a type, at a name if there is one.
    Subscription {
        stream: StreamId,
        type_url: TypeUrl,
        name: Option<Arc<str>>,
    },
    /// A resource in the graph of its client.
    Graph {
        stream: StreamId,
        kind: Kind,
        name: Arc<str>,
    },
    /// The timeline of a scope, at a message if there is one.
    Messages {
        scope: Scope,
        n: Option<Seq>,
    },
    Resource(ResourcePlace),
    /// A resource of one stream against the same name on another.
    Variants {
        resource: ResourcePlace,
        other: StreamId,
    },
}

/// A resource of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourcePlace {
    pub stream: StreamId,
    pub type_url: TypeUrl,
    pub name: Arc<str>,
}

/// A selection that can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparable {
    Push(Seq),
    /// A resource as the command line names it: `cds/reviews`.
    Resource(String),
}

/// The way in which a command line names the position of the time cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorFlag {
    /// `--at` names the moment.
    At,
    /// A filter ends the messages: `before:#8`.
    Before,
    /// The command line names its messages.
    None,
}

/// A command line that prints what a screen shows.
pub struct CommandLine {
    pub line: String,
    /// The filters to which scope and filter in force are added; `None` if the verb has no filter.
    pub filters: Option<Vec<String>>,
    pub cursor: CursorFlag,
}

impl CommandLine {
    /// A command line that names all that it prints.
    pub fn complete(line: String) -> Option<CommandLine> {
        Some(CommandLine { line, filters: None, cursor: CursorFlag::None })
    }

    /// A command line that prints facts of one moment.
    pub fn of_moment(line: String) -> Option<CommandLine> {
        Some(CommandLine { line, filters: None, cursor: CursorFlag::At })
    }

    /// A command line that prints states of one moment, those in scope that match the filter.
    pub fn of_states(line: String) -> Option<CommandLine> {
        Some(CommandLine { line, filters: Some(Vec::new()), cursor: CursorFlag::At })
    }

    /// A command line that prints messages, those in scope that match these filters.
    pub fn of_messages(line: String, filters: Vec<String>) -> Option<CommandLine> {
        Some(CommandLine { line, filters: Some(filters), cursor: CursorFlag::Before })
    }
}

/// The number of rows by which a command moves.
pub(crate) fn movement(command: Command, page: isize) -> Option<isize> {
    Some(match command {
        Command::Up | Command::PreviousMatch => -1,
        Command::Down | Command::NextMatch => 1,
        Command::PageUp => -page,
        Command::PageDown => page,
        Command::HalfUp => -(page / 2).max(1),
        Command::HalfDown => (page / 2).max(1),
        Command::First => isize::MIN / 2,
        Command::Last => isize::MAX / 2,
        _ => return None,
    })
}
