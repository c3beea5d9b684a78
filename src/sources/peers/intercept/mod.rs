//! Faults: which messages of a tap are dropped, delayed, changed or answered, and what follows.
//!
//! A [`FaultSet`] decides which action applies to a message, an [`InterceptedStream`] applies the
//! action and keeps nonces and versions consistent for both sides
//! (docs/decisions/0020-armed-taps.md). A [`HoldQueue`] has the messages that wait for a person,
//! who may edit one ([`edit`]). No sockets and no clock.

mod action;
mod client_memory;
mod contents;
mod error;
mod fault;
mod hold;
mod library;
#[cfg(test)]
mod library_tests;
mod made_up;
mod plan;
mod possible;
mod stream;
#[cfg(test)]
mod tests;
mod track;

pub use action::{ACTION_DOCS, ACTION_FORMS, Action, REORDER_TIME};
pub use client_memory::ClientMemory;
pub use error::FaultError;
pub use fault::{FaultSet, Fired};
pub use hold::{HoldError, HoldOptions, HoldQueue, MAX_EDIT_TIME};
pub use library::{LIBRARY, NamedFault};
pub use plan::PlanError;
pub use stream::{InterceptedStream, Step};
