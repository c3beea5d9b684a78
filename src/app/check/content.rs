//! Resources that a client under test is served, and responses that it must refuse or survive.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use xdscope_schema::Schema;
use xdscope_sources::peers::server::{Order, PushedContent, PushedEntry, Snapshot, SnapshotResource, Type};
use xdscope_wire::ErrorDetail;
use xdscope_wire::discovery::encode::encode_any;
use xdscope_wire::event::{ApiVersion, Kind, TypeUrl};

/// The name of the resources that nobody has named.
pub(super) const NAME: &str = "xdscope-check";

/// Further resources of [`Bad::Many`], and the begin of their names.
const MANY: usize = 1000;
const MANY_PREFIX: &str = "xdscope-check-many-";

/// NOT_FOUND.
const NOT_FOUND: i32 = 5;

/// The time to live of [`Bad::Timed`], in nanoseconds. No row lasts so long.
const TTL_NANOS: i128 = 3_600_000_000_000;

/// A malformed message: a field that ends before its length.
const TRUNCATED: &[u8] = &[0x0a, 0x7f];

/// The property for which a response is sent on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bad {
    /// The response before, with another nonce.
    Repeated,
    /// A resource whose payload is malformed.
    Undecodable,
    /// A resource of another type.
    OtherType,
    /// A resource twice.
    Duplicate,
    /// A further resource that nobody has asked for.
    Unrequested,
    /// The removal of a resource that the client never had.
    RemovedUnknown,
    /// Without the first resource, which delta removes.
    Removed,
    /// Without any resource.
    Empty,
    /// An error in place of a resource.
    Errors,
    /// A response of a type that the client has not requested.
    UnsubscribedType,
    /// A thousand further resources.
    Many,
    /// Without these further resources, which delta removes.
    ManyGone,
    /// A message that is not a response.
    Garbage,
    /// A resource with a time to live.
    Timed,
    /// A resource without payload, which extends its time to live.
    Heartbeat,
}

/// The subscriptions of the clients, by type: the names, and whether there is a wildcard.
pub(super) type Wanted = BTreeMap<TypeUrl, (BTreeSet<String>, bool)>;

/// Makes resources. Each generation has other contents.
pub(super) struct ServedContent {
    pub schema: Arc<Schema>,
    pub generation: u64,
    /// Whether endpoints of clusters come on the same stream.
    pub is_aggregated: bool,
}

impl ServedContent {
    /// Returns the version of the type in this generation.
    fn version(&self, names: usize) -> String {
        format!("{}.{names}", self.generation)
    }

    /// Returns the names of a type that exist: those that are subscribed to, or one.
    fn names(&self, wanted: &Wanted, url: &TypeUrl) -> Vec<String> {
        let Some((names, is_wildcard)) = wanted.get(url) else { return Vec::new() };
        let mut names: Vec<String> = names.iter().cloned().collect();
        let is_cluster = Kind::of_type_url(url.as_str()).is_some_and(|(kind, _)| kind == Kind::Cds);
        if *is_wildcard && is_cluster && names.is_empty() {
            names.push(NAME.to_owned());
        }
        names
    }

    /// Returns everything that clients with these subscriptions are served.
    pub(super) fn snapshot(&self, wanted: &Wanted) -> Snapshot {
        let of_type = |url: &TypeUrl| {
            let names = self.names(wanted, url);
            let version = self.version(names.len());
            let resource = |name: &String| {
                let any = self.resource(url, name)?;
                Some((Arc::from(name.as_str()), SnapshotResource::new(version.clone(), any)))
            };
            let resources = names.iter().filter_map(resource).collect();
            (url.clone(), Type::new(version.clone(), resources))
        };
        Snapshot::new(wanted.keys().map(of_type).collect())
    }

    /// Returns an encoded `Any`; `None` for types that are not served.
    fn resource(&self, url: &TypeUrl, name: &str) -> Option<Bytes> {
        let (kind, _) = Kind::of_type_url(url.as_str())?;
        let generation = self.generation;
        let json = match kind {
            Kind::Cds if self.is_aggregated && !name.starts_with(MANY_PREFIX) => json!({
                "name": name, "type": "EDS", "connect_timeout": format!("{}s", generation + 1),
                "eds_cluster_config": { "eds_config": { "ads": {}, "resource_api_version": "V3" } },
            }),
            Kind::Cds => json!({
                "name": name, "type": "STATIC", "connect_timeout": format!("{}s", generation + 1),
                "load_assignment": endpoints(name, generation),
            }),
            Kind::Eds => endpoints(name, generation),
            Kind::Rds => routes(name, generation),
            Kind::Lds => json!({
                "name": name,
                "api_listener": { "api_listener": connection_manager(generation) },
            }),
            _ => return None,
        };
        let message = url.as_str().rsplit_once('/')?.1;
        let value = self.schema.encode(message, &json).ok()?;
        Some(encode_any(url.as_str(), &value).into())
    }

    /// Returns the order to send a response of a type.
    pub(super) fn order(&self, bad: Bad, wanted: &Wanted, url: &TypeUrl) -> Order {
        if bad == Bad::Garbage {
            return Order::Bytes(url.clone(), Bytes::from_static(TRUNCATED));
        }
        let names = self.names(wanted, url);
        let version = self.version(names.len());
        let entry = |name: &String| PushedEntry {
            name: name.clone(),
            version: version.clone(),
            any: self.resource(url, name),
            ttl: None,
        };
        let mut entries: Vec<PushedEntry> = names.iter().map(entry).collect();
        let mut out = PushedContent { version: version.clone(), ..PushedContent::default() };
        let mut further = (1..=MANY).map(|n| format!("{MANY_PREFIX}{n}"));
        let first = names.first().cloned().unwrap_or_else(|| NAME.to_owned());
        match bad {
            Bad::Repeated | Bad::Garbage => {}
            Bad::Undecodable => {
                let any = Some(encode_any(url.as_str(), TRUNCATED).into());
                put_first(&mut entries, PushedEntry { name: first, version, any, ttl: None });
            }
            Bad::OtherType => {
                let other = other_type(url);
                let any = self.resource(&other, &first);
                put_first(&mut entries, PushedEntry { name: first, version, any, ttl: None });
            }
            Bad::Duplicate => entries.extend(entries.first().cloned()),
            Bad::Unrequested => entries.push(entry(&format!("{NAME}-unrequested"))),
            Bad::RemovedUnknown => {
                entries.clear();
                out.removed.push(format!("{NAME}-unknown"));
            }
            Bad::Removed => {
                entries.retain(|entry| entry.name != first);
                out.removed.push(first);
            }
            Bad::Empty => entries.clear(),
            Bad::Errors => {
                let message = "does not exist, says xdscope check".into();
                let error = ErrorDetail { code: NOT_FOUND, message, details: Vec::new() };
                out.errors.push((format!("{NAME}-unknown"), error));
            }
            Bad::UnsubscribedType => {
                let other = unsubscribed(wanted, url);
                let any = self.resource(&other, NAME);
                entries = vec![PushedEntry { name: NAME.to_owned(), version, any, ttl: None }];
                out.stated_type = other.as_str().to_owned();
            }
            Bad::Many => entries.extend(further.by_ref().map(|name| entry(&name))),
            Bad::ManyGone => out.removed.extend(further),
            Bad::Timed => entries.iter_mut().take(1).for_each(|entry| entry.ttl = Some(TTL_NANOS)),
            Bad::Heartbeat => entries.iter_mut().take(1).for_each(|entry| {
                entry.ttl = Some(TTL_NANOS);
                entry.any = None;
            }),
        }
        Order::Push(url.clone(), PushedContent { entries, ..out })
    }
}

/// Returns the type of a response of [`Bad::UnsubscribedType`].
pub(super) fn unsubscribed(wanted: &Wanted, url: &TypeUrl) -> TypeUrl {
    let kinds = [Kind::Rds, Kind::Lds, Kind::Eds, Kind::Cds].into_iter();
    let mut urls = kinds.filter_map(|kind| kind.type_url(ApiVersion::V3));
    urls.find(|other| !wanted.contains_key(other)).unwrap_or_else(|| other_type(url))
}

fn other_type(url: &TypeUrl) -> TypeUrl {
    let is_cluster = Kind::of_type_url(url.as_str()).is_some_and(|(kind, _)| kind == Kind::Cds);
    let other = if is_cluster { Kind::Lds } else { Kind::Cds };
    other.type_url(ApiVersion::V3).unwrap_or_default()
}

/// Puts an entry in the place of the first one.
fn put_first(entries: &mut Vec<PushedEntry>, entry: PushedEntry) {
    match entries.first_mut() {
        Some(first) => *first = entry,
        None => entries.push(entry),
    }
}

fn endpoints(name: &str, generation: u64) -> Value {
    // A port of its own for each generation; nothing listens there.
    let port = 10_000 + generation % 10_000;
    json!({
        "cluster_name": name,
        "endpoints": [{
            "locality": { "region": NAME },
            "load_balancing_weight": 1,
            "lb_endpoints": [{
                "load_balancing_weight": 1,
                "endpoint": { "address": { "socket_address": { "address": "127.0.0.1", "port_value": port } } },
            }],
        }],
    })
}

fn routes(name: &str, generation: u64) -> Value {
    json!({
        "name": name,
        "virtual_hosts": [{
            "name": format!("{NAME}-{generation}"),
            "domains": ["*"],
            "routes": [{ "match": { "prefix": "" }, "route": { "cluster": NAME } }],
        }],
    })
}

fn connection_manager(generation: u64) -> Value {
    const EXTENSIONS: &str = "type.googleapis.com/envoy.extensions.filters";
    json!({
        "@type": format!("{EXTENSIONS}.network.http_connection_manager.v3.HttpConnectionManager"),
        "stat_prefix": NAME,
        "route_config": routes(NAME, generation),
        "http_filters": [{
            "name": "router",
            "typed_config": { "@type": format!("{EXTENSIONS}.http.router.v3.Router") },
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(kind: Kind) -> TypeUrl {
        kind.type_url(ApiVersion::V3).expect("a type")
    }

    #[test]
    fn generations_differ_and_each_served_type_can_be_encoded() {
        let content =
            |generation| ServedContent { schema: Schema::builtin(), generation, is_aggregated: true };
        for kind in [Kind::Cds, Kind::Eds, Kind::Rds, Kind::Lds] {
            let resource = |generation| content(generation).resource(&url(kind), NAME);
            assert!(resource(1).is_some(), "{kind:?}");
            assert_ne!(resource(1), resource(2), "{kind:?}");
        }
    }

    #[test]
    fn wildcard_of_clusters_has_one_and_names_are_all_served() {
        let content = ServedContent { schema: Schema::builtin(), generation: 1, is_aggregated: false };
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let wanted = Wanted::from([
            (url(Kind::Cds), (names(&[]), true)),
            (url(Kind::Lds), (names(&[]), true)),
            (url(Kind::Eds), (names(&["a", "b"]), false)),
        ]);
        let snapshot = content.snapshot(&wanted);
        let of = |kind: Kind| {
            let (_, of_type) = snapshot.types().find(|(known, _)| **known == url(kind)).expect("a type");
            of_type.names().map(|name| name.to_string()).collect::<Vec<_>>()
        };
        assert_eq!((of(Kind::Cds), of(Kind::Lds)), (vec![NAME.to_owned()], Vec::new()));
        assert_eq!(of(Kind::Eds), ["a", "b"]);
    }
}
