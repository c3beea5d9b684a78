//! Tests of the private state of the store.

mod bounds;
