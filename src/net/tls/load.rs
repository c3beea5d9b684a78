use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::sign::CertifiedKey;

use super::Pem;

/// The reason why a file of certificates or keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("cannot read {what} of {path}")]
    Pem {
        what: &'static str,
        path: String,
        #[source]
        source: pem::Error,
    },
    #[error("no certificate in {path}")]
    Empty { path: String },
    #[error("a certificate in {path} cannot be used as a CA")]
    Root {
        path: String,
        #[source]
        source: rustls::Error,
    },
    #[error("the certificate in {cert} and the key in {key} cannot be used together")]
    Pair {
        cert: String,
        key: String,
        #[source]
        source: rustls::Error,
    },
    #[error("the CAs in {path} cannot verify clients")]
    ClientCa {
        path: String,
        #[source]
        source: rustls::server::VerifierBuilderError,
    },
    #[error("the system has no CAs to trust: {0}")]
    System(String),
    #[error("not a valid server name: `{0}`")]
    Name(String),
    #[error("cannot set up TLS")]
    Tls(#[source] rustls::Error),
}

/// Most bytes of a file of certificates: ten times those of all public CAs.
const MAX_PEM_BYTES: u64 = 4 << 20;

/// Reads a file, without waiting for a pipe or reading a device.
fn read(path: &Path) -> Result<Vec<u8>, pem::Error> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let open = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = open.map_err(pem::Error::Io)?;
    let about = file.metadata().map_err(pem::Error::Io)?;
    if !about.is_file() || about.len() > MAX_PEM_BYTES {
        let text = format!("not a file of at most {} MiB", MAX_PEM_BYTES >> 20);
        return Err(pem::Error::Io(io::Error::new(io::ErrorKind::InvalidInput, text)));
    }
    let mut content = Vec::new();
    file.take(MAX_PEM_BYTES).read_to_end(&mut content).map_err(pem::Error::Io)?;
    Ok(content)
}

fn certificates(from: &Pem) -> Result<Vec<CertificateDer<'static>>, LoadError> {
    let fail = |source| LoadError::Pem { what: "the certificates", path: from.to_string(), source };
    let all: Result<Vec<_>, _> = match from {
        Pem::File(path) => CertificateDer::pem_slice_iter(&read(path).map_err(fail)?).collect(),
        Pem::Inline(text) => CertificateDer::pem_slice_iter(text).collect(),
    };
    let all = all.map_err(fail)?;
    if all.is_empty() { Err(LoadError::Empty { path: from.to_string() }) } else { Ok(all) }
}

/// Reads the CAs to trust.
pub(super) fn roots(path: &Pem) -> Result<RootCertStore, LoadError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|source| LoadError::Root { path: path.to_string(), source })?;
    }
    Ok(roots)
}

/// Returns the CAs that the system trusts.
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

/// Reads a certificate chain and its key.
pub(super) fn own(cert: &Pem, key: &Pem, provider: &CryptoProvider) -> Result<CertifiedKey, LoadError> {
    let chain = certificates(cert)?;
    let private = match key {
        Pem::File(path) => read(path).and_then(|text| PrivateKeyDer::from_pem_slice(&text)),
        Pem::Inline(text) => PrivateKeyDer::from_pem_slice(text),
    };
    let private = private.map_err(|source| LoadError::Pem {
        what: "the private key",
        path: key.to_string(),
        source,
    })?;
    CertifiedKey::from_der(chain, private, provider).map_err(|source| LoadError::Pair {
        cert: cert.to_string(),
        key: key.to_string(),
        source,
    })
}

/// Returns a verifier that requires a certificate of one of these CAs from each client.
pub(super) fn client_verifier(
    path: &Pem,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, LoadError> {
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots(path)?), provider)
        .build()
        .map_err(|source| LoadError::ClientCa { path: path.to_string(), source })
}
