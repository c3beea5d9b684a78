//! The state of Resources: tree, selected resource, focus.

use std::sync::Arc;

use ratatui::layout::Rect;

use crate::common::Common;
use crate::widgets::layout::{self, Layout};
use xdscope_wire::event::TypeUrl;

use super::detail::ResourceDetail;
use super::path::TreePath;
use super::tree::ResourceTree;
use super::tree_view::TreeWidths;

/// The part of the screen that has the focus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Focus {
    #[default]
    Tree,
    Body,
    /// Versions, or referrers.
    Side,
}

#[derive(Clone, Debug, Default)]
pub struct ResourcesScreen {
    pub tree: ResourceTree,
    pub detail: ResourceDetail,
    pub focus: Focus,
    /// Resources from which references were followed, with the line.
    pub(super) trail: Vec<(TreePath, usize)>,
    /// The full name of the field that the user asked about, until the next key.
    pub(super) asked_field: Option<String>,
    /// The user showed or hid the documentation. Otherwise it is shown if there is room.
    pub(super) shows_docs: Option<bool>,
    /// The widths that the columns of the tree ask for.
    pub(super) widths: TreeWidths,
}

impl ResourcesScreen {
    /// Selects a resource, or a type.
    pub fn go_to(&mut self, type_url: &TypeUrl, name: Option<Arc<str>>) {
        self.tree.reveal(TreePath { type_url: type_url.clone(), name });
    }

    /// Shows the documentation of a field: `envoy.config.cluster.v3.Cluster.connect_timeout`.
    pub fn document(&mut self, field: String) {
        self.asked_field = Some(field);
        self.shows_docs = Some(true);
    }
}

/// The areas of the screen.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResourceAreas {
    pub(super) tree: Rect,
    pub(super) side: Rect,
    pub(super) bar: Rect,
    pub(super) body: Rect,
    pub(super) docs: Rect,
}

pub(super) fn areas(screen: &ResourcesScreen, common: &Common, layout: &Layout) -> ResourceAreas {
    let body = layout.body;
    // The tree grows with its names, up to half of the screen.
    let least = if layout.wide { body.width * 3 / 10 } else { body.width * 2 / 5 };
    let wanted = u16::try_from(screen.widths.total()).unwrap_or(u16::MAX);
    let width = wanted.max(least).min(body.width / 2);
    let width = body.width - layout.shifted(body.width - width, body.width, 20);
    let width = if common.is_full_screen { 0 } else { width };
    let left = Rect { width, ..body };
    let bar = Rect { x: body.x + width, width: u16::from(width > 0), ..body };
    let right = Rect { x: bar.right(), width: body.right() - bar.right(), ..body };
    let side = (body.height / 3).min(9);
    let (tree, side) = layout::split(left, left.height - side);
    let docs = if screen.shows_docs.unwrap_or(!layout.low) { (right.height / 3).min(10) } else { 0 };
    let (body, docs) = layout::split(right, right.height - docs);
    ResourceAreas { tree, side, bar, body, docs }
}
