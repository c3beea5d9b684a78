//! SOURCE `envoy:HOST:PORT` and its like: an admin port.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::app::live_copy::LiveCopy;
use crate::app::ports::{
    self, ANSWER_TIMEOUT, CopyForm, Port, PortError, PortGroup, PortOptions, PortSource,
};
use crate::cli::args::{ConnectFlags, Global};
use crate::cli::error::{CliError, Exit};
use crate::net::admin::{AdminError, AdminPort};
use crate::net::client::Server;
use crate::net::csds::CsdsPort;
use crate::net::transport::Address;
use xdscope_present::text::shell_word;
use xdscope_schema::Schema;
use xdscope_sources::max_response_bytes;
use xdscope_sources::peers::admin::{CsdsReader, EnvoyReader, IstiodReader, PortReader, ZtunnelReader};
use xdscope_wire::text::{display_safe, size};

use super::prefixes::PortKind;
use super::schema_flags;
use super::wanted_copy::{CopyUse, WantedCopy};

/// The timeout of each step of connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads an admin port, and goes on reading if the verb does.
///
/// # Errors
/// The port cannot be reached, another service answers, or an answer is too long or too slow.
pub(super) fn copy(
    wanted: &WantedCopy<'_>,
    kind: PortKind,
    address: &str,
    parent: Option<PathBuf>,
    global: &Global,
) -> Result<LiveCopy, CliError> {
    let opened = PortSettings::new(wanted, parent, global)?;
    let (addresses, proxy) = match (kind, address.split_once('/')) {
        (PortKind::Istiod, Some((addresses, proxy))) => (addresses, Some(proxy.to_owned())),
        _ => (address, None),
    };
    let addresses: Vec<&str> = match kind {
        PortKind::Istiod => addresses.split(',').collect(),
        _ => vec![addresses],
    };
    let servers = addresses.iter().map(|address| typed_server(address, wanted));
    let servers = servers.collect::<Result<Vec<Server>, CliError>>()?;
    let group = opened.group(String::new(), kind, servers, proxy);
    let copied = ports::open(opened.options(wanted), PortSource::One(group));
    copied.map_err(|error| failed(error, kind, address, wanted))
}

/// The settings of a port, as the verb needs them.
#[derive(Clone)]
pub(super) struct PortSettings {
    form: CopyForm,
    follows: bool,
    keep_secrets: bool,
    parent: Option<PathBuf>,
    schema: Arc<Schema>,
}

impl PortSettings {
    pub(super) fn new(
        wanted: &WantedCopy<'_>,
        parent: Option<PathBuf>,
        global: &Global,
    ) -> Result<PortSettings, CliError> {
        let (form, keep_secrets) = match wanted.use_of {
            CopyUse::Once | CopyUse::Newest => (CopyForm::Dump, false),
            CopyUse::Rows { keep_secrets } => (CopyForm::Session, keep_secrets),
        };
        let follows = wanted.use_of != CopyUse::Once;
        let schema = schema_flags::schema(wanted.descriptors, global)?;
        Ok(PortSettings { form, follows, keep_secrets, parent, schema })
    }

    /// Returns the addresses of a reader, which begins anew. `proxy` is the proxy whose dump is
    /// wanted of istiods.
    pub(super) fn group(
        &self,
        name: String,
        kind: PortKind,
        servers: Vec<Server>,
        proxy: Option<String>,
    ) -> PortGroup {
        let reader: Box<dyn PortReader> = match kind {
            PortKind::Envoy => Box::new(EnvoyReader::new(self.follows)),
            PortKind::Ztunnel => Box::new(ZtunnelReader::default()),
            PortKind::Csds => Box::new(CsdsReader::new(self.schema.clone())),
            PortKind::Istiod => Box::new(IstiodReader::new(servers.len(), proxy)),
        };
        let port = |server: Server| match kind {
            PortKind::Csds => Port::Csds(Box::new(CsdsPort::new(server, ANSWER_TIMEOUT, self.follows))),
            _ => Port::Http(Box::new(AdminPort::new(server, ANSWER_TIMEOUT))),
        };
        PortGroup { name, ports: servers.into_iter().map(port).collect(), reader }
    }

    pub(super) fn options(self, wanted: &WantedCopy<'_>) -> PortOptions {
        PortOptions {
            name: wanted.name.to_owned(),
            form: self.form,
            follows: self.follows,
            keep_secrets: self.keep_secrets,
            memory: wanted.memory,
            schema: self.schema,
            parent: self.parent,
        }
    }
}

/// Returns how to reach a port as typed: in plaintext, unless flags ask for TLS.
fn typed_server(address: &str, wanted: &WantedCopy<'_>) -> Result<Server, CliError> {
    let is_secure = address.starts_with("https://");
    let text = address.strip_prefix("https://").unwrap_or(address).trim_end_matches('/');
    let address = text.parse::<Address>().map_err(|error| {
        let form = wanted.name.split(':').next().unwrap_or_default();
        CliError::usage(error.to_string()).next(format!("{form}:HOST:PORT"))
    })?;
    server(address, is_secure, wanted)
}

/// Returns how to reach a port, with the flags of the connection.
pub(super) fn server(address: Address, is_secure: bool, wanted: &WantedCopy<'_>) -> Result<Server, CliError> {
    let connect: &ConnectFlags = wanted.connect;
    let server = Server {
        address,
        tls: if is_secure || connect.wants_tls() { Some(connect.load()?) } else { None },
        authority: connect.authority.clone(),
        headers: connect.headers()?,
        token: connect.token()?,
        fallback: Vec::new(),
        timeout: CONNECT_TIMEOUT,
        max_message: max_response_bytes(wanted.memory),
        keepalive: Duration::ZERO,
        keepalive_timeout: CONNECT_TIMEOUT,
    };
    server.check_headers().map_err(|error| CliError::usage(error.to_string()).next("-H 'name: value'"))?;
    Ok(server)
}

/// The error of a port that cannot be read. `address` is what a command of the user reaches.
pub(super) fn failed(error: PortError, kind: PortKind, address: &str, wanted: &WantedCopy<'_>) -> CliError {
    let name = display_safe(wanted.name);
    let connection = |what: &dyn std::fmt::Display| {
        CliError::new(Exit::Connection, display_safe(&format!("{name}: {what}")).into_owned())
    };
    let first = address.split([',', '/']).next().unwrap_or_default();
    let (page, hint) = match kind {
        PortKind::Envoy => (
            "server_info",
            "the admin port: 15000 of an Istio proxy, 19000 of a proxy of Envoy Gateway, often 9901",
        ),
        PortKind::Istiod => ("debug/syncz", "the debug port of istiod: 15014"),
        PortKind::Ztunnel => ("config_dump", "the admin port of ztunnel: 15000"),
        PortKind::Csds => ("", "the port of a gRPC server with CSDS"),
    };
    let again = || match kind {
        PortKind::Csds => format!("xdscope doctor {}", shell_word(first)),
        _ => format!("curl -s {}", shell_word(&format!("http://{first}/{page}"))),
    };
    match error {
        PortError::Page(AdminError::Dial(dial)) => {
            let mut shown = connection(&dial.what);
            shown.tried = dial.tried;
            shown.next(dial.next.unwrap_or_else(again))
        }
        PortError::Page(AdminError::TooLong { path, limit }) => {
            // An answer may have a tenth of the memory.
            let memory = size(limit.saturating_mul(20)).replace(' ', "");
            connection(&AdminError::TooLong { path, limit })
                .next(format!("--memory {memory}, which allows twice as much"))
        }
        PortError::Page(AdminError::Token(error)) => {
            CliError::unreadable(error.to_string()).next("--token-file FILE")
        }
        PortError::Page(error @ AdminError::Status { .. }) => connection(&error).next(hint),
        PortError::Fault(fault) if fault.is_other_service => connection(&fault).next(hint),
        PortError::Page(error) => connection(&error).next(again()),
        PortError::Fault(fault) => connection(&fault).next(again()),
        PortError::Dump(error) => error.into(),
        PortError::Folder(error) => CliError::unreadable("cannot keep a copy of the dump").because(error),
    }
}
