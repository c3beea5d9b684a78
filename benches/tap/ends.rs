//! The two ends: a control plane that pushes and waits for the ACK, and a client that ACKs what is complete.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes, BytesMut};
use h2::{RecvStream, SendStream};
use tokio::net::{TcpListener, TcpStream};

use crate::data;

const PATH: &str =
    "http://cp/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";

/// Far above what is in flight, so that windows are not what is measured.
pub const WINDOW: u32 = 1 << 30;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Takes whole gRPC messages off one direction.
struct Incoming {
    stream: RecvStream,
    buffer: BytesMut,
}

impl Incoming {
    /// Waits for the next message and drops it; its length. `None`: the stream ended.
    async fn skip(&mut self) -> Option<usize> {
        let mut left: Option<usize> = None;
        loop {
            if left.is_none() && self.buffer.len() >= 5 {
                self.buffer.advance(1);
                left = Some(self.buffer.get_u32() as usize);
            }
            if let Some(left) = &mut left {
                let take = (*left).min(self.buffer.len());
                self.buffer.advance(take);
                *left -= take;
                if *left == 0 {
                    return Some(take);
                }
            }
            let chunk = self.stream.data().await?.ok()?;
            // Flow control errors mean that the stream is over, which the next turn sees.
            let _ = self.stream.flow_control().release_capacity(chunk.len());
            self.buffer.extend_from_slice(&chunk);
        }
    }
}

async fn send(stream: &mut SendStream<Bytes>, message: Bytes) -> Result<(), h2::Error> {
    stream.send_data(message, false)
}

/// What a server is told to push, one message after the ACK of the one before.
pub struct Server {
    pub address: SocketAddr,
    jobs: mpsc::Sender<(Vec<Bytes>, mpsc::Sender<Vec<Duration>>)>,
    _thread: JoinHandle<()>,
}

impl Server {
    /// Serves one connection at a time, for ever.
    pub fn start() -> Server {
        let (jobs, todo) = mpsc::channel::<(Vec<Bytes>, mpsc::Sender<Vec<Duration>>)>();
        let (told, address) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            runtime().block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
                told.send(listener.local_addr().expect("its address")).expect("somebody waits");
                while let Ok((pushes, done)) = todo.recv() {
                    let times = serve(&listener, pushes).await;
                    // Whoever gave up waiting has said so already.
                    let _ = done.send(times);
                }
            });
        });
        Server { address: address.recv().expect("a server"), jobs, _thread: thread }
    }

    /// Lets a client connect to `to` and pushes to it; the time from each push to its ACK.
    pub fn run(&self, to: SocketAddr, pushes: Vec<Bytes>) -> Vec<Duration> {
        let (done, times) = mpsc::channel();
        let count = pushes.len();
        self.jobs.send((pushes, done)).expect("the server lives");
        let client = std::thread::spawn(move || runtime().block_on(client(to, count)));
        let times = times.recv().expect("times");
        client.join().expect("a client").expect("a clean end");
        assert_eq!(times.len(), count, "every push was answered");
        times
    }
}

async fn serve(listener: &TcpListener, pushes: Vec<Bytes>) -> Vec<Duration> {
    let (socket, _) = listener.accept().await.expect("a client");
    socket.set_nodelay(true).expect("nodelay");
    let mut builder = h2::server::Builder::new();
    builder.initial_window_size(WINDOW).initial_connection_window_size(WINDOW).max_send_buffer_size(1 << 30);
    let mut connection = builder.handshake::<_, Bytes>(socket).await.expect("a handshake");
    let (request, mut respond) = connection.accept().await.expect("a request").expect("a good one");
    // The connection is driven beside the work, until the client closes it.
    let driver = tokio::spawn(async move { while connection.accept().await.is_some() {} });
    let response =
        http::Response::builder().header("content-type", "application/grpc").body(()).expect("a head");
    let mut out = respond.send_response(response, false).expect("headers");
    let mut incoming = Incoming { stream: request.into_body(), buffer: BytesMut::new() };
    incoming.skip().await;
    let mut times = Vec::with_capacity(pushes.len());
    for push in pushes {
        let start = Instant::now();
        if send(&mut out, push).await.is_err() || incoming.skip().await.is_none() {
            break;
        }
        times.push(start.elapsed());
    }
    let mut trailers = http::HeaderMap::new();
    trailers.insert("grpc-status", http::HeaderValue::from_static("0"));
    let _ = out.send_trailers(trailers);
    let _ = driver.await;
    times
}

async fn client(to: SocketAddr, count: usize) -> Result<(), h2::Error> {
    let socket = TcpStream::connect(to).await.expect("the hop listens");
    socket.set_nodelay(true).expect("nodelay");
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(WINDOW).initial_connection_window_size(WINDOW);
    let (sender, connection) = builder.handshake::<_, Bytes>(socket).await?;
    let driver = tokio::spawn(connection);
    let mut sender = sender.ready().await?;
    let request =
        http::Request::post(PATH).header("content-type", "application/grpc").header("te", "trailers");
    let (response, mut out) = sender.send_request(request.body(()).expect("a request"), false)?;
    send(&mut out, data::request(0)).await?;
    let mut incoming = Incoming { stream: response.await?.into_body(), buffer: BytesMut::new() };
    for version in 1..=count {
        assert!(incoming.skip().await.is_some(), "push {version} of {count} came");
        send(&mut out, data::request(version)).await?;
    }
    // The trailers; then everything may go.
    while incoming.skip().await.is_some() {}
    drop((sender, out, incoming));
    let _ = driver.await;
    Ok(())
}
