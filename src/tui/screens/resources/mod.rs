//! Screen 4: the resources of a stream, their versions, and the meaning of their fields.

mod detail;
mod keys;
mod path;
mod referrers;
mod state;
#[cfg(test)]
mod tests;
mod tree;
mod tree_view;
mod view;

use ratatui::layout::Position;

use crate::common::{Common, Scope};
use crate::data::{BodyFormat, Data};
use crate::input::command::Command;
use crate::input::screen_id::ScreenId;
use crate::screens::screen::{CommandLine, Comparable, Outcome, ResourcePlace, Screen, ScreenText};
use crate::widgets::canvas::Canvas;
use crate::widgets::layout::{self, Content, Layout};
use crate::widgets::list::line_at;
use xdscope_present::text;
use xdscope_wire::event::Seq;
use xdscope_wire::text::display_safe;

use detail::ResourceDetail;
use path::TreePath;
use state::areas;
pub(crate) use state::{Focus, ResourcesScreen};
use tree::ResourceTree;
use tree_view::TreeWidths;

impl Screen for ResourcesScreen {
    fn update(&mut self, command: Command, common: &mut Common, data: &dyn Data) -> Outcome {
        keys::update(self, command, common, data.contents())
    }

    fn settle(&mut self, common: &mut Common, data: &dyn Data, layout: &Layout) {
        let areas = areas(self, common, layout);
        let contents = data.contents();
        let Some(stream) = common.stream_or_first(data) else {
            self.tree = ResourceTree::default();
            self.detail = ResourceDetail::default();
            return;
        };
        if common.paused.is_none() || self.tree.stream() != Some(stream) {
            let filter = common.filter_on(ScreenId::Resources);
            self.tree.load(contents, stream, common.scope.type_url.as_ref(), filter);
        }
        self.tree.settle(contents, usize::from(areas.tree.height).saturating_sub(1));
        self.widths = TreeWidths::wanted(self, common);
        // The names decide about the width of the panes.
        let areas = state::areas(self, common, layout);
        let path = self.tree.selected.clone();
        self.detail.load(data, contents, stream, path.as_ref());
        let (_, body) = layout::split(areas.body, 1);
        let about = view::name_lines(&self.detail, common.theme.glyphs(), body);
        let room = usize::from(body.height).saturating_sub(about.len());
        self.detail.settle(contents, room, usize::from(areas.body.width));
        if areas.docs.height > 0 {
            self.detail.document(contents, self.asked_field.as_deref());
        }
    }

    fn view(&self, common: &Common, canvas: &mut Canvas, layout: &Layout) -> Option<Position> {
        view::draw(self, common, canvas, layout)
    }

    fn summary(&self, common: &Common, _layout: &Layout) -> String {
        view::summary(self, common)
    }

    fn hint(&self, _common: &Common) -> String {
        let line = self.detail.lines.get(self.detail.line);
        match (line, &self.tree.selected) {
            (Some(line), _) if self.focus == Focus::Body && !line.path.is_empty() => line.path.clone(),
            (_, Some(TreePath { name: Some(name), .. })) => name.to_string(),
            _ => "docs and rules come from the descriptors".to_owned(),
        }
    }

    fn point(&mut self, at: Position, selects: bool, common: &mut Common, layout: &Layout) -> Option<bool> {
        let areas = areas(self, common, layout);
        if areas.tree.contains(at) {
            self.focus = Focus::Tree;
            if !selects {
                return None;
            }
            let place = self.tree.window.get(line_at(areas.tree, at)?)?.place().cloned()?;
            let is_same = self.tree.selected.as_ref() == Some(&place);
            self.tree.selected = Some(place);
            return Some(is_same);
        }
        if areas.side.contains(at) {
            self.focus = Focus::Side;
        }
        if areas.body.contains(at) {
            self.focus = Focus::Body;
        }
        None
    }

    fn unfold_text(&mut self) {
        self.detail.unfold();
    }

    fn search(&mut self, common: &mut Common, data: &dyn Data) -> bool {
        let contents = data.contents();
        if self.detail.search(contents) {
            keys::show_referrers(self, common);
        }
        let names = self.tree.search(contents, common.filter_on(ScreenId::Resources));
        names || self.detail.is_searching()
    }

    fn is_searching(&self) -> bool {
        self.tree.is_searching() || self.detail.is_searching()
    }

    fn has_text_focus(&self, common: &Common) -> bool {
        self.focus == Focus::Body || common.is_full_screen
    }

    fn text(&self, _common: &Common) -> Option<ScreenText> {
        let lines = self.detail.lines.iter().map(|line| line.text.clone()).collect();
        Some(ScreenText { lines, at: self.detail.line })
    }

    fn show_line(&mut self, line: usize) {
        self.detail.line = line;
    }

    fn comparable(&self, _common: &Common, _data: &dyn Data) -> Option<Comparable> {
        self.tree.selected.as_ref().map(|path| Comparable::Resource(path.word()))
    }

    fn messages(&self, _data: &dyn Data) -> Option<(Scope, Option<Seq>)> {
        let selected = self.tree.selected.as_ref()?;
        let version = self.detail.versions.get(self.detail.version_shown());
        let scope = Scope { stream: self.tree.stream(), type_url: Some(selected.type_url.clone()) };
        Some((scope, version.map(|version| version.first)))
    }

    fn content(&self, common: &Common, largest: &Layout) -> Option<Content> {
        let areas = areas(self, common, largest);
        let about = view::name_lines(&self.detail, common.theme.glyphs(), areas.body);
        let body = about.len() + 1 + self.detail.lines.len();
        let left = 1 + self.tree.len() + usize::from(areas.side.height);
        let right = body + usize::from(areas.docs.height);
        Some(Content { lines: left.max(right), is_kept_whole: true })
    }

    fn copy_row(&self, _common: &Common) -> Option<String> {
        let fact = self.detail.fact.as_ref();
        let words = [
            self.tree.selected.as_ref()?.word(),
            fact.and_then(|fact| fact.standing()).map_or("-", |version| version).to_owned(),
            fact.map_or("-", |fact| if fact.refused { "NACK" } else { fact.state.word() }).to_owned(),
        ];
        Some(words.map(|word| display_safe(&word).into_owned()).join("  "))
    }

    fn copy_name(&self, _common: &Common) -> Option<String> {
        Some(self.tree.selected.as_ref()?.name.as_deref()?.to_owned())
    }

    fn selected_resource(&self) -> Option<ResourcePlace> {
        let TreePath { type_url, name } = self.tree.selected.clone()?;
        Some(ResourcePlace { stream: self.tree.stream()?, type_url, name: name? })
    }

    fn copy_path(&self) -> Option<String> {
        Some(self.detail.lines.get(self.detail.line)?.path.clone())
    }

    fn copy_body(&self, format: BodyFormat, data: &dyn Data) -> Option<String> {
        Some(data.contents().text(self.detail.content()?, format))
    }

    fn command_line(&self, common: &Common, source: &str) -> Option<CommandLine> {
        let path = self.tree.selected.as_ref().map(|path| format!(" {}", text::shell_word(&path.word())));
        let path = path.unwrap_or_default();
        let form = if path.contains('/') { "yaml" } else { "tree" };
        CommandLine::of_moment(format!("xdscope get {source}{path} -o {form}{}", common.stream_flag()))
    }
}
