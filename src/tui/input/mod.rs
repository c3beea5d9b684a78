//! Commands, the table of keys, and the user's changes to it.

pub(super) mod command;
pub(super) mod context;
pub(super) mod keymap;
pub(super) mod rebind;
pub(super) mod screen_id;
