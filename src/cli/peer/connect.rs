//! Connection flags: addresses, TLS, headers and tokens.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::net::own_secrets::OwnSecrets;
use crate::net::reflection::Server as Reflecting;
use crate::net::tap::Tls;
use crate::net::tls::{ClientOptions, ClientTls, LoadError, Pem, Server, ServerOptions};
use crate::net::token::Token;
use crate::net::transport::Address;

use xdscope_schema::Schema;
use xdscope_wire::h2::Changes;
use xdscope_wire::text::without_credentials;

use crate::cli::args::{ConnectFlags, ListenFlags, PodServer, ServiceFlags, TapArgs};
use crate::cli::error::{CliError, Exit};
use crate::cli::source::prefixes;

/// Timeout of each step of connecting for reflection.
const REFLECTION_TIMEOUT: Duration = Duration::from_secs(10);

impl ConnectFlags {
    /// Whether any flag asks for TLS, also to loopback.
    pub(crate) fn wants_tls(&self) -> bool {
        let has_root = self.pod().is_some_and(|server| server.root.is_some()) && !self.plaintext;
        self.insecure || self.cacert.is_some() || self.cert.is_some() || self.servername.is_some() || has_root
    }

    /// Returns the control plane in a pod that kubectl has found.
    fn pod(&self) -> Option<&PodServer> {
        self.kubernetes.server.as_ref()
    }

    /// Loads TLS for `server`; `None` means plaintext.
    pub(crate) fn client(&self, server: &Address) -> Result<Option<ClientTls>, CliError> {
        if self.plaintext || (server.is_local() && !self.wants_tls()) {
            return Ok(None);
        }
        self.load().map(Some)
    }

    /// Parses the headers to add.
    pub(crate) fn headers(&self) -> Result<Vec<(String, String)>, CliError> {
        let split = |header: &String| {
            // The header is not shown: it may be a secret without a name.
            let wrong = |why| {
                let text = format!("-H wants a name, a colon and a value: {why}");
                CliError::usage(text).next("-H 'name: value'")
            };
            if header.trim_start().starts_with(':') {
                return Err(CliError::usage("-H cannot set pseudo-headers").next("--authority NAME"));
            }
            let (name, value) = header.split_once(':').ok_or_else(|| wrong("there is no colon"))?;
            let (name, value) = (name.trim(), value.trim());
            http::HeaderName::try_from(name)
                .map_err(|_| wrong("the text before the colon is not a header name"))?;
            Ok((name.to_owned(), value.to_owned()))
        };
        self.header.iter().map(split).collect()
    }

    /// Returns the source of the bearer token.
    pub(crate) fn token(&self) -> Result<Option<Token>, CliError> {
        let token = match (&self.token_file, &self.token_env) {
            (Some(path), _) => Token::File(path.clone()),
            (None, Some(name)) => {
                let text = std::env::var(name).map_err(|_| {
                    CliError::usage(format!("--token-env: {name} is not set"))
                        .next(format!("export {name}=..."))
                })?;
                Token::Text(text)
            }
            (None, None) => return Ok(self.pod().and_then(|server| server.token.clone())),
        };
        // The file must exist at first. Later it may be replaced.
        token.header().map_err(|error| CliError::unreadable(error.to_string()).next("--token-file FILE"))?;
        Ok(Some(token))
    }

    /// Returns all headers, with the current token.
    pub(crate) fn headers_now(&self) -> Result<Vec<(String, String)>, CliError> {
        let mut headers = self.headers()?;
        if let Some(token) = self.token()? {
            headers.push(token.header().map_err(|error| CliError::unreadable(error.to_string()))?);
        }
        Ok(headers)
    }

    /// Loads TLS, without regard to the address.
    pub(crate) fn load(&self) -> Result<ClientTls, CliError> {
        let root = self.pod().and_then(|server| server.root.clone()).filter(|_| !self.insecure);
        let name = self.pod().and_then(|server| server.name.clone());
        let options = ClientOptions {
            insecure: self.insecure,
            cacert: self.cacert.clone().map(Pem::from).or(root.map(|pem| Pem::Inline(pem.into_bytes()))),
            cert: self.cert.clone().map(Pem::from),
            key: self.key.clone().map(Pem::from),
            servername: self.servername.clone().or(name),
            any_name: false,
        };
        ClientTls::load(&options).map_err(not_loaded)
    }
}

/// Parses the address of a server as typed, and loads the TLS settings that flags or its scheme ask
/// for.
pub(crate) fn reach(typed: &str, connect: &ConnectFlags) -> Result<(Address, Option<ClientTls>), CliError> {
    if let Some(server) = connect.pod().filter(|_| prefixes::is_pod_server(typed)) {
        return Ok((server.address.clone(), connect.client(&server.address)?));
    }
    let typed = without_credentials(typed);
    let (secure, rest) = match (typed.strip_prefix("http://"), typed.strip_prefix("https://")) {
        (Some(rest), _) => (Some(false), rest),
        (_, Some(rest)) => (Some(true), rest),
        _ => (None, &*typed),
    };
    let address = rest.trim_end_matches('/').parse::<Address>();
    let address = address.map_err(|error| {
        CliError::usage(error.to_string()).next("host:port, https://host:port or unix:/path")
    })?;
    let tls = match secure {
        Some(false) if connect.wants_tls() => {
            let error = CliError::usage(format!("{typed} is plaintext, but other flags ask for TLS"));
            return Err(error.next(format!("https://{rest}")));
        }
        Some(false) => None,
        Some(true) => Some(connect.load()?),
        None => connect.client(&address)?,
    };
    Ok((address, tls))
}

/// Returns how a rewritten bootstrap reaches the tap.
pub(crate) fn of_tls_clients(args: &TapArgs, maps: &[(Address, Address)]) -> &'static str {
    let flags = &args.live.descriptors.connect;
    let dials = |server: &Address| !flags.plaintext && (flags.wants_tls() || !server.is_local());
    let changes = flags.authority.is_some() || !flags.header.is_empty();
    if args.secure.listen_cert.is_some() {
        "it must trust the certificate of --listen-cert, for the name that it asks for"
    } else if changes || maps.iter().any(|(_, server)| dials(server)) {
        "the tap listens in plaintext; take its TLS out, or give the tap --listen-cert and --listen-key"
    } else {
        "the tap passes it on unread; with --listen-cert and --listen-key it reads it"
    }
}

/// Loads TLS for the listening side; `None` means plaintext.
pub(crate) fn listen(flags: &ListenFlags) -> Result<Option<Arc<Server>>, CliError> {
    server(&flags.listen_cert, &flags.listen_key, &flags.listen_client_ca)
}

/// Loads TLS for viewers; `None` means plaintext.
pub(crate) fn for_viewers(flags: &ServiceFlags) -> Result<Option<Arc<Server>>, CliError> {
    server(&flags.attach_cert, &flags.attach_key, &flags.attach_client_ca)
}

fn server(
    cert: &Option<PathBuf>,
    key: &Option<PathBuf>,
    client_ca: &Option<PathBuf>,
) -> Result<Option<Arc<Server>>, CliError> {
    let (Some(cert), Some(key)) = (cert, key) else { return Ok(None) };
    let options = ServerOptions { cert: cert.clone(), key: key.clone(), client_ca: client_ca.clone() };
    Server::load(&options).map(|server| Some(Arc::new(server))).map_err(not_loaded)
}

/// Loads TLS for both sides of a tap.
pub(crate) fn tap(args: &TapArgs, maps: &[(Address, Address)]) -> Result<Tls, CliError> {
    let flags = &args.live.descriptors.connect;
    let listen = listen(&args.secure)?;
    let mut upstream = None;
    for (_, server) in maps {
        if upstream.is_none() {
            upstream = flags.client(server)?.map(Arc::new);
        }
    }
    Ok(Tls { listen, upstream, local: flags.wants_tls() })
}

/// Returns what a tap changes in the headers of requests; `None` means nothing.
pub(crate) fn changes(flags: &ConnectFlags) -> Result<Option<Arc<Changes>>, CliError> {
    let of_clients = [
        ("--token-file", flags.token_file.is_some(), "-H \"authorization: Bearer $(cat FILE)\""),
        ("--token-env", flags.token_env.is_some(), "-H \"authorization: Bearer $NAME\""),
    ];
    if let Some((flag, _, instead)) = of_clients.iter().find(|(_, given, _)| *given) {
        let text = format!("{flag} does nothing on a tap: the streams are those of its clients");
        return Err(CliError::usage(text).next(*instead).next("set it in the client"));
    }
    let changes = crate::net::tap::changes(flags.authority.as_deref(), &flags.headers()?);
    let changes = changes.map_err(|refused| CliError::usage(refused.what).next(refused.next))?;
    Ok(changes.map(Arc::new))
}

/// Asks a server for its descriptors by reflection, as an encoded `FileDescriptorSet`.
pub(crate) fn reflection(
    server: &str,
    symbols: &[String],
    flags: &ConnectFlags,
) -> Result<Vec<u8>, CliError> {
    let address = server.parse::<Address>();
    let address =
        address.map_err(|error| CliError::usage(error.to_string()).next("--reflection HOST:PORT"))?;
    let headers = flags.headers_now()?;
    let symbols: Vec<String> =
        symbols.iter().map(|symbol| symbol.rsplit('/').next().unwrap_or(symbol).to_owned()).collect();
    let tls = flags.client(&address)?;
    let server = Reflecting {
        address: &address,
        tls: tls.as_ref(),
        authority: flags.authority.as_deref(),
        headers: &headers,
        timeout: REFLECTION_TIMEOUT,
    };
    server.descriptors(&symbols, &Schema::builtin_file).map_err(|error| {
        let mut out = CliError::new(Exit::Connection, OwnSecrets::new(&headers).clean(error.what));
        out.tried = error.tried;
        out.next.extend(error.next);
        out
    })
}

pub(crate) fn not_loaded(error: LoadError) -> CliError {
    let next = match &error {
        LoadError::System(_) => "--cacert FILE, --insecure, or --plaintext",
        LoadError::Name(_) => "a DNS name or an address",
        LoadError::Pair { .. } => "the key of that certificate",
        _ => "a file in PEM",
    };
    let source = error.source().map(ToString::to_string);
    let out = CliError::unreadable(error.to_string()).next(next);
    match source {
        Some(source) => out.because(source),
        None => out,
    }
}
