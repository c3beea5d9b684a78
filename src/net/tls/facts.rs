use rustls::CommonState;
use rustls::pki_types::CertificateDer;

use xdscope_schema::certificate::from_der;
use xdscope_wire::{Certificate, Secured};

/// Returns the facts of a certificate.
pub(super) fn certificate(der: &CertificateDer<'_>) -> Certificate {
    from_der(der)
}

/// Returns the certificates that the peer presented above its own, in order.
pub(super) fn chain(state: &CommonState) -> Vec<Certificate> {
    state.peer_certificates().unwrap_or_default().iter().skip(1).map(certificate).collect()
}

/// Adds what a finished handshake agreed on.
pub(super) fn agreed(state: &CommonState, facts: &mut Secured) {
    facts.version = match state.protocol_version() {
        Some(rustls::ProtocolVersion::TLSv1_2) => "TLSv1.2".into(),
        Some(rustls::ProtocolVersion::TLSv1_3) => "TLSv1.3".into(),
        other => format!("{other:?}"),
    };
    facts.alpn = state.alpn_protocol().map(|protocol| String::from_utf8_lossy(protocol).into_owned());
}
