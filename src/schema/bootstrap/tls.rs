use std::path::PathBuf;

/// The settings of a TLS client, as a bootstrap or flags give them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientOptions {
    /// Accept any certificate.
    pub insecure: bool,
    /// The CAs to trust; `None`: the system's.
    pub cacert: Option<Pem>,
    /// The client's certificate chain, which goes with `key`.
    pub cert: Option<Pem>,
    /// The private key of `cert`.
    pub key: Option<Pem>,
    /// The name to send as SNI and to verify, instead of the host of the address.
    pub servername: Option<String>,
    /// Verify the certificate chain and accept any name in the certificate.
    pub any_name: bool,
}

/// Certificates or a key in PEM.
#[derive(Clone, PartialEq, Eq)]
pub enum Pem {
    /// A file with the PEM text.
    File(PathBuf),
    /// The PEM text itself, which stands in a bootstrap.
    Inline(Vec<u8>),
}

impl From<PathBuf> for Pem {
    fn from(path: PathBuf) -> Pem {
        Pem::File(path)
    }
}

/// Never prints the PEM text, which may be a key.
impl std::fmt::Debug for Pem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// The place of the PEM text.
impl std::fmt::Display for Pem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Pem::File(path) => path.display().fmt(f),
            Pem::Inline(_) => f.write_str("the bootstrap's own text"),
        }
    }
}
