//! Client, control plane and tap on the wire, with faults and TLS.

pub mod attach;
pub mod check;
pub mod client;
pub mod doctor;
pub mod failing;
pub mod fault_runs;
pub mod faults;
pub mod headers;
pub mod metrics;
pub mod reflection;
pub mod rest_client;
pub mod restart;
pub mod scripted;
pub mod serve;
pub mod serve_rest;
pub mod tls;
pub mod tls_failures;
