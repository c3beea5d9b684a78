//! The bootstrap of an xDS client: Envoy's (YAML or JSON) and gRPC's (JSON).
//!
//! A [`Document`] is the parsed text, [`read`] makes a typed configuration of it, [`rewrite()`]
//! changes its servers, and [`offline()`] reads the resources that it states.

mod config;
mod document;
mod envoy;
mod envoy_tls;
pub mod fields;
mod grpc;
mod offline;
mod rewrite;
#[cfg(test)]
mod tests;
mod tls;

pub use config::{BootstrapConfig, BootstrapError, ConfigSource, FallbackServer, XdsServer};
pub use document::{
    Dialect, Document, DocumentError, Syntax, address_text, cluster_names, each_object_in, grpc_services,
    target_address,
};
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
