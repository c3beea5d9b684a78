//! The command line itself: parsing, settings, help, completion and suggestions.

pub(super) mod candidates;
pub(super) mod command_line;
pub(super) mod completions;
pub(super) mod config_file;
pub(super) mod default_source;
pub(super) mod effect;
pub(super) mod examples;
pub(super) mod help;
pub(super) mod idle_flags;
pub(super) mod man;
pub(super) mod settings;
pub(super) mod suggest;
pub(super) mod topics;
