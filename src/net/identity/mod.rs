//! Who a bootstrap says a client is, and whom it asks: Envoy's (YAML or JSON) and gRPC's (JSON).

mod envoy;
mod grpc;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::Value;

use super::bootstrap::{BootstrapError, get};
use super::tls::{ClientOptions, Pem};
use crate::event::{Kind, Variant};

/// What is read of a bootstrap.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// Its `node`, as it stands; null where there is none.
    pub node: Value,
    /// xDS servers; each is asked if those before it can't be reached.
    pub servers: Vec<Upstream>,
    /// How it asks for listeners and clusters.
    pub variant: Option<Variant>,
    /// Between polls over REST (`refresh_delay`).
    pub poll_delay: Option<Duration>,
    /// How long a server may hold a poll (`request_timeout`).
    pub poll_timeout: Option<Duration>,
    /// What it begins with: a type as a whole, or one name of it. Empty: it does not say.
    pub roots: Vec<(Kind, Option<String>)>,
    /// Authorities of `xdstp:` names, and their servers; one without is asked of `servers`.
    pub authorities: Vec<(String, Vec<Upstream>)>,
    /// Servers of all other authorities, in the same way; `None`: nobody answers for those.
    pub others: Option<Vec<Upstream>>,
    /// What a person should know: what is read and has no effect.
    pub notes: Vec<String>,
}

/// An xDS server of a bootstrap.
#[derive(Clone, Debug, PartialEq)]
pub struct Upstream {
    /// `host:port` or `unix:/path`.
    pub address: String,
    /// `None`: plaintext.
    pub tls: Option<ClientOptions>,
    /// The HTTP/2 `:authority`.
    pub authority: Option<String>,
    /// Headers to add (`initial_metadata`, an access token).
    pub headers: Vec<(String, String)>,
}

/// Reads a bootstrap (rows I-08, I-09, I-11).
///
/// # Errors
/// It is neither JSON nor YAML, no bootstrap, or asks for what is not supported: that is named.
pub fn read(text: &str) -> Result<Identity, BootstrapError> {
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(_) => serde_saphyr::from_str(text).map_err(|error| BootstrapError::Syntax(error.to_string()))?,
    };
    let root = value.as_object().ok_or(BootstrapError::NoBootstrap)?;
    if get(root, "xds_servers").is_some() {
        return grpc::read(&value);
    }
    if get(root, "dynamic_resources").is_none() && get(root, "static_resources").is_none() {
        return Err(BootstrapError::NoBootstrap);
    }
    envoy::read(&value)
}

fn unsupported<T>(what: impl Into<String>) -> Result<T, BootstrapError> {
    Err(BootstrapError::Unsupported(what.into()))
}

/// A field by either of its names; null where there is none.
fn field<'a>(of: &'a Value, name: &str) -> &'a Value {
    of.as_object().and_then(|fields| get(fields, name)).unwrap_or(&Value::Null)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// A file that a bootstrap names.
fn file(value: &Value) -> Option<Pem> {
    Some(Pem::File(value.as_str().filter(|path| !path.is_empty())?.into()))
}
