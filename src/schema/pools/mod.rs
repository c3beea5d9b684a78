//! Pools of descriptors: the built-in ones and those of users.

pub(super) mod builtin;
pub(super) mod descriptor_set;
pub(super) mod descriptors;
pub(super) mod pool;
pub(super) mod user;
