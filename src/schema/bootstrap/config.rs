use std::time::Duration;

use serde_json::Value;

use super::tls::ClientOptions;
use crate::bootstrap::DocumentError;
use xdscope_wire::event::{Kind, Variant};

/// The server for authorities that the configuration of a client does not list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FallbackServer {
    /// The server for the plain names of the type.
    #[default]
    Plain,
    /// The server with this number.
    Server(u32),
    /// None: names of such an authority are refused.
    Nobody,
}

/// A client's configuration, as its bootstrap gives it.
#[derive(Clone, Debug, Default)]
pub struct BootstrapConfig {
    /// The `node`, unchanged; null where there is none.
    pub node: Value,
    /// The xDS servers that the client asks. Other fields number them by their position here; the
    /// first is asked for everything that no other field assigns.
    pub sources: Vec<ConfigSource>,
    /// The time between REST polls (`refresh_delay`).
    pub poll_delay: Option<Duration>,
    /// The time that a server may hold a REST poll (`request_timeout`).
    pub poll_timeout: Option<Duration>,
    /// The types to subscribe to first, by wildcard or by one name. Empty: the bootstrap names
    /// none.
    pub initial_types: Vec<(Kind, Option<String>)>,
    /// Types that another source than the first serves, except names with an authority.
    pub type_sources: Vec<(Kind, u32)>,
    /// As `type_sources`, for references that ask for a stream of the type's own, where an ADS
    /// serves the other references.
    pub non_ads_type_sources: Vec<(Kind, u32)>,
    /// The static clusters whose endpoints can be asked, by name. References from resources can
    /// name any of them as a source.
    pub clusters: Vec<(String, Vec<XdsServer>)>,
    /// The sources of those `initial_types` names that have one beside them
    /// (`docs/protocol.md#k-23`).
    pub locator_sources: Vec<(String, u32)>,
    /// The sources of the authorities of `xdstp:` names (`docs/protocol.md#k-24`).
    pub authority_sources: Vec<(String, u32)>,
    /// The server for all other authorities.
    pub fallback: FallbackServer,
    /// Messages for the user about fields that have no effect here, or another effect.
    pub notes: Vec<String>,
}

/// Servers that are asked in the same way, over streams of their own.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigSource {
    /// The servers in order: each is asked if the servers before it cannot be reached.
    pub servers: Vec<XdsServer>,
    /// The protocol variant of the streams.
    pub variant: Variant,
}

impl BootstrapConfig {
    /// The servers of the first source.
    pub fn servers(&self) -> &[XdsServer] {
        self.sources.first().map_or(&[], |source| &source.servers)
    }

    /// The protocol variant of the first source.
    pub fn variant(&self) -> Option<Variant> {
        self.sources.first().map(|source| source.variant)
    }

    /// Returns the number of a source, which is added unless an equal one is there.
    pub(super) fn find_or_add(&mut self, source: ConfigSource) -> u32 {
        let known = self.sources.iter().position(|other| *other == source);
        known.map_or_else(|| self.add(source), number)
    }

    /// Adds a source that shares its streams with no other source. Returns its number.
    pub(super) fn add(&mut self, source: ConfigSource) -> u32 {
        self.sources.push(source);
        number(self.sources.len() - 1)
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// An xDS server of a bootstrap.
#[derive(Clone, Debug, PartialEq)]
pub struct XdsServer {
    /// `host:port` or `unix:/path`.
    pub address: String,
    /// `None`: plaintext.
    pub tls: Option<ClientOptions>,
    /// The HTTP/2 `:authority`.
    pub authority: Option<String>,
    /// Headers to add (`initial_metadata`, an access token).
    pub headers: Vec<(String, String)>,
}

/// Formats the server as a user would type it.
impl std::fmt::Display for XdsServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.tls.is_some() { "https://" } else { "" };
        write!(f, "{scheme}{}", self.address)
    }
}

/// The reason why a bootstrap cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BootstrapError {
    /// Not JSON or YAML.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The bootstrap configures no xDS server.
    #[error("names no xDS server: it has no ads_config, api_config_source or xds_servers")]
    NoServer,
    /// A part that xdscope does not support; the text names its path.
    #[error("{0}")]
    Unsupported(String),
    /// No server of the bootstrap has the wanted address.
    #[error("has no xDS server at {wanted}; its servers: {found}")]
    NotFound {
        /// The address to redirect, as `host:port` or `unix:/path`.
        wanted: String,
        /// The addresses of the bootstrap, separated by commas.
        found: String,
    },
}

pub(super) fn unsupported<T>(message: impl Into<String>) -> Result<T, BootstrapError> {
    Err(BootstrapError::Unsupported(message.into()))
}
