//! Everything around a screen: event loop, title and footer, prompts, help, replay bar.

pub(super) mod alerts;
pub(super) mod client_action;
pub(super) mod clipboard;
mod columns;
mod commands;
mod compare;
mod copy;
pub(super) mod effect;
mod filter_prompt;
mod find;
mod goto;
pub(super) mod hold;
mod holders;
pub(super) mod message_pane;
pub(super) mod model;
mod mouse;
mod name_search;
mod navigation;
pub(super) mod overlay;
pub(super) mod painter;
mod palette;
pub(super) mod palette_lines;
pub(super) mod picture;
mod prompt;
mod replay;
pub(super) mod run;
pub(super) mod settle;
mod terminal;
#[cfg(test)]
mod tests;
mod tour;
pub(super) mod turn;
pub(super) mod update;
pub(super) mod view;
pub(super) mod wake;
