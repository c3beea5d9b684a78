//! The resources of the demo's control plane.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use xdscope_schema::Schema;
use xdscope_sources::peers::server::{Snapshot, SnapshotResource, Type};
use xdscope_wire::event::{ApiVersion, Kind, TYPE_PREFIX};
use xdscope_wire::pb::put_len_field;

/// Services of the shop that have a name; the others have a number.
const SERVICES: [&str; 6] = ["cart", "payments", "ratings", "reviews", "search", "shipping"];

/// Clusters of the first configuration.
const CLUSTER_COUNT: usize = 118;

/// A resource that the descriptors cannot encode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeshError {
    #[error("{0:?} has no v3 type")]
    UnknownType(Kind),
    #[error("cannot encode the demo's {kind:?} {name}: {reason}")]
    Encode { kind: Kind, name: String, reason: String },
}

/// Resources by type and name. Each type and each resource has a version.
#[derive(Clone, Debug)]
pub(super) struct Mesh {
    versions: BTreeMap<Kind, String>,
    resources: BTreeMap<Kind, Arc<Resources>>,
    /// Types that have changed since `snapshot` was made.
    changed: BTreeSet<Kind>,
    snapshot: Snapshot,
    pub(super) random: Random,
}

type Resources = BTreeMap<Arc<str>, SnapshotResource>;

/// A SplitMix64 generator: the same seed gives the same mesh.
#[derive(Clone, Debug)]
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end.max(1)
    }
}

impl Mesh {
    /// Returns a mesh without resources.
    pub(super) fn empty<const N: usize>(versions: [(Kind, &str); N], seed: u64) -> Mesh {
        Mesh {
            versions: versions.into_iter().map(|(kind, version)| (kind, version.to_owned())).collect(),
            resources: BTreeMap::new(),
            changed: BTreeSet::new(),
            snapshot: Snapshot::default(),
            random: Random(seed),
        }
    }

    /// Returns the first configuration, which has no mistakes.
    pub(super) fn first(schema: &Schema, seed: u64) -> Result<Mesh, MeshError> {
        let versions =
            [(Kind::Lds, "7"), (Kind::Rds, "17"), (Kind::Cds, "41"), (Kind::Eds, "41"), (Kind::Sds, "2")];
        let mut mesh = Mesh::empty(versions, seed);
        for name in services() {
            mesh.put(schema, Kind::Cds, &name, &cluster(&name, "5s", 1024))?;
            mesh.put_endpoints(schema, &name)?;
        }
        mesh.put(schema, Kind::Rds, "edge", &routes(SERVICES.iter().copied()))?;
        mesh.put(schema, Kind::Lds, "0.0.0.0_8443", &listener())?;
        let certificate = certificate(&mut mesh.random.clone());
        mesh.put(schema, Kind::Sds, "edge-cert", &certificate)?;
        Ok(mesh)
    }

    /// Returns the second configuration, with three mistakes: `reviews` has a timeout that clients
    /// reject, the new `ledger-v2` has no endpoints, and a route leads to a cluster that does not
    /// exist.
    pub(super) fn with_mistakes(&self, schema: &Schema) -> Result<Mesh, MeshError> {
        let mut mesh = self.clone();
        mesh.set_version(Kind::Cds, "42");
        mesh.put(schema, Kind::Cds, "reviews", &cluster("reviews", "0s", 2048))?;
        mesh.put(schema, Kind::Cds, "ledger-v2", &cluster("ledger-v2", "5s", 1024))?;
        mesh.set_version(Kind::Rds, "18");
        mesh.put(schema, Kind::Rds, "edge", &routes(SERVICES.into_iter().chain(["fraud-check"])))?;
        Ok(mesh)
    }

    /// Returns a mesh in which the endpoints of one service have moved.
    pub(super) fn with_moved_endpoints(&self, schema: &Schema, version: u64) -> Result<Mesh, MeshError> {
        let mut mesh = self.clone();
        mesh.set_version(Kind::Eds, &version.to_string());
        mesh.put_endpoints(schema, "search")?;
        Ok(mesh)
    }

    /// Sets the version of a type and of the resources that are put from now on.
    pub(super) fn set_version(&mut self, kind: Kind, version: &str) {
        self.versions.insert(kind, version.to_owned());
        self.changed.insert(kind);
    }

    pub(super) fn put_endpoints(&mut self, schema: &Schema, name: &str) -> Result<(), MeshError> {
        let net = self.random.below(250);
        let hosts = 1 + self.random.below(4);
        let port = 8000 + self.random.below(1000);
        let address =
            |host| json!({"socketAddress": {"address": format!("10.1.{net}.{host}"), "portValue": port}});
        let hosts: Vec<Value> =
            (1..=hosts).map(|host| json!({"endpoint": {"address": address(host)}})).collect();
        let body = json!({
            "clusterName": name,
            "endpoints": [{"locality": {"region": "eu-west-1"}, "lbEndpoints": hosts}],
        });
        self.put(schema, Kind::Eds, name, &body)
    }

    pub(super) fn put(
        &mut self,
        schema: &Schema,
        kind: Kind,
        name: &str,
        body: &Value,
    ) -> Result<(), MeshError> {
        let value = encode(schema, kind, name, body)?;
        self.put_bytes(kind, name, &value);
        Ok(())
    }

    /// Adds or replaces a resource that is encoded already.
    pub(super) fn put_bytes(&mut self, kind: Kind, name: &str, value: &[u8]) {
        let url = format!("{TYPE_PREFIX}{}", kind.message(ApiVersion::V3).unwrap_or_default());
        let mut any = Vec::with_capacity(url.len() + value.len() + 8);
        put_len_field(&mut any, 1, url.as_bytes());
        put_len_field(&mut any, 2, value);
        let version = self.versions.get(&kind).cloned().unwrap_or_default();
        let resource = SnapshotResource::new(version, any.into());
        Arc::make_mut(self.resources.entry(kind).or_default()).insert(name.into(), resource);
        self.changed.insert(kind);
    }

    /// The names of a type's resources.
    #[cfg(test)]
    pub(super) fn names(&self, kind: Kind) -> impl Iterator<Item = &str> {
        self.resources.get(&kind).into_iter().flat_map(|resources| resources.keys()).map(|name| &**name)
    }

    /// Returns the mesh as the control plane serves it.
    pub(super) fn snapshot(&mut self) -> Snapshot {
        for kind in std::mem::take(&mut self.changed) {
            let Some(url) = kind.type_url(ApiVersion::V3) else { continue };
            let version = self.versions.get(&kind).cloned().unwrap_or_default();
            let resources = self.resources.get(&kind).map(|resources| (**resources).clone());
            self.snapshot.insert(url, Type::new(version, resources.unwrap_or_default()));
        }
        self.snapshot.clone()
    }
}

/// Encodes a resource without its `Any`.
pub(super) fn encode(schema: &Schema, kind: Kind, name: &str, body: &Value) -> Result<Vec<u8>, MeshError> {
    let message = kind.message(ApiVersion::V3).ok_or(MeshError::UnknownType(kind))?;
    let failed = |reason: String| MeshError::Encode { kind, name: name.to_owned(), reason };
    schema.encode(message, body).map_err(|error| failed(error.to_string()))
}

fn services() -> impl Iterator<Item = String> {
    let numbered = (SERVICES.len()..CLUSTER_COUNT).map(|i| format!("service-{i:03}"));
    SERVICES.iter().map(|name| (*name).to_owned()).chain(numbered)
}

pub(super) fn ads() -> Value {
    json!({"ads": {}, "resourceApiVersion": "V3"})
}

fn cluster(name: &str, timeout: &str, connections: u32) -> Value {
    json!({
        "name": name, "type": "EDS", "connectTimeout": timeout, "lbPolicy": "LEAST_REQUEST",
        "edsClusterConfig": {"edsConfig": ads()},
        "circuitBreakers": {"thresholds": [{"maxConnections": connections}]},
    })
}

fn routes<'a>(names: impl Iterator<Item = &'a str>) -> Value {
    let hosts: Vec<Value> = names
        .map(|name| {
            json!({
                "name": name, "domains": [format!("{name}.shop")],
                "routes": [{"match": {"prefix": "/"}, "route": {"cluster": name}}],
            })
        })
        .collect();
    json!({"name": "edge", "virtualHosts": hosts})
}

fn listener() -> Value {
    let manager = json!({
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "statPrefix": "edge", "rds": {"routeConfigName": "edge", "configSource": ads()},
        "httpFilters": [{
            "name": "envoy.filters.http.router",
            "typedConfig": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"},
        }],
    });
    let tls = json!({
        "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
        "commonTlsContext": {"tlsCertificateSdsSecretConfigs": [{"name": "edge-cert", "sdsConfig": ads()}]},
    });
    json!({
        "name": "0.0.0.0_8443",
        "address": {"socketAddress": {"address": "0.0.0.0", "portValue": 8443}},
        "filterChains": [{
            "filters": [{"name": "envoy.filters.network.http_connection_manager", "typedConfig": manager}],
            "transportSocket": {"name": "envoy.transport_sockets.tls", "typedConfig": tls},
        }],
    })
}

/// Text in the form of a certificate with its key, for redaction to remove.
fn certificate(random: &mut Random) -> Value {
    let mut pem = |what: &str| {
        let mut line = || (0..64).map(|_| char::from(b'A' + random.below(26) as u8)).collect::<String>();
        let lines: Vec<String> = (0..4).map(|_| line()).collect();
        format!("-----BEGIN {what}-----\n{}\n-----END {what}-----\n", lines.join("\n"))
    };
    json!({
        "name": "edge-cert",
        "tlsCertificate": {
            "certificateChain": {"inlineString": pem("CERTIFICATE")},
            "privateKey": {"inlineString": pem("PRIVATE KEY")},
        },
    })
}
