//! Whether a message keeps the constraints that the API states beside its fields (protoc-gen-validate, group J).
//!
//! The rules are read out of the descriptors when a type is first met, and held against decoded messages, through
//! `Any`s of known types. Secrets may have been taken out of a message, so their values are not judged.

mod check;
mod compile;
mod demands;
mod rules;
#[cfg(test)]
mod tests;

use std::fmt;

use prost_reflect::DynamicMessage;

use super::{Schema, message_name};

pub(super) use compile::MessageRules;

/// A constraint that a message breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The field: `load_assignment.endpoints[0].priority`; empty for the message itself.
    pub path: String,
    /// What is demanded: `must be greater than 0s`.
    pub demand: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            return f.write_str(&self.demand);
        }
        write!(f, "{} {}", self.path, self.demand)
    }
}

/// Why nothing can be said of a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unchecked {
    #[error("no descriptor for {0}")]
    UnknownType(String),
    #[error("it can't be read as a {0}")]
    Unreadable(String),
}

/// Violations of one message; what is beyond is not looked for.
pub(super) const MAX_VIOLATIONS: usize = 100;

impl Schema {
    /// The constraints that a serialized message breaks, at most a hundred, in the order of its fields. Of an `Any` those
    /// of what is in it; one of an unknown type at the top is [`Unchecked`], deeper ones are passed over.
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
        let descriptor = pool.messages().get(place as usize).cloned().ok_or_else(unknown)?;
        let message =
            DynamicMessage::decode(descriptor, bytes).map_err(|_| Unchecked::Unreadable(name.to_owned()))?;
        let mut check = check::Check::new(self);
        check.message(pool, &message, 0);
        Ok(check.found)
    }
}
