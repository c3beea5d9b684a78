//! Resources with `xdstp` names: one node asks for all under a path, one for names of two authorities, one speaks SotW.

use serde_json::json;

use crate::schema::Schema;
use crate::wire::event::{Kind, Variant};

use super::mesh::ads;
use super::{Client, Mesh};

/// Services that are there from the start.
const SERVICES: [&str; 5] = ["cart", "payments", "ratings", "reviews", "search"];

fn cluster_name(service: &str) -> String {
    format!("xdstp://shop.example/envoy.config.cluster.v3.Cluster/shop/{service}")
}

fn endpoints_name(service: &str) -> String {
    format!("xdstp://shop.example/envoy.config.endpoint.v3.ClusterLoadAssignment/shop/{service}")
}

/// Of an authority that this control plane knows nothing of.
const ELSEWHERE: &str = "xdstp://partner.example/envoy.config.cluster.v3.Cluster/shop/fraud-check";

pub(super) fn clients() -> Vec<Client> {
    let client = |id: &str, variant, names: Vec<String>, follows| Client {
        node_id: id.into(),
        node_cluster: "shop".into(),
        variant,
        asks: vec![(Kind::Cds, names)],
        follows,
        checks: false,
        silent: None,
        slow: None,
        connects: 1,
    };
    vec![
        client("edge-gw-1", Variant::DeltaAds, vec![cluster_name("*")], true),
        client("reviews-v2-6b8f", Variant::DeltaAds, vec![cluster_name("ratings"), ELSEWHERE.into()], true),
        client("batch-9", Variant::Ads, vec![cluster_name("cart"), cluster_name("payments")], true),
    ]
}

fn put_cluster(mesh: &mut Mesh, schema: &Schema, service: &str, timeout: &str) -> Result<(), String> {
    let name = cluster_name(service);
    let body = json!({
        "name": name, "type": "EDS", "connectTimeout": timeout, "lbPolicy": "LEAST_REQUEST",
        "edsClusterConfig": {"edsConfig": ads(), "serviceName": endpoints_name(service)},
    });
    mesh.put(schema, Kind::Cds, &name, body)
}

pub(super) fn mesh(schema: &Schema, seed: u64) -> Result<Mesh, String> {
    let mut mesh = Mesh::empty([(Kind::Cds, "41"), (Kind::Eds, "41")], seed);
    for service in SERVICES {
        put_cluster(&mut mesh, schema, service, "5s")?;
        mesh.endpoints(schema, &endpoints_name(service))?;
    }
    Ok(mesh)
}

/// A cluster comes in under the glob, with its endpoints; another one changes.
pub(super) fn then(mesh: &Mesh, schema: &Schema) -> Result<Mesh, String> {
    let mut mesh = mesh.clone();
    mesh.versions.insert(Kind::Cds, "42".into());
    put_cluster(&mut mesh, schema, "ledger", "5s")?;
    put_cluster(&mut mesh, schema, "payments", "2s")?;
    mesh.endpoints(schema, &endpoints_name("ledger"))?;
    Ok(mesh)
}

pub(super) fn moved(mesh: &Mesh, schema: &Schema, version: u64) -> Result<Mesh, String> {
    let mut mesh = mesh.clone();
    mesh.versions.insert(Kind::Eds, version.to_string());
    mesh.endpoints(schema, &endpoints_name("ratings"))?;
    Ok(mesh)
}
