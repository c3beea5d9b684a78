//! What a client is started with: Envoy's bootstrap (YAML or JSON) and gRPC's (JSON), as far as rules look at it
//! (rows I-07 to I-11).

use serde_json::{Map, Value};

use super::finding::{Blame, Finding};
use super::rule::On;
use super::rules::ALL;
use crate::wire::event::{StreamId, Time, TypeUrl};

/// Levels of a bootstrap that are looked into.
const DEPTH: usize = 64;
/// Findings of one rule in one bootstrap.
const MOST: usize = 100;

/// A bootstrap, read.
#[derive(Clone, Debug)]
pub struct Bootstrap {
    root: Map<String, Value>,
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
    /// `None`: the text is no bootstrap.
    pub fn read(text: &str) -> Option<Bootstrap> {
        let value = serde_json::from_str::<Value>(text).ok();
        let value = value.or_else(|| serde_saphyr::from_str::<Value>(text).ok())?;
        let Value::Object(root) = value else { return None };
        let marks = ["static_resources", "dynamic_resources", "xds_servers"];
        let is = marks.iter().any(|mark| get(&root, mark).is_some());
        is.then_some(Bootstrap { root })
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

    /// A gRPC client's.
    pub(super) fn is_grpc(&self) -> bool {
        get(&self.root, "xds_servers").is_some()
    }

    /// `dynamic_resources.ads_config`.
    pub(super) fn ads_config(&self) -> Option<&Map<String, Value>> {
        get(get(&self.root, "dynamic_resources")?.as_object()?, "ads_config")?.as_object()
    }

    /// The static clusters.
    pub(super) fn clusters(&self) -> &[Value] {
        let clusters = get(&self.root, "static_resources").and_then(|of| of.get("clusters"));
        clusters.and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Every object in it with its place.
    pub(super) fn each(&self, see: &mut dyn FnMut(&str, &Map<String, Value>)) {
        objects(&self.root, &mut String::new(), 0, see);
    }
}

/// Every object in `value` with its place behind `path`.
pub(super) fn each_in(value: &Value, path: &str, see: &mut dyn FnMut(&str, &Map<String, Value>)) {
    walk(value, &mut path.to_owned(), 0, see);
}

fn objects(
    map: &Map<String, Value>,
    path: &mut String,
    depth: usize,
    see: &mut dyn FnMut(&str, &Map<String, Value>),
) {
    see(path, map);
    for (key, value) in map {
        let length = path.len();
        if length > 0 {
            path.push('.');
        }
        path.push_str(key);
        walk(value, path, depth + 1, see);
        path.truncate(length);
    }
}

fn walk(value: &Value, path: &mut String, depth: usize, see: &mut dyn FnMut(&str, &Map<String, Value>)) {
    match value {
        Value::Object(map) if depth < DEPTH => objects(map, path, depth, see),
        Value::Array(items) if depth < DEPTH => {
            for (i, item) in items.iter().enumerate() {
                let length = path.len();
                path.push_str(&format!("[{i}]"));
                walk(item, path, depth + 1, see);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

/// A field by its proto name or its JSON name.
pub(super) fn get<'a>(of: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    of.get(name).or_else(|| {
        let mut parts = name.split('_');
        let first = parts.next().unwrap_or_default().to_owned();
        let json = parts.fold(first, |all, part| {
            let (head, tail) = part.split_at_checked(1).unwrap_or((part, ""));
            all + &head.to_ascii_uppercase() + tail
        });
        of.get(&json)
    })
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

/// The clusters that an `ApiConfigSource` names.
pub(super) fn clusters_of(source: &Map<String, Value>) -> Vec<&str> {
    let services: Vec<&Value> = match get(source, "grpc_services") {
        Some(Value::Array(list)) => list.iter().collect(),
        Some(one) => vec![one],
        None => Vec::new(),
    };
    let envoy =
        services.into_iter().filter_map(|service| get(service.as_object()?, "envoy_grpc")?.as_object());
    let by_grpc = envoy.filter_map(|envoy| get(envoy, "cluster_name")?.as_str());
    let names = get(source, "cluster_names").and_then(Value::as_array).into_iter().flatten();
    by_grpc.chain(names.filter_map(Value::as_str)).collect()
}
