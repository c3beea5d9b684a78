//! Commands, the table of keys, and the user's changes to it.

pub mod command;
pub mod keymap;
pub mod rebind;
pub mod sort;
