//! Tests of keys, prompts and frames around the screens.

mod client_action;
mod copy;
mod find;
mod keys;
mod problems;
mod random;
mod view;
