//! Many streams and many resources: one gateway that holds every cluster, sidecars that hold a share of the endpoints
//! each, and endpoints that move all the time.

use serde_json::json;

use crate::schema::Schema;
use crate::wire::event::{ApiVersion, Kind, Variant};
use crate::wire::pb::put_len_field;

use super::Client;
use super::mesh::{Mesh, Random, ads};

/// How large it is.
#[derive(Clone, Copy, Debug)]
pub struct Storm {
    /// One of them is the gateway's.
    pub streams: usize,
    /// Of clusters, and of endpoints.
    pub resources: usize,
    /// Streams that share a connection.
    pub together: usize,
}

/// Different sets of endpoints: what is sent 100,000 times is not made 100,000 times.
const SETS: usize = 256;
/// Of so many endpoints one moves at a time.
const MOVES: usize = 500;

fn service(i: usize) -> String {
    format!("service-{i:06}")
}

impl Storm {
    pub const FULL: Storm = Storm { streams: 1000, resources: 100_000, together: 50 };

    /// By connections. One sidecar in ten speaks SotW.
    pub fn clients(self) -> Vec<Vec<Client>> {
        let client = |id: String, variant, asks| Client {
            node_id: id,
            node_cluster: "storm".into(),
            variant,
            asks,
            follows: false,
            checks: false,
            silent: None,
            slow: None,
            connects: 1,
        };
        let sidecars = self.streams.saturating_sub(1).max(1);
        let mut clients = vec![client("gateway".into(), Variant::DeltaAds, vec![(Kind::Cds, vec![])])];
        for i in 0..self.streams.saturating_sub(1) {
            let share = i * self.resources / sidecars..(i + 1) * self.resources / sidecars;
            let variant = if i % 10 == 9 { Variant::Ads } else { Variant::DeltaAds };
            clients.push(client(
                format!("sidecar-{i:03}"),
                variant,
                vec![(Kind::Eds, share.map(service).collect())],
            ));
        }
        clients.chunks(self.together.max(1)).map(<[Client]>::to_vec).collect()
    }

    /// The same seed, the same mesh.
    ///
    /// # Errors
    /// The descriptors lack the types of the demo.
    pub fn mesh(self, schema: &Schema, seed: u64) -> Result<Mesh, String> {
        let mut mesh = Mesh::empty([(Kind::Cds, "1"), (Kind::Eds, "1")], seed);
        let sets = sets(schema, &mut mesh.random)?;
        let rest = json!({"type": "EDS", "connectTimeout": "5s", "edsClusterConfig": {"edsConfig": ads()}});
        let rest = encode(schema, Kind::Cds, &rest)?;
        for name in (0..self.resources).map(service) {
            mesh.put_bytes(Kind::Cds, &name, &named(&name, &rest));
            endpoints(&mut mesh, &name, &sets);
        }
        Ok(mesh)
    }

    /// Some endpoints move.
    ///
    /// # Errors
    /// As for [`Storm::mesh`].
    pub fn moved(self, mesh: &Mesh, schema: &Schema, version: u64) -> Result<Mesh, String> {
        let mut mesh = mesh.clone();
        mesh.versions.insert(Kind::Eds, version.to_string());
        let sets = sets(schema, &mut mesh.random)?;
        for _ in 0..(self.resources / MOVES).max(1) {
            let name = service(mesh.random.below(self.resources as u64) as usize);
            endpoints(&mut mesh, &name, &sets);
        }
        Ok(mesh)
    }
}

fn encode(schema: &Schema, kind: Kind, body: &serde_json::Value) -> Result<Vec<u8>, String> {
    let message = kind.message(ApiVersion::V3).ok_or("no v3 type")?;
    schema.encode(message, body).map_err(|error| format!("demo resource: {error}"))
}

/// A message whose name is its field 1, and the rest of it.
fn named(name: &str, rest: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len() + rest.len() + 4);
    put_len_field(&mut out, 1, name.as_bytes());
    out.extend_from_slice(rest);
    out
}

fn sets(schema: &Schema, random: &mut Random) -> Result<Vec<Vec<u8>>, String> {
    let mut set = || {
        let (net, hosts, port) = (random.below(250), 1 + random.below(4), 8000 + random.below(1000));
        let endpoint = |host: u64| {
            let address = json!({"address": format!("10.2.{net}.{host}"), "portValue": port});
            json!({"endpoint": {"address": {"socketAddress": address}}})
        };
        let hosts: Vec<_> = (1..=hosts).map(endpoint).collect();
        let body = json!({"endpoints": [{"locality": {"region": "eu-west-1"}, "lbEndpoints": hosts}]});
        encode(schema, Kind::Eds, &body)
    };
    (0..SETS).map(|_| set()).collect()
}

fn endpoints(mesh: &mut Mesh, name: &str, sets: &[Vec<u8>]) {
    let at = mesh.random.below(sets.len() as u64) as usize;
    if let Some(set) = sets.get(at) {
        mesh.put_bytes(Kind::Eds, name, &named(name, set));
    }
}
