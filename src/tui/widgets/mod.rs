//! Drawing: canvas, theme, layout, lists, tables, charts, texts.

pub(super) mod canvas;
pub(super) mod chart;
pub(super) mod layout;
pub(super) mod list;
mod strokes;
pub(super) mod svg;
pub(super) mod syntax;
pub(super) mod table;
pub(super) mod text;
pub(super) mod theme;
