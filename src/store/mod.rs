//! Folds frames into streams, states, resources and a bounded history, and answers queries with facts.

mod facts;

pub use facts::*;
