//! TLS on both legs: what is passed on and copied is what was said inside.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use super::*;
use crate::event::Side;
use crate::net::tls::{Client, ClientOptions, Server, ServerOptions};

/// A self-signed certificate and its key as files.
fn pair(folder: &Path) -> (std::path::PathBuf, std::path::PathBuf) {
    let made = rcgen::generate_simple_self_signed(vec!["cp.test".to_owned()]).unwrap();
    let (cert, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    (cert, key)
}

#[test]
fn a_large_exchange_passes_and_is_copied_in_the_clear() {
    let folder = tempfile::tempdir().unwrap();
    let (cert, key) = pair(folder.path());
    let chain = vec![CertificateDer::from_pem_file(&cert).unwrap()];
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
    let server = server.unwrap().with_no_client_auth();
    let mut server =
        server.with_single_cert(chain.clone(), PrivateKeyDer::from_pem_file(&key).unwrap()).unwrap();
    // Of the client's two the server takes the second: the client must learn that, not the tap's own taste.
    server.alpn_protocols = vec![b"two".to_vec()];
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = listener.local_addr().unwrap().to_string();
    let (sent, back) = (noise(3_000_000), noise(2_000_000));
    let (expected, answer) = (sent.len(), back.clone());
    let thread = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut stream = StreamOwned::new(ServerConnection::new(Arc::new(server)).unwrap(), stream);
        let mut got = vec![0; expected];
        stream.read_exact(&mut got).unwrap();
        stream.write_all(&answer).unwrap();
        stream.conn.send_close_notify();
        stream.flush().unwrap();
        (got, stream.conn.server_name().map(str::to_owned))
    });

    let options = ServerOptions { cert: cert.clone(), key, client_ca: None };
    let listen = Some(Arc::new(Server::load(&options).unwrap()));
    let options = ClientOptions { cacert: Some(cert.into()), ..ClientOptions::default() };
    let upstream_tls = Some(Arc::new(Client::load(&options).unwrap()));
    let tls = Tls { listen, upstream: upstream_tls, local: true };
    let maps = vec![("127.0.0.1:0".parse().unwrap(), upstream.parse().unwrap())];
    let tap = Tap::start(Config { maps, queue: Some(QUEUE), connect_timeout: PATIENCE, tls, changes: None })
        .unwrap();

    let mut roots = RootCertStore::empty();
    roots.add(chain[0].clone()).unwrap();
    let client = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut client = client.with_root_certificates(roots).with_no_client_auth();
    client.alpn_protocols = vec![b"one".to_vec(), b"two".to_vec()];
    let client = ClientConnection::new(Arc::new(client), ServerName::try_from("cp.test").unwrap()).unwrap();
    let stream = TcpStream::connect(tap.listening[0].to_string()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut stream = StreamOwned::new(client, stream);
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
        .filter_map(|copied| match &copied.what {
            Happened::Secured { side, facts } => Some((*side, facts.alpn.clone(), facts.sni.clone())),
            _ => None,
        })
        .collect();
    let (alpn, sni) = (Some("two".to_owned()), Some("cp.test".to_owned()));
    assert_eq!(legs, [(Side::Server, alpn.clone(), sni.clone()), (Side::Client, alpn, sni)]);
}

#[test]
fn of_a_server_with_the_wrong_name_the_clients_leg_is_told_too() {
    let folder = tempfile::tempdir().unwrap();
    let (cert, key) = pair(folder.path());
    let chain = vec![CertificateDer::from_pem_file(&cert).unwrap()];
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
    let server = server.unwrap().with_no_client_auth();
    let server = server.with_single_cert(chain.clone(), PrivateKeyDer::from_pem_file(&key).unwrap()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = listener.local_addr().unwrap().to_string();
    let thread = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut stream = StreamOwned::new(ServerConnection::new(Arc::new(server)).unwrap(), stream);
        assert!(stream.read(&mut [0]).is_err(), "the tap does not take this certificate");
    });
    let options = ServerOptions { cert: cert.clone(), key, client_ca: None };
    let listen = Some(Arc::new(Server::load(&options).unwrap()));
    let options = ClientOptions {
        cacert: Some(cert.into()),
        servername: Some("nope.test".to_owned()),
        ..ClientOptions::default()
    };
    let tls = Tls { listen, upstream: Some(Arc::new(Client::load(&options).unwrap())), local: true };
    let maps = vec![("127.0.0.1:0".parse().unwrap(), upstream.parse().unwrap())];
    let tap = Tap::start(Config { maps, queue: Some(QUEUE), connect_timeout: PATIENCE, tls, changes: None })
        .unwrap();

    let mut roots = RootCertStore::empty();
    roots.add(chain[0].clone()).unwrap();
    let client = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let client = client.with_root_certificates(roots).with_no_client_auth();
    let client = ClientConnection::new(Arc::new(client), ServerName::try_from("cp.test").unwrap()).unwrap();
    let stream = TcpStream::connect(tap.listening[0].to_string()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut stream = StreamOwned::new(client, stream);
    let _ = stream.write_all(b"hello");
    let _ = stream.read_to_end(&mut Vec::new());
    thread.join().unwrap();

    let all = drain(&tap);
    let told: Vec<String> = all
        .iter()
        .filter_map(|copied| match &copied.what {
            Happened::Secured { side, facts } => Some(format!("{side:?} {}", facts.version)),
            Happened::Failed { step, .. } => Some(format!("failed {}", step.word())),
            _ => None,
        })
        .collect();
    assert_eq!(told, ["Server ", "Client TLSv1.3", "failed TLS to"]);
}
