//! The peers of one test, and where they write.

use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use super::{
    bootstrap::Variant,
    control_plane::{ControlPlane, Flags},
    envoy::Envoy,
    grpc_client::GrpcClient,
    peers::{self, Peers},
    tap::Tap,
};

/// What one test starts its peers with. Their output stays in `target/tmp/TEST/` until the test runs again.
pub struct World {
    peers: &'static Peers,
    folder: PathBuf,
}

impl World {
    /// The world of `test`, which is unique among all tests, or `None` where peers are switched off.
    ///
    /// # Panics
    /// When the peers cannot be made, see [`peers::get`].
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

    /// Starts an Envoy with the id `node`, unique in this world, whose xDS server is at `xds`.
    pub fn envoy(&self, node: &str, variant: Variant, xds: SocketAddr) -> Envoy {
        Envoy::start(self.peers, &self.folder, node, variant, xds)
    }

    /// Starts a gRPC C-core client of `xds:///target` with the id `node`, unique in this world, whose xDS server
    /// is at `xds`.
    pub fn grpc_client(&self, node: &str, target: &str, xds: SocketAddr) -> GrpcClient {
        GrpcClient::start(self.peers, &self.folder, node, target, xds)
    }
}
