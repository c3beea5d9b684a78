//! xdscope: an interactive debugger for xDS.

pub mod app;
pub mod cli;
pub mod content;
pub mod event;
pub mod filter;
pub mod json;
pub mod pb;
pub mod record;
pub mod schema;
pub mod script;
pub mod session;
pub mod store;
#[cfg(feature = "tui")]
pub mod tui;
pub mod wire;
