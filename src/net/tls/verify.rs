use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::net::lock;
use xdscope_wire::Certificate;

use super::facts;

/// A verifier of server certificates that remembers the certificate.
///
/// Verification is rustls's own; the facts of a rejected certificate are part of the error.
#[derive(Debug)]
pub(super) struct Verifier {
    /// `None`: any chain and name is accepted. The server must still prove that it has the key.
    roots: Option<Arc<RootCertStore>>,
    /// Verify the chain, not the name.
    any_name: bool,
    provider: Arc<CryptoProvider>,
    seen: Mutex<Option<Certificate>>,
}

impl Verifier {
    pub(super) fn new(
        roots: Option<Arc<RootCertStore>>,
        any_name: bool,
        provider: Arc<CryptoProvider>,
    ) -> Self {
        Verifier { roots, any_name, provider, seen: Mutex::new(None) }
    }

    /// Returns the certificate that the server presented.
    pub(super) fn seen(&self) -> Option<Certificate> {
        lock(&self.seen).clone()
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        *lock(&self.seen) = Some(facts::certificate(end_entity));
        let Some(roots) = &self.roots else { return Ok(ServerCertVerified::assertion()) };
        let inner = WebPkiServerVerifier::builder_with_provider(roots.clone(), self.provider.clone())
            .build()
            .map_err(|error| Error::General(error.to_string()))?;
        use CertificateError::{NotValidForName, NotValidForNameContext};
        // rustls verifies the name last, after the chain.
        match inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. }))
                if self.any_name =>
            {
                Ok(ServerCertVerified::assertion())
            }
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Presents one certificate or none, and remembers whether the server requested one.
#[derive(Debug)]
pub(super) struct Presents {
    own: Option<Arc<CertifiedKey>>,
    is_requested: AtomicBool,
}

impl Presents {
    pub(super) fn new(own: Option<Arc<CertifiedKey>>) -> Self {
        Presents { own, is_requested: AtomicBool::new(false) }
    }

    pub(super) fn is_requested(&self) -> bool {
        self.is_requested.load(Ordering::Relaxed)
    }
}

impl ResolvesClientCert for Presents {
    fn resolve(&self, _issuers: &[&[u8]], _schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.is_requested.store(true, Ordering::Relaxed);
        self.own.clone()
    }

    fn has_certs(&self) -> bool {
        true
    }
}
