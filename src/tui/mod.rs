//! The terminal screens: model, update, view.
//!
//! [`update`] takes in keys and changes and leaves a [`Model`] that is ready to be drawn; [`view`] only draws it.
//! Facts come through [`Data`], so that screens know no sockets, files or protocol rules; what has to be done
//! outside goes out as an [`Effect`]. [`Screens`] is one turn of the loop around them, [`run`] the loop with its
//! terminal, on a thread of its own.

mod data;
mod input;
mod screens;
mod shell;
#[cfg(test)]
mod tests;
mod widgets;

pub use data::{Applied, Bodies, Contents, Data, Feed, Format, HeldMessage, Info, Mode, StoreData};
pub use input::command::Command;
pub use input::keymap::{BINDINGS, Binding, Context};
pub use input::rebind::{Change, KEYS, Keymap};
pub use shell::client_action::ClientAction;
pub use shell::clipboard::Multiplexer;
pub use shell::model::{Model, Overlay, Scope, Screen};
pub use shell::painter::{Painter, blank};
pub use shell::prompt::answering;
pub use shell::replay::{Marked, ReplayBar, ReplayMark, Seek, Sign, Speed};
pub use shell::run::{Options, run, terminal_size};
pub use shell::turn::Screens;
pub use shell::update::{Effect, Msg, search, update};
pub use shell::view::view;
#[cfg(test)]
pub use tests::drawn_text as drawn;
pub use widgets::theme::Theme;
