//! What a NACK says: resource and field, read out of the client's own words.
//!
//! `error_detail.message` is for people and follows no standard (row E-25); nothing here decides a state. Known are
//! the formats of Envoy, gRPC C-core, grpc-go, grpc-java and grpc-js. What stands in a place that the format keeps for
//! it is stated; what was found by looking for names and values of the refused push is a guess, and marked.

mod envoy;
mod grpc;
mod guess;
mod path;
mod report;
#[cfg(test)]
mod tests;

pub use path::{steps as path_steps, value_at};
pub use report::{NackReport, Recovery, RefusedResource, nack_report, of_message};

use std::sync::Arc;

use serde_json::Value;

use crate::schema::Schema;
use crate::wire::event::Kind;

/// Whose words a NACK is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientKind {
    Envoy,
    GrpcCore,
    GrpcGo,
    GrpcJava,
    GrpcJs,
}

impl ClientKind {
    pub const ALL: [ClientKind; 5] = [
        ClientKind::Envoy,
        ClientKind::GrpcCore,
        ClientKind::GrpcGo,
        ClientKind::GrpcJava,
        ClientKind::GrpcJs,
    ];

    pub fn word(self) -> &'static str {
        match self {
            ClientKind::Envoy => "envoy",
            ClientKind::GrpcCore => "grpc-core",
            ClientKind::GrpcGo => "grpc-go",
            ClientKind::GrpcJava => "grpc-java",
            ClientKind::GrpcJs => "grpc-js",
        }
    }

    /// By the node's `user_agent_name`.
    pub fn of_user_agent(name: &str) -> Option<ClientKind> {
        let name = name.to_ascii_lowercase();
        let is = |part: &str| name.contains(part);
        match () {
            () if is("envoy") => Some(ClientKind::Envoy),
            () if is("grpc go") || is("grpc-go") => Some(ClientKind::GrpcGo),
            () if is("grpc java") || is("grpc-java") => Some(ClientKind::GrpcJava),
            () if is("grpc node") || is("grpc-js") => Some(ClientKind::GrpcJs),
            () if is("grpc c-core") || is("grpc-c") => Some(ClientKind::GrpcCore),
            () => None,
        }
    }

    /// What this client does with the rest of a push that it refuses; `None` where it is not known to use any of it.
    pub fn partly(self, kind: Option<Kind>) -> Option<&'static str> {
        match (self, kind) {
            (ClientKind::Envoy, Some(Kind::Lds | Kind::Cds)) => Some(
                "Envoy uses the good resources of a refused LDS or CDS push all the same: those are at the refused \
                 version, although it goes on to report the one before",
            ),
            (ClientKind::Envoy, _) => None,
            (ClientKind::GrpcCore | ClientKind::GrpcJs, _) => Some(
                "gRPC uses the good resources of a refused push, and then reports the refused version as its own; a \
                 cluster or listener that the push left out is gone",
            ),
            (ClientKind::GrpcGo | ClientKind::GrpcJava, _) => Some(
                "gRPC uses the good resources of a refused push; a cluster or listener that the push left out is gone",
            ),
        }
    }
}

/// A value, and whether it was stated or guessed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extracted {
    pub value: String,
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

/// One fault that a NACK names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NackFault {
    /// The resource at fault; `None` if the text does not tell.
    pub name: Option<Extracted>,
    /// Path in the resource, `virtual_hosts[0].routes[0].match`; through an `Any` it goes on inside.
    pub field: Option<Extracted>,
    /// Why, in the client's words, without dumps of the resource.
    pub reason: String,
    /// Position in the refused push, where the text has one.
    index: Option<usize>,
}

/// A NACK's text, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nack {
    /// By the form of the text.
    pub client: Option<ClientKind>,
    pub entries: Vec<NackFault>,
}

/// Faults that are read out of one text.
const MAX_FAULTS: usize = 64;
/// Those of them that are completed from the push.
const MAX_COMPLETED_FAULTS: usize = 16;
/// Bytes of a text that are looked at: a dump of a resource in it may be of any size.
const MAX_TEXT_BYTES: usize = 256 << 10;

/// What was refused, as far as it is known.
pub trait RefusedPush {
    /// The type that was pushed.
    fn type_url(&self) -> &str;
    /// Names in the order of the response; empty if the response is not known.
    fn names(&self) -> &[Arc<str>];
    /// A resource as protobuf JSON with the API's own field names. `None` if it is not held, or too large to look into.
    fn body(&self, index: usize) -> Option<Value>;
}

/// Reads the text of a NACK of `push`.
pub fn read(text: &str, push: &dyn RefusedPush, schema: &Schema) -> Nack {
    let text = prefix(text, MAX_TEXT_BYTES);
    let (client, mut entries) =
        grpc::read(text, push).or_else(|| envoy::read(text, push)).unwrap_or_default();
    if entries.is_empty() {
        entries.push(NackFault { reason: text.trim().to_owned(), ..NackFault::default() });
    }
    entries.truncate(MAX_FAULTS);
    let opened = guess::DecodedPush::new(push);
    for entry in entries.iter_mut().take(MAX_COMPLETED_FAULTS) {
        guess::complete(entry, &opened, schema);
    }
    Nack { client, entries }
}

/// The first `bytes` of a text, or a few less.
fn prefix(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}
