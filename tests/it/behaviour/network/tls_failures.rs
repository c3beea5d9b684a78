//! Checks that TLS failures are named in the tap's output, in the recording, and in the status sent
//! to the client.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};

use crate::support::{
    bootstrap::Variant,
    certs::{Ca, ServerTls},
    control_plane::{ControlPlane, Flags},
    tap::{Recording, Tap, has_words},
    wait::{PATIENCE, wait_for},
    world::World,
};

const NAME: &str = "cp.test";

fn client_config(trusted: &Ca) -> Arc<rustls::ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&trusted.file).expect("a certificate")).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config = builder.expect("versions").with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Arc::new(config)
}

/// Opens an ADS stream and returns its `grpc-message`, or the connection error.
fn ask(to: SocketAddr, trusted: Option<&Ca>) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let config = trusted.map(client_config);
    let asked = async {
        let stream = tokio::net::TcpStream::connect(to).await.map_err(|e| e.to_string())?;
        match config {
            None => status(stream).await,
            Some(config) => {
                let name = ServerName::try_from(NAME).expect("a name");
                let connector = tokio_rustls::TlsConnector::from(config);
                status(connector.connect(name, stream).await.map_err(|e| e.to_string())?).await
            }
        }
    };
    let answer = runtime.block_on(async { tokio::time::timeout(PATIENCE, asked).await });
    answer.expect("an answer in time").unwrap_or_else(|error| error)
}

async fn status<S>(stream: S) -> Result<String, String>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let text = |error: h2::Error| error.to_string();
    let (client, connection) = h2::client::handshake(stream).await.map_err(text)?;
    tokio::spawn(connection);
    let mut client = client.ready().await.map_err(text)?;
    let request = http::Request::post(
        "http://cp.test/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
    )
    .header("content-type", "application/grpc")
    .header("te", "trailers")
    .body(())
    .expect("a request");
    let (response, _requests) = client.send_request(request, false).map_err(text)?;
    let response = response.await.map_err(text)?;
    let header =
        |name: &str| response.headers().get(name).and_then(|v| v.to_str().ok()).unwrap_or("").to_owned();
    assert_eq!(header("grpc-status"), "14", "{response:?}");
    Ok(header("grpc-message"))
}

struct Case {
    world: World,
    ca: Ca,
    other: Ca,
}

impl Case {
    fn open(test: &str) -> Option<Self> {
        let world = World::open(test)?;
        let ca = Ca::new(world.folder(), "root");
        let other = Ca::new(world.folder(), "other-root");
        Some(Self { world, ca, other })
    }

    /// Starts a control plane with TLS and a certificate for `name`.
    fn plane(&self, name: &str, client_ca: bool) -> ControlPlane {
        let tls = ServerTls {
            own: self.ca.issue("plane", &[name]),
            client_ca: client_ca.then(|| self.ca.file.clone()),
        };
        self.world.control_plane(Flags { tls: Some(tls), ..Flags::default() })
    }

    fn trust(&self) -> String {
        format!("--cacert={}", self.ca.file.display())
    }

    fn tap(&self, plane: &ControlPlane, args: &[String]) -> Tap {
        self.tap_named("tap", plane, args)
    }

    fn tap_named(&self, name: &str, plane: &ControlPlane, args: &[String]) -> Tap {
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        self.world.tap_named(name, plane.address(), &args)
    }

    fn listen(&self) -> Vec<String> {
        let own = self.ca.issue("tap", &[NAME]);
        vec![format!("--listen-cert={}", own.cert.display()), format!("--listen-key={}", own.key.display())]
    }
}

/// Asserts that the tap reports `words` in its output and in its recording.
fn assert_reported(tap: Tap, words: &str) -> Recording {
    wait_for(&format!("`{words}` among the tap's lines"), || tap.says(words).then_some(()));
    let recording = tap.stop();
    let log = recording.text("log", &[]);
    assert!(has_words(&log, words), "{log}");
    recording
}

/// Asserts that the client gets the message of the tap, over plaintext and over TLS.
fn assert_reported_to_both(case: &Case, plane: &ControlPlane, args: &[String], words: &str) -> Recording {
    let tap = case.tap_named("with-tls", plane, &[case.listen(), args.to_vec()].concat());
    let answer = ask(tap.address(), Some(&case.ca));
    assert!(answer.starts_with("xdscope tap: ") && answer.contains(words), "over TLS: {answer}");
    drop(assert_reported(tap, words));
    let tap = case.tap(plane, args);
    let answer = ask(tap.address(), None);
    assert!(answer.starts_with("xdscope tap: ") && answer.contains(words), "{answer}");
    assert_reported(tap, words)
}

#[test]
fn reports_plaintext_server() {
    let Some(case) = Case::open("reports_plaintext_server") else { return };
    let plane = case.world.control_plane(Flags::default());
    assert_reported_to_both(&case, &plane, &[case.trust()], "the server answered in plaintext; --plaintext");
}

#[test]
fn reports_server_that_requires_tls() {
    let Some(case) = Case::open("reports_server_that_requires_tls") else { return };
    let plane = case.plane(NAME, false);
    assert_reported_to_both(&case, &plane, &[], "if it requires TLS: --cacert FILE");
}

#[test]
fn reports_certificate_name_mismatch() {
    let Some(case) = Case::open("reports_certificate_name_mismatch") else { return };
    let plane = case.plane("other.test", false);
    let args = [case.trust(), format!("--servername={NAME}")];
    let words =
        "wrong name: the server's certificate is for other.test, not for cp.test; --servername other.test";
    let recording = assert_reported_to_both(&case, &plane, &args, words);
    let info = recording.objects("info", &[]);
    let seen = &info[0]["tls"]["server"];
    assert_eq!(seen["server_certificate"]["names"][0], "other.test", "{info:?}");
    assert_eq!(seen["version"], serde_json::Value::Null);
}

#[test]
fn reports_expired_server_certificate() {
    let Some(case) = Case::open("reports_expired_server_certificate") else { return };
    let own = case.ca.expired("plane", &[NAME]);
    let tls = Some(ServerTls { own, client_ca: None });
    let plane = case.world.control_plane(Flags { tls, ..Flags::default() });
    let args = [case.trust(), format!("--servername={NAME}")];
    assert_reported_to_both(
        &case,
        &plane,
        &args,
        "expired: the server's certificate expired on 2021-01-01T00:00:00Z",
    );
}

#[test]
fn reports_untrusted_server() {
    let Some(case) = Case::open("reports_untrusted_server") else { return };
    let plane = case.plane(NAME, false);
    let args = [format!("--cacert={}", case.other.file.display()), format!("--servername={NAME}")];
    let words = "unknown CA: the server's certificate is issued by CN=root, which is not trusted";
    assert_reported_to_both(&case, &plane, &args, words);
    // `--insecure` accepts any certificate.
    let tap = case.tap_named("insecure", &plane, &["--insecure".into()]);
    let mut stream = TcpStream::connect(tap.address()).expect("the tap");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").expect("a preface");
    let mut head = [0; 9];
    stream.read_exact(&mut head).expect("the server's SETTINGS");
    assert_eq!(head[3], 4, "{head:?}");
}

#[test]
fn reports_missing_client_certificate() {
    let Some(case) = Case::open("reports_missing_client_certificate") else { return };
    let plane = case.plane(NAME, true);
    let args = [case.trust(), format!("--servername={NAME}")];
    assert_reported_to_both(&case, &plane, &args, "client certificate required");
}

#[test]
fn reports_rejected_tap_certificate() {
    let Some(case) = Case::open("reports_rejected_tap_certificate") else { return };
    let plane = case.plane(NAME, true);
    let own = case.other.issue("stranger", &["stranger.test"]);
    let args = [
        case.trust(),
        format!("--servername={NAME}"),
        format!("--cert={}", own.cert.display()),
        format!("--key={}", own.key.display()),
    ];
    assert_reported_to_both(&case, &plane, &args, "the tap's certificate");
}

#[test]
fn reports_plaintext_client() {
    let Some(case) = Case::open("reports_plaintext_client") else { return };
    let plane = case.world.control_plane(Flags::default());
    let tap = case.tap(&plane, &case.listen());
    let words = "the client spoke plaintext, and this listener requires TLS";
    assert!(ask(tap.address(), None).contains(words));
    // REST-JSON clients get the message too.
    let mut stream = TcpStream::connect(tap.address()).expect("the tap");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream
        .write_all(b"POST /v3/discovery:clusters HTTP/1.1\r\ncontent-length: 0\r\n\r\n")
        .expect("a request");
    stream.shutdown(std::net::Shutdown::Write).expect("half-close");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains(words), "{answer}");
    assert_reported(tap, words);
}

#[test]
fn reports_tls_client_on_plaintext_listener() {
    let Some(case) = Case::open("reports_tls_client_on_plaintext_listener") else { return };
    let plane = case.plane(NAME, false);
    let tap = case.tap(&plane, &[case.trust(), format!("--servername={NAME}")]);
    let answer = ask(tap.address(), Some(&case.ca));
    assert!(answer.contains("HandshakeFailure"), "an alert: {answer}");
    assert_reported(
        tap,
        "the client spoke TLS, and this listener is plaintext; --listen-cert FILE --listen-key FILE",
    );
}

#[test]
fn reports_tls_client_of_plaintext_server() {
    let Some(case) = Case::open("reports_tls_client_of_plaintext_server") else { return };
    let plane = case.world.control_plane(Flags::default());
    let tap = case.tap(&plane, &[]);
    // The client reads the server's settings or the tap's alert, whichever comes first.
    ask(tap.address(), Some(&case.ca));
    assert_reported(tap, "the client spoke TLS, and the server may not");
}

#[test]
fn passes_unterminated_tls_unread() {
    let Some(case) = Case::open("passes_unterminated_tls_unread") else { return };
    let plane = case.plane(NAME, false);
    let tap = case.tap(&plane, &[]);
    let mut stream = TcpStream::connect(tap.address()).expect("the tap");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let name = ServerName::try_from(NAME).expect("a name");
    let mut tls = rustls::ClientConnection::new(client_config(&case.ca), name).expect("a connection");
    tls.complete_io(&mut stream).expect("a handshake with the control plane itself");
    let theirs = tls.peer_certificates().map(<[_]>::len);
    assert_eq!((theirs, tls.alpn_protocol()), (Some(1), Some(&b"h2"[..])));
    drop(stream);
    wait_for("the connection among the tap's lines", || tap.log().contains("open  TLS").then_some(()));
}

#[test]
fn reports_client_that_distrusts_tap() {
    let Some(case) = Case::open("reports_client_that_distrusts_tap") else { return };
    let plane = case.world.control_plane(Flags::default());
    let tap = case.tap(&plane, &case.listen());
    ask(tap.address(), Some(&case.other));
    assert_reported(tap, "the client refused the tap's certificate (cp.test): unknown_ca");
}

#[test]
fn reports_client_without_certificate() {
    let Some(case) = Case::open("reports_client_without_certificate") else { return };
    let plane = case.world.control_plane(Flags::default());
    let ca = format!("--listen-client-ca={}", case.ca.file.display());
    let tap = case.tap(&plane, &[case.listen(), vec![ca]].concat());
    let answer = ask(tap.address(), Some(&case.ca));
    assert!(answer.contains("CertificateRequired"), "an alert: {answer}");
    assert_reported(tap, "the client presented no certificate");
}

#[test]
fn envoy_logs_tls_failure() {
    let Some(case) = Case::open("envoy_logs_tls_failure") else { return };
    let plane = case.plane("other.test", false);
    let tap = case.tap(&plane, &[case.trust(), format!("--servername={NAME}")]);
    let envoy = case.world.envoy("edge-1", Variant::Ads, tap.address());
    let words = format!("xdscope tap: TLS to {} failed: wrong name", plane.address());
    wait_for("the tap's words in Envoy's log", || envoy.child.log().contains(&words).then_some(()));
}
