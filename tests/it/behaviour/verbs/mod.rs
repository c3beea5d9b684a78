//! Verbs, screens and files, and whether all views agree.

pub mod agree;
pub mod background;
pub mod cli;
pub mod config;
pub mod fleet;
pub mod kubernetes;
pub mod meshes;
pub mod output;
pub mod packages;
pub mod readers;
pub mod screen;
pub mod session_files;
pub mod signals;
pub mod sources;
pub mod views;
pub mod watch_files;
