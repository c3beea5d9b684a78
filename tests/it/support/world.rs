//! The peers of one test, and the folder of their files.

use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{
    bootstrap::{self, Variant},
    certs::ClientTls,
    control_plane::{ControlPlane, Flags},
    envoy::Envoy,
    grpc_client::{GrpcClient, Kind},
    peers::{self, Peers},
    tap::Tap,
};

/// Starts the peers of one test.
///
/// Their output stays in `target/tmp/TEST/` until the next run of the test.
pub struct World {
    peers: &'static Peers,
    folder: PathBuf,
}

impl World {
    /// Returns the world of `test`, a name unique among all tests, or `None` if peers are switched
    /// off.
    ///
    /// # Panics
    /// Panics if the peers cannot be made, see [`peers::get`].
    pub fn open(test: &str) -> Option<Self> {
        let peers = peers::get(test)?;
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
        match fs::remove_dir_all(&folder) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => panic!("cannot clear {}: {e}", folder.display()),
            _ => {}
        }
        fs::create_dir_all(&folder).expect("a folder for the test");
        Some(Self { peers, folder })
    }

    /// Starts a control plane.
    pub fn control_plane(&self, flags: Flags) -> ControlPlane {
        ControlPlane::start(self.peers, &self.folder, flags)
    }

    /// Starts xdscope as a tap in front of `upstream`.
    pub fn tap(&self, upstream: SocketAddr, args: &[&str]) -> Tap {
        Tap::start(&self.folder, upstream, args)
    }

    /// Starts one of several taps of a test; its files are in the folder `name`.
    pub fn tap_named(&self, name: &str, upstream: SocketAddr, args: &[&str]) -> Tap {
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder).expect("a folder for a tap");
        Tap::start(&folder, upstream, args)
    }

    /// Starts an Envoy with the id `node`, unique in this world, whose xDS server is at `xds`.
    pub fn envoy(&self, node: &str, variant: Variant, xds: SocketAddr) -> Envoy {
        self.envoy_of(node, &bootstrap::envoy(node, variant, xds, None))
    }

    /// Starts an Envoy with TLS to its xDS server.
    pub fn envoy_tls(&self, node: &str, variant: Variant, xds: SocketAddr, tls: &ClientTls) -> Envoy {
        self.envoy_of(node, &bootstrap::envoy(node, variant, xds, Some(tls)))
    }

    /// Starts an Envoy with any bootstrap; the bootstrap must state `node` too.
    pub fn envoy_of(&self, node: &str, bootstrap: &Value) -> Envoy {
        Envoy::start(&self.peers.envoy, &self.folder, node, bootstrap)
    }

    /// Starts an Envoy of an earlier version with any bootstrap, which must state `node` too.
    pub fn older_envoy_of(&self, node: &str, bootstrap: &Value) -> Envoy {
        Envoy::start(peers::older_envoy(), &self.folder, node, bootstrap)
    }

    /// Returns Envoy's own reason for rejecting a bootstrap.
    pub fn envoy_refusal(&self, bootstrap: &Value) -> Option<String> {
        Envoy::refusal(self.peers, &self.folder, bootstrap)
    }

    /// Returns the folder of the test.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts a gRPC C-core client of `xds:///target` with the id `node`, unique in this world,
    /// whose xDS server is at `xds`.
    pub fn grpc_client(&self, node: &str, target: &str, xds: SocketAddr) -> GrpcClient {
        GrpcClient::start(self.peers, &self.folder, Kind::Core, node, target, xds, None)
    }

    /// Starts a gRPC client of any kind, optionally with TLS to its xDS server.
    pub fn grpc_client_of(
        &self,
        kind: Kind,
        node: &str,
        target: &str,
        xds: SocketAddr,
        tls: Option<&ClientTls>,
    ) -> GrpcClient {
        GrpcClient::start(self.peers, &self.folder, kind, node, target, xds, tls)
    }
}
