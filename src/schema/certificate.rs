//! X.509 certificates: in TLS handshakes, and in secrets.

use core::net::IpAddr;

use serde_json::Value;
use x509_parser::extensions::GeneralName;
use x509_parser::pem::Pem;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::bootstrap::fields::field;
use crate::json::base64;
use xdscope_wire::Certificate;

/// Certificates of a secret that are read; a bundle of authorities can have more.
const MAX_CERTIFICATES: usize = 512;

/// The `DataSource`s of a secret that hold certificates, with the field above them.
const CERTIFICATE_FIELDS: [(&str, &str); 2] =
    [("tls_certificate", "certificate_chain"), ("validation_context", "trusted_ca")];

/// Returns the facts of a certificate in DER.
///
/// A certificate that cannot be parsed has its length as its subject.
pub fn from_der(der: &[u8]) -> Certificate {
    parse(der).unwrap_or_else(|| Certificate {
        subject: format!("{} bytes that are not X.509", der.len()),
        ..Certificate::default()
    })
}

/// Returns the certificate of a secret that expires first.
///
/// `secret` is a `Secret` in protobuf JSON. Returns `None` for a secret without a certificate in
/// PEM, such as one in a file of the client.
pub fn first_to_expire(secret: &Value) -> Option<Certificate> {
    let sources = CERTIFICATE_FIELDS.map(|(above, name)| field(field(secret, above), name));
    let pems = sources.into_iter().filter_map(inline);
    let certificates = pems.flat_map(|pem| {
        let blocks = Pem::iter_from_buffer(&pem).take(MAX_CERTIFICATES).flatten();
        blocks.filter_map(|block| parse(&block.contents)).collect::<Vec<_>>()
    });
    certificates.min_by_key(|certificate| certificate.not_after)
}

/// Returns the inline content of a `DataSource`.
fn inline(source: &Value) -> Option<Vec<u8>> {
    match field(source, "inline_string").as_str() {
        Some(text) => Some(text.as_bytes().to_vec()),
        None => base64::decode(field(source, "inline_bytes").as_str()?),
    }
}

fn parse(der: &[u8]) -> Option<Certificate> {
    let (_, parsed) = X509Certificate::from_der(der).ok()?;
    let names = parsed.subject_alternative_name().ok().flatten();
    Some(Certificate {
        subject: parsed.subject().to_string(),
        names: names
            .map(|names| names.value.general_names.iter().filter_map(name).collect())
            .unwrap_or_default(),
        issuer: parsed.issuer().to_string(),
        not_before: parsed.validity().not_before.timestamp(),
        not_after: parsed.validity().not_after.timestamp(),
        serial: parsed.raw_serial().iter().map(|byte| format!("{byte:02x}")).collect(),
    })
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns a certificate that ends on the first day of a year, in PEM.
    fn pem(name: &str, year: i32) -> String {
        let mut params = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(year, 1, 1);
        params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().pem()
    }

    #[test]
    fn finds_the_certificate_that_expires_first() {
        let (leaf, authority) = (pem("edge.test", 2031), pem("ca.test", 2029));
        let chain = json!({"tls_certificate": {"certificate_chain": {"inline_string": format!("{leaf}{authority}")}}});
        let found = first_to_expire(&chain).unwrap();
        assert_eq!((found.name().as_str(), found.not_after), ("ca.test", 1_861_920_000));
        let bytes = base64::encode(leaf.as_bytes());
        let context = json!({"validationContext": {"trustedCa": {"inlineBytes": bytes}}});
        assert_eq!(first_to_expire(&context).unwrap().names, ["edge.test"]);
    }

    #[test]
    fn secrets_without_certificates_have_none() {
        let chain = |text: &str| json!({"tls_certificate": {"certificate_chain": {"inline_string": text}}});
        let broken = pem("a.test", 2030).replace("MII", "!II");
        for secret in [
            json!({"name": "s"}),
            json!({"tls_certificate": {"certificate_chain": {"filename": "/etc/cert.pem"}}}),
            json!({"validation_context": {"trusted_ca": {"inline_bytes": "%%%"}}}),
            json!({"generic_secret": {"secret": {"inline_string": pem("a.test", 2030)}}}),
            chain(""),
            chain("-----BEGIN CERTIFICATE-----"),
            chain("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
            chain(&broken),
        ] {
            assert_eq!(first_to_expire(&secret), None, "{secret}");
        }
        assert_eq!(from_der(b"abc").subject, "3 bytes that are not X.509");
    }
}
