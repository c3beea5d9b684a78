//! Commands, the table of keys, and the user's changes to it.

pub mod command;
pub mod context;
pub mod keymap;
pub mod rebind;
pub mod screen_id;
