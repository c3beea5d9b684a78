//! Integration tests: whole programs on loopback, with real peers.
//!
//! The first test that needs a peer (Envoy, gRPC, go-control-plane) fetches it, see
//! [`support::peers`]. `XDSCOPE_PEERS=off` skips the tests that need peers.

mod behaviour;
mod docs;
mod house;
mod peers;
mod support;
