//! The state between two frames: the screens, what they share, and the overlays.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;

use crate::common::{Common, Pane, Paused, Scope};
use crate::data::{AppliedFilter, Data, Marked, ViewTime};
use crate::input::context::Context;
use crate::input::rebind::Keymap;
use crate::input::screen_id::ScreenId;
use crate::screens::ScreenSet;
use crate::screens::screen::Screen;
use crate::widgets::theme::{Palette, Theme};
use xdscope_present::report;
use xdscope_wire::event::StreamId;

use super::effect::Effect;
use super::message_pane::MessagePane;
use super::overlay::Overlay;
use super::tour::Tour;
use crate::shell::run::alerts::Alerts;

/// Entries that a history remembers.
const MAX_HISTORY: usize = 50;

/// A search in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Find {
    pub text: String,
    /// The line of the last match that was shown; `None` after the user scrolled.
    pub at: Option<usize>,
}

/// A screen to return to.
#[derive(Clone, Debug)]
pub struct ReturnPoint {
    pub screen: ScreenId,
    pub scope: Scope,
    /// The pane that had the focus.
    pub pane: Pane,
    /// The filter that was taken off because it hid the place that was opened.
    pub filter: Option<AppliedFilter>,
}

#[derive(Clone, Debug)]
pub struct Model {
    pub common: Common,
    pub screens: ScreenSet,
    /// The screen shown.
    pub screen: ScreenId,
    pub keys: Keymap,
    /// The last one is on top.
    pub overlays: Vec<Overlay>,
    pub find: Option<Find>,
    /// The way back, the nearest screen last.
    pub return_points: Vec<ReturnPoint>,
    /// The place that the problem chosen last has opened.
    pub problem_place: Option<ReturnPoint>,
    pub marks: BTreeMap<char, Marked>,
    /// Lines run from the palette, oldest first.
    pub history: Vec<String>,
    /// Filters that were applied, oldest first.
    pub filters: Vec<String>,
    /// Texts that were searched for, oldest first.
    pub searches: Vec<String>,
    /// The messages around the selection.
    pub messages: MessagePane,
    /// The tour of the demo, while it is shown.
    pub tour: Tour,
    /// Problems that are announced.
    pub alerts: Alerts,
    /// The mouse is in use.
    pub has_mouse: bool,
    /// The colours of all themes, by name.
    pub palettes: Vec<(String, Palette)>,
    /// The moment of `common.problems.all`.
    pub problems_at: Option<ViewTime>,
    /// The stream in scope begins after the time cursor.
    pub is_stream_ahead: bool,
}

impl Model {
    pub fn new(size: (u16, u16), theme: Theme, zone: TimeZone) -> Model {
        Model {
            common: Common::new(size, theme, zone),
            screens: ScreenSet::default(),
            screen: ScreenId::default(),
            keys: Keymap::default(),
            overlays: Vec::new(),
            find: None,
            return_points: Vec::new(),
            problem_place: None,
            marks: BTreeMap::new(),
            history: Vec::new(),
            filters: Vec::new(),
            searches: Vec::new(),
            messages: MessagePane::default(),
            tour: Tour::default(),
            alerts: Alerts::default(),
            has_mouse: false,
            palettes: Vec::new(),
            problems_at: None,
            is_stream_ahead: false,
        }
    }

    /// The screen shown.
    pub fn active(&self) -> &dyn Screen {
        self.screens.get(self.screen)
    }

    /// The contexts in which a key is looked up, nearest first.
    pub fn contexts(&self) -> Vec<Context> {
        let screen = Context::Screen(self.screen);
        match self.overlays.last() {
            Some(overlay) => vec![overlay.context(), Context::Always],
            None if self.common.info.bar.is_some() => {
                vec![Context::Replay, screen, Context::Everywhere, Context::Always]
            }
            None => vec![screen, Context::Everywhere, Context::Always],
        }
    }

    /// The screen shown is still searching.
    pub fn is_searching(&self) -> bool {
        self.active().is_searching()
            || self.overlays.last().is_some_and(Overlay::is_searching)
            || (self.common.paused.is_none() && self.common.activity.is_counting())
    }

    /// The arrows move in a text.
    pub fn has_text_focus(&self) -> bool {
        match self.overlays.last() {
            Some(Overlay::Help { .. }) => true,
            Some(_) => false,
            None => self.active().has_text_focus(&self.common),
        }
    }

    /// The stream in scope, else the one selected on Overview: that of the chosen problem while the
    /// list of problems has the focus.
    pub fn current_stream(&self) -> Option<StreamId> {
        if let Some(stream) = self.common.scope.stream {
            return Some(stream);
        }
        if self.screen == ScreenId::Overview
            && self.common.pane == Pane::Second
            && let Some(problem) = self.common.problems.chosen()
        {
            return Some(problem.stream);
        }
        self.screens.overview.selected_stream()
    }

    /// The name of a stream's node, if it is loaded.
    pub fn node_of(&self, stream: StreamId) -> Option<String> {
        let shown = || self.screens.stream.fact().filter(|fact| fact.stream == stream).map(report::node_name);
        let name = self.screens.overview.node_name(stream).or_else(shown);
        name.filter(|name| !name.starts_with('#'))
    }

    /// Drops everything loaded: the time cursor went back.
    pub fn forget(&mut self) {
        self.problems_at = None;
        self.common.activity = Default::default();
        for screen in ScreenId::ALL {
            self.screens.get_mut(screen).forget();
        }
    }

    pub fn say(&mut self, notice: impl Into<String>) {
        self.common.say(notice);
    }

    /// Says why a command has no effect.
    pub(super) fn decline(&mut self, notice: impl Into<String>) -> Vec<Effect> {
        self.say(notice);
        Vec::new()
    }

    /// Pauses the screen, if it is not paused.
    pub fn pause(&mut self, data: &dyn Data) {
        self.common.paused.get_or_insert_with(|| Paused { rows: data.rows(), now: data.now() });
    }
}

/// Puts an older or a newer entry of a history into an input, which is empty behind the newest one.
/// Returns false if there is no older one.
pub(super) fn recall(
    history: &[String],
    input: &mut String,
    recalled: &mut Option<usize>,
    by: isize,
) -> bool {
    let index = recalled.unwrap_or(history.len()).checked_add_signed(by);
    match index.and_then(|index| history.get(index)) {
        Some(text) => {
            input.clone_from(text);
            *recalled = index;
        }
        None if by > 0 => {
            input.clear();
            *recalled = None;
        }
        None => return false,
    }
    true
}

/// Adds a line to a history, as its newest entry.
pub(super) fn remember(history: &mut Vec<String>, line: &str) {
    if line.is_empty() {
        return;
    }
    history.retain(|known| known != line);
    history.push(line.to_owned());
    if history.len() > MAX_HISTORY {
        history.remove(0);
    }
}
