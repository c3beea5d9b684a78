//! Screen 6: who refused what, why, and what was good before.

pub mod compare;
pub mod side_by_side;
pub mod view;

use std::sync::Arc;

use crate::engine::nack::NackReport;
use crate::engine::store::{NackFact, StateFact};
use crate::wire::event::{Seq, StreamId, TypeUrl};

use crate::tui::data::Data;
use crate::tui::input::command::Command;
use crate::tui::screens::nack::compare::Compared;
use crate::tui::screens::nack::view::card_lines;
use crate::tui::screens::overview::scroll;
use crate::tui::shell::commands::{self, here};
use crate::tui::shell::model::{Model, Pane, Screen};
use crate::tui::shell::places;
use crate::tui::widgets::layout::{self, Layout};

/// One version refused, once or several times in a row.
#[derive(Clone, Debug)]
pub struct Group {
    pub stream: StreamId,
    pub node: Option<Arc<str>>,
    pub type_url: TypeUrl,
    /// Acknowledged last on the stream.
    pub in_force: Option<Arc<str>>,
    /// Nothing was accepted since.
    pub open: bool,
    /// Oldest first; never empty.
    pub nacks: Vec<NackFact>,
}

type Key = (StreamId, TypeUrl, Seq);

impl Group {
    pub fn last(&self) -> Option<&NackFact> {
        self.nacks.last()
    }

    fn key(&self) -> Option<Key> {
        Some((self.stream, self.type_url.clone(), self.nacks.first()?.n))
    }
}

#[derive(Clone, Debug, Default)]
pub struct Nacks {
    pub groups: Vec<Group>,
    selected: Option<Key>,
    pub top: usize,
    /// Lines scrolled in the card.
    pub scroll: usize,
    /// Whole bodies, not only what differs.
    pub unfolded: bool,
    loaded: Option<(Key, Seq, bool)>,
    pub card: NackReport,
    /// The bodies of its subjects.
    pub compared: Vec<Compared>,
}

impl Nacks {
    pub fn position(&self) -> Option<usize> {
        let selected = self.selected.as_ref()?;
        self.groups.iter().position(|group| group.key().as_ref() == Some(selected))
    }

    /// The card is made again.
    pub fn forget(&mut self) {
        self.loaded = None;
    }

    pub fn group(&self) -> Option<&Group> {
        self.groups.get(self.position()?)
    }

    fn select(&mut self, at: usize) {
        let at = at.min(self.groups.len().saturating_sub(1));
        let key = self.groups.get(at).and_then(Group::key);
        if key != self.selected {
            self.scroll = 0;
        }
        self.selected = key;
    }

    /// Chooses the refusal that message `n` is one of.
    pub fn select_message(&mut self, n: Seq) {
        let has = |group: &Group| group.nacks.iter().any(|nack| nack.n == n);
        if let Some(at) = self.groups.iter().position(has) {
            self.select(at);
        }
    }

    fn load(&mut self, data: &dyn Data) {
        let Some(group) = self.group() else {
            self.loaded = None;
            self.card = NackReport::default();
            self.compared.clear();
            return;
        };
        let key = group.key().zip(group.last()).map(|(key, last)| (key, last.n, group.open));
        if key != self.loaded {
            let card =
                data.contents().map(|contents| contents.card(group.stream, &group.type_url, &group.nacks));
            self.card = card.unwrap_or_default();
            self.compared = self.card.subjects.iter().map(Compared::new).collect();
            self.loaded = key;
        }
    }
}

/// Refusals of a type, those of one version in a row together.
fn groups(state: &StateFact) -> Vec<Group> {
    let runs = state.nacks.chunk_by(|a, b| a.version == b.version);
    let mut groups: Vec<Group> = runs
        .map(|run| Group {
            stream: state.stream,
            node: state.node.clone(),
            type_url: state.type_url.clone(),
            in_force: state.in_force.clone(),
            open: false,
            nacks: run.to_vec(),
        })
        .collect();
    if let Some(last) = groups.last_mut() {
        last.open = state.open_nack.is_some();
    }
    groups
}

/// The states of the types that anything of was refused.
fn refusing(data: &dyn Data) -> Vec<StateFact> {
    let line = |n: Seq| data.row_of(n).and_then(|row| data.line(row));
    let mut tracks: Vec<(StreamId, TypeUrl)> =
        data.nacks().into_iter().filter_map(line).map(|line| (line.stream, line.row.type_url)).collect();
    tracks.sort_unstable();
    tracks.dedup();
    tracks.into_iter().filter_map(|(stream, url)| data.state(stream, &url)).collect()
}

/// List and card.
pub fn parts(model: &Model, layout: &Layout) -> (ratatui::layout::Rect, ratatui::layout::Rect) {
    let body = layout.body;
    if model.whole {
        return layout::split(body, 0);
    }
    let rows = u16::try_from(model.nacks.groups.len() + 1).unwrap_or(u16::MAX);
    let gap = u16::from(!layout.low);
    let first = rows.min(body.height / 3).max(2);
    let (list, rest) = layout::split(body, body.height - layout.shifted(body.height - first, body.height, 3));
    (list, layout::split(rest, gap).1)
}

pub fn settle(model: &mut Model, data: &dyn Data, layout: &Layout, frozen: bool) {
    if !frozen || model.nacks.groups.is_empty() {
        let (scope, filter) = (&model.scope, model.filter.as_ref());
        let in_scope = |state: &StateFact| {
            scope.stream.is_none_or(|stream| stream == state.stream)
                && scope.type_url.as_ref().is_none_or(|url| *url == state.type_url)
                && filter.is_none_or(|applied| data.state_matches(applied, state))
        };
        let states = refusing(data);
        let mut all: Vec<Group> = states.iter().filter(|state| in_scope(state)).flat_map(groups).collect();
        all.sort_by_key(|group| (!group.open, std::cmp::Reverse(group.last().map(|nack| nack.n))));
        model.nacks.groups = all;
    }
    if model.nacks.position().is_none() {
        model.nacks.select(0);
    }
    model.nacks.load(data);
    let (list, card) = parts(model, layout);
    let height = usize::from(list.height).saturating_sub(1);
    let at = model.nacks.position().unwrap_or(0);
    model.nacks.top = scroll(model.nacks.top, at, height, model.nacks.groups.len());
    let room = usize::from(card.height).saturating_sub(1);
    let spare = card_lines(model, usize::from(card.width)).len().saturating_sub(room);
    model.nacks.scroll = model.nacks.scroll.min(spare);
}

/// Commands that mean something of their own here.
pub fn act(model: &mut Model, command: Command, data: &dyn Data) -> bool {
    if let Some(by) = commands::moves(command, commands::page(model)) {
        if model.pane == Pane::Main && !model.whole {
            let at = model.nacks.position().unwrap_or(0);
            model.nacks.select(at.saturating_add_signed(by));
        } else {
            model.nacks.scroll = model.nacks.scroll.saturating_add_signed(by);
        }
        return true;
    }
    match command {
        Command::Open => open(model, data),
        Command::Resources if model.nacks.group().is_some() => open(model, data),
        Command::Unfold => model.nacks.unfolded = !model.nacks.unfolded,
        Command::NextProblem | Command::NextNack => neighbour(model, 1),
        Command::PreviousProblem | Command::PreviousNack => neighbour(model, -1),
        Command::Timeline => {
            let Some((stream, url, n)) = selected(model) else { return false };
            model.steps.push(here(model));
            places::goto_message(model, data, n);
            model.scope.stream = Some(stream);
            model.scope.type_url = Some(url);
        }
        _ => return false,
    }
    true
}

fn neighbour(model: &mut Model, by: isize) {
    let at = model.nacks.position().unwrap_or(0);
    let to = at.saturating_add_signed(by);
    if to == at || to >= model.nacks.groups.len() {
        model.say("no further NACK this way");
    } else {
        model.nacks.select(to);
    }
}

fn selected(model: &Model) -> Option<(StreamId, TypeUrl, Seq)> {
    let group = model.nacks.group()?;
    Some((group.stream, group.type_url.clone(), group.last()?.n))
}

/// The resource at fault on screen 4, or the message where none is known.
fn open(model: &mut Model, data: &dyn Data) {
    let Some((stream, url, n)) = selected(model) else {
        model.say("nothing to open");
        return;
    };
    let step = here(model);
    let name = model.nacks.card.subjects.first().map(|subject| subject.name.value.clone());
    let known = data.contents().zip(name.as_ref());
    let known = known.is_some_and(|(contents, name)| contents.resource(stream, &url, name).is_some());
    match name.filter(|_| known) {
        Some(name) => {
            model.screen = Screen::Resources;
            model.scope.stream = Some(stream);
            model.resources.go_to(&url, Some(name.into()));
        }
        None => places::goto_message(model, data, n),
    }
    model.pane = Pane::Main;
    model.whole = false;
    model.steps.push(step);
}
