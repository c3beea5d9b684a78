//! The configuration of a client, and the subscriptions that it refuses.

use std::collections::BTreeMap;
use std::time::Duration;

use xdscope_schema::bootstrap::FallbackServer;
use xdscope_wire::event::{ApiVersion, Kind, TypeUrl, Variant};

use super::Links;
use xdscope_wire::xdstp::BadName;

/// The identity and the behavior of a client.
#[derive(Clone)]
pub struct Config {
    /// Protocol variant for servers that `profiles` does not list.
    pub profile: ServerProfile,
    /// Protocol variant by server number.
    pub profiles: BTreeMap<u32, ServerProfile>,
    /// API version of the services. Resource types have a version of their own
    /// (docs/protocol.md#a-14).
    pub transport: ApiVersion,
    /// Delay between REST polls without news.
    pub poll_delay: Duration,
    /// An encoded `Node`.
    pub node: Vec<u8>,
    /// Delay before each ACK or NACK.
    pub ack_delay: Duration,
    /// Finds references in resources; `None` if references are not followed.
    pub links: Option<Links>,
    /// Interpret structured (`xdstp:`) names. Opt-in, see docs/protocol.md#k-01.
    pub structured: bool,
    /// Server for the wildcard and the plain names of a type; server 0 for other types
    /// (docs/protocol.md#i-06).
    pub kinds: BTreeMap<Kind, u32>,
    /// Server for the resources that a reference requests outside of ADS, on a stream of their
    /// type.
    pub own: BTreeMap<Kind, u32>,
    /// Server for the resources that a reference requests from a cluster in a protocol variant; no
    /// other cluster is asked.
    pub clusters: BTreeMap<(Box<str>, Variant), u32>,
    /// Server for single structured names, in their form on the wire (docs/protocol.md#k-23).
    pub beside: BTreeMap<String, u32>,
    /// Server for the names of an authority, numbered from 1 (docs/protocol.md#k-24).
    pub authorities: BTreeMap<String, u32>,
    /// Server for the names of all other authorities.
    pub others: FallbackServer,
    /// Seed of the back-off jitter.
    pub seed: u64,
}

/// The protocol variant that a server gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerProfile {
    /// Transport variant of the streams.
    pub variant: Variant,
    /// Request a wildcard with an empty list where that means a wildcard (docs/protocol.md#e-39,
    /// docs/protocol.md#f-21).
    pub legacy_wildcard: bool,
}

impl Config {
    /// Returns the protocol variant for a server.
    pub(super) fn profile_of(&self, server: u32) -> ServerProfile {
        self.profiles.get(&server).copied().unwrap_or(self.profile)
    }

    /// Returns the server for the wildcard and the plain names of a type.
    pub(super) fn plain(&self, url: &TypeUrl) -> u32 {
        let kind = Kind::of_type_url(url.as_str()).map(|(kind, _)| kind);
        kind.and_then(|kind| self.kinds.get(&kind)).copied().unwrap_or(0)
    }
}

/// The variant has no stream for the type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{type_url} {}", why(*variant, type_url, *transport))]
pub struct NoStream {
    /// The type.
    pub type_url: TypeUrl,
    /// The variant that lacks a stream.
    pub variant: Variant,
    /// API version of the services.
    pub transport: ApiVersion,
}

/// Says why a type cannot be requested with a variant.
fn why(variant: Variant, url: &TypeUrl, transport: ApiVersion) -> String {
    let known = Kind::of_type_url(url.as_str()).is_some();
    let version = transport.word();
    match variant {
        Variant::Rest if known => {
            format!(
                "can't be polled: it has a delta method only, and there is no delta over REST ({version})"
            )
        }
        Variant::Rest => {
            "can't be polled: it has no path of its own, and there is no ADS over REST".to_owned()
        }
        variant => format!("has no stream of its own in variant {} ({version})", variant.word()),
    }
}

/// The reason why a name that a resource refers to is not requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unrequested {
    /// No server answers for the authority of the name (docs/protocol.md#k-24).
    Authority,
    /// The resource states a source at this cluster, which is not known; empty if the source names
    /// no cluster (docs/protocol.md#i-06).
    Cluster(String),
}

/// A subscription that the client cannot make.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The variant has no stream for the type.
    #[error(transparent)]
    NoStream(#[from] NoStream),
    /// The structured name is malformed or not supported.
    #[error(transparent)]
    Name(#[from] BadName),
    /// docs/protocol.md#k-24
    #[error("no server answers for the authority `{0}`")]
    Unmapped(String),
}
