//! Sockets: the tap, the demo's control plane and clients, the real clock. Takes no protocol decisions.

pub mod bootstrap;
pub mod demo;
pub mod rpc;
pub mod tap;
