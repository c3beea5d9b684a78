//! What the demo's control plane knows.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::schema::Schema;
use crate::wire::event::{ApiVersion, Kind};

/// Services of the shop by name; others have numbers.
const SERVICES: [&str; 6] = ["cart", "payments", "ratings", "reviews", "search", "shipping"];

/// Clusters of the good configuration.
const CLUSTERS: usize = 118;

/// All resources, each at a version.
#[derive(Clone, Debug)]
pub struct Mesh {
    /// Of each type as a whole.
    pub versions: BTreeMap<Kind, String>,
    /// By name.
    pub resources: BTreeMap<Kind, BTreeMap<String, Arc<Resource>>>,
    pub(super) random: Random,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    pub version: String,
    /// As it goes on the wire.
    pub any: Vec<u8>,
}

/// SplitMix64: the same seed, the same mesh.
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
    /// Without resources, each type at a version.
    pub(super) fn empty<const N: usize>(versions: [(Kind, &str); N], seed: u64) -> Mesh {
        let versions = versions.into_iter().map(|(kind, version)| (kind, version.to_owned())).collect();
        Mesh { versions, resources: BTreeMap::new(), random: Random(seed) }
    }

    /// The good configuration.
    pub fn good(schema: &Schema, seed: u64) -> Result<Mesh, String> {
        let versions =
            [(Kind::Lds, "7"), (Kind::Rds, "17"), (Kind::Cds, "41"), (Kind::Eds, "41"), (Kind::Sds, "2")];
        let mut mesh = Mesh::empty(versions, seed);
        for name in services() {
            mesh.put(schema, Kind::Cds, &name, cluster(&name, "5s", 1024))?;
            mesh.endpoints(schema, &name)?;
        }
        mesh.put(schema, Kind::Rds, "edge", routes(SERVICES.iter().copied()))?;
        mesh.put(schema, Kind::Lds, "0.0.0.0_8443", listener())?;
        mesh.put(schema, Kind::Sds, "edge-cert", certificate(&mut mesh.random.clone()))?;
        Ok(mesh)
    }

    /// What comes next: `reviews` gets a timeout that clients refuse, the new `ledger-v2` has no endpoints, and a
    /// route leads to a cluster that does not exist.
    pub fn bad(&self, schema: &Schema) -> Result<Mesh, String> {
        let mut mesh = self.clone();
        mesh.versions.insert(Kind::Cds, "42".into());
        mesh.put(schema, Kind::Cds, "reviews", cluster("reviews", "0s", 2048))?;
        mesh.put(schema, Kind::Cds, "ledger-v2", cluster("ledger-v2", "5s", 1024))?;
        mesh.versions.insert(Kind::Rds, "18".into());
        mesh.put(schema, Kind::Rds, "edge", routes(SERVICES.into_iter().chain(["fraud-check"])))?;
        Ok(mesh)
    }

    /// The endpoints of one service move.
    pub fn moved(&self, schema: &Schema, version: u64) -> Result<Mesh, String> {
        let mut mesh = self.clone();
        mesh.versions.insert(Kind::Eds, version.to_string());
        mesh.endpoints(schema, "search")?;
        Ok(mesh)
    }

    pub(super) fn endpoints(&mut self, schema: &Schema, name: &str) -> Result<(), String> {
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
        self.put(schema, Kind::Eds, name, body)
    }

    pub(super) fn put(&mut self, schema: &Schema, kind: Kind, name: &str, body: Value) -> Result<(), String> {
        let message = kind.message(ApiVersion::V3).ok_or("no v3 type")?;
        let value = schema.encode(message, &body).map_err(|e| format!("demo resource {name}: {e}"))?;
        self.put_bytes(kind, name, &value);
        Ok(())
    }

    /// The same with its bytes.
    pub(super) fn put_bytes(&mut self, kind: Kind, name: &str, value: &[u8]) {
        let url = format!(
            "{}{}",
            crate::wire::event::TYPE_PREFIX,
            kind.message(ApiVersion::V3).unwrap_or_default()
        );
        let mut any = Vec::with_capacity(url.len() + value.len() + 8);
        crate::wire::pb::put_len_field(&mut any, 1, url.as_bytes());
        crate::wire::pb::put_len_field(&mut any, 2, value);
        let version = self.versions.get(&kind).cloned().unwrap_or_default();
        self.resources.entry(kind).or_default().insert(name.to_owned(), Arc::new(Resource { version, any }));
    }

    /// What a client gets that wants all of a type, or these names; a glob of `xdstp` means all under it.
    pub(super) fn wanted<'a>(
        &'a self,
        kind: Kind,
        all: bool,
        names: &'a BTreeSet<String>,
    ) -> Vec<(&'a String, &'a Resource)> {
        let Some(known) = self.resources.get(&kind) else { return Vec::new() };
        if all {
            return known.iter().map(|(name, resource)| (name, &**resource)).collect();
        }
        let mut found = Vec::new();
        for name in names {
            match name.strip_suffix('*').filter(|under| under.starts_with("xdstp:") && under.ends_with('/')) {
                Some(under) => {
                    let from = known.range::<str, _>((Bound::Included(under), Bound::Unbounded));
                    let within = from.take_while(|(name, _)| name.starts_with(under));
                    found.extend(within.map(|(name, resource)| (name, &**resource)));
                }
                None => found.extend(known.get_key_value(name).map(|(name, resource)| (name, &**resource))),
            }
        }
        found
    }
}

fn services() -> impl Iterator<Item = String> {
    let numbered = (SERVICES.len()..CLUSTERS).map(|i| format!("service-{i:03}"));
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

/// Looks like a certificate with its key, and is none: something to be redacted.
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
