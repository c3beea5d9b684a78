//! The bootstrap of a client, as rules see it: `docs/protocol.md#i-08` and the following rows.

use serde_json::{Map, Value};

use xdscope_schema::bootstrap::{Dialect, Document};

pub(super) use xdscope_schema::bootstrap::fields::get;
pub(super) use xdscope_schema::bootstrap::{cluster_names, each_object_in};

/// A bootstrap of Envoy or gRPC.
#[derive(Clone, Debug)]
pub struct Bootstrap {
    document: Document,
}

/// A place in a bootstrap that breaks a rule.
pub(super) struct BootstrapProblem {
    /// The place, such as `static_resources.clusters[1]`.
    pub(super) place: String,
    pub(super) text: String,
}

impl BootstrapProblem {
    pub(super) fn new(place: impl Into<String>, text: impl Into<String>) -> BootstrapProblem {
        BootstrapProblem { place: place.into(), text: text.into() }
    }
}

impl Bootstrap {
    /// Parses JSON or YAML. Returns `None` if the text is not a bootstrap.
    pub fn read(text: &str) -> Option<Bootstrap> {
        Some(Bootstrap { document: Document::parse(text).ok()? })
    }

    /// Whether the bootstrap is for gRPC.
    pub(super) fn is_grpc(&self) -> bool {
        self.document.dialect() == Dialect::Grpc
    }

    /// `dynamic_resources.ads_config`.
    pub(super) fn ads_config(&self) -> Option<&Map<String, Value>> {
        self.document.ads_config()?.as_object()
    }

    /// Returns the static clusters.
    pub(super) fn clusters(&self) -> &[Value] {
        self.document.static_clusters()
    }

    /// Calls `visit` with each object and its place.
    pub(super) fn each(&self, visit: &mut dyn FnMut(&str, &Map<String, Value>)) {
        self.document.each_object(visit);
    }
}

/// Whether the object is a `ConfigSource` with `ads`.
pub(super) fn is_ads(object: &Map<String, Value>) -> bool {
    const FIELDS: [&str; 7] = [
        "ads",
        "authorities",
        "resource_api_version",
        "resourceApiVersion",
        "initial_fetch_timeout",
        "initialFetchTimeout",
        "@type",
    ];
    object.get("ads").and_then(Value::as_object).is_some_and(Map::is_empty)
        && object.keys().all(|key| FIELDS.contains(&key.as_str()))
}

/// Whether the object is an `ApiConfigSource`.
pub(super) fn is_api(object: &Map<String, Value>) -> bool {
    get(object, "api_type").is_some_and(Value::is_string)
}
