//! Tests of keys, prompts and frames around the screens.

mod acceptance;
mod client_action;
mod copy;
mod diagnoses;
mod every_key;
mod filter;
mod find;
mod keys;
mod lists;
mod meshes;
mod message_pane;
mod mouse;
mod palette;
mod places;
mod problems;
mod random;
mod replay_band;
mod scope;
mod tour;
mod view;
