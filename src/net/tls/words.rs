use std::io;

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};

use xdscope_wire::event::Side;
use xdscope_wire::{Secured, date};

/// A failed handshake: a message and a hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The message, such as `the server answered in plaintext`.
    pub what: String,
    /// A flag or a change that may help.
    pub next: Option<String>,
    /// The facts of the handshake up to the failure.
    pub seen: Box<Secured>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)?;
        self.next.as_ref().map_or(Ok(()), |next| write!(f, "; {next}"))
    }
}

impl Failure {
    /// Explains an error of the handshake with this peer.
    pub(crate) fn of_handshake(peer: Side, error: &io::Error, seen: Secured) -> Failure {
        let (what, next) = match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
            Some(error) => tls(peer, error, &seen),
            None if error.kind() == io::ErrorKind::TimedOut => (format!("the TLS handshake: {error}"), None),
            None => closed(peer, error),
        };
        Failure { what, next, seen: Box::new(seen) }
    }
}

/// Explains an error on an established connection to the server; `None`: not a TLS error.
pub(crate) fn broken(error: &io::Error, seen: &Secured) -> Option<String> {
    let error = error.get_ref()?.downcast_ref::<Error>()?;
    let (what, next) = tls(Side::Server, error, seen);
    Some(next.map_or(what.clone(), |next| format!("{what}; {next}")))
}

fn closed(peer: Side, error: &io::Error) -> (String, Option<String>) {
    let next = match peer {
        Side::Client => "it may not trust the tap's certificate",
        Side::Server => "it may speak plaintext (--plaintext) or reject this client",
    };
    (format!("the {} ended the TLS handshake ({error})", peer.word()), Some(next.into()))
}

fn tls(peer: Side, error: &Error, seen: &Secured) -> (String, Option<String>) {
    let who = peer.word();
    let next = |text: &str| Some(text.to_owned());
    match (error, peer) {
        (Error::InvalidMessage(InvalidMessage::InvalidContentType), Side::Server) => {
            ("the server answered in plaintext".into(), next("--plaintext"))
        }
        (Error::InvalidMessage(InvalidMessage::InvalidContentType), Side::Client) => {
            ("the client spoke plaintext".into(), None)
        }
        (Error::InvalidCertificate(error), _) => certificate(peer, error, seen),
        (Error::AlertReceived(alert), _) => refused(peer, *alert, seen),
        (Error::NoCertificatesPresented, Side::Client) => (
            "the client presented no certificate".into(),
            next("give the client a certificate, or omit --listen-client-ca"),
        ),
        (Error::NoApplicationProtocol, _) => {
            (format!("no protocol in common with the {who} (ALPN)"), other_port(peer))
        }
        (error, _) => (format!("the {who}: {error}"), None),
    }
}

/// Returns a hint at another port, for a server without HTTP/2.
fn other_port(peer: Side) -> Option<String> {
    (peer == Side::Server).then(|| "a port that speaks HTTP/2 under TLS (ALPN h2)".to_owned())
}

fn certificate(peer: Side, error: &CertificateError, seen: &Secured) -> (String, Option<String>) {
    let who = peer.word();
    let presented = if peer == Side::Server { &seen.server } else { &seen.client };
    let trust = if peer == Side::Server { "--cacert FILE" } else { "--listen-client-ca FILE" };
    match error {
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            let names = presented.as_ref().map(|c| c.names.clone()).unwrap_or_default();
            let expected = match error {
                CertificateError::NotValidForNameContext { expected, .. } => expected.to_str().into_owned(),
                _ => seen.sni.clone().unwrap_or_default(),
            };
            let valid = if names.is_empty() { "no name at all".into() } else { names.join(", ") };
            let next = names.first().map(|name| format!("--servername {name}"));
            (format!("wrong name: the {who}'s certificate is for {valid}, not for {expected}"), next)
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            let at = presented.as_ref().map(|c| format!(" on {}", date(c.not_after))).unwrap_or_default();
            (
                format!("expired: the {who}'s certificate expired{at}"),
                Some(format!("a new certificate for the {who}")),
            )
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            let at =
                presented.as_ref().map(|c| format!(" before {}", date(c.not_before))).unwrap_or_default();
            (format!("not valid yet: the {who}'s certificate is not valid{at}"), None)
        }
        CertificateError::UnknownIssuer => {
            let by = presented.as_ref().map(|c| c.issuer.clone()).filter(|issuer| !issuer.is_empty());
            let by = by.map_or("a CA that is not trusted".into(), |by| format!("{by}, which is not trusted"));
            (format!("unknown CA: the {who}'s certificate is issued by {by}"), Some(trust.into()))
        }
        CertificateError::Other(error) if format!("{error:?}").contains("CaUsedAsEndEntity") => {
            let text = format!(
                "CA certificate: the {who} presented the certificate of a CA, which is not valid for a server name"
            );
            (text, Some("a certificate of its own, signed by that CA".into()))
        }
        error => (format!("the {who}'s certificate: {error}"), None),
    }
}

/// Explains an alert with which the peer ended the handshake or the connection just after it.
fn refused(peer: Side, alert: AlertDescription, seen: &Secured) -> (String, Option<String>) {
    use AlertDescription as A;
    let who = peer.word();
    let word = alert_word(alert);
    let shown = if peer == Side::Server { &seen.client } else { &seen.server };
    let about_certificate = matches!(
        alert,
        A::BadCertificate
            | A::UnsupportedCertificate
            | A::CertificateRevoked
            | A::CertificateExpired
            | A::CertificateUnknown
            | A::UnknownCA
            | A::AccessDenied
    );
    let wants_one = peer == Side::Server && seen.client.is_none();
    match alert {
        A::CertificateRequired => (
            format!("client certificate required: the {who} requires one (alert {word})"),
            Some("--cert FILE --key FILE".into()),
        ),
        _ if wants_one
            && seen.is_client_certificate_requested
            && (about_certificate || alert == A::HandshakeFailure) =>
        {
            (
                format!(
                    "client certificate required: the {who} requests one and none was sent (alert {word})"
                ),
                Some("--cert FILE --key FILE".into()),
            )
        }
        _ if about_certificate => {
            let whose = shown.as_ref().map(|c| format!(" ({})", c.name())).unwrap_or_default();
            let next = match peer {
                Side::Client => {
                    "the client must trust the CA of --listen-cert, for the name that it connects to"
                }
                Side::Server => "--cert with a certificate that the server trusts",
            };
            (format!("the {who} refused the tap's certificate{whose}: {word}"), Some(next.into()))
        }
        A::NoApplicationProtocol => {
            (format!("no protocol in common with the {who} (alert {word})"), other_port(peer))
        }
        A::UnrecognisedName => {
            let sni = seen.sni.as_deref().unwrap_or("none");
            (
                format!("wrong name: the {who} does not know the server name {sni} (alert {word})"),
                Some("--servername NAME".into()),
            )
        }
        _ => (format!("the {who} ended the handshake (alert {word})"), None),
    }
}

/// Returns the name of an alert in RFC 8446.
fn alert_word(alert: AlertDescription) -> String {
    let mut out = String::new();
    let name = format!("{alert:?}").replace("CA", "Ca");
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explain(peer: Side, error: Error, seen: Secured) -> String {
        Failure::of_handshake(peer, &io::Error::other(error), seen).to_string()
    }

    #[test]
    fn explains_each_tls_failure() {
        let requested = || Secured { is_client_certificate_requested: true, ..Secured::default() };
        let plaintext = Error::InvalidMessage(InvalidMessage::InvalidContentType);
        assert_eq!(
            explain(Side::Server, plaintext.clone(), requested()),
            "the server answered in plaintext; --plaintext"
        );
        assert_eq!(explain(Side::Client, plaintext, requested()), "the client spoke plaintext");
        let alert = |alert| Error::AlertReceived(alert);
        assert!(
            explain(Side::Server, alert(AlertDescription::CertificateRequired), requested())
                .starts_with("client certificate required")
        );
        assert!(
            explain(Side::Server, alert(AlertDescription::HandshakeFailure), requested())
                .contains("requests one and none was sent (alert handshake_failure)")
        );
        assert!(
            explain(Side::Client, alert(AlertDescription::UnknownCA), requested())
                .starts_with("the client refused the tap's certificate: unknown_ca")
        );
        assert!(
            explain(Side::Client, Error::NoCertificatesPresented, requested())
                .starts_with("the client presented no certificate")
        );
        let eof =
            Failure::of_handshake(Side::Server, &io::Error::from(io::ErrorKind::UnexpectedEof), requested());
        assert!(eof.what.starts_with("the server ended the TLS handshake"), "{}", eof.what);
    }
}
