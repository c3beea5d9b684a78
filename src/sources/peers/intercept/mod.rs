//! Faults: which messages of a tap are dropped, delayed, changed or answered, and what follows.
//!
//! A [`FaultSet`] decides which action applies to a message, with the filter language of the
//! views. An [`InterceptedStream`] applies the action and keeps both sides consistent. A
//! [`HoldQueue`] has the messages that wait for a person, who may edit one
//! ([`xdscope_engine::hold::edit`]). No sockets and no clock. `docs/decisions/0020-armed-taps.md`
//! has the reasons.
//!
//! # Consistent nonces and versions
//!
//! For each type of a stream:
//!
//! - After a dropped or bounced push, SotW requests with an older nonce carry the nonce of that
//!   push. The server would ignore them as stale otherwise.
//! - Nonces and versions that a fault or person has changed are changed back on the way to the
//!   server.
//! - The second answer to a repeated push is left out.
//!
//! # Order
//!
//! Messages of a type and direction keep their order: a message behind a delayed or held one
//! waits. Other types are not held up. A throttled message arrives whole, later.
//!
//! # Reports
//!
//! Each intervention is reported ([`Step::Report`]), with the original and, if there is one, the
//! message that is sent instead. A postponed request is reported twice, when it arrives and when
//! it is sent: only the second report says that the server has the request.
//!
//! # Later streams of a client
//!
//! A client states on a new stream what it has. [`ClientMemory`] knows what only xdscope has told
//! the client, and corrects these requests. `made_up` leaves names of clusters that a fault has
//! made up out of requests for endpoints.

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
