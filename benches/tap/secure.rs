//! TLS on both legs: the ends, and a relay that terminates TLS on both sides.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// A connection with or without TLS.
pub trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for T {}

/// Certificates of all parties, in a folder.
pub struct Certs {
    folder: PathBuf,
}

impl Certs {
    /// Creates the certificates.
    pub fn make(folder: &Path) -> Certs {
        let certs = Certs { folder: folder.to_owned() };
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("a CA");
        let own = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("an address");
        let key = KeyPair::generate().expect("a key");
        let signed = own.signed_by(&key, &issuer).expect("a certificate");
        std::fs::write(certs.ca(), issuer.pem()).expect("a file");
        std::fs::write(certs.cert(), signed.pem()).expect("a file");
        std::fs::write(certs.key(), key.serialize_pem()).expect("a file");
        certs
    }

    /// Loads the certificates of a folder.
    pub fn of(folder: &str) -> Certs {
        Certs { folder: folder.into() }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn ca(&self) -> PathBuf {
        self.folder.join("ca.pem")
    }

    pub fn cert(&self) -> PathBuf {
        self.folder.join("cert.pem")
    }

    pub fn key(&self) -> PathBuf {
        self.folder.join("key.pem")
    }

    /// TLS settings of both ends.
    pub fn load(&self) -> Secure {
        let provider: Arc<CryptoProvider> = Arc::new(ring::default_provider());
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(self.cert())
            .expect("a certificate")
            .collect::<Result<_, _>>()
            .expect("a certificate");
        let key = PrivateKeyDer::from_pem_file(self.key()).expect("a key");
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(self.ca()).expect("a CA")).expect("a CA");
        let mut server = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .expect("a pair");
        let mut client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        server.alpn_protocols = vec![b"h2".to_vec()];
        client.alpn_protocols = vec![b"h2".to_vec()];
        Secure { accept: TlsAcceptor::from(Arc::new(server)), connect: TlsConnector::from(Arc::new(client)) }
    }
}

/// TLS settings of both ends.
#[derive(Clone)]
pub struct Secure {
    accept: TlsAcceptor,
    connect: TlsConnector,
}

/// Accepts a client's connection, with TLS if configured.
pub async fn accepted(socket: TcpStream, secure: Option<&Secure>) -> Box<dyn Wire> {
    socket.set_nodelay(true).expect("nodelay");
    match secure {
        None => Box::new(socket),
        Some(secure) => Box::new(secure.accept.accept(socket).await.expect("a handshake")),
    }
}

/// Connects to `to`, with TLS if configured.
pub async fn connected(to: SocketAddr, secure: Option<&Secure>) -> Box<dyn Wire> {
    let socket = TcpStream::connect(to).await.expect("it listens");
    socket.set_nodelay(true).expect("nodelay");
    match secure {
        None => Box::new(socket),
        Some(secure) => {
            let name = ServerName::IpAddress(to.ip().into());
            Box::new(secure.connect.connect(name, socket).await.expect("a handshake"))
        }
    }
}
