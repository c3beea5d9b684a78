//! Validation of messages against the protoc-gen-validate constraints of the API.
//!
//! Reads the constraints of a type from its descriptor on first use, and checks decoded messages,
//! including the payloads of `Any`s with known types. Evaluates rules as Envoy does, whose checks
//! are generated C++ code. Skips redacted values.

mod check;
mod compile;
mod demand;
mod evaluate;
mod rules;
#[cfg(test)]
mod tests;
mod wording;

use std::fmt;

use prost_reflect::DynamicMessage;

use super::{Schema, message_name};
use crate::json::size::MAX_CHECKED_VALUES;

pub(super) use check::any_parts;
pub(super) use compile::MessageRules;
pub use demand::{Bound, Demand, LengthLimit, Number, Range, Scalar, Unit, WellKnown};
pub use wording::list_violations;

/// A constraint that a message breaks.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// Path of the field, such as `load_assignment.endpoints[0].priority`. Empty for the message
    /// itself.
    pub path: String,
    /// The constraint, such as `must be greater than 0s`.
    pub demand: Demand,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            return self.demand.fmt(f);
        }
        write!(f, "{} {}", self.path, self.demand)
    }
}

/// A message that cannot be validated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unchecked {
    /// The type is unknown.
    #[error("no descriptor for {0}")]
    UnknownType(String),
    /// The bytes cannot be decoded.
    #[error("not a valid {0}")]
    Unreadable(String),
    /// The message has too many values to be decoded.
    #[error("{0} has too many values to be checked")]
    TooLarge(String),
}

/// Maximum number of violations reported for a message.
pub(super) const MAX_VIOLATIONS: usize = 100;

impl Schema {
    /// Returns all constraints that a serialized message violates, at most 100.
    ///
    /// Envoy reports only the first, and finds it in this order: the fields of a message as
    /// declared, then its oneofs, each with the messages inside. Envoy's order of map entries is
    /// not defined. The payload of an `Any` is checked later, by the extension that takes it.
    ///
    /// For an `Any`, validates the payload. Skips nested `Any`s of unknown types.
    ///
    /// # Errors
    ///
    /// Returns an error if the type of the message, or of the payload of an outermost `Any`, is
    /// unknown, or the bytes cannot be decoded.
    pub fn violations(&self, type_url_or_name: &str, bytes: &[u8]) -> Result<Vec<Violation>, Unchecked> {
        let name = message_name(type_url_or_name);
        if name == check::ANY {
            let (url, value) =
                check::any_parts(bytes).ok_or_else(|| Unchecked::Unreadable(name.to_owned()))?;
            return self.violations_in(&url, value);
        }
        self.violations_in(name, bytes)
    }

    fn violations_in(&self, type_url: &str, bytes: &[u8]) -> Result<Vec<Violation>, Unchecked> {
        let name = message_name(type_url);
        let unknown = || Unchecked::UnknownType(name.to_owned());
        let (pool, place) = self.find_message(name).ok_or_else(unknown)?;
        if pool.has_more_values(Some(place), bytes, MAX_CHECKED_VALUES) {
            return Err(Unchecked::TooLarge(name.to_owned()));
        }
        let descriptor = pool.message_at(place).ok_or_else(unknown)?;
        let message =
            DynamicMessage::decode(descriptor, bytes).map_err(|_| Unchecked::Unreadable(name.to_owned()))?;
        let mut check = check::Check::new(self);
        check.message(pool, &message, 0);
        Ok(check.found)
    }
}
