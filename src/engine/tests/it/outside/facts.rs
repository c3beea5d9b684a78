//! Ways to speak xDS, types, and the facts that the peers know at the end.

use std::collections::{BTreeMap, BTreeSet};

use super::client::Name;

/// The features of a client that knows TTLs.
pub(super) const FEATURES: &str =
    " feature=xds.config.supports-resource-ttl feature=xds.config.supports-resource-in-sotw";

/// A way to speak xDS.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mode {
    Ads,
    Sotw,
    DeltaAds,
    Delta,
    Rest,
}

impl Mode {
    pub(super) fn is_delta(self) -> bool {
        matches!(self, Mode::DeltaAds | Mode::Delta)
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Mode::Ads => "ads",
            Mode::Sotw => "sotw",
            Mode::DeltaAds => "delta-ads",
            Mode::Delta => "delta",
            Mode::Rest => "rest",
        }
    }
}

/// A type of resources: its short name, the end of its type URL, and whether a SotW response lists
/// all resources.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Kind {
    pub(super) word: &'static str,
    pub(super) type_name: &'static str,
    pub(super) is_full: bool,
}

pub(super) const KINDS: [Kind; 3] = [
    Kind { word: "cds", type_name: ".Cluster", is_full: true },
    Kind { word: "lds", type_name: ".Listener", is_full: true },
    Kind { word: "eds", type_name: ".ClusterLoadAssignment", is_full: false },
];

/// The facts that the peers know at the end of a session.
#[derive(Debug)]
pub(super) struct Truth {
    pub(super) stream: u32,
    pub(super) type_name: &'static str,
    pub(super) is_recorded: bool,
    pub(super) is_partial: bool,
    /// SotW: the version that the client uses; `None` if it is not in the recording.
    pub(super) in_force: Option<Option<String>>,
    /// Refused responses; `None` if it is not clear which of them the client still refuses.
    pub(super) refusals: Option<u64>,
    /// Whether the refusals are all: an earlier stream, or the time before the recording, may have
    /// more of the same content.
    pub(super) has_all_refusals: bool,
    pub(super) owed: BTreeSet<Name>,
    /// Delta: the versions of the resources in use.
    pub(super) accepted: BTreeMap<Name, String>,
}
