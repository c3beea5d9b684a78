//! Screen 7: who asked for what, and what never came.

pub mod view;

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ratatui::layout::Rect;

use crate::engine::store::{AskedFact, ResourceFact, SummaryFact, Wildcard};
use crate::present::report::type_order;
use crate::wire::event::{Dir, Seq, StreamId, Time, TypeUrl};

use crate::tui::data::{Applied, Data};
use crate::tui::input::command::Command;
use crate::tui::input::sort::Sort;
use crate::tui::screens::overview::scroll;
use crate::tui::screens::shared::missing_answers::Silent;
use crate::tui::screens::shared::names::{Names, Narrowed};
use crate::tui::shell::commands::{self, here};
use crate::tui::shell::model::{Model, Pane, Screen};
use crate::tui::shell::places;
use crate::tui::shell::update::current_stream;
use crate::tui::widgets::layout::{self, Layout};

/// Rows of the timeline that are looked at in one step of a frame.
const SLICE: usize = 1024;
/// Changes that are kept.
const CHANGES: usize = 1000;

/// A type of the stream.
#[derive(Clone, Debug)]
pub struct OfType {
    pub fact: SummaryFact,
    pub wildcard: Wildcard,
}

/// A request that changed what is subscribed to.
#[derive(Clone, Debug)]
pub struct Change {
    pub n: Seq,
    pub at: Time,
    pub added: u64,
    pub removed: u64,
    /// The first of its names.
    pub names: Vec<Arc<str>>,
}

/// A name on the screen.
#[derive(Clone, Debug)]
pub struct NameRow {
    pub name: Arc<str>,
    pub fact: Option<ResourceFact>,
    /// While it is waited for.
    pub waits: Option<AskedFact>,
    pub asked: Option<(Seq, Time)>,
    /// When it was first sent after that.
    pub came: Option<Time>,
}

#[derive(Clone, Debug, Default)]
pub struct Subs {
    stream: Option<StreamId>,
    pub types: Vec<OfType>,
    pub selected: Option<TypeUrl>,
    loaded: Option<(StreamId, TypeUrl, u64)>,
    sort: Sort,
    /// Of the selected type: those that did not come first, then by name.
    names: Names,
    /// They stand by name alone.
    by_name: bool,
    pub missing: usize,
    filter: Option<String>,
    narrowed: Narrowed,
    name: Option<Arc<str>>,
    pub at: usize,
    pub top: usize,
    pub window: Vec<NameRow>,
    silent: Silent,
    /// Why the selected name may not have come.
    pub why: Option<String>,
    /// Changes of the selected type, oldest first; rows of the timeline looked at.
    pub changes: Vec<Change>,
    scanned: usize,
    total: usize,
    asked: HashMap<Arc<str>, (Seq, Time)>,
    came: HashMap<Arc<str>, Time>,
}

impl Subs {
    pub fn searching(&self) -> bool {
        self.scanned < self.total || self.narrowed.searching(self.all())
    }

    pub fn len(&self) -> usize {
        self.narrowed.shown().map_or(self.all(), <[u32]>::len)
    }

    /// Names without the filter.
    pub fn all(&self) -> usize {
        self.names.all().len()
    }

    pub fn position(&self) -> Option<usize> {
        let selected = self.selected.as_ref()?;
        self.types.iter().position(|of| of.fact.type_url == *selected)
    }

    pub fn of_type(&self) -> Option<&OfType> {
        self.types.get(self.position()?)
    }

    /// The selected name.
    pub fn row(&self) -> Option<&NameRow> {
        self.window.get(self.at.checked_sub(self.top)?)
    }

    pub fn type_word(&self) -> Option<&str> {
        Some(crate::present::json::type_word(self.selected.as_ref()?))
    }

    fn get(&self, at: usize) -> Option<&Arc<str>> {
        let at = match self.narrowed.shown() {
            Some(shown) => *shown.get(at)? as usize,
            None => at,
        };
        self.names.all().get(at)
    }

    fn choose(&mut self, at: usize) {
        self.at = at.min(self.len().saturating_sub(1));
        self.name = self.get(self.at).cloned();
    }

    /// Reads the names of the selected type again if they may have changed.
    fn load(&mut self, data: &dyn Data, stream: StreamId, sort: Sort, filter: Option<&Applied>) {
        let Some((store, _)) = data.source() else { return };
        let Some(url) = self.selected.clone() else { return };
        let key = (stream, url.clone(), store.names_mark(stream, &url));
        let since = (store.mark(stream, &url), store.now());
        if self.loaded.as_ref() == Some(&key) && self.sort == sort {
            return self.narrowed.renew(self.all(), since);
        }
        let was = std::mem::replace(&mut self.sort, sort);
        if self.loaded.as_ref().is_none_or(|(s, u, _)| (s, u) != (&stream, &url)) {
            (self.scanned, self.name, self.top) = (0, None, 0);
            self.changes.clear();
            self.asked.clear();
            self.came.clear();
        }
        let Some(state) = store.state(stream, &url) else { return };
        let missing: HashSet<&Arc<str>> = state.missing.iter().collect();
        let worst = sort != Sort::Name && !missing.is_empty();
        let newest = sort == Sort::Newest && !self.asked.is_empty();
        let by_name = !worst && !newest;
        if was != sort && self.loaded.as_ref() == Some(&key) && self.by_name && by_name {
            return self.narrowed.renew(self.all(), since);
        }
        let mut names = match self.loaded.as_ref() == Some(&key) {
            true => std::mem::take(&mut self.names).into_all(),
            false => state.names.iter().filter(|name| &***name != "*").cloned().collect(),
        };
        if self.loaded.as_ref() != Some(&key) && state.wildcard != Wildcard::None {
            let asked: HashSet<Arc<str>> = names.iter().cloned().collect();
            let others = store.resource_names(stream, &url).into_iter();
            names.extend(others.filter(|name| asked.is_empty() || !asked.contains(name)));
        }
        names.sort_unstable();
        if worst {
            names.sort_by_cached_key(|name| !missing.contains(name));
        }
        if newest {
            names.sort_by_cached_key(|name| Reverse(self.asked.get(name).map(|(n, _)| *n)));
        }
        (self.missing, self.by_name) = (missing.len(), by_name);
        self.names = Names::new(names);
        self.loaded = Some(key);
        self.narrowed = Narrowed::new(&self.names, filter, since);
    }

    /// Looks at more rows, and holds more names against the filter.
    fn scan(&mut self, data: &dyn Data, filter: Option<&Applied>) {
        let Some((stream, url, _)) = self.loaded.clone() else { return };
        self.total = data.rows();
        // After a step back in a recording there is less.
        if self.scanned > self.total {
            self.scanned = 0;
            self.changes.clear();
            self.asked.clear();
            self.came.clear();
        }
        let end = self.total.min(self.scanned + SLICE);
        for row in self.scanned..end {
            if data.place_of(row).is_none_or(|(of, type_url)| of != stream || type_url != url) {
                continue;
            }
            let Some(line) = data.line(row) else { continue };
            let Some(n) = line.n.filter(|_| line.added + line.removed > 0) else { continue };
            let Some(fact) = data.row(row) else { continue };
            match line.dir {
                Some(Dir::Req) => {
                    let names = fact.added.iter().chain(&fact.removed).take(3).cloned().collect();
                    if self.changes.len() >= CHANGES {
                        self.changes.remove(1);
                    }
                    let (added, removed) = (line.added, line.removed);
                    self.changes.push(Change { n, at: line.at, added, removed, names });
                    for name in fact.added.into_iter().filter(|name| **name != *"*") {
                        self.came.remove(&name);
                        self.asked.insert(name, (n, line.at));
                    }
                }
                _ => {
                    for name in fact.added {
                        self.came.entry(name).or_insert(line.at);
                    }
                }
            }
        }
        self.scanned = end;
        let (Some(filter), Some(contents)) = (filter, data.contents()) else { return };
        self.narrowed.search(contents, (stream, &url), self.names.all(), filter);
    }
}

/// Where the parts of the screen are.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    pub types: Rect,
    pub changes: Rect,
    pub bar: Rect,
    pub names: Rect,
    pub detail: Rect,
}

pub fn parts(model: &Model, layout: &Layout) -> Parts {
    let body = layout.body;
    let width = (body.width * 2 / 5).min(60);
    let width = body.width - layout.shifted(body.width - width, body.width, 20);
    let width = if model.whole { 0 } else { width };
    let left = Rect { width, ..body };
    let bar = Rect { x: body.x + width, width: u16::from(width > 0), ..body };
    let right = Rect { x: bar.right(), width: body.right() - bar.right(), ..body };
    let rows = u16::try_from(model.subs.types.len() + 1).unwrap_or(u16::MAX);
    let (types, changes) = layout::split(left, rows.min(left.height / 2).max(2));
    let (names, detail) = layout::split(right, right.height - (right.height / 3).min(9));
    Parts { types, changes, bar, names, detail }
}

/// Looks at more. True while there is more.
pub fn search(model: &mut Model, data: &dyn Data) -> bool {
    model.subs.scan(data, model.filter.as_ref());
    model.subs.searching()
}

pub fn settle(model: &mut Model, data: &dyn Data, layout: &Layout, frozen: bool) {
    let first = || data.stream_ids().first().copied();
    let stream = current_stream(model).or_else(first);
    let Some((stream, (store, _))) = stream.zip(data.source()) else {
        model.subs = Subs::default();
        return;
    };
    let sort = model.sorts.of(Screen::Subs);
    let subs = &mut model.subs;
    if !frozen || subs.stream != Some(stream) {
        subs.stream = Some(stream);
        let wildcards: HashMap<TypeUrl, Wildcard> = store.wildcards(&[stream]).into_iter().collect();
        let cells = store.summaries_of(stream).into_iter();
        let of = |fact: SummaryFact| OfType {
            wildcard: wildcards.get(&fact.type_url).copied().unwrap_or(Wildcard::None),
            fact,
        };
        subs.types = cells.map(of).collect();
        subs.types.sort_by_cached_key(|of| type_order(&of.fact.type_url));
    }
    let wanted = |url: &TypeUrl| subs.types.iter().any(|of| of.fact.type_url == *url);
    match model.scope.type_url.as_ref().filter(|url| wanted(url)) {
        Some(url) => subs.selected = Some(url.clone()),
        None if subs.selected.as_ref().is_some_and(wanted) => {}
        // What someone comes for: a type of which something did not come.
        None => {
            let worst = subs.types.iter().find(|of| of.fact.missing > 0).or(subs.types.first());
            subs.selected = worst.map(|of| of.fact.type_url.clone());
        }
    }
    let filter = model.filter.as_ref().map(|filter| filter.text.clone());
    if subs.filter != filter {
        subs.filter = filter;
        if let Some(url) = &subs.selected {
            let since = (store.mark(stream, url), store.now());
            subs.narrowed = Narrowed::new(&subs.names, model.filter.as_ref(), since);
        }
    }
    if !frozen
        || subs.sort != sort
        || subs.loaded.as_ref().is_none_or(|(s, u, _)| *s != stream || Some(u) != subs.selected.as_ref())
    {
        subs.load(data, stream, sort, model.filter.as_ref());
    }
    subs.scan(data, model.filter.as_ref());
    let parts = parts(model, layout);
    let subs = &mut model.subs;
    let height = usize::from(parts.names.height).saturating_sub(1);
    // The selection stays with its name when names come before it.
    let near = subs.name.clone().filter(|name| subs.get(subs.at) != Some(name));
    if let Some(name) = near
        && let Some(at) = (0..subs.len()).find(|at| subs.get(*at) == Some(&name))
    {
        subs.at = at;
    }
    subs.choose(subs.at);
    subs.top = scroll(subs.top, subs.at, height, subs.len());
    let Some(url) = subs.selected.clone() else { return subs.window.clear() };
    let shown: Vec<Arc<str>> = (subs.top..subs.top + height).map_while(|at| subs.get(at).cloned()).collect();
    let row = |name: Arc<str>| NameRow {
        fact: store.resource(stream, &url, &name),
        waits: store.asked(stream, &url, &name),
        asked: subs.asked.get(&name).copied(),
        came: subs.came.get(&name).copied(),
        name,
    };
    let window: Vec<NameRow> = shown.into_iter().map(row).collect();
    let subs = &mut model.subs;
    subs.window = window;
    subs.silent.load(data, Some(stream), Some(&url));
    subs.why = subs.row().and_then(|row| subs.silent.why(data, &row.name));
}

/// Commands that mean something of their own here.
pub fn act(model: &mut Model, command: Command, data: &dyn Data) -> bool {
    if let Some(by) = commands::moves(command, commands::page(model)) {
        if model.pane == Pane::Second || model.whole {
            let at = model.subs.at.saturating_add_signed(by);
            model.subs.choose(at);
        } else {
            let at = model.subs.position().unwrap_or(0).saturating_add_signed(by);
            let at = at.min(model.subs.types.len().saturating_sub(1));
            if let Some(of) = model.subs.types.get(at) {
                model.subs.selected = Some(of.fact.type_url.clone());
                model.subs.at = 0;
                model.scope.type_url = None;
            }
        }
        return true;
    }
    match command {
        Command::Open | Command::Resources => open(model, command == Command::Resources),
        Command::Timeline => {
            let row = model.subs.row();
            let asked = row.and_then(|row| row.waits.map(|asked| asked.by).or(row.asked.map(|(n, _)| n)));
            let (stream, url) = (model.subs.stream, model.subs.selected.clone());
            let step = here(model);
            commands::go(model, Screen::Timeline, data);
            (model.scope.stream, model.scope.type_url) = (stream, url);
            if let Some(n) = asked {
                places::goto_message(model, data, n);
            }
            model.steps.push(step);
            true
        }
        Command::NextProblem | Command::PreviousProblem => {
            // Those that did not come stand first.
            let forward = command == Command::NextProblem;
            let subs = &mut model.subs;
            let to = if forward { Some(subs.at + 1) } else { subs.at.checked_sub(1) };
            let second = model.pane == Pane::Second;
            match to.filter(|to| second && *to < subs.missing.min(subs.len())) {
                Some(to) => subs.choose(to),
                None if !second && subs.missing > 0 => {
                    subs.choose(0);
                    model.pane = Pane::Second;
                }
                None => model.say("no further name of this type did not come"),
            }
            true
        }
        _ => false,
    }
}

/// From the types to the names, from a name to its resource.
fn open(model: &mut Model, screen: bool) -> bool {
    if model.pane == Pane::Main && !model.whole && !screen {
        model.pane = Pane::Second;
        return true;
    }
    let (Some(stream), Some(url)) = (model.subs.stream, model.subs.selected.clone()) else { return false };
    let Some(row) = model.subs.row().filter(|row| row.fact.is_some()) else { return false };
    let (name, step) = (row.name.clone(), here(model));
    model.scope.stream = Some(stream);
    model.screen = Screen::Resources;
    model.resources.go_to(&url, Some(name));
    model.pane = Pane::Main;
    model.whole = false;
    model.steps.push(step);
    true
}
