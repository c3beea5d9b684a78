//! Who a client is and how it behaves; what it can't ask for.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::event::{ApiVersion, Kind, TypeUrl, Variant};

use super::Links;
use super::structured::BadName;

/// Who the client is and how it behaves.
#[derive(Clone)]
pub struct Config {
    pub variant: Variant,
    /// Of the services; the types that are asked for have a version of their own (row A-14).
    pub transport: ApiVersion,
    /// Between REST polls that have nothing new to say.
    pub poll_delay: Duration,
    /// The `Node`, in binary protobuf.
    pub node: Vec<u8>,
    /// Ask for a wildcard by an empty list, as long as that means one (rows E-39, F-21).
    pub legacy_wildcard: bool,
    /// How long each verdict waits.
    pub ack_delay: Duration,
    /// Finds references; `None`: nothing is followed.
    pub links: Option<Links>,
    /// Structured names are more than text: opt-in, as row K-01 says.
    pub structured: bool,
    /// Which server answers for an authority (row K-24); the others' numbers begin at 1. Empty: the one server
    /// answers for all. Otherwise what is of an authority that is not among them has no source.
    pub authorities: BTreeMap<String, u32>,
    /// Which answers for every other authority.
    pub default_authority: Option<u32>,
    /// Of the jitter.
    pub seed: u64,
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
