//! The configuration of an xDS client, read from its bootstrap: Envoy's (YAML or JSON) and gRPC's
//! (JSON).

mod config;
mod envoy;
mod envoy_tls;
mod grpc;
mod offline;
mod rewrite;
#[cfg(test)]
mod tests;
mod tls;

use crate::schema::bootstrap::{Dialect, Document};

pub use config::{BootstrapConfig, BootstrapError, ConfigSource, XdsServer};
pub use offline::{OfflineBootstrap, ResourcesByKind, offline};
pub use rewrite::{Redirect, Rewritten, rewrite};
pub use tls::{ClientOptions, Pem};

/// Reads a bootstrap as its client does.
///
/// # Errors
/// The text is not a bootstrap, has no xDS server, or asks for a feature that is not supported; the
/// error names the feature.
pub fn read(text: &str) -> Result<BootstrapConfig, BootstrapError> {
    let document = Document::parse(text)?;
    match document.dialect() {
        Dialect::Grpc => grpc::read(&document),
        Dialect::Envoy => envoy::read(&document),
    }
}
