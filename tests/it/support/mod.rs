//! What tests stand on: peers, processes, and configuration for them.

pub mod bootstrap;
pub mod control_plane;
pub mod envoy;
pub mod grpc_client;
pub mod http;
pub mod peers;
pub mod process;
pub mod snapshot;
pub mod wait;
pub mod world;
