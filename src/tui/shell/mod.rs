//! Everything around a screen: event loop, title and footer, prompts, help, replay bar.

pub(crate) mod commands;
pub(super) mod effect;
mod holders;
pub(super) mod message_pane;
pub(super) mod model;
pub(super) mod overlay;
mod palette;
pub(super) mod picture;
mod prompt;
pub(crate) mod run;
pub(super) mod settle;
#[cfg(test)]
mod tests;
mod tour;
pub(super) mod update;
pub(super) mod view;
