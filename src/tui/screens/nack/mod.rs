//! Screen 6: NACKs, their reasons, and the last good version.

mod accepted;
mod groups;
#[cfg(test)]
mod tests;
mod view;

use ratatui::layout::{Position, Rect};

use crate::common::{Common, Scope};
use crate::data::{BodyFormat, Data};
use crate::input::command::Command;
use crate::input::screen_id::ScreenId;
use crate::lists::sort_by_column;
use crate::screens::list_screen::{self, ListScreen};
use crate::screens::screen::{
    CommandLine, Comparable, Destination, Outcome, ResourcePlace, Screen, movement,
};
use crate::screens::shared::pushes;
use crate::widgets::canvas::{Canvas, StyledLine};
use crate::widgets::layout::{Content, Layout};
use crate::widgets::list::{List, ListRow, SelectionList};
use crate::widgets::table::Column;
use xdscope_engine::nack::{NackGroup, NackReport};
use xdscope_engine::problems::ProblemFact;
use xdscope_engine::store::{NackFact, WarmingFact};
use xdscope_present::body_comparison::BodyComparison;
use xdscope_wire::event::{Seq, StreamId, TypeUrl};

use accepted::AcceptedVersions;
use groups::{GroupKey, groups_in};

/// The facts that a card depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CardKey {
    group: GroupKey,
    newest_nack: Seq,
    is_open: bool,
}

#[derive(Clone, Debug, Default)]
pub struct NackScreen {
    groups: SelectionList<NackGroup>,
    /// Shown while there is no refusal in scope.
    accepted: AcceptedVersions,
    /// Bodies are shown in full.
    is_unfolded: bool,
    loaded: Option<CardKey>,
    pub card: NackReport,
    /// The rejected body of each subject of the card beside the last good one.
    comparisons: Vec<BodyComparison>,
    /// Resources of the group's type that warm now.
    warming: Vec<WarmingFact>,
}

/// The stream, type and newest message of a group.
struct Selection {
    stream: StreamId,
    type_url: TypeUrl,
    n: Seq,
}

impl NackScreen {
    /// There is a refusal in scope.
    pub fn has_refusal(&self) -> bool {
        !self.groups.rows.is_empty()
    }

    pub fn group(&self) -> Option<&NackGroup> {
        self.groups.row()
    }

    /// Looks up which resources of the selected group warm: the client may use the valid rest of a
    /// refused push.
    fn load_warming(&mut self, data: &dyn Data) {
        let mut warming = Vec::new();
        if let Some(group) = self.group() {
            warming = data.store().warming_of(group.stream);
            warming.retain(|fact| fact.type_url == group.type_url);
        }
        self.warming = warming;
    }

    fn selection(&self) -> Option<Selection> {
        let group = self.group()?;
        Some(Selection { stream: group.stream, type_url: group.type_url.clone(), n: group.last()?.n })
    }

    /// Selects the group that message `n` belongs to.
    pub fn select_message(&mut self, n: Seq) {
        let has = |group: &NackGroup| group.nacks.iter().any(|nack| nack.n == n);
        if let Some(at) = self.groups.rows.iter().position(has) {
            self.groups.select(at);
        }
    }

    /// Reads the report of the selected group, and compares its bodies.
    fn load_card(&mut self, data: &dyn Data) {
        let Some(group) = self.group() else {
            self.loaded = None;
            self.card = NackReport::default();
            self.comparisons.clear();
            return;
        };
        let key = group.last().map(|last| CardKey {
            group: group.key(),
            newest_nack: last.n,
            is_open: group.is_open,
        });
        if key != self.loaded {
            self.card = data.contents().card(group.stream, &group.type_url, &group.nacks);
            self.comparisons = self.card.subjects.iter().map(BodyComparison::new).collect();
            self.loaded = key;
        }
    }

    /// There is no refusal in scope, and there are refusals in a wider one.
    fn can_widen(&self, common: &Common) -> bool {
        !self.has_refusal()
            && common.filter_on(ScreenId::Nack).is_none()
            && self.accepted.has_refusals_elsewhere()
    }

    /// Selects the group so many places further down or up.
    fn next_group(&mut self, common: &mut Common, by: isize) {
        let at = self.groups.position().unwrap_or(0);
        let to = at.saturating_add_signed(by);
        if to == at || to >= self.groups.len() {
            common.say("no further NACK this way");
        } else {
            self.groups.select(to);
        }
    }

    /// Opens the resource at fault, or the message if the resource is unknown.
    fn open(&self, common: &mut Common, data: &dyn Data) -> Outcome {
        let Some(Selection { stream, type_url, n }) = self.selection() else {
            return Outcome::say(common, "nothing to open");
        };
        let name = self.card.subjects.first().map(|subject| subject.name.value.as_str());
        let is_known = |name: &&str| data.store().resource(stream, &type_url, name).is_some();
        Outcome::Open(match name.filter(is_known) {
            Some(name) => Destination::Resource(ResourcePlace { name: name.into(), stream, type_url }),
            None => Destination::Messages { scope: common.scope.clone(), n: Some(n) },
        })
    }
}

impl ListScreen for NackScreen {
    fn list(&self) -> &dyn List {
        &self.groups
    }

    fn areas(&self, common: &Common, layout: &Layout) -> (Rect, Rect) {
        list_screen::areas(common, layout, self.groups.rows.len(), 3)
    }

    fn list_columns(&self, is_narrow: bool) -> Vec<Column> {
        view::columns(is_narrow).to_vec()
    }

    fn row(&self, common: &Common, at: usize) -> Option<StyledLine> {
        Some(view::nack_row(common, self.groups.rows.get(at)?))
    }

    fn text_lines(&self, common: &Common, area: Rect) -> Vec<StyledLine> {
        view::card_lines(self, common, area)
    }
}

impl Screen for NackScreen {
    fn update(&mut self, command: Command, common: &mut Common, data: &dyn Data) -> Outcome {
        if let Some(by) = movement(command, common.page()) {
            self.groups.step_or_scroll(by, common.is_in_second_pane());
            return Outcome::Done;
        }
        match command {
            Command::Open if self.can_widen(common) => common.scope = Scope::default(),
            Command::Open => return self.open(common, data),
            Command::Resources if self.group().is_some() => return self.open(common, data),
            Command::Unfold => {
                self.is_unfolded = !self.is_unfolded;
                let notice =
                    if self.is_unfolded { "all lines of both bodies" } else { "the lines around faults" };
                common.say(notice);
            }
            Command::NextNack => self.next_group(common, 1),
            Command::PreviousNack => self.next_group(common, -1),
            Command::Timeline if self.has_refusal() => {
                let Some((scope, n)) = self.messages(data) else { return Outcome::NotHandled };
                return Outcome::Open(Destination::Messages { scope, n });
            }
            _ => return Outcome::NotHandled,
        }
        Outcome::Done
    }

    fn settle(&mut self, common: &mut Common, data: &dyn Data, layout: &Layout) {
        if common.paused.is_none() || !self.has_refusal() {
            self.groups.rows = groups_in(&common.scope, common.filter_on(ScreenId::Nack), data);
            self.accepted = match self.has_refusal() {
                true => AcceptedVersions::default(),
                false => AcceptedVersions::load(&common.scope, data),
            };
        }
        if let Some(by) = common.sorts.get(ScreenId::Nack).column() {
            sort_by_column(&mut self.groups.rows, by, &view::columns(false), |group| {
                view::nack_row(common, group)
            });
        }
        if self.groups.position().is_none() {
            self.groups.select(0);
        }
        self.load_card(data);
        self.load_warming(data);
        let (list, card) = self.areas(common, layout);
        self.groups.settle(list);
        self.groups.settle_text(view::card_lines(self, common, card).len(), card);
    }

    fn view(&self, common: &Common, canvas: &mut Canvas, layout: &Layout) -> Option<Position> {
        view::draw(self, common, canvas, layout)
    }

    fn summary(&self, _common: &Common, _layout: &Layout) -> String {
        view::summary(self)
    }

    fn hint(&self, _common: &Common) -> String {
        "resource and field are read out of the client's words; ? marks a guess".to_owned()
    }

    fn forget(&mut self) {
        self.loaded = None;
    }

    fn as_list(&self) -> Option<&dyn ListScreen> {
        Some(self)
    }

    fn list_mut(&mut self) -> Option<&mut dyn List> {
        Some(&mut self.groups)
    }

    fn label(&self, command: Command) -> Option<&'static str> {
        match command {
            Command::Open if !self.has_refusal() && self.accepted.has_refusals_elsewhere() => {
                Some("all refusals")
            }
            _ => None,
        }
    }

    fn has_target(&self, command: Command, common: &Common) -> bool {
        (command == Command::Open && self.can_widen(common))
            || self.has_refusal()
            || !matches!(command, Command::Open | Command::Diff | Command::NextPane)
    }

    fn badge(&self, common: &Common) -> usize {
        common.problems.all.iter().map(ProblemFact::open_refusals).sum()
    }

    fn comparable(&self, _common: &Common, data: &dyn Data) -> Option<Comparable> {
        let refused = |nack: &NackFact| nack.refused;
        let pushes = self.group()?.nacks.iter().rev().filter_map(refused);
        pushes::newest_with_changes(data, pushes).map(Comparable::Push)
    }

    fn messages(&self, _data: &dyn Data) -> Option<(Scope, Option<Seq>)> {
        if !self.has_refusal() {
            return Some((self.accepted.scope.clone(), None));
        }
        let Selection { stream, type_url, n } = self.selection()?;
        Some((Scope { stream: Some(stream), type_url: Some(type_url) }, Some(n)))
    }

    fn content(&self, common: &Common, largest: &Layout) -> Option<Content> {
        if !self.has_refusal() {
            return Content::new(self.accepted.lines());
        }
        let (_, card) = self.areas(common, largest);
        let lines = view::card_lines(self, common, card);
        Content::stacked(self.groups.rows.len() + 1, 3, 1 + lines.len())
    }

    fn copy_name(&self, _common: &Common) -> Option<String> {
        Some(self.card.subjects.first()?.name.value.clone())
    }

    fn selected_resource(&self) -> Option<ResourcePlace> {
        let (group, subject) = (self.group()?, self.card.subjects.first()?);
        let name = subject.name.value.as_str().into();
        Some(ResourcePlace { stream: group.stream, type_url: group.type_url.clone(), name })
    }

    fn copy_path(&self) -> Option<String> {
        Some(self.card.subjects.first()?.faults.first()?.0.value.clone())
    }

    fn copy_body(&self, format: BodyFormat, data: &dyn Data) -> Option<String> {
        let (group, subject) = (self.group()?, self.card.subjects.first()?);
        let pushed = data.store().pushed(group.last()?.refused?)?;
        let id = pushed.into_iter().find(|(name, _)| **name == *subject.name.value)?.1;
        Some(data.contents().text(id, format))
    }

    fn command_line(&self, common: &Common, source: &str) -> Option<CommandLine> {
        let mut filters = vec!["kind:nack".to_owned()];
        filters.extend(common.scope.stream.map(|stream| format!("stream:{}", stream.0)));
        CommandLine::of_messages(format!("xdscope log {source} --body"), filters)
    }
}
