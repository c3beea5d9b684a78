//! Support for the tests: peers, processes, and their configuration.

pub mod bombs;
pub mod bootstrap;
pub mod capture;
pub mod certs;
pub mod control_plane;
pub mod envoy;
pub mod exposition;
pub mod faulty;
pub mod grpc_client;
pub mod grpc_server;
pub mod http;
pub mod kubectl;
pub mod misbehave;
pub mod peers;
pub mod process;
pub mod raw_h2;
pub mod raw_pair;
pub mod retrying;
pub mod screens;
pub mod scripted;
pub mod snapshot;
pub mod soak;
pub mod tap;
pub mod wait;
pub mod world;

use base64::{Engine, prelude::BASE64_STANDARD};

/// Decodes a base64 text.
pub fn base64(text: &str) -> Vec<u8> {
    BASE64_STANDARD.decode(text).expect("base64")
}
