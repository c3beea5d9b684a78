//! Resources with `xdstp` names, for three nodes: one asks for all names under a path, one for
//! names of two authorities, one speaks SotW.

use serde_json::json;

use super::client::NodeProfile;
use super::mesh::{Mesh, MeshError, ads};
use xdscope_schema::Schema;
use xdscope_wire::event::{Kind, Variant};

/// The services of the first configuration.
const SERVICES: [&str; 5] = ["cart", "payments", "ratings", "reviews", "search"];

/// A cluster of an authority that the control plane does not serve.
const FOREIGN_CLUSTER: &str = "xdstp://partner.example/envoy.config.cluster.v3.Cluster/shop/fraud-check";

fn cluster_name(service: &str) -> String {
    format!("xdstp://shop.example/envoy.config.cluster.v3.Cluster/shop/{service}")
}

fn endpoints_name(service: &str) -> String {
    format!("xdstp://shop.example/envoy.config.endpoint.v3.ClusterLoadAssignment/shop/{service}")
}

pub(super) fn nodes() -> Vec<NodeProfile> {
    let node = |id: &str, variant, names: Vec<String>| NodeProfile {
        follows_references: true,
        ..NodeProfile::new(id, "shop", variant, vec![(Kind::Cds, names)])
    };
    vec![
        node("edge-gw-1", Variant::DeltaAds, vec![cluster_name("*")]),
        node("reviews-v2-6b8f", Variant::DeltaAds, vec![cluster_name("ratings"), FOREIGN_CLUSTER.into()]),
        node("batch-9", Variant::Ads, vec![cluster_name("cart"), cluster_name("payments")]),
    ]
}

fn put_cluster(mesh: &mut Mesh, schema: &Schema, service: &str, timeout: &str) -> Result<(), MeshError> {
    let name = cluster_name(service);
    let body = json!({
        "name": name, "type": "EDS", "connectTimeout": timeout, "lbPolicy": "LEAST_REQUEST",
        "edsClusterConfig": {"edsConfig": ads(), "serviceName": endpoints_name(service)},
    });
    mesh.put(schema, Kind::Cds, &name, &body)
}

pub(super) fn first(schema: &Schema, seed: u64) -> Result<Mesh, MeshError> {
    let mut mesh = Mesh::empty([(Kind::Cds, "41"), (Kind::Eds, "41")], seed);
    for service in SERVICES {
        put_cluster(&mut mesh, schema, service, "5s")?;
        mesh.put_endpoints(schema, &endpoints_name(service))?;
    }
    Ok(mesh)
}

/// Returns a mesh with another cluster under the glob, its endpoints, and a changed cluster.
pub(super) fn second(mesh: &Mesh, schema: &Schema) -> Result<Mesh, MeshError> {
    let mut mesh = mesh.clone();
    mesh.set_version(Kind::Cds, "42");
    put_cluster(&mut mesh, schema, "ledger", "5s")?;
    put_cluster(&mut mesh, schema, "payments", "2s")?;
    mesh.put_endpoints(schema, &endpoints_name("ledger"))?;
    Ok(mesh)
}

pub(super) fn with_moved_endpoints(mesh: &Mesh, schema: &Schema, version: u64) -> Result<Mesh, MeshError> {
    let mut mesh = mesh.clone();
    mesh.set_version(Kind::Eds, &version.to_string());
    mesh.put_endpoints(schema, &endpoints_name("ratings"))?;
    Ok(mesh)
}
