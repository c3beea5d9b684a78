//! Structured names (`xdstp`): globs, authorities and alternatives.

pub(super) mod alternatives;
pub(super) mod authorities;
pub(super) mod globs;
