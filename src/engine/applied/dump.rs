//! The content of a dump, independent of its format.

use std::collections::HashMap;
use std::sync::Arc;

use xdscope_schema::EncodeError;
use xdscope_wire::event::{Code, Kind, Time, TypeUrl};

use crate::admin::AdminFacts;

/// The format of a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpOrigin {
    /// `/config_dump` of Envoy's admin interface.
    ConfigDump,
    /// A `ClientStatusResponse`.
    Csds,
    /// `/debug/syncz` of istiods: what each proxy has acknowledged.
    Syncz,
    /// `/config_dump` of ztunnel.
    Ztunnel,
}

/// A dump of one client (config dump) or any number of clients (CSDS).
#[derive(Clone, Debug)]
pub struct Dump {
    /// The format of the dump.
    pub origin: DumpOrigin,
    /// The clients in the dump.
    pub clients: Vec<DumpClient>,
    /// The times of the dump. `None`: unknown.
    pub times: Option<DumpTimes>,
    /// Parts of the dump that were left out, in order. The ninth is [`DumpNotice::More`].
    pub notices: Vec<DumpNotice>,
}

/// Times of a dump, in nanoseconds of Unix time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DumpTimes {
    /// The earliest time in the dump.
    pub epoch: i128,
    /// When the dump was made.
    pub end: i128,
}

/// The state of a type of a client, as its server sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeStatus {
    /// The type.
    pub type_url: TypeUrl,
    /// Nonce of the newest response. `None`: nothing was sent.
    pub sent: Option<Arc<str>>,
    /// Nonce of the newest acknowledged response.
    pub acked: Option<Arc<str>>,
    /// When the newest response was sent, in nanoseconds of Unix time.
    pub sent_at: Option<i128>,
    /// The text of the last NACK, unless the client has acknowledged a response since.
    pub error: Option<Arc<str>>,
}

/// A part of a dump that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DumpNotice {
    /// The node does not fit its type.
    InvalidNode(EncodeError),
    /// A field of a resource is unknown.
    UnknownField(DumpedResource, EncodeError),
    /// A resource does not fit its type.
    InvalidResource(DumpedResource, EncodeError),
    /// A pod could not be read.
    UnreadPod {
        /// Namespace and name of the pod.
        pod: String,
        /// The reason.
        why: String,
    },
    /// Further parts were left out, which are not listed.
    More,
}

/// A resource of a dump in a [`DumpNotice`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpedResource {
    /// Type URL of the resource.
    pub type_url: String,
    /// The name in the resource, if any.
    pub name: Option<Arc<str>>,
}

/// The resources of a client.
#[derive(Clone, Debug, Default)]
pub struct DumpClient {
    /// The serialized node, if the dump contains the node.
    pub node: Option<Vec<u8>>,
    /// The node's id.
    pub id: Option<String>,
    /// Types in the dump, including types without resources, with the version of the type if there
    /// is one.
    pub types: Vec<(TypeUrl, Option<Arc<str>>)>,
    /// The resources of the client.
    pub entries: Vec<DumpEntry>,
    /// The names of the client's other clusters: static ones, and those with an invalid content.
    /// `None` if the dump may lack clusters, or if the client fetches clusters on demand.
    pub other_clusters: Option<Vec<String>>,
    /// The references of resources in use to resources that the client lacks.
    pub missing: Vec<MissingReference>,
    /// The states of types that a server states. Empty in the dump of a client.
    pub statuses: Vec<TypeStatus>,
    /// Facts of the admin port of the client. `None` for dumps from files.
    pub admin: Option<AdminFacts>,
}

/// A reference of a resource in use to a resource that the client of a dump lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingReference {
    /// Type of the resource in use: listener or scope.
    pub user_kind: Kind,
    /// Name of the resource in use.
    pub user: String,
    /// Whether the resource in use is in the bootstrap of the client.
    pub is_static: bool,
    /// Type of the missing resource: routes, or a cluster of a static listener.
    pub kind: Kind,
    /// Name of the missing resource.
    pub name: String,
}

/// A resource of a client.
#[derive(Clone, Debug)]
pub struct DumpEntry {
    /// Type of the resource.
    pub type_url: TypeUrl,
    /// Name of the resource.
    pub name: Arc<str>,
    /// The content in use.
    pub active: Option<DumpContent>,
    /// The accepted content that is not in use yet.
    pub warming: Option<DumpContent>,
    /// The newest rejection, unless the client has accepted a newer version.
    pub refused: Option<DumpRefusal>,
    /// Whether the client has requested the resource and received no answer.
    pub is_requested: bool,
    /// The reason why the client does not receive the resource.
    pub error: Option<DumpResourceError>,
}

/// A version of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpContent {
    /// Version of the resource, if stated.
    pub version: Option<Arc<str>>,
    /// The serialized `Any`. `None` if missing or undecodable.
    pub any: Option<Vec<u8>>,
}

/// A rejection (`error_state`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpRefusal {
    /// The error message of the client.
    pub text: String,
    /// The rejected content, as far as the client has kept it.
    pub content: DumpContent,
}

/// The reason why a client does not receive a resource: a `client_status` of `DOES_NOT_EXIST`,
/// `TIMEOUT` or `RECEIVED_ERROR`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpResourceError {
    /// The gRPC code that has the meaning of the status.
    pub code: Code,
    /// The error message in `error_state`, if any.
    pub text: String,
}

impl DumpTimes {
    /// Returns a time of the dump on the clock of its session.
    pub(super) fn since_epoch(self, at: i128) -> Time {
        Time(u64::try_from(at.saturating_sub(self.epoch)).unwrap_or_default())
    }

    /// Returns the end of the session.
    pub fn session_end(self) -> Time {
        self.since_epoch(self.end)
    }
}

impl DumpEntry {
    pub(super) fn new(type_url: TypeUrl, name: Arc<str>) -> DumpEntry {
        DumpEntry {
            type_url,
            name,
            active: None,
            warming: None,
            refused: None,
            is_requested: false,
            error: None,
        }
    }
}

impl DumpClient {
    /// Returns the entries of a type.
    pub(super) fn entries_of(&self, type_url: &TypeUrl) -> Vec<&DumpEntry> {
        self.entries.iter().filter(|entry| entry.type_url == *type_url).collect()
    }

    /// Notes that the dump has this type, with the version of the type if there is one.
    pub(super) fn add_type(&mut self, type_url: TypeUrl, version: Option<Arc<str>>) {
        match self.types.iter_mut().find(|(known, _)| *known == type_url) {
            Some((_, known)) => *known = known.take().or(version),
            None => self.types.push((type_url, version)),
        }
    }

    /// Merges the entries with equal type and name.
    pub(super) fn merge(&mut self) {
        let mut index = HashMap::new();
        let mut merged: Vec<DumpEntry> = Vec::new();
        for entry in self.entries.drain(..) {
            let at = *index.entry((entry.type_url.clone(), entry.name.clone())).or_insert(merged.len());
            match merged.get_mut(at) {
                None => merged.push(entry),
                Some(known) => {
                    known.active = known.active.take().or(entry.active);
                    known.warming = known.warming.take().or(entry.warming);
                    known.refused = known.refused.take().or(entry.refused);
                    known.is_requested |= entry.is_requested;
                    known.error = known.error.take().or(entry.error);
                }
            }
        }
        self.entries = merged;
    }
}
