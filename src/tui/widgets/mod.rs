//! Drawing: canvas, theme, layout, lists, tables, trees, texts.

pub mod canvas;
pub mod layout;
pub mod list;
pub mod table;
pub mod text;
pub mod theme;
pub mod tree;
