//! The nine screens, each in a folder of its own.

pub mod diff;
pub mod graph;
pub mod lint;
pub mod nack;
pub mod overview;
pub mod resources;
pub mod shared;
pub mod stream;
pub mod subscriptions;
pub mod timeline;
