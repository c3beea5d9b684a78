//! What a client is started with: Envoy's bootstrap (YAML or JSON) and gRPC's (JSON), as far as rules look at it
//! (rows I-07 to I-11).

use serde_json::{Map, Value};

use super::finding::{Blame, Finding};
use super::rule::On;
use super::rules::ALL;
use crate::schema::bootstrap::{Dialect, Document};
use crate::wire::event::{StreamId, Time, TypeUrl};

pub(super) use crate::schema::bootstrap::fields::get;
pub(super) use crate::schema::bootstrap::{cluster_names, each_object_in};

/// Findings of one rule in one bootstrap.
const MOST: usize = 100;

/// A bootstrap, read.
#[derive(Clone, Debug)]
pub struct Bootstrap {
    document: Document,
}

/// One place in a bootstrap that breaks a rule.
pub(super) struct Spot {
    /// `static_resources.clusters[1]`.
    pub(super) place: String,
    pub(super) text: String,
}

impl Spot {
    pub(super) fn new(place: impl Into<String>, text: impl Into<String>) -> Spot {
        Spot { place: place.into(), text: text.into() }
    }
}

impl Bootstrap {
    /// `None`: the text is not a bootstrap.
    pub fn read(text: &str) -> Option<Bootstrap> {
        Some(Bootstrap { document: Document::parse(text).ok()? })
    }

    /// What the rules about bootstraps say, in their order.
    pub fn findings(&self) -> Vec<Finding> {
        let mut out = Vec::new();
        for rule in ALL {
            let checks = rule.on.iter().filter_map(|on| match on {
                On::Bootstrap(check) => Some(check),
                _ => None,
            });
            for spot in checks.flat_map(|check| check(self)).take(MOST) {
                out.push(Finding {
                    rule,
                    severity: rule.severity,
                    cause: None,
                    blame: Blame::Client,
                    stream: StreamId(0),
                    node: None,
                    type_url: TypeUrl::default(),
                    names: Vec::new(),
                    at: None,
                    messages: Vec::new(),
                    first: Time::ZERO,
                    last: Time::ZERO,
                    count: 1,
                    text: spot.text,
                    guess: false,
                    place: Some(spot.place.into()),
                });
            }
        }
        out
    }

    /// Whether the bootstrap is for gRPC.
    pub(super) fn is_grpc(&self) -> bool {
        self.document.dialect() == Dialect::Grpc
    }

    /// `dynamic_resources.ads_config`.
    pub(super) fn ads_config(&self) -> Option<&Map<String, Value>> {
        self.document.ads_config()?.as_object()
    }

    /// The static clusters.
    pub(super) fn clusters(&self) -> &[Value] {
        self.document.static_clusters()
    }

    /// Calls `see` with each object and its path.
    pub(super) fn each(&self, see: &mut dyn FnMut(&str, &Map<String, Value>)) {
        self.document.each_object(see);
    }
}

/// A `ConfigSource` that says `ads`.
pub(super) fn is_ads(of: &Map<String, Value>) -> bool {
    const BESIDE: [&str; 7] = [
        "ads",
        "authorities",
        "resource_api_version",
        "resourceApiVersion",
        "initial_fetch_timeout",
        "initialFetchTimeout",
        "@type",
    ];
    of.get("ads").and_then(Value::as_object).is_some_and(Map::is_empty)
        && of.keys().all(|key| BESIDE.contains(&key.as_str()))
}

/// An `ApiConfigSource`.
pub(super) fn is_api(of: &Map<String, Value>) -> bool {
    get(of, "api_type").is_some_and(Value::is_string)
}
