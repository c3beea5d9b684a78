//! Screen 7: the subscriptions of a client, and the names that were never sent.

mod state;
#[cfg(test)]
mod tests;
mod view;

use std::collections::HashMap;
use std::sync::Arc;

use ratatui::layout::{Position, Rect};

use crate::common::{Common, Pane, Scope};
use crate::data::{BodyFormat, Data};
use crate::input::command::Command;
use crate::input::screen_id::ScreenId;
use crate::lists::{MAX_COPIED_ROWS, TextTable};
use crate::screens::screen::{CommandLine, Destination, Outcome, ResourcePlace, Screen, movement};
use crate::screens::shared::members::CountedMembers;
use crate::screens::shared::names::ContentsVersion;
use crate::widgets::canvas::Canvas;
use crate::widgets::layout::{self, Content, Layout};
use crate::widgets::list::{List, ListRow, below_title, line_at, scroll};
use crate::widgets::table::titles_of;
use crate::widgets::text::{plain_row, texts};
use xdscope_engine::store::{PendingNameFact, Store, SummaryFact, Wildcard};
use xdscope_present::report::type_order;
use xdscope_present::structured;
use xdscope_wire::event::{Seq, StreamId, TypeUrl};

pub(crate) use state::SubscriptionsScreen;
use state::{NameRow, SubscribedType};

impl SubscriptionsScreen {
    /// Selects another name, or another type and its first name.
    fn step(&mut self, by: isize, common: &mut Common) {
        if common.is_in_second_pane() {
            self.choose(self.at.saturating_add_signed(by));
            return;
        }
        if !self.types.rows.is_empty() {
            self.types.step(by);
            self.at = 0;
            common.scope.type_url = None;
        }
    }

    /// Goes from the types to the names, or from a name to its resource.
    fn open(&self, common: &mut Common, command: Command) -> Outcome {
        if !common.is_in_second_pane() && command == Command::Open {
            common.pane = Pane::Second;
            return Outcome::Done;
        }
        if self.row().is_some_and(|row| row.fact.is_none()) {
            // A name that was never sent has no content: its request is the evidence.
            return self.open_request();
        }
        match self.selected_resource() {
            Some(resource) => Outcome::Open(Destination::Resource(resource)),
            None => Outcome::NotHandled,
        }
    }

    /// Opens the request for the selected name.
    fn open_request(&self) -> Outcome {
        let (scope, n) = self.selected_request();
        Outcome::Open(Destination::Messages { scope, n })
    }

    /// Returns the request for the selected name, and the scope of its type.
    fn selected_request(&self) -> (Scope, Option<Seq>) {
        let row = self.row();
        let n = row.and_then(|row| row.waits.map(|waits| waits.requests.first).or(row.asked.map(|(n, _)| n)));
        let scope = Scope { stream: self.stream, type_url: self.types.selected.clone() };
        (scope, n)
    }

    /// Reads the subscriptions of a stream, by type.
    fn load_types(&mut self, store: &Store, stream: StreamId) {
        self.stream = Some(stream);
        let wildcards: HashMap<TypeUrl, Wildcard> = store.wildcards(&[stream]).into_iter().collect();
        let subscribed = |fact: SummaryFact| SubscribedType {
            wildcard: wildcards.get(&fact.type_url).copied().unwrap_or(Wildcard::None),
            globs: store.globs(stream, &fact.type_url).count(),
            brought: store.reconnect(stream, &fact.type_url),
            fact,
        };
        self.types.rows = store.summaries_of(stream).into_iter().map(subscribed).collect();
        self.types.rows.sort_by_cached_key(|row| type_order(&row.fact.type_url));
    }

    /// Selects the type in scope, else keeps the selection, else selects a type with missing names.
    fn select_subscribed_type(&mut self, common: &Common) {
        let types = &mut self.types;
        if let Some(url) = &common.scope.type_url
            && types.rows.iter().any(|row| row.fact.type_url == *url)
        {
            types.selected = Some(url.clone());
        } else if types.position().is_none() {
            let has_missing = |row: &&SubscribedType| row.fact.missing + row.fact.owed_again > 0;
            let worst = types.rows.iter().find(has_missing).or(types.rows.first());
            types.selected = worst.map(ListRow::key);
        }
    }

    /// Starts filtering again if the filter changed.
    fn apply_filter(&mut self, common: &Common, store: &Store, stream: StreamId) {
        let filter = common.filter_on(ScreenId::Subscriptions).map(|filter| filter.text.clone());
        if self.filter == filter {
            return;
        }
        self.filter = filter;
        if let Some(url) = &self.types.selected {
            let since = ContentsVersion::new(store, stream, url);
            self.names.filter(common.filter_on(ScreenId::Subscriptions), since);
        }
    }

    /// Loads the rows on the screen. The selection stays on its name when names come before it.
    fn load_window(&mut self, data: &dyn Data, stream: StreamId, height: usize) {
        if let Some(name) = self.wanted_name.take() {
            self.name = Some(name);
        }
        if let Some(name) = self.name.clone()
            && self.names.get(self.at) != Some(&name)
            && let Some(at) = (0..self.len()).find(|at| self.names.get(*at) == Some(&name))
        {
            self.at = at;
        }
        self.choose(self.at);
        self.top = scroll(self.top, self.at, height, self.len());
        let Some(url) = self.types.selected.clone() else { return self.window.clear() };
        let names: Vec<Arc<str>> =
            (self.top..self.top + height).map_while(|at| self.names.get(at).cloned()).collect();
        let mut members = std::mem::take(&mut self.members);
        self.window = self.name_rows(data, stream, &url, names, &mut members);
        self.members = members;
    }

    /// The rows of some names.
    fn name_rows(
        &self,
        data: &dyn Data,
        stream: StreamId,
        url: &TypeUrl,
        names: Vec<Arc<str>>,
        members: &mut CountedMembers,
    ) -> Vec<NameRow> {
        let store = data.store();
        let warming = store.warming_among(stream, url, &names);
        let structured = data.contents().structured_names();
        let row = |name: Arc<str>| {
            let fact = store.resource(stream, url, &name);
            NameRow {
                is_warming: warming.contains(&name),
                members: fact.as_ref().and_then(|fact| members.count(store, &structured, fact)),
                fact,
                waits: PendingNameFact::find(store, stream, url, &name),
                asked: self.asked.get(&name).copied(),
                came: self.came.get(&name).copied(),
                claim: store.claim(stream, url, &name),
                name,
            }
        };
        names.into_iter().map(row).collect()
    }
}

impl Screen for SubscriptionsScreen {
    fn update(&mut self, command: Command, common: &mut Common, _data: &dyn Data) -> Outcome {
        if let Some(by) = movement(command, common.page()) {
            self.step(by, common);
            return Outcome::Done;
        }
        match command {
            Command::Open | Command::Resources => self.open(common, command),
            Command::Timeline => self.open_request(),
            _ => Outcome::NotHandled,
        }
    }

    fn settle(&mut self, common: &mut Common, data: &dyn Data, layout: &Layout) {
        let stream = common.stream_or_first(data);
        let Some(stream) = stream else {
            *self = SubscriptionsScreen::default();
            return;
        };
        let store = data.store();
        let sort = common.sorts.get(ScreenId::Subscriptions);
        let is_live = common.paused.is_none();
        if is_live || self.stream != Some(stream) {
            self.load_types(store, stream);
        }
        self.select_subscribed_type(common);
        self.apply_filter(common, store, stream);
        let is_loaded = self
            .loaded
            .as_ref()
            .is_some_and(|key| key.stream == stream && Some(&key.type_url) == self.types.selected.as_ref());
        if is_live || self.sort != sort || !is_loaded {
            self.load(data, stream, &sort, common.filter_on(ScreenId::Subscriptions));
        }
        self.scan(data, common.filter_on(ScreenId::Subscriptions));
        let areas = areas(self, common, layout);
        self.types.settle(areas.types);
        self.load_window(data, stream, below_title(areas.names));
        let Some(url) = self.types.selected.clone() else { return };
        self.missing_answers.load(data, Some(stream), Some(&url));
        self.why = self.row().and_then(|row| self.missing_answers.why(data, &row.name));
        let fact = self.row().and_then(|row| row.fact.as_ref());
        let fact = fact.and_then(|fact| data.contents().structured(fact));
        self.alternatives = fact.map(|fact| structured::alternative_lines(&fact)).unwrap_or_default();
    }

    fn view(&self, common: &Common, canvas: &mut Canvas, layout: &Layout) -> Option<Position> {
        view::draw(self, common, canvas, layout)
    }

    fn summary(&self, common: &Common, _layout: &Layout) -> String {
        view::summary(self, common)
    }

    fn hint(&self, _common: &Common) -> String {
        "missing: asked for and not sent within --resource-timeout".to_owned()
    }

    fn search(&mut self, common: &mut Common, data: &dyn Data) -> bool {
        self.scan(data, common.filter_on(ScreenId::Subscriptions));
        self.is_searching()
    }

    fn is_searching(&self) -> bool {
        self.has_more_to_search()
    }

    fn point(&mut self, at: Position, selects: bool, common: &mut Common, layout: &Layout) -> Option<bool> {
        let areas = areas(self, common, layout);
        if areas.types.contains(at) {
            common.pane = Pane::Main;
            let was_selected = self.types.point(at, areas.types, selects)?;
            self.at = 0;
            common.scope.type_url = None;
            return Some(was_selected);
        }
        if !areas.names.contains(at) {
            return None;
        }
        let had_focus = std::mem::replace(&mut common.pane, Pane::Second) == Pane::Second;
        let row = self.top + line_at(areas.names, at)?;
        if !selects || row >= self.len() {
            return None;
        }
        let is_same = had_focus && self.at == row;
        self.choose(row);
        Some(is_same)
    }

    fn columns(&self, _common: &Common) -> Vec<String> {
        titles_of(&view::name_columns())
    }

    fn table(&self, common: &Common, data: &dyn Data) -> Option<TextTable> {
        let (stream, url) = self.stream.zip(self.types.selected.as_ref())?;
        let names =
            (0..self.len().min(MAX_COPIED_ROWS)).filter_map(|at| self.names.get(at).cloned()).collect();
        let rows = self.name_rows(data, stream, url, names, &mut self.members.clone());
        let rows = rows.iter().map(|row| texts(&view::name_row(common, row))).collect();
        Some(TextTable { titles: self.columns(common), rows })
    }

    fn selected_type(&self, _common: &Common) -> Option<TypeUrl> {
        self.types.selected.clone()
    }

    fn messages(&self, _data: &dyn Data) -> Option<(Scope, Option<Seq>)> {
        self.stream.map(|_| self.selected_request())
    }

    fn content(&self, common: &Common, largest: &Layout) -> Option<Content> {
        let areas = areas(self, common, largest);
        let changes = view::change_lines(self, common, areas.changes).len();
        let left = self.types.rows.len() + 1 + changes;
        let right = self.len() + 1 + usize::from(areas.detail.height);
        Content::new(left.max(right))
    }

    fn copy_row(&self, common: &Common) -> Option<String> {
        Some(plain_row(&view::name_row(common, self.row()?)))
    }

    fn selected_resource(&self) -> Option<ResourcePlace> {
        let (type_url, name) = (self.types.selected.clone()?, self.row()?.name.clone());
        Some(ResourcePlace { stream: self.stream?, type_url, name })
    }

    fn copy_name(&self, _common: &Common) -> Option<String> {
        Some(self.row()?.name.to_string())
    }

    fn copy_body(&self, format: BodyFormat, data: &dyn Data) -> Option<String> {
        let id = self.row()?.fact.as_ref()?.content?;
        Some(data.contents().text(id, format))
    }

    fn command_line(&self, common: &Common, source: &str) -> Option<CommandLine> {
        let what = self.type_word().map(|word| format!(" {word}")).unwrap_or_default();
        let line = format!("xdscope get {source}{what} --subscriptions{}", common.stream_flag());
        CommandLine::of_moment(line)
    }
}

/// The areas of the screen.
#[derive(Clone, Copy, Debug)]
pub(super) struct SubscriptionAreas {
    pub(super) types: Rect,
    pub(super) changes: Rect,
    pub(super) bar: Rect,
    pub(super) names: Rect,
    pub(super) detail: Rect,
}

pub(super) fn areas(screen: &SubscriptionsScreen, common: &Common, layout: &Layout) -> SubscriptionAreas {
    let body = layout.body;
    let width = (body.width * 2 / 5).min(60);
    let width = body.width - layout.shifted(body.width - width, body.width, 20);
    let width = if common.is_full_screen { 0 } else { width };
    let left = Rect { width, ..body };
    let bar = Rect { x: body.x + width, width: u16::from(width > 0), ..body };
    let right = Rect { x: bar.right(), width: body.right() - bar.right(), ..body };
    let rows = layout::height(screen.types.rows.len() + 1);
    let (types, changes) = layout::split(left, rows.min(left.height / 2).max(2));
    let (names, detail) = layout::split(right, right.height - (right.height / 3).min(9));
    SubscriptionAreas { types, changes, bar, names, detail }
}
