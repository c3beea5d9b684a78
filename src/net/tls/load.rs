use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::sign::CertifiedKey;

/// A file of certificates or keys can't be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("cannot read {what} of {path}")]
    Pem {
        what: &'static str,
        path: PathBuf,
        #[source]
        source: pem::Error,
    },
    #[error("{path} has no certificate in it")]
    Empty { path: PathBuf },
    #[error("a certificate in {path} can't be a CA")]
    Root {
        path: PathBuf,
        #[source]
        source: rustls::Error,
    },
    #[error("the certificate in {cert} and the key in {key} can't be used together")]
    Pair {
        cert: PathBuf,
        key: PathBuf,
        #[source]
        source: rustls::Error,
    },
    #[error("the CAs in {path} can't verify clients")]
    ClientCa {
        path: PathBuf,
        #[source]
        source: rustls::server::VerifierBuilderError,
    },
    #[error("the system has no CAs to trust: {0}")]
    System(String),
    #[error("`{0}` is no name that a server can have")]
    Name(String),
    #[error("TLS can't be set up")]
    Tls(#[source] rustls::Error),
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, LoadError> {
    let fail = |source| LoadError::Pem { what: "the certificates", path: path.to_owned(), source };
    let all: Vec<_> =
        CertificateDer::pem_file_iter(path).map_err(fail)?.collect::<Result<_, _>>().map_err(fail)?;
    if all.is_empty() { Err(LoadError::Empty { path: path.to_owned() }) } else { Ok(all) }
}

/// CAs to trust.
pub(super) fn roots(path: &Path) -> Result<RootCertStore, LoadError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|source| LoadError::Root { path: path.to_owned(), source })?;
    }
    Ok(roots)
}

/// The CAs that the system trusts.
pub(super) fn system() -> Result<RootCertStore, LoadError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        let why = found.errors.first().map_or("none were found".to_owned(), ToString::to_string);
        return Err(LoadError::System(why));
    }
    Ok(roots)
}

/// A certificate chain and its key.
pub(super) fn own(cert: &Path, key: &Path, provider: &CryptoProvider) -> Result<CertifiedKey, LoadError> {
    let chain = certificates(cert)?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|source| LoadError::Pem {
        what: "the private key",
        path: key.to_owned(),
        source,
    })?;
    CertifiedKey::from_der(chain, private, provider).map_err(|source| LoadError::Pair {
        cert: cert.to_owned(),
        key: key.to_owned(),
        source,
    })
}

/// Demands a certificate of one of these CAs from each client.
pub(super) fn client_verifier(
    path: &Path,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, LoadError> {
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots(path)?), provider)
        .build()
        .map_err(|source| LoadError::ClientCa { path: path.to_owned(), source })
}
