//! Resources and fields that a NACK complains about, read from the client's error text.
//!
//! `error_detail.message` is for people and has no standard format (`docs/protocol.md#e-25`), so
//! nothing here affects the state of a stream, only which resources of a rejected response count as
//! in force ([`NackScope`]). The parser knows the formats of Envoy, gRPC C-core, grpc-go, grpc-java
//! and grpc-js. A value in its place of the format is stated. A value found by searching the
//! rejected response is a guess, and marked so.

#![warn(missing_docs)]

mod blame;
mod client_kind;
mod dump;
mod effect;
mod envoy;
mod faults;
mod groups;
mod grpc;
mod guess;
mod path;
mod report;
mod scope;
#[cfg(test)]
mod tests;
mod unknown_field;

pub use blame::{NamedFields, refuses_field};
pub use client_kind::ClientKind;
pub use dump::without_long_dumps;
pub(crate) use dump::without_random_words;
pub use effect::{InUse, NackEffect};
pub use faults::StatedFaults;
pub use groups::{NackGroup, groups_of_states, nack_groups};
pub(crate) use guess::is_name_in;
pub use path::{steps as path_steps, value_at};
pub use report::{FieldRules, NackReport, Recovery, RefusedResource, nack_report, of_message};
pub use scope::{NackScope, PartialUse, RestUse};

use std::sync::Arc;

use serde_json::Value;

use xdscope_schema::Schema;

/// A value from the text of a NACK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extracted {
    /// The value.
    pub value: String,
    /// Whether the value was found by searching rather than stated in the text.
    pub guessed: bool,
}

impl Extracted {
    fn stated(value: impl Into<String>) -> Extracted {
        Extracted { value: value.into(), guessed: false }
    }

    fn guess(value: impl Into<String>) -> Extracted {
        Extracted { value: value.into(), guessed: true }
    }
}

/// A fault that a NACK reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NackFault {
    /// Name of the resource, if known.
    pub name: Option<Extracted>,
    /// Path of the field, such as `virtual_hosts[0].routes[0].match`. Continues into the payload of
    /// an `Any`.
    pub field: Option<Extracted>,
    /// The reason in the client's words, without dumps of the resource.
    pub reason: String,
    /// Index of the resource in the rejected response, if stated.
    index: Option<usize>,
}

/// The parsed text of a NACK.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nack {
    /// The implementation that writes texts of this format.
    pub client: Option<ClientKind>,
    /// The faults in the text.
    pub entries: Vec<NackFault>,
}

/// Maximum number of faults to read from a text.
const MAX_FAULTS: usize = 64;
/// Maximum number of faults to complete by searching the response.
const MAX_COMPLETED_FAULTS: usize = 16;
/// Maximum length of a text to parse, in bytes. The text may contain a dump of a resource of any
/// size.
const MAX_TEXT_BYTES: usize = 256 << 10;

/// The response that a NACK rejects, if available.
pub trait RefusedPush {
    /// Returns the type URL of the response.
    fn type_url(&self) -> &str;
    /// Returns the names of the resources in the order of the response. Empty if the response is
    /// unavailable.
    fn names(&self) -> &[Arc<str>];
    /// Returns a resource as protobuf JSON with the original field names. `None` if unavailable or
    /// too large to search.
    fn body(&self, index: usize) -> Option<Value>;
}

/// Parses the text of a NACK of `push`.
pub fn read(text: &str, push: &dyn RefusedPush, schema: &Schema) -> Nack {
    let text = prefix(text, MAX_TEXT_BYTES);
    let mut nack = stated(text, push);
    let decoded = guess::DecodedPush::new(push);
    for fault in nack.entries.iter_mut().take(MAX_COMPLETED_FAULTS) {
        guess::complete(fault, &decoded, schema);
    }
    nack
}

/// Reads what the text of a NACK states, without a search of the response.
fn stated(text: &str, push: &dyn RefusedPush) -> Nack {
    let mut nack = grpc::read(text, push).or_else(|| envoy::read(text, push)).unwrap_or_default();
    if nack.entries.is_empty() {
        nack.entries.push(NackFault { reason: text.trim().to_owned(), ..NackFault::default() });
    }
    nack.entries.truncate(MAX_FAULTS);
    nack
}

/// Returns at most the first `bytes` bytes of a text.
fn prefix(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}
