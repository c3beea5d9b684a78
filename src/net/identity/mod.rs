//! Who a bootstrap says a client is, and whom it asks: Envoy's (YAML or JSON) and gRPC's (JSON).

mod envoy;
mod grpc;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::Value;

use super::bootstrap::{BootstrapError, get};
use super::tls::{ClientOptions, Pem};
use crate::peers::client::FallbackServer;
use crate::wire::event::{Kind, Variant};

/// What is read of a bootstrap.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// Its `node`, as it stands; null where there is none.
    pub node: Value,
    /// Whom it asks; the others are numbered by their places here. The first is asked where nothing says otherwise.
    pub sources: Vec<Source>,
    /// Between polls over REST (`refresh_delay`).
    pub poll_delay: Option<Duration>,
    /// How long a server may hold a poll (`request_timeout`).
    pub poll_timeout: Option<Duration>,
    /// What it begins with: a type as a whole, or one name of it. Empty: it does not say.
    pub roots: Vec<(Kind, Option<String>)>,
    /// Types that another source than the first is asked for, but for names with an authority.
    pub kinds: Vec<(Kind, u32)>,
    /// The same of what a resource wants over a stream of the type's own, where others come over the ADS.
    pub own: Vec<(Kind, u32)>,
    /// Names of `roots` that stand beside a source of their own (row K-23).
    pub beside: Vec<(String, u32)>,
    /// Which source answers for an authority of `xdstp:` names (row K-24), and which for all others.
    pub authorities: Vec<(String, u32)>,
    pub others: FallbackServer,
    /// What a person should know: what is read and has no effect.
    pub notes: Vec<String>,
}

/// Servers that are asked in one way, over streams of their own.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Each is asked if those before it can't be reached.
    pub servers: Vec<Upstream>,
    pub variant: Variant,
}

impl Identity {
    /// The servers of the first source.
    pub fn servers(&self) -> &[Upstream] {
        self.sources.first().map_or(&[], |source| &source.servers)
    }

    /// How the first source is asked.
    pub fn variant(&self) -> Option<Variant> {
        self.sources.first().map(|source| source.variant)
    }

    /// The number of a source, which may be known.
    fn number(&mut self, source: Source) -> u32 {
        let known = self.sources.iter().position(|other| *other == source);
        known.map_or_else(|| self.add(source), index)
    }

    /// The number of a source that shares no stream with any other.
    fn add(&mut self, source: Source) -> u32 {
        self.sources.push(source);
        index(self.sources.len() - 1)
    }
}

fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
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
