//! The user's own `kubectl`: pods, tokens and forwards to ports of pods.
//!
//! `kubectl` signs in as it does for the user. Arguments are passed as they are, without a shell,
//! and names are checked before, so that none is read as a flag. Output is bounded, and its text
//! is cleaned before anybody sees it. Every process is ended with this one.

mod command;
mod failure;
mod forward;
mod objects;
mod process;
mod token;

pub use command::Kubectl;
pub use failure::{Failure, MissingRight};
pub use forward::{Forward, ForwardTarget};
pub use objects::{
    ContainerPort, ObjectError, Pod, is_object_name, is_selector, root_certificate, selector_of,
};
pub use process::{MAX_FORWARDS, end_all};
pub use token::ServiceAccountToken;
