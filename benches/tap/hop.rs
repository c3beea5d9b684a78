//! The hops between client and server: none, a byte relay, an HTTP/2 hop, the tap, or the tap with
//! a fault that matches nothing.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::{RecvStream, SendStream};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use xdscope::app::recording::recording_file::SessionFile;
use xdscope::app::tap::{CopyLimits, Front, Options, Running};
use xdscope::net::tap::Tls;
use xdscope::net::tls::{self, ClientOptions, ServerOptions};
use xdscope_engine::store;
use xdscope_schema::Schema;
use xdscope_sources::peers::intercept::FaultSet;

use crate::ends::WINDOW;
use crate::secure::{self, Certs, Secure};

/// Runs one hop in this process until standard input closes; the first line printed is its address.
/// With `certs`, both legs use TLS.
pub fn run(kind: &str, upstream: &str, certs: Option<Certs>) -> ExitCode {
    match kind {
        "tap" => return tap(upstream, certs, None),
        // A fault that no stream of the benchmark can match.
        "armed" => {
            let faults = FaultSet::parse(["node:nobody => drop"], 0).expect("a fault");
            return tap(upstream, certs, Some(faults));
        }
        _ => {}
    }
    let secure = certs.map(|certs| certs.load());
    let upstream: SocketAddr = upstream.parse().expect("an address");
    let h2 = kind == "h2";
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            say(&listener.local_addr().expect("its address").to_string());
            loop {
                let (client, _) = listener.accept().await.expect("a client");
                if h2 {
                    tokio::spawn(async move { hop(client, upstream).await });
                } else {
                    let secure = secure.clone();
                    tokio::spawn(async move { relay(client, upstream, secure).await });
                }
            }
        });
    });
    wait();
    ExitCode::SUCCESS
}

pub fn say(line: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "{line}").and_then(|()| out.flush()).expect("somebody reads");
}

pub fn wait() {
    let mut rest = Vec::new();
    // Any end of the input stops the hop.
    let _ = std::io::stdin().read_to_end(&mut rest);
}

/// Size of the tap's spool in bytes, the default of the command line.
const SPOOL_BYTES: u64 = 4_000_000_000;

/// Runs the whole tap: decoding, analysing and recording.
fn tap(upstream: &str, certs: Option<Certs>, faults: Option<FaultSet>) -> ExitCode {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("bench.xdsrec");
    let file = xdscope::app::recording::recording_file::create(&path).expect("a file");
    let running = start_tap(&[upstream], SessionFile::new(path, file), certs, Default::default(), faults);
    say(&running.tap.listening[0].to_string());
    wait();
    let gaps: u64 = running.shared.as_ref().map_or(0, |s| s.store().streams().iter().map(|s| s.gaps).sum());
    let size = running.stop().map_or(0, |(_, size)| size);
    let mut out = std::io::stdout();
    // The bench may have stopped reading.
    let _ = writeln!(out, "recorded {size} gaps {gaps}");
    ExitCode::SUCCESS
}

/// Starts a tap with a listener for each upstream, and a spool next to the session file.
pub fn start_tap(
    upstreams: &[&str],
    session: SessionFile,
    certs: Option<Certs>,
    limits: store::Options,
    faults: Option<FaultSet>,
) -> Running {
    let folder = session.path.parent().expect("a folder").to_owned();
    let listen = || "127.0.0.1:0".parse().expect("an address");
    let upstream = |address: &&str| (listen(), address.parse().expect("an address"));
    let options = Options {
        front: Front::Tap {
            maps: upstreams.iter().map(upstream).collect(),
            connect_timeout: Duration::from_secs(10),
            tls: certs.map(legs).unwrap_or_default(),
            changes: None,
            faults: faults.map(Into::into),
            desk: None,
        },
        decode: true,
        record: Some(session),
        keep_secrets: false,
        copies: CopyLimits { spool: Some((folder, SPOOL_BYTES)), ..CopyLimits::default() },
        store: limits,
        schema: Schema::builtin(),
        verb: "bench",
    };
    options.schema.warm();
    Running::start(options, None).expect("a tap")
}

fn legs(certs: Certs) -> Tls {
    let server = ServerOptions { cert: certs.cert(), key: certs.key(), client_ca: None };
    let client = ClientOptions { cacert: Some(certs.ca().into()), ..ClientOptions::default() };
    Tls {
        listen: Some(Arc::new(tls::Server::load(&server).expect("a server"))),
        upstream: Some(Arc::new(tls::ClientTls::load(&client).expect("a client"))),
        local: true,
    }
}

/// Runs the reference: 64 KiB buffers, TCP_NODELAY, TLS if configured, nothing else.
async fn relay(client: TcpStream, upstream: SocketAddr, secure: Option<Secure>) {
    let Some(secure) = secure else {
        let server = TcpStream::connect(upstream).await.expect("the upstream");
        client.set_nodelay(true).expect("nodelay");
        server.set_nodelay(true).expect("nodelay");
        return both(client.into_split(), server.into_split()).await;
    };
    let client = secure::accepted(client, Some(&secure)).await;
    let server = secure::connected(upstream, Some(&secure)).await;
    both(tokio::io::split(client), tokio::io::split(server)).await;
}

async fn both<R, W>(client: (R, W), server: (R, W))
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let there = tokio::spawn(copy(client.0, server.1));
    copy(server.0, client.1).await;
    let _ = there.await;
}

async fn copy(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(read) = from.read(&mut buffer).await {
        // TLS buffers writes until flushed; a socket does not.
        if read == 0 || to.write_all(&buffer[..read]).await.is_err() || to.flush().await.is_err() {
            break;
        }
    }
    let _ = to.shutdown().await;
}

/// Runs an HTTP/2 proxy that forwards DATA frames.
async fn hop(client: TcpStream, upstream: SocketAddr) {
    let server = TcpStream::connect(upstream).await.expect("the upstream");
    client.set_nodelay(true).expect("nodelay");
    server.set_nodelay(true).expect("nodelay");
    let mut builder = h2::server::Builder::new();
    builder.initial_window_size(WINDOW).initial_connection_window_size(WINDOW).max_send_buffer_size(1 << 30);
    let mut down = builder.handshake::<_, Bytes>(client).await.expect("a handshake");
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(WINDOW).initial_connection_window_size(WINDOW).max_send_buffer_size(1 << 30);
    let (sender, connection) = builder.handshake::<_, Bytes>(server).await.expect("a handshake");
    tokio::spawn(connection);
    let sender = Arc::new(tokio::sync::Mutex::new(sender));
    while let Some(Ok((request, mut respond))) = down.accept().await {
        let sender = sender.clone();
        tokio::spawn(async move {
            let (head, body) = request.into_parts();
            let (response, out) = {
                let mut ready = sender.lock().await.clone().ready().await.expect("a connection");
                ready.send_request(http::Request::from_parts(head, ()), false).expect("a request")
            };
            tokio::spawn(pass(body, out));
            let (head, body) = response.await.expect("a response").into_parts();
            let out = respond.send_response(http::Response::from_parts(head, ()), false).expect("headers");
            pass(body, out).await;
        });
    }
}

async fn pass(mut from: RecvStream, mut to: SendStream<Bytes>) {
    while let Some(Ok(chunk)) = from.data().await {
        let _ = from.flow_control().release_capacity(chunk.len());
        if to.send_data(chunk, false).is_err() {
            return;
        }
    }
    match from.trailers().await {
        Ok(Some(trailers)) => drop(to.send_trailers(trailers)),
        _ => drop(to.send_data(Bytes::new(), true)),
    }
}
