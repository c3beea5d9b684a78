use std::sync::Arc;

/// TLS facts of both legs of a connection. A plaintext leg has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// Between the client and the tap.
    pub client: Option<Arc<Secured>>,
    /// Between the tap and the server.
    pub server: Option<Arc<Secured>>,
}

/// The outcome of a TLS handshake, complete or failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Secured {
    /// `TLSv1.3`; empty if the handshake failed before a version was negotiated.
    pub version: String,
    /// The negotiated application protocol, such as `h2`.
    pub alpn: Option<String>,
    /// The requested server name.
    pub sni: Option<String>,
    /// Certificate of the accepting end.
    pub server: Option<Certificate>,
    /// Certificate of the connecting end.
    pub client: Option<Certificate>,
    /// The accepting end requested a certificate.
    pub is_client_certificate_requested: bool,
    /// The accepting end's certificate was not verified (`--insecure`).
    pub unverified: bool,
}

/// Facts of an X.509 certificate, without any key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificate {
    /// Distinguished name; empty if the certificate has only alternative names.
    pub subject: String,
    /// Subject alternative names: DNS names, addresses, URIs such as SPIFFE ids, mail addresses.
    pub names: Vec<String>,
    /// Distinguished name of the issuer.
    pub issuer: String,
    /// Start of the validity, in seconds of Unix time.
    pub not_before: i64,
    /// End of the validity, in seconds of Unix time.
    pub not_after: i64,
    /// Serial number in hexadecimal.
    pub serial: String,
}

impl Tls {
    /// Whether neither leg uses TLS.
    pub fn is_empty(&self) -> bool {
        self.client.is_none() && self.server.is_none()
    }

    /// Names the version of each leg: `TLSv1.3 with the client, plaintext with the server`.
    ///
    /// Empty if neither leg uses TLS.
    pub fn legs(&self) -> String {
        if self.is_empty() {
            return String::new();
        }
        let leg = |leg: &Option<Arc<Secured>>| match leg {
            None => "plaintext".to_owned(),
            Some(facts) if facts.version.is_empty() => "TLS not negotiated".into(),
            Some(facts) => facts.version.clone(),
        };
        format!("{} with the client, {} with the server", leg(&self.client), leg(&self.server))
    }

    /// Says how the tap changes mutual TLS, if it does.
    ///
    /// The tap has no access to the client's private key, so the server never sees the client's
    /// certificate.
    pub fn not_kept(&self) -> Option<String> {
        let theirs = self.client.as_ref().and_then(|leg| leg.client.as_ref()).map(Certificate::name);
        let server = self.server.as_ref();
        let ours = server.and_then(|leg| leg.client.as_ref()).map(Certificate::name);
        let requested = server.is_some_and(|leg| leg.is_client_certificate_requested);
        match (theirs, ours) {
            (Some(theirs), Some(ours)) => Some(format!(
                "the server sees the tap's certificate ({ours}), not the client's ({theirs}); what it grants by \
                 certificate changes"
            )),
            (Some(theirs), None) => Some(format!(
                "the server sees no certificate: the client's ({theirs}) cannot be forwarded; --cert and --key \
                 give the tap one"
            )),
            (None, Some(ours)) => {
                Some(format!("the server sees the tap's certificate ({ours}) for every client"))
            }
            (None, None) if requested => Some(
                "the server asked for a client certificate and got none; --cert and --key give the tap one"
                    .into(),
            ),
            (None, None) => None,
        }
    }
}

impl Certificate {
    /// Returns the first alternative name, else the subject.
    pub fn name(&self) -> String {
        let subject =
            || if self.subject.is_empty() { format!("serial {}", self.serial) } else { self.subject.clone() };
        self.names.first().cloned().unwrap_or_else(subject)
    }

    /// Describes the certificate: `cp.mesh (CN=cp), issued by CN=root, expires
    /// 2027-01-01T00:00:00Z`.
    pub fn words(&self) -> String {
        let mut out = self.names.join(", ");
        match (self.subject.is_empty(), out.is_empty()) {
            (true, true) => out = format!("serial {}", self.serial),
            (true, false) => {}
            (false, true) => out.clone_from(&self.subject),
            (false, false) => out.push_str(&format!(" ({})", self.subject)),
        }
        let issuer = if self.issuer == self.subject { "itself" } else { &self.issuer };
        format!("{out}, issued by {issuer}, expires {}", date(self.not_after))
    }
}

impl Secured {
    /// Describes the leg in lines, each with its label: `tls`, `server`, `client`.
    pub fn words(&self) -> Vec<(&'static str, String)> {
        let version = if self.version.is_empty() { "handshake failed" } else { &self.version };
        let mut first = version.to_owned();
        for (word, value) in [("ALPN", &self.alpn), ("SNI", &self.sni)] {
            first.push_str(&format!(", {word} {}", value.as_deref().unwrap_or("none")));
        }
        if self.unverified {
            first.push_str(", certificate not verified (--insecure)");
        }
        let mut out = vec![("tls", first)];
        out.extend(self.server.as_ref().map(|certificate| ("server", certificate.words())));
        match &self.client {
            Some(certificate) => out.push(("client", certificate.words())),
            None if self.is_client_certificate_requested => {
                out.push(("client", "none, although requested".into()))
            }
            None => {}
        }
        out
    }
}

/// Formats seconds of Unix time as RFC 3339.
pub fn date(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).map_or_else(|_| format!("{seconds} s"), |time| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(name: &str) -> Option<Certificate> {
        let names = vec![name.to_owned()];
        Some(Certificate {
            names,
            issuer: "CN=root".into(),
            not_after: 1_800_000_000,
            ..Certificate::default()
        })
    }

    #[test]
    fn describes_certificate() {
        let one = certificate("cp.mesh").map(|one| Certificate { subject: "CN=cp".into(), ..one });
        let words = one.map(|one| one.words()).unwrap_or_default();
        assert_eq!(words, "cp.mesh (CN=cp), issued by CN=root, expires 2027-01-15T08:00:00Z");
    }

    #[test]
    fn describes_changes_of_mutual_tls() {
        let leg = |client, is_client_certificate_requested| {
            Some(Arc::new(Secured { client, is_client_certificate_requested, ..Secured::default() }))
        };
        let explain = |client, server| Tls { client, server }.not_kept().unwrap_or_default();
        assert_eq!(explain(leg(None, false), leg(None, false)), "");
        assert_eq!(explain(None, None), "");
        let both = explain(leg(certificate("edge"), true), leg(certificate("tap"), true));
        assert!(both.contains("(tap), not the client's (edge)"), "{both}");
        assert!(explain(leg(certificate("edge"), true), None).contains("(edge) cannot be forwarded"));
        assert!(explain(None, leg(certificate("tap"), true)).contains("(tap) for every client"));
        assert!(explain(None, leg(None, true)).contains("got none"));
    }
}
