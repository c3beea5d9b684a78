//! Drawing: canvas, theme, layout, tables and trees.

pub mod canvas;
pub mod layout;
pub mod table;
pub mod theme;
pub mod tree;
