//! Everything around a screen: event loop, title and footer, prompts, help, replay bar.

pub mod client_action;
pub mod clipboard;
mod commands;
mod compare;
mod copy;
pub mod effect;
mod find;
mod goto;
pub mod model;
mod navigation;
pub mod overlay;
pub mod painter;
mod palette;
mod prompt;
mod replay;
pub mod run;
pub mod settle;
mod terminal;
pub mod turn;
pub mod update;
pub mod view;
