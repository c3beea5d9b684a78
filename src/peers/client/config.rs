//! Who a client is and how it behaves; what it can't ask for.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::wire::event::{ApiVersion, Kind, TypeUrl, Variant};

use super::Links;
use super::structured::BadName;

/// Who the client is and how it behaves.
#[derive(Clone)]
pub struct Config {
    /// How servers are asked.
    pub manner: ServerProfile,
    /// How those are asked, by their numbers, that are asked in another way.
    pub manners: BTreeMap<u32, ServerProfile>,
    /// Of the services; the types that are asked for have a version of their own (row A-14).
    pub transport: ApiVersion,
    /// Between REST polls that have nothing new to say.
    pub poll_delay: Duration,
    /// The `Node`, in binary protobuf.
    pub node: Vec<u8>,
    /// How long each verdict waits.
    pub ack_delay: Duration,
    /// Finds references; `None`: nothing is followed.
    pub links: Option<Links>,
    /// Structured names are more than text: opt-in, as row K-01 says.
    pub structured: bool,
    /// Which server is asked for the wildcard and the plain names of a type; 0 for those of other types (row I-06).
    pub kinds: BTreeMap<Kind, u32>,
    /// The same of what a resource wants over a stream of the type's own, and not over the ADS.
    pub own: BTreeMap<Kind, u32>,
    /// Structured names, as they go on the wire, that are asked of a certain server (row K-23).
    pub beside: BTreeMap<String, u32>,
    /// Which server answers for an authority (row K-24); the others' numbers begin at 1.
    pub authorities: BTreeMap<String, u32>,
    pub others: FallbackServer,
    /// Of the jitter.
    pub seed: u64,
}

/// How a server is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerProfile {
    pub variant: Variant,
    /// Ask for a wildcard by an empty list, as long as that means one (rows E-39, F-21).
    pub legacy_wildcard: bool,
}

/// Who answers for the authorities that are not among [`Config::authorities`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FallbackServer {
    /// Whoever is asked for the plain names of the type.
    #[default]
    Plain,
    Server(u32),
    /// What is of such an authority has no source.
    Nobody,
}

impl Config {
    /// How this server is asked.
    pub(super) fn manner_of(&self, server: u32) -> ServerProfile {
        self.manners.get(&server).copied().unwrap_or(self.manner)
    }

    /// Which server is asked for what of a type has no structured name.
    pub(super) fn plain(&self, url: &TypeUrl) -> u32 {
        let kind = Kind::of_type_url(url.as_str()).map(|(kind, _)| kind);
        kind.and_then(|kind| self.kinds.get(&kind)).copied().unwrap_or(0)
    }
}

/// What a type has no stream in this variant for (rows, D-05, D-06).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{type_url} {}", why(*variant, type_url, *transport))]
pub struct NoStream {
    pub type_url: TypeUrl,
    pub variant: Variant,
    pub transport: ApiVersion,
}

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

/// What can't be asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error(transparent)]
    NoStream(#[from] NoStream),
    #[error(transparent)]
    Name(#[from] BadName),
    /// Row K-24.
    #[error("no server answers for the authority `{0}`")]
    Unmapped(String),
}
