//! Certificates made for one test.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};

/// A certificate chain and its key, in PEM files.
#[derive(Clone, Debug)]
pub struct Pair {
    pub cert: PathBuf,
    pub key: PathBuf,
}

/// A CA with its certificate in a PEM file.
pub struct Ca {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: PathBuf,
    pub file: PathBuf,
}

impl Ca {
    /// Creates a CA; its files, and those of its certificates, are in `folder` under names that
    /// begin with `name`.
    pub fn new(folder: &Path, name: &str) -> Self {
        let mut params = params(&[], name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("a CA");
        let file = folder.join(format!("{name}.pem"));
        fs::write(&file, issuer.pem()).expect("a file");
        Self { issuer, folder: folder.to_owned(), file }
    }

    /// Issues a certificate for these names and addresses.
    pub fn issue(&self, name: &str, names: &[&str]) -> Pair {
        self.sign(name, params(names, name))
    }

    /// Issues a certificate that expired years ago.
    pub fn expired(&self, name: &str, names: &[&str]) -> Pair {
        let mut params = params(names, name);
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
        self.sign(name, params)
    }

    fn sign(&self, name: &str, mut params: CertificateParams) -> Pair {
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let file = |ending: &str| self.folder.join(format!("{name}.{ending}"));
        let pair = Pair { cert: file("cert.pem"), key: file("key.pem") };
        fs::write(&pair.cert, certificate.pem()).expect("a file");
        fs::write(&pair.key, key.serialize_pem()).expect("a file");
        pair
    }
}

fn params(names: &[&str], name: &str) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).expect("names");
    params.distinguished_name.remove(DnType::CommonName);
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// TLS settings of a client.
#[derive(Clone, Debug)]
pub struct ClientTls {
    /// CAs that the client trusts.
    pub ca: PathBuf,
    /// Client certificate.
    pub own: Option<Pair>,
    /// Server name to verify, for clients that support it.
    pub sni: &'static str,
}

/// TLS settings of a server.
#[derive(Clone, Debug)]
pub struct ServerTls {
    pub own: Pair,
    /// CAs of client certificates, which the server then requires.
    pub client_ca: Option<PathBuf>,
}
