//! TLS on one side of the tap: certificates and keys, handshakes, their facts and failures.
//!
//! Uses rustls with ring, on any byte stream, without knowledge of the tap or gRPC.

mod facts;
mod load;
mod verify;
mod words;

pub use load::LoadError;
pub use words::Failure;
pub(crate) use words::broken;
pub use xdscope_schema::bootstrap::{ClientOptions, Pem};

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::ServerName;
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio_rustls::server::StartHandshake;
use tokio_rustls::{LazyConfigAcceptor, TlsConnector, TlsStream};

use xdscope_wire::event::Side;
use xdscope_wire::{Certificate, Secured};

use verify::{Presents, Verifier};

/// The settings of a TLS server (`--listen-cert` and others).
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The server's certificate chain and its key, as PEM files.
    pub cert: PathBuf,
    pub key: PathBuf,
    /// CAs of client certificates (PEM). Each client must then present a certificate.
    pub client_ca: Option<PathBuf>,
}

/// The time that a client may take to read an alert.
const LINGER_TIME: Duration = Duration::from_secs(1);

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// The client side of TLS.
#[derive(Debug)]
pub struct ClientTls {
    provider: Arc<CryptoProvider>,
    /// `None`: any certificate is accepted.
    roots: Option<Arc<RootCertStore>>,
    own: Option<Arc<CertifiedKey>>,
    servername: Option<String>,
    any_name: bool,
}

impl ClientTls {
    /// Reads the files that `options` name.
    ///
    /// # Errors
    /// A file cannot be read, or its contents cannot be used.
    pub fn load(options: &ClientOptions) -> Result<ClientTls, LoadError> {
        let provider = provider();
        let roots = match (options.insecure, &options.cacert) {
            (true, _) => None,
            (false, Some(file)) => Some(Arc::new(load::roots(file)?)),
            (false, None) => Some(Arc::new(load::system()?)),
        };
        let own = match (&options.cert, &options.key) {
            (Some(cert), Some(key)) => Some(Arc::new(load::own(cert, key, &provider)?)),
            _ => None,
        };
        if let Some(name) = &options.servername {
            ServerName::try_from(name.clone()).map_err(|_| LoadError::Name(name.clone()))?;
        }
        let (servername, any_name) = (options.servername.clone(), options.any_name);
        Ok(ClientTls { provider, roots, own, servername, any_name })
    }

    /// Performs the handshake on `io`.
    ///
    /// `host` is the host in the server's address, `sni` the name that the tap's client asked for,
    /// `alpn` the protocols to offer.
    ///
    /// # Errors
    ///
    /// The handshake failed. The failure holds the facts that are known nevertheless.
    pub async fn connect<IO: AsyncRead + AsyncWrite + Unpin>(
        &self,
        io: IO,
        host: &str,
        sni: Option<&str>,
        alpn: &[Vec<u8>],
    ) -> Result<(TlsStream<IO>, Secured), Failure> {
        let name = self.servername.as_deref().or(sni).unwrap_or(host);
        let mut seen = Secured { unverified: self.roots.is_none(), ..Secured::default() };
        let fail = |what: String, seen| Failure { what, next: None, seen: Box::new(seen) };
        let Ok(server) = ServerName::try_from(name.to_owned()) else {
            return Err(fail(format!("not a valid server name: `{name}`"), seen));
        };
        if let ServerName::DnsName(name) = &server {
            seen.sni = Some(name.as_ref().to_owned());
        }
        let verifier = Arc::new(Verifier::new(self.roots.clone(), self.any_name, self.provider.clone()));
        let presents = Arc::new(Presents::new(self.own.clone()));
        let config = ClientConfig::builder_with_provider(self.provider.clone())
            .with_safe_default_protocol_versions()
            .map(|builder| {
                let builder = builder.dangerous().with_custom_certificate_verifier(verifier.clone());
                builder.with_client_cert_resolver(presents.clone())
            });
        let mut config = match config {
            Ok(config) => config,
            Err(error) => return Err(fail(error.to_string(), seen)),
        };
        config.alpn_protocols = alpn.to_vec();
        // Each connection has a configuration of its own, whose store would never be used.
        config.resumption = Resumption::disabled();
        let result = TlsConnector::from(Arc::new(config)).connect(server, io).await;
        seen.server = verifier.seen();
        seen.is_client_certificate_requested = presents.is_requested();
        if seen.is_client_certificate_requested {
            seen.client = self.own.as_ref().and_then(|own| own.cert.first()).map(facts::certificate);
        }
        match result {
            Ok(stream) => {
                facts::agreed(stream.get_ref().1, &mut seen);
                Ok((TlsStream::Client(stream), seen))
            }
            Err(error) => Err(Failure::of_handshake(Side::Server, &error, seen)),
        }
    }
}

/// The server side of TLS.
#[derive(Debug)]
pub struct Server {
    config: ServerConfig,
    own: Option<Certificate>,
    asks: bool,
}

/// A client that has sent its ClientHello and waits for the answer.
pub struct Hello<IO> {
    start: StartHandshake<IO>,
    /// The server name that the client asks for.
    pub sni: Option<String>,
    /// The protocols that the client offers, best first.
    pub alpn: Vec<Vec<u8>>,
}

impl Server {
    /// Reads the files that `options` name.
    ///
    /// # Errors
    /// A file cannot be read, or its contents cannot be used.
    pub fn load(options: &ServerOptions) -> Result<Server, LoadError> {
        let provider = provider();
        let own = load::own(&options.cert.clone().into(), &options.key.clone().into(), &provider)?;
        let facts = own.cert.first().map(facts::certificate);
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(LoadError::Tls)?;
        let builder = match &options.client_ca {
            Some(file) => {
                builder.with_client_cert_verifier(load::client_verifier(&file.clone().into(), provider)?)
            }
            None => builder.with_no_client_auth(),
        };
        let config = builder.with_cert_resolver(Arc::new(rustls::sign::SingleCertAndKey::from(own)));
        Ok(Server { config, own: facts, asks: options.client_ca.is_some() })
    }

    /// Reads the ClientHello, and no further.
    ///
    /// # Errors
    ///
    /// The client sent something else, or the connection broke.
    pub async fn hello<IO: AsyncRead + AsyncWrite + Unpin>(&self, io: IO) -> Result<Hello<IO>, Failure> {
        match LazyConfigAcceptor::new(rustls::server::Acceptor::default(), io).await {
            Ok(start) => {
                let hello = start.client_hello();
                let sni = hello.server_name().map(str::to_owned);
                let alpn = hello.alpn().into_iter().flatten().map(<[u8]>::to_vec).collect();
                Ok(Hello { start, sni, alpn })
            }
            Err(error) => Err(Failure::of_handshake(Side::Client, &error, Secured::default())),
        }
    }

    /// Answers a ClientHello. `alpn`: the protocol to agree on.
    ///
    /// # Errors
    ///
    /// The handshake failed. The failure holds the facts that are known nevertheless.
    pub async fn accept<IO: AsyncRead + AsyncWrite + Unpin>(
        &self,
        hello: Hello<IO>,
        alpn: Option<Vec<u8>>,
    ) -> Result<(TlsStream<IO>, Secured), Failure> {
        let mut seen = Secured {
            sni: hello.sni,
            server: self.own.clone(),
            is_client_certificate_requested: self.asks,
            ..Secured::default()
        };
        let mut config = self.config.clone();
        config.alpn_protocols = alpn.into_iter().collect();
        match hello.start.into_stream(Arc::new(config)).into_fallible().await {
            Ok(stream) => {
                let state = stream.get_ref().1;
                seen.client = state.peer_certificates().and_then(<[_]>::first).map(facts::certificate);
                facts::agreed(state, &mut seen);
                Ok((TlsStream::Server(stream), seen))
            }
            Err((error, io)) => {
                linger(io).await;
                Err(Failure::of_handshake(Side::Client, &error, seen))
            }
        }
    }
}

/// Lets the peer read the alert.
///
/// Closing a socket with unread bytes resets the connection and discards the alert.
async fn linger<IO: AsyncRead + AsyncWrite + Unpin>(mut io: IO) {
    let read = async {
        io.shutdown().await?;
        tokio::io::copy(&mut io, &mut tokio::io::sink()).await
    };
    // The connection is over in any case.
    let _ = tokio::time::timeout(LINGER_TIME, read).await;
}

/// Returns the certificates that the peer presented above its own, in order.
pub(super) fn chain<IO>(stream: &TlsStream<IO>) -> Vec<Certificate> {
    facts::chain(stream.get_ref().1)
}
