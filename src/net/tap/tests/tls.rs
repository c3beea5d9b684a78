//! TLS on both sides: bytes are relayed and copied as they were before encryption.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use super::*;
use crate::net::tls::{ClientOptions, ClientTls, Server, ServerOptions};
use xdscope_wire::event::Side;

/// A self-signed certificate and its key, used by all sides.
struct Pair {
    folder: tempfile::TempDir,
}

impl Pair {
    fn new() -> Pair {
        let pair = Pair { folder: tempfile::tempdir().unwrap() };
        pair.renew();
        pair
    }

    /// Replaces the certificate and its key by others.
    fn renew(&self) {
        let made = rcgen::generate_simple_self_signed(vec!["cp.test".to_owned()]).unwrap();
        std::fs::write(self.cert(), made.cert.pem()).unwrap();
        std::fs::write(self.key(), made.signing_key.serialize_pem()).unwrap();
    }

    fn cert(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    fn key(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }

    /// The TLS settings of the upstream.
    fn server(&self) -> ServerConfig {
        let server = ServerConfig::builder_with_provider(Arc::new(default_provider()));
        let server = server.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let chain = vec![CertificateDer::from_pem_file(self.cert()).unwrap()];
        server.with_single_cert(chain, PrivateKeyDer::from_pem_file(self.key()).unwrap()).unwrap()
    }

    /// A tap with TLS on both sides, which expects `servername` of the upstream.
    fn tap(&self, upstream: SocketAddr, servername: Option<&str>) -> Tap {
        let options = ServerOptions { cert: self.cert(), key: self.key(), client_ca: None };
        let listen = Some(Arc::new(Server::load(&options).unwrap()));
        let options = ClientOptions {
            cacert: Some(self.cert().into()),
            servername: servername.map(str::to_owned),
            ..ClientOptions::default()
        };
        let tls = Tls { listen, upstream: Some(Arc::new(ClientTls::load(&options).unwrap())), local: true };
        let plain = config("127.0.0.1:0".parse().unwrap(), upstream.to_string().parse().unwrap());
        Tap::start(Config { tls, ..plain }).unwrap()
    }

    /// A client of the tap.
    fn client(&self, tap: &Tap, alpn: &[&[u8]]) -> StreamOwned<ClientConnection, TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(self.cert()).unwrap()).unwrap();
        let client = ClientConfig::builder_with_provider(Arc::new(default_provider()));
        let client = client.with_safe_default_protocol_versions().unwrap();
        let mut client = client.with_root_certificates(roots).with_no_client_auth();
        client.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        let name = ServerName::try_from("cp.test").unwrap();
        let client = ClientConnection::new(Arc::new(client), name).unwrap();
        let stream = TcpStream::connect(tap.listening[0].to_string()).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        StreamOwned::new(client, stream)
    }
}

#[test]
fn relays_tls_and_copies_plaintext() {
    let pair = Pair::new();
    let mut server = pair.server();
    // The server chooses the client's second protocol, and the client must learn that choice.
    server.alpn_protocols = vec![b"two".to_vec()];
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = listener.local_addr().unwrap();
    let (sent, back) = (noise(3_000_000), noise(2_000_000));
    let (expected, answer) = (sent.len(), back.clone());
    let thread = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let mut stream = StreamOwned::new(ServerConnection::new(Arc::new(server)).unwrap(), stream);
        let mut got = vec![0; expected];
        stream.read_exact(&mut got).unwrap();
        stream.write_all(&answer).unwrap();
        stream.conn.send_close_notify();
        stream.flush().unwrap();
        (got, stream.conn.server_name().map(str::to_owned))
    });

    let tap = pair.tap(upstream, None);
    let mut stream = pair.client(&tap, &[b"one", b"two"]);
    stream.write_all(&sent).unwrap();
    stream.flush().unwrap();
    let mut got = Vec::new();
    stream.read_to_end(&mut got).expect("an orderly end of TLS");
    assert!(got == back, "the client got what the server sent");
    assert_eq!(stream.conn.alpn_protocol(), Some(&b"two"[..]));
    drop(stream);
    let (theirs, sni) = thread.join().unwrap();
    assert!(theirs == sent, "the server got what the client sent");
    assert_eq!(sni.as_deref(), Some("cp.test"));

    let all = drain(&tap);
    assert!(bytes(&all, Dir::Req) == sent);
    assert!(bytes(&all, Dir::Resp) == back);
    let legs: Vec<_> = all
        .iter()
        .filter_map(|copied| match &copied.event {
            TapEvent::Secured { side, facts } => Some((*side, facts.alpn.clone(), facts.sni.clone())),
            _ => None,
        })
        .collect();
    let (alpn, sni) = (Some("two".to_owned()), Some("cp.test".to_owned()));
    assert_eq!(legs, [(Side::Server, alpn.clone(), sni.clone()), (Side::Client, alpn, sni)]);
}

#[test]
fn renewed_certificates_count_for_new_connections_and_open_ones_stay() {
    let pair = Pair::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = listener.local_addr().unwrap();
    // Echoes each connection until its end. The thread ends with the tests.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || std::io::copy(&mut stream.try_clone().unwrap(), &mut stream));
        }
    });
    let options = ServerOptions { cert: pair.cert(), key: pair.key(), client_ca: None };
    let tls = Tls { listen: Some(Arc::new(Server::load(&options).unwrap())), upstream: None, local: false };
    let plain = config("127.0.0.1:0".parse().unwrap(), upstream.to_string().parse().unwrap());
    let tap = Tap::start(Config { tls, ..plain }).unwrap();
    let echoes = |client: &mut StreamOwned<ClientConnection, TcpStream>| {
        let mut back = [0; 5];
        client.write_all(b"hello").and_then(|()| client.read_exact(&mut back)).is_ok() && back == *b"hello"
    };
    let mut open = pair.client(&tap, &[]);
    assert!(echoes(&mut open));
    pair.renew();
    let began = std::time::Instant::now();
    // Each try trusts the renewed certificate alone.
    while !echoes(&mut pair.client(&tap, &[])) {
        assert!(began.elapsed() < TIMEOUT, "the tap presents the old certificate");
    }
    assert!(echoes(&mut open), "the connection from before");
}

#[test]
fn reports_both_sides_when_the_server_name_is_wrong() {
    let pair = Pair::new();
    let server = pair.server();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = listener.local_addr().unwrap();
    let thread = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let mut stream = StreamOwned::new(ServerConnection::new(Arc::new(server)).unwrap(), stream);
        assert!(stream.read(&mut [0]).is_err(), "the tap does not take this certificate");
    });
    let tap = pair.tap(upstream, Some("nope.test"));
    let mut stream = pair.client(&tap, &[]);
    let _ = stream.write_all(b"hello");
    let _ = stream.read_to_end(&mut Vec::new());
    thread.join().unwrap();

    let all = drain(&tap);
    let reports: Vec<String> = all
        .iter()
        .filter_map(|copied| match &copied.event {
            TapEvent::Secured { side, facts } => Some(format!("{side:?} {}", facts.version)),
            TapEvent::Failed { step, .. } => Some(format!("failed {}", step.word())),
            _ => None,
        })
        .collect();
    assert_eq!(reports, ["Server ", "Client TLSv1.3", "failed TLS to"]);
}

#[test]
fn reports_tls_client_of_plaintext_server_in_either_order() {
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    const CLIENT_HELLO: [u8; 6] = [22, 3, 1, 0, 1, 1];
    for is_server_first in [true, false] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let upstream = listener.local_addr().unwrap().to_string();
        let thread = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(TIMEOUT)).unwrap();
            if !is_server_first {
                assert_eq!(stream.read(&mut [0; 64]).unwrap(), CLIENT_HELLO.len());
            }
            stream.write_all(&SETTINGS).unwrap();
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let tap = tap(&upstream, Some(MAX_QUEUED_BYTES));
        let mut client = dial(&tap);
        if is_server_first {
            client.read_exact(&mut [0; SETTINGS.len()]).unwrap();
        }
        client.write_all(&CLIENT_HELLO).unwrap();
        let mut answer = Vec::new();
        let _ = client.read_to_end(&mut answer);
        assert_eq!(answer, [21, 3, 1, 0, 2, 2, 40], "an alert, the server first: {is_server_first}");
        thread.join().unwrap();
        let all = drain(&tap);
        let Some(TapEvent::Closed { by, error: Some(error) }) = all.last().map(|copied| &copied.event) else {
            panic!("{all:?}");
        };
        let words = "the server answered TLS in plaintext: the client spoke TLS, and the server may not";
        assert_eq!((*by, error.as_str()), (Some(Side::Server), words));
    }
}
