//! The lines below a screen: replay bar, notice or prompt, keys.

use std::collections::HashSet;

use ratatui::layout::{Position, Rect};

use crate::data::Mode;
use crate::input::command::Command;
use crate::input::context::Context;
use crate::input::keymap;
use crate::input::screen_id::ScreenId;
use crate::shell::model::Model;
use crate::widgets::canvas::{Canvas, StyledLine, plain, span};
use crate::widgets::layout::{Layout, height};
use crate::widgets::text::paragraph;
use xdscope_present::report::Role;
use xdscope_present::text::width;

use super::{bar, prompts};

/// Lines of a notice.
const MAX_NOTICE_LINES: usize = 5;

/// Draws the lines below the screen. Returns the position of the cursor if a prompt is open here.
pub(super) fn draw(model: &Model, canvas: &mut Canvas, layout: &Layout) -> Option<Position> {
    let common = &model.common;
    if let (Some(area), Some(bar)) = (layout.bar, &common.info.bar) {
        bar::draw(model, canvas, area, bar);
    } else if let Some(notice) = layout.notice {
        canvas.rule(Rect { y: notice.y - 1, ..notice }, "", "");
    }
    let line = layout.notice.unwrap_or(layout.keys);
    if prompts::has_line(model) {
        canvas.clear(line);
    }
    let (has_prompt, cursor) = prompts::draw(model, canvas, line);
    if !has_prompt {
        if let Some(text) = &common.notice {
            // On a low terminal, the notice covers the end of the screen instead of the keys and of
            // the tour.
            let over = match layout.notice {
                Some(_) => 0,
                None => 1 + u16::from(layout.bar.is_some()) + common.tour_lines,
            };
            notice(canvas, Rect { y: line.y.saturating_sub(over), ..line }, text);
        } else if layout.notice.is_some() && layout.bar.is_none() {
            let hint = model.active().hint(common);
            canvas.line(line, &[span(format!(" {hint}"), Role::Muted)]);
        }
    }
    if layout.notice.is_some() || !has_prompt {
        keys(model, canvas, layout.keys);
    }
    cursor
}

/// Draws a notice. A long one takes the lines above too.
fn notice(canvas: &mut Canvas, area: Rect, notice: &str) {
    let lines = paragraph(notice, 1, Role::Plain, usize::from(area.width));
    let more = height(lines.len().min(MAX_NOTICE_LINES).saturating_sub(1)).min(area.y);
    let area = Rect { y: area.y - more, height: more + 1, ..area };
    canvas.clear(area);
    canvas.lines(area, &lines, 0);
}

/// The importance of a key in the footer: the most important ones come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Importance {
    Open,
    Screen,
    Problem,
    Filter,
    Client,
    Shell,
    Other,
    Time,
}

impl Importance {
    fn new(context: Context, command: Command) -> Importance {
        match (context, command) {
            (_, Command::Open) => Importance::Open,
            (_, Command::NextProblem) => Importance::Problem,
            (_, Command::Filter) => Importance::Filter,
            (_, Command::Palette | Command::Help | Command::Quit) => Importance::Shell,
            (_, Command::Record) => Importance::Other,
            (Context::Replay, _) => Importance::Time,
            (Context::Screen(_), _) => Importance::Screen,
            (_, command) if command.is_wire_action() => Importance::Client,
            _ => Importance::Other,
        }
    }

    /// Whether the key stays on a narrow terminal.
    fn stays(self) -> bool {
        !matches!(self, Importance::Screen | Importance::Client | Importance::Other | Importance::Time)
    }
}

/// Whether a key of the footer has something to act on.
fn works(model: &Model, command: Command) -> bool {
    let common = &model.common;
    let has_cursor = common.info.bar.is_some();
    let has_rows = model.screens.overview.table.streams > 0 || !common.problems.all.is_empty();
    match command {
        Command::Reconnect if common.info.client => !has_cursor,
        Command::Reconnect => common.info.hold.as_ref().is_some_and(|hold| hold.can_cover_more()),
        Command::Intercept => common.info.hold.is_some(),
        Command::ReleaseHeld => common.info.is_holding(),
        command if command.is_hold_action() && !common.info.client => {
            model.screen == ScreenId::Hold && model.screens.hold.selected().is_some()
        }
        command if command.is_client_action() => {
            common.info.client && !has_cursor && common.info.mode != Mode::Disconnected
        }
        Command::Record => has_rows && !has_cursor && common.info.recording.is_some(),
        Command::NextProblem => common.problems.count() > 0,
        Command::Palette | Command::Help | Command::Quit | Command::Copy => true,
        _ if has_cursor && Command::TIME.contains(&command) => true,
        command => has_rows && model.active().has_target(command, common),
    }
}

/// Draws the keys that work here, the most important ones first. Without room, leaves out those of
/// time and panes, then the last ones of the screen: help and quit stay.
fn keys(model: &Model, canvas: &mut Canvas, area: Rect) {
    let mut named = HashSet::new();
    let has_screen = model.overlays.is_empty();
    let bindings = model.contexts().into_iter().flat_map(|context| model.keys.bindings(context));
    let listed = bindings
        .filter(|binding| named.insert(binding.key) && binding.footer)
        .filter(|binding| !has_screen || works(model, binding.command));
    let mut items: Vec<(Importance, String, &str)> = listed
        .map(|binding| {
            let key = keymap::shown_key(binding.key, canvas.glyphs());
            // In a question, a letter stands for itself.
            let is_marked = binding.command.is_wire_action() && has_screen;
            let key = if is_marked { format!("{key}!") } else { key.to_owned() };
            let importance = match has_screen {
                true => Importance::new(binding.context, binding.command),
                false => Importance::Other,
            };
            (importance, key, label(model, binding.command))
        })
        .collect();
    items.sort_by_key(|(importance, _, _)| *importance);
    let all = |items: &[(Importance, String, &str)]| {
        items.iter().map(|(_, key, label)| width(key) + width(label) + 3).sum::<usize>()
    };
    while all(&items) > usize::from(area.width) && items.len() > 3 {
        let least = match items.iter().rposition(|(importance, _, _)| !importance.stays()) {
            Some(least) if has_screen => least,
            _ => items.len() - 4,
        };
        items.remove(least);
    }
    let line: StyledLine = items
        .into_iter()
        .flat_map(|(_, key, label)| [span(format!(" {key}"), Role::Key), plain(format!(" {label} "))])
        .collect();
    canvas.line(area, &line);
}

/// The label of a command in the current state.
fn label(model: &Model, command: Command) -> &'static str {
    let common = &model.common;
    match command {
        Command::Filter if model.has_text_focus() => "find",
        Command::Quit if common.info.is_demo => "quit",
        Command::Quit if common.is_full_screen || !model.return_points.is_empty() => "back",
        Command::Pause if common.paused.is_some() => "go on",
        Command::Pause if common.info.bar.as_ref().is_some_and(|bar| !bar.playing) => "play",
        command => model.active().label(command).unwrap_or(command.label()),
    }
}
