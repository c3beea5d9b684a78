use std::net::IpAddr;

use rustls::CommonState;
use rustls::pki_types::CertificateDer;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::wire::{Certificate, Secured};

/// Returns the facts of a certificate.
///
/// A certificate that cannot be parsed has its length as its subject.
pub(super) fn certificate(der: &CertificateDer<'_>) -> Certificate {
    let Ok((_, parsed)) = X509Certificate::from_der(der) else {
        return Certificate {
            subject: format!("{} bytes that are not X.509", der.len()),
            ..Certificate::default()
        };
    };
    let names = parsed.subject_alternative_name().ok().flatten();
    Certificate {
        subject: parsed.subject().to_string(),
        names: names
            .map(|names| names.value.general_names.iter().filter_map(name).collect())
            .unwrap_or_default(),
        issuer: parsed.issuer().to_string(),
        not_before: parsed.validity().not_before.timestamp(),
        not_after: parsed.validity().not_after.timestamp(),
        serial: parsed.raw_serial().iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(text) | GeneralName::URI(text) | GeneralName::RFC822Name(text) => {
            Some((*text).to_owned())
        }
        GeneralName::IPAddress(bytes) => {
            let four = <[u8; 4]>::try_from(*bytes).ok().map(IpAddr::from);
            let ip = four.or_else(|| <[u8; 16]>::try_from(*bytes).ok().map(IpAddr::from));
            ip.map(|ip| ip.to_string())
        }
        _ => None,
    }
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
