//! Sockets: the client, the tap, the control plane, TLS, server reflection, the demo's control plane and clients, the real clock. Takes no protocol decisions.

pub mod client;
mod dial;
pub mod doctor;
mod poll;
pub mod reflection;
pub mod rpc;
pub mod serve;
mod sniff;
mod stream;
pub mod tap;
pub mod tls;
pub mod token;
