//! Sockets: client, tap, control plane, TLS, server reflection, doctor.
//!
//! Protocol decisions are made in [`xdscope_sources::peers`].

pub mod admin;
pub mod attach;
pub mod client;
pub mod clock;
pub mod csds;
mod dial;
pub mod doctor;
pub mod kubectl;
mod lock;
pub mod monitor;
pub mod own_secrets;
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

pub(crate) use lock::lock;
