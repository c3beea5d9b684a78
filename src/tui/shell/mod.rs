//! Everything around a screen: event loop, title and footer, prompts, help, replay bar.

pub mod client_action;
pub mod clipboard;
pub mod commands;
pub mod find;
pub mod model;
pub mod painter;
pub mod panes;
pub mod places;
pub mod prompt;
pub mod replay;
pub mod run;
pub mod terminal;
pub mod turn;
pub mod update;
pub mod view;
