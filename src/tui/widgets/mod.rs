//! Drawing: canvas, theme, layout, lists, tables, texts.

pub(super) mod canvas;
pub(super) mod layout;
pub(super) mod list;
pub(super) mod table;
pub(super) mod text;
pub(super) mod theme;
