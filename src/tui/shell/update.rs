//! Messages in, effects out. Nothing here draws.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::wire::event::StreamId;

use crate::tui::data::{Data, Info};
use crate::tui::input::command::Command;
use crate::tui::input::keymap;
use crate::tui::screens::overview::{RefreshPolicy, TableKey, scroll, stream_of};
use crate::tui::shell::client_action::ClientAction;
use crate::tui::shell::commands;
use crate::tui::shell::model::{Model, Overlay, Screen};
use crate::tui::shell::prompt;
use crate::tui::shell::replay::{self, Seek};
use crate::tui::shell::view::detail::detail_lines;
use crate::tui::widgets::layout;

/// What happened outside.
#[derive(Clone, Debug)]
pub enum Msg {
    Key(KeyEvent),
    Resize(u16, u16),
    /// The facts changed, or time passed.
    Changed,
    Info(Box<Info>),
    Notice(String),
    /// Text pasted into the terminal; it is taken by prompts only.
    Paste(String),
    /// From the shell: stop until continued.
    Suspend,
    /// From outside: end now (SIGTERM, SIGHUP, the source says so).
    Stop,
}

/// What the loop has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Quit,
    Suspend,
    Redraw,
    /// Send to the terminal's clipboard.
    Copy(String),
    /// Keep the marks with the source.
    SaveMarks,
    /// The client is to say this.
    Tell(ClientAction),
    /// Begin a recording of this name, or end it.
    Record(Option<String>),
    /// Move the time cursor; a live source is held.
    Replay(Seek),
}

/// Takes in one message. The model afterwards is ready to be drawn.
pub fn update(model: &mut Model, msg: Msg, data: &dyn Data) -> Vec<Effect> {
    update_all(model, vec![msg], data)
}

/// The same with what has come together.
pub fn update_all(model: &mut Model, messages: Vec<Msg>, data: &dyn Data) -> Vec<Effect> {
    let mut effects = Vec::new();
    model.hurried = messages.iter().any(|message| matches!(message, Msg::Key(_)));
    let mut messages = messages.into_iter().peekable();
    while let Some(message) = messages.next() {
        effects.extend(take_in(model, message, data));
        // The next letter of what is typed into a prompt needs nothing that is derived.
        let typing = model.overlays.last().is_some_and(Overlay::is_prompt);
        if !typing || messages.peek().is_none() {
            settle(model, data);
        }
    }
    effects
}

fn take_in(model: &mut Model, msg: Msg, data: &dyn Data) -> Vec<Effect> {
    match msg {
        Msg::Key(key) => press(model, key, data),
        Msg::Resize(width, height) => {
            model.size = (width, height);
            // Also back at the old size: what the terminal did to its lines meanwhile nobody knows.
            vec![Effect::Redraw]
        }
        Msg::Changed => vec![],
        Msg::Info(info) => {
            if info.notice.is_some() && info.notice != model.info.notice {
                model.notice.clone_from(&info.notice);
            }
            let turn = |info: &Info| info.bar.as_ref().map(|bar| (bar.turn, bar.rewound));
            if turn(&info) != turn(&model.info) {
                model.forget();
            }
            // What goes back from a live source is its session file.
            if info.bar.as_ref().map(|bar| bar.rewound) != model.info.bar.as_ref().map(|bar| bar.rewound) {
                model.graph.forget_contents();
            }
            model.info = *info;
            vec![]
        }
        Msg::Notice(text) => {
            model.say(text);
            vec![]
        }
        Msg::Paste(text) => {
            if model.overlays.last().is_some_and(Overlay::is_prompt) {
                text.chars().filter(|c| !c.is_control()).for_each(|c| prompt::typed(model, c, data));
            }
            vec![]
        }
        Msg::Suspend => vec![Effect::Suspend],
        Msg::Stop => vec![Effect::Quit],
    }
}

fn press(model: &mut Model, key: KeyEvent, data: &dyn Data) -> Vec<Effect> {
    let Some(name) = keymap::name(key) else { return vec![] };
    model.notice = None;
    let command = model.keys.lookup(&model.contexts(), &name);
    match (command, model.overlays.last()) {
        (Some(command @ (Command::Suspend | Command::Redraw)), _) => commands::run(model, command, data),
        (Some(command), Some(overlay)) if overlay.is_prompt() => prompt::edit(model, command, data),
        (Some(command), _) => commands::run(model, command, data),
        (None, Some(overlay)) if overlay.is_prompt() => {
            if let (KeyCode::Char(c), false) = (key.code, key.modifiers.contains(KeyModifiers::CONTROL)) {
                prompt::typed(model, c, data);
            }
            vec![]
        }
        (None, Some(Overlay::Mark { go })) => {
            let go = *go;
            model.overlays.pop();
            match key.code {
                KeyCode::Char(letter) if letter.is_ascii_alphanumeric() && go => {
                    replay::to_mark(model, data, letter)
                }
                KeyCode::Char(letter) if letter.is_ascii_alphanumeric() => replay::mark(model, data, letter),
                _ => vec![],
            }
        }
        // A prefix that leads nowhere is dropped, as in every pager.
        (None, Some(Overlay::Copy | Overlay::Sort)) => {
            model.overlays.pop();
            vec![]
        }
        (None, _) => vec![],
    }
}

/// The rows that exist as far as the screen is concerned.
pub fn total(model: &Model, data: &dyn Data) -> usize {
    model.paused.map_or(data.rows(), |paused| paused.rows)
}

/// One step of the search for rows to show. True while there is more to look at.
pub fn search(model: &mut Model, data: &dyn Data) -> bool {
    match model.screen {
        Screen::Resources => return crate::tui::screens::resources::search(model, data),
        Screen::Subs => return crate::tui::screens::subscriptions::search(model, data),
        Screen::Graph => return crate::tui::screens::graph::search(model, data),
        _ => {}
    }
    let total = total(model, data);
    model.screen == Screen::Timeline
        && model.timeline.search(data, total, &model.scope, model.filter.as_ref())
}

/// The stream that screen 2 shows: the one in scope, else the selected one.
pub fn current_stream(model: &Model) -> Option<StreamId> {
    let selected = model.overview.row().and_then(|row| stream_of(row, model.overview.column));
    model.scope.stream.or(selected)
}

/// Brings everything that is derived in line with the facts.
pub fn settle(model: &mut Model, data: &dyn Data) {
    let frozen = model.paused.is_some();
    let moment = data.moment();
    // Where nothing is shown yet, there is nothing to be held.
    let held = frozen && model.overview.table.streams > 0;
    let typed = model.hurried && model.overlays.last().is_some_and(Overlay::is_prompt);
    let (live, hurried, at_keys) = (model.info.bar.is_none(), model.hurried, model.at_keys);
    let pace = RefreshPolicy { live, hurried, at_keys, typed, held };
    if !frozen {
        model.now = data.now();
        model.clock = data.clock();
        if !model.overview.table.is_fresh_enough(model.seen, moment, pace) {
            model.seen = moment;
            model.problems = data.problems();
        }
    }
    crate::tui::screens::lint::count(model, data, frozen);
    let Some(layout) = model.layout() else { return };
    if model.screen == Screen::Overview || model.overview.table.rows.is_empty() {
        let of = TableKey {
            moment,
            type_url: model.scope.type_url.clone(),
            filter: model.filter.as_ref().map(|filter| filter.text.clone()),
            unfolded: model.overview.unfolded,
            sort: model.sorts.of(Screen::Overview),
        };
        model.overview.table.settle(data, model.filter.as_ref(), of, pace);
        let (rows, problems) = crate::tui::screens::overview::view::overview_lines(model);
        let parts = layout::overview(&layout, rows, problems);
        let chrome = rows - model.overview.table.rows.len();
        let height = usize::from(parts.nodes.height).saturating_sub(chrome);
        model.overview.settle(height, model.problems.len());
    }
    match model.screen {
        Screen::Overview => {}
        Screen::Stream => {
            let stream = current_stream(model);
            if !frozen || model.stream.fact().map(|fact| fact.stream) != stream {
                model.stream.load(data, stream);
            }
            if let Some(applied) = &model.filter {
                model.stream.states.retain(|state| data.state_matches(applied, state));
            }
            model.stream.explain(data);
            let rows = model.stream.states.len();
            let detail = detail_lines(model).len() + 1;
            let parts = layout::stream(&layout, rows + 1, detail);
            let height = usize::from(parts.types.height).saturating_sub(1);
            let at = model.stream.position().unwrap_or(0);
            model.stream.top = scroll(model.stream.top, at, height, rows);
            let spare = detail.saturating_sub(usize::from(parts.detail.height));
            model.stream.scroll = model.stream.scroll.min(spare);
        }
        Screen::Diff => crate::tui::screens::diff::settle(model, data, &layout),
        Screen::Resources => crate::tui::screens::resources::settle(model, data, &layout, frozen),
        Screen::Nack => crate::tui::screens::nack::settle(model, data, &layout, frozen),
        Screen::Subs => crate::tui::screens::subscriptions::settle(model, data, &layout, frozen),
        Screen::Graph => crate::tui::screens::graph::settle(model, data, &layout, frozen),
        Screen::Lint => crate::tui::screens::lint::settle(model, data, &layout),
        Screen::Timeline => {
            search(model, data);
            let (list, detail) = layout::timeline(&layout, model.whole);
            let height = usize::from(list.height).saturating_sub(1);
            let room = usize::from(detail.height).saturating_sub(1);
            // Before the text is typed, so that it is there to be searched.
            let finds = model.find.is_some() || matches!(model.overlays.last(), Some(Overlay::Find { .. }));
            model.timeline.settle(data, height, room, finds);
            let spare = detail_lines(model).len().saturating_sub(room);
            model.timeline.scroll = model.timeline.scroll.min(spare);
        }
    }
}
