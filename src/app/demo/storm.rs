//! Many streams and many resources: a gateway that holds every cluster, sidecars that hold a share
//! of the endpoints each, and endpoints that move all the time.

use serde_json::json;

use super::client::NodeProfile;
use super::mesh::{Mesh, MeshError, Random, ads, encode};
use xdscope_schema::Schema;
use xdscope_wire::event::{Kind, Variant};
use xdscope_wire::pb::put_len_field;

/// The size of the storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storm {
    /// Streams, of which the gateway has one.
    pub streams: usize,
    /// Clusters, and as many endpoint assignments.
    pub resources: usize,
    /// Streams on each connection.
    pub streams_per_connection: usize,
}

/// Distinct sets of endpoints, from which all assignments are made: encoding each would take too
/// long.
const ENDPOINT_SETS: usize = 256;

/// One in this many assignments moves at a time.
const RESOURCES_PER_MOVE: usize = 500;

fn service(index: usize) -> String {
    format!("service-{index:06}")
}

impl Storm {
    pub(super) const FULL: Storm = Storm { streams: 1000, resources: 100_000, streams_per_connection: 50 };

    /// The nodes of each connection. One sidecar in ten speaks SotW.
    pub(super) fn connections(self) -> Vec<Vec<NodeProfile>> {
        let node =
            |id: &str, variant, kind, names| NodeProfile::new(id, "storm", variant, vec![(kind, names)]);
        let sidecars = self.streams.saturating_sub(1);
        let share = |i: usize| i * self.resources / sidecars.max(1);
        let mut nodes = vec![node("gateway", Variant::DeltaAds, Kind::Cds, vec![])];
        for i in 0..sidecars {
            let variant = if i % 10 == 9 { Variant::Ads } else { Variant::DeltaAds };
            let names = (share(i)..share(i + 1)).map(service).collect();
            nodes.push(node(&format!("sidecar-{i:03}"), variant, Kind::Eds, names));
        }
        nodes.chunks(self.streams_per_connection.max(1)).map(<[NodeProfile]>::to_vec).collect()
    }

    pub(super) fn first(self, schema: &Schema, seed: u64) -> Result<Mesh, MeshError> {
        let mut mesh = Mesh::empty([(Kind::Cds, "1"), (Kind::Eds, "1")], seed);
        let sets = endpoint_sets(schema, &mut mesh.random)?;
        let unnamed =
            json!({"type": "EDS", "connectTimeout": "5s", "edsClusterConfig": {"edsConfig": ads()}});
        let unnamed = encode(schema, Kind::Cds, "", &unnamed)?;
        for name in (0..self.resources).map(service) {
            mesh.put_bytes(Kind::Cds, &name, &with_name(&name, &unnamed));
            put_endpoints(&mut mesh, &name, &sets);
        }
        Ok(mesh)
    }

    pub(super) fn with_moved_endpoints(
        self,
        mesh: &Mesh,
        schema: &Schema,
        version: u64,
    ) -> Result<Mesh, MeshError> {
        let mut mesh = mesh.clone();
        mesh.set_version(Kind::Eds, &version.to_string());
        let sets = endpoint_sets(schema, &mut mesh.random)?;
        for _ in 0..(self.resources / RESOURCES_PER_MOVE).max(1) {
            let name = service(mesh.random.below(self.resources as u64) as usize);
            put_endpoints(&mut mesh, &name, &sets);
        }
        Ok(mesh)
    }
}

/// Adds the name to an encoded message: field 1 in clusters and in endpoint assignments.
fn with_name(name: &str, message: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len() + message.len() + 4);
    put_len_field(&mut out, 1, name.as_bytes());
    out.extend_from_slice(message);
    out
}

fn endpoint_sets(schema: &Schema, random: &mut Random) -> Result<Vec<Vec<u8>>, MeshError> {
    let mut set = || {
        let (net, hosts, port) = (random.below(250), 1 + random.below(4), 8000 + random.below(1000));
        let endpoint = |host: u64| {
            let address = json!({"address": format!("10.2.{net}.{host}"), "portValue": port});
            json!({"endpoint": {"address": {"socketAddress": address}}})
        };
        let hosts: Vec<_> = (1..=hosts).map(endpoint).collect();
        let body = json!({"endpoints": [{"locality": {"region": "eu-west-1"}, "lbEndpoints": hosts}]});
        encode(schema, Kind::Eds, "", &body)
    };
    (0..ENDPOINT_SETS).map(|_| set()).collect()
}

fn put_endpoints(mesh: &mut Mesh, name: &str, sets: &[Vec<u8>]) {
    let index = mesh.random.below(sets.len() as u64) as usize;
    if let Some(set) = sets.get(index) {
        mesh.put_bytes(Kind::Eds, name, &with_name(name, set));
    }
}
