//! Sockets: client, tap, control plane, TLS, server reflection, doctor.
//!
//! Protocol decisions are made in [`xdscope_sources::peers`].

pub mod client;
mod dial;
pub mod doctor;
pub mod monitor;
mod poll;
pub mod reflection;
pub mod rpc;
pub mod serve;
mod sniff;
mod stream;
pub mod tap;
pub mod tls;
pub mod token;
pub mod transport;
