//! xdscope: an interactive debugger for xDS.

pub mod content;
pub mod event;
pub mod pb;
pub mod schema;
pub mod store;
pub mod wire;
