//! Screen 4: what exactly is configured, since when, and what a field means.

mod detail;
mod keys;
mod referrers;
mod tree;
pub mod view;

use std::sync::Arc;

use ratatui::layout::Rect;

use crate::present::json::type_word;
use crate::wire::event::TypeUrl;

use crate::tui::data::Data;
use crate::tui::shell::model::Model;
use crate::tui::shell::update::current_stream;
use crate::tui::widgets::layout::{self, Layout};

pub use detail::Detail;
pub use keys::act;
pub use tree::{Row, Tree};

/// A type, or a resource of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub type_url: TypeUrl,
    pub name: Option<Arc<str>>,
}

/// Which part the arrows move in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Focus {
    #[default]
    Tree,
    Body,
    /// Versions, or who refers to it.
    Side,
}

#[derive(Clone, Debug, Default)]
pub struct Resources {
    pub tree: Tree,
    pub detail: Detail,
    pub focus: Focus,
    /// Where references were followed from, with the line.
    trail: Vec<(Place, usize)>,
    /// Shown or hidden by hand; otherwise shown where there is room.
    pub docs: Option<bool>,
}

impl Resources {
    /// Selects a resource, or a type.
    pub fn go_to(&mut self, type_url: &TypeUrl, name: Option<Arc<str>>) {
        self.tree.reveal(Place { type_url: type_url.clone(), name });
    }
}

/// Where the parts of the screen are.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    pub tree: Rect,
    pub side: Rect,
    pub bar: Rect,
    pub body: Rect,
    pub docs: Rect,
}

pub fn parts(model: &Model, layout: &Layout) -> Parts {
    let body = layout.body;
    let width = if layout.wide { body.width * 3 / 10 } else { body.width * 2 / 5 };
    let width = body.width - layout.shifted(body.width - width, body.width, 20);
    let width = if model.whole { 0 } else { width };
    let left = Rect { width, ..body };
    let bar = Rect { x: body.x + width, width: u16::from(width > 0), ..body };
    let right = Rect { x: bar.right(), width: body.right() - bar.right(), ..body };
    let side = (body.height / 3).min(9);
    let (tree, side) = layout::split(left, left.height - side);
    let docs = match model.resources.docs.unwrap_or(!layout.low) {
        true => (right.height / 3).min(10),
        false => 0,
    };
    let (body, docs) = layout::split(right, right.height - docs);
    Parts { tree, side, bar, body, docs }
}

/// One step of what is looked for. True while there is more.
pub fn search(model: &mut Model, data: &dyn Data) -> bool {
    let Some(contents) = data.contents() else { return false };
    if model.resources.detail.search(contents) {
        keys::found_users(model);
    }
    let names = model.resources.tree.search(data, model.filter.as_ref());
    names || model.resources.detail.searching()
}

pub fn settle(model: &mut Model, data: &dyn Data, layout: &Layout, frozen: bool) {
    let first = || data.stream_ids().first().copied();
    let stream = current_stream(model).or_else(first);
    let parts = parts(model, layout);
    let Some((contents, stream)) = data.contents().zip(stream) else {
        model.resources.tree = Tree::default();
        model.resources.detail = Detail::default();
        return;
    };
    let screen = &mut model.resources;
    if !frozen || screen.tree.stream() != Some(stream) {
        screen.tree.load(contents, stream, model.scope.type_url.as_ref(), model.filter.as_ref());
    }
    screen.tree.settle(contents, usize::from(parts.tree.height).saturating_sub(1));
    let place = screen.tree.selected.clone();
    screen.detail.load(data, contents, stream, place.as_ref());
    let room = usize::from(parts.body.height).saturating_sub(1);
    screen.detail.settle(contents, room, usize::from(parts.body.width), parts.docs.height > 0);
}

/// The selected resource as the command line names it: `cds/reviews`.
pub fn what(model: &Model) -> Option<String> {
    let place = model.resources.tree.selected.as_ref()?;
    let word = type_word(&place.type_url);
    Some(place.name.as_ref().map_or_else(|| word.to_owned(), |name| format!("{word}/{name}")))
}

/// The selected resource as a line of text.
pub fn copied(model: &Model) -> Option<String> {
    let fact = model.resources.detail.fact.as_ref();
    let words = [
        what(model)?,
        fact.and_then(|fact| fact.version.as_deref()).unwrap_or("-").to_owned(),
        fact.map_or("-", |fact| if fact.refused { "NACK" } else { fact.state.word() }).to_owned(),
    ];
    Some(words.map(|word| crate::wire::text::display_safe(&word).into_owned()).join("  "))
}
