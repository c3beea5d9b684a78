//! The terminal screens: model, update, view.
//!
//! [`update`] takes in keys and changes and leaves a [`Model`] that is ready to be drawn; [`view`] only draws it.
//! Facts come through [`Data`], so that screens know no sockets, files or protocol rules; what has to be done
//! outside goes out as an [`Effect`]. [`Screens`] is one turn of the loop around them, [`run`] the loop with its
//! terminal, on a thread of its own.

mod act;
mod canvas;
mod client_action;
mod command;
mod compare;
mod copy;
mod data;
mod diff;
mod find;
mod graph;
mod index;
mod keymap;
mod layout;
mod lint;
mod missing_answers;
mod model;
mod nacks;
mod overview;
mod page;
mod painter;
mod panes;
mod prompt;
mod rebind;
mod replay;
mod resources;
mod run;
mod scope;
mod sort;
mod stream;
mod subs;
mod table;
mod terminal;
#[cfg(test)]
mod tests;
mod theme;
mod timeline;
mod tree;
mod update;
mod variants;
mod view;

pub use client_action::ClientAction;
pub use command::Command;
pub use copy::Multiplexer;
pub use data::{Applied, Bodies, Contents, Data, Feed, Format, HeldMessage, Info, Mode, StoreData};
pub use keymap::{BINDINGS, Binding, Context};
pub use model::{Model, Overlay, Scope, Screen};
pub use page::Screens;
pub use painter::{Painter, blank};
pub use prompt::answering;
pub use rebind::{Change, KEYS, Keymap};
pub use replay::{Marked, ReplayBar, ReplayMark, Seek, Sign, Speed};
pub use run::{Options, run, terminal_size};
#[cfg(test)]
pub use tests::drawn_text as drawn;
pub use theme::Theme;
pub use update::{Effect, Msg, search, update};
pub use view::view;
