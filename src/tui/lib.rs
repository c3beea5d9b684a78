//! The terminal screens.
//!
//! The crate owns ten screens and everything around them: keys, commands, themes, layout.
//! [`update`] takes messages into a [`Model`], which is then ready to be drawn; [`view`] only draws
//! it. Facts come through [`Data`], and actions for the outside are returned as [`Effect`].
//! [`Screens`] is one turn of the event loop, and [`run`] is the loop with a terminal, on a thread
//! of its own.
//!
//! The crate must not touch files and sockets, nor decide about the protocol.
//!
//! Begin reading at [`update`], and at any folder of `screens`.
//!
//! ```
//! use xdscope_tui::{Theme, blank, frame_text};
//!
//! assert_eq!(frame_text(&blank((80, 24))).lines().count(), 24);
//! ```

#![cfg_attr(not(test), warn(unreachable_pub, clippy::type_complexity))]

mod common;
mod data;
mod input;
mod lists;
mod problem_list;
mod screens;
mod shell;
#[cfg(test)]
mod tests;
mod widgets;

pub use common::{Common, Scope};
pub use data::{
    AppliedFilter, BodyFormat, BodyRenderer, ClientAction, Contents, Data, Decoded, EditedText, Feed,
    FeedError, HeldMessage, Info, Marked, Mode, ReachedProblem, ReplayBar, ReplayMark, Seek, Sign, Speed,
    StoreData, TapFigures,
};
pub use input::command::Command;
pub use input::context::Context;
pub use input::keymap::{BINDINGS, Binding};
pub use input::rebind::{Change, KEYS, Keymap};
pub use input::screen_id::ScreenId;
pub use screens::ScreenSet;
pub use shell::effect::{Effect, Msg};
pub use shell::model::Model;
pub use shell::overlay::Overlay;
pub use shell::picture::{PictureOptions, picture};
pub use shell::run::alerts::Notify;
pub use shell::run::clipboard::Multiplexer;
pub use shell::run::output::{OutputQueue, Pushed};
pub use shell::run::painter::{Painter, blank};
pub use shell::run::terminal::restore_at_end as restore_terminal;
pub use shell::run::turn::{Screens, Wait};
pub use shell::run::wake::{WakeReader, Waker, wake_pair};
pub use shell::run::{Options, run, terminal_size};
pub use shell::settle::search;
pub use shell::update::update;
pub use shell::view::view;
pub use widgets::svg::{SvgColors, svg, text as frame_text};
pub use widgets::theme::{ColorDepth, NamedTheme, Palette, Theme, ThemeRole, Themes, for_background};
