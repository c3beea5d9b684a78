//! The embedded control plane and clients of `xdscope demo`: a small mesh on loopback and nodes that have one of
//! each problem. Real gRPC over real sockets, so that the tap between them is the tap that users get.

mod client;
mod control_plane;
mod mesh;
mod scenario;
mod storm;
#[cfg(test)]
mod tests;
mod tour;
mod xdstp;

pub use client::{Client, run as run_client, run_together};
pub use control_plane::serve;
pub use mesh::Mesh;
pub use scenario::Scenario;
pub use storm::Storm;
