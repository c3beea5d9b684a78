//! What the demo's control plane knows, and who asks it.

use serde_json::{Value, json};

use crate::event::{ApiVersion, Kind, Variant};
use crate::schema::Schema;

use super::Client;

/// Services of the shop that the demo configures.
const SERVICES: [&str; 6] = ["cart", "payments", "ratings", "reviews", "search", "shipping"];

/// All resources at one version.
#[derive(Clone, Debug)]
pub struct Mesh {
    pub version: String,
    /// Kind, name, and the payload as an `Any`.
    pub resources: Vec<(Kind, String, Vec<u8>)>,
}

impl Mesh {
    /// The good configuration, version 41.
    pub fn good(schema: &Schema) -> Result<Mesh, String> {
        let mut mesh = Mesh { version: "41".into(), resources: Vec::new() };
        for name in SERVICES {
            mesh.put(schema, Kind::Cds, name, cluster(name, "5s"))?;
            mesh.put(schema, Kind::Eds, name, endpoints(name))?;
        }
        let hosts: Vec<Value> = SERVICES.iter().map(|name| virtual_host(name)).collect();
        mesh.put(schema, Kind::Rds, "edge", json!({"name": "edge", "virtualHosts": hosts}))?;
        mesh.put(schema, Kind::Lds, "0.0.0.0_8443", listener())?;
        Ok(mesh)
    }

    /// Version 42: `reviews` gets a timeout that clients refuse, and the new `ledger-v2` has no endpoints.
    pub fn bad(schema: &Schema) -> Result<Mesh, String> {
        let mut mesh = Mesh { version: "42".into(), ..Mesh::good(schema)? };
        mesh.put(schema, Kind::Cds, "reviews", cluster("reviews", "0s"))?;
        mesh.put(schema, Kind::Cds, "ledger-v2", cluster("ledger-v2", "5s"))?;
        Ok(mesh)
    }

    fn put(&mut self, schema: &Schema, kind: Kind, name: &str, body: Value) -> Result<(), String> {
        let message = kind.message(ApiVersion::V3).ok_or("no v3 type")?;
        let value = schema.encode(message, &body).map_err(|e| format!("demo resource {name}: {e}"))?;
        let url = format!("{}{message}", crate::event::TYPE_PREFIX);
        let mut any = Vec::new();
        crate::pb::put_len_field(&mut any, 1, url.as_bytes());
        crate::pb::put_len_field(&mut any, 2, &value);
        match self.resources.iter_mut().find(|(k, n, _)| *k == kind && n == name) {
            Some(found) => found.2 = any,
            None => self.resources.push((kind, name.to_owned(), any)),
        }
        Ok(())
    }
}

fn ads() -> Value {
    json!({"ads": {}, "resourceApiVersion": "V3"})
}

fn cluster(name: &str, timeout: &str) -> Value {
    json!({
        "name": name, "type": "EDS", "connectTimeout": timeout, "lbPolicy": "LEAST_REQUEST",
        "edsClusterConfig": {"edsConfig": ads()},
        "circuitBreakers": {"thresholds": [{"maxConnections": 2048}]},
    })
}

fn endpoints(name: &str) -> Value {
    let port = 9000 + name.len();
    let address =
        |host: u8| json!({"socketAddress": {"address": format!("127.0.1.{host}"), "portValue": port}});
    let hosts: Vec<Value> = (1..4).map(|host| json!({"endpoint": {"address": address(host)}})).collect();
    json!({"clusterName": name, "endpoints": [{"locality": {"region": "eu-west-1"}, "lbEndpoints": hosts}]})
}

fn virtual_host(name: &str) -> Value {
    json!({
        "name": name, "domains": [format!("{name}.shop")],
        "routes": [{"match": {"prefix": "/"}, "route": {"cluster": name}}],
    })
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
    json!({
        "name": "0.0.0.0_8443",
        "address": {"socketAddress": {"address": "0.0.0.0", "portValue": 8443}},
        "filterChains": [{"filters": [{
            "name": "envoy.filters.network.http_connection_manager", "typedConfig": manager,
        }]}],
    })
}

/// The nodes of the demo. The first one checks its clusters as Envoy does, the second takes what it gets.
pub fn clients() -> Vec<Client> {
    let client = |id: &str, cluster: &str, variant, checks| Client {
        node_id: id.into(),
        node_cluster: cluster.into(),
        variant,
        checks,
    };
    vec![
        client("edge-gw-1", "edge", Variant::Ads, true),
        client("reviews-v2-6b8f", "reviews", Variant::DeltaAds, false),
    ]
}
