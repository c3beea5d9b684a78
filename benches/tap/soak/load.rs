//! The ends of a soak: a control plane, and clients that come and go.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::client::SendRequest;
use h2::server::SendResponse;
use h2::{RecvStream, SendStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::data;
use crate::ends::{DELTA, Incoming, SOTW, WINDOW, runtime, send};

/// Streams of updates: connections with this many streams each.
const CONNECTIONS: u64 = 250;
const STREAMS_PER_CONNECTION: u64 = 4;

/// Time between the updates of a stream.
const UPDATE_INTERVAL: Duration = Duration::from_secs(5);

/// Updates of a stream before it ends and another one follows.
const UPDATES_PER_STREAM: u64 = 12;

/// Streams that follow each other on a connection before the client connects again.
const STREAMS_BEFORE_RECONNECT: u64 = 3;

/// Nodes that come again and again.
const NODES: u64 = 10_000;

/// Clients that refuse each push, and the time between the pushes to one of them.
const REFUSING_CLIENTS: u64 = 5;
const REFUSED_INTERVAL: Duration = Duration::from_millis(100);

/// Clusters of a large push, and the pushes that follow each other.
const PUSHED_CLUSTERS: usize = 100_000;
const LARGE_PUSHES: usize = 3;

/// The header that says what a stream is for.
const ROLE: &str = "x-soak";

/// Counts of both ends of the load.
#[derive(Default)]
pub struct Counts {
    /// Messages that arrived, in both directions.
    pub received: AtomicU64,
    pub streams: AtomicU64,
    pub connections: AtomicU64,
}

impl Counts {
    fn add(counter: &AtomicU64) -> u64 {
        counter.fetch_add(1, Ordering::Relaxed)
    }
}

/// Starts a control plane that lives as long as this process, and returns its address.
pub fn control_plane(counts: Arc<Counts>) -> SocketAddr {
    let (told, address) = mpsc::channel();
    std::thread::spawn(move || {
        runtime().block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            told.send(listener.local_addr().expect("its address")).expect("somebody waits");
            loop {
                // A client may be gone already.
                let Ok((socket, _)) = listener.accept().await else { continue };
                tokio::spawn(serve(socket, counts.clone()));
            }
        });
    });
    address.recv().expect("a server")
}

/// Clients that come and go until they are stopped.
pub struct Clients {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Clients {
    /// Connects clients to `to`.
    pub fn start(to: SocketAddr, counts: Arc<Counts>) -> Clients {
        let stop: Arc<AtomicBool> = Arc::default();
        let client = Client { to, counts, stop: stop.clone() };
        Clients { stop, thread: std::thread::spawn(move || runtime().block_on(client.run_all())) }
    }

    /// Ends all streams.
    pub fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("an end");
    }
}

async fn serve(socket: TcpStream, counts: Arc<Counts>) {
    let mut builder = h2::server::Builder::new();
    builder.initial_window_size(WINDOW).initial_connection_window_size(WINDOW).max_send_buffer_size(1 << 30);
    let Ok(mut connection) = builder.handshake::<_, Bytes>(socket).await else { return };
    while let Some(Ok((request, respond))) = connection.accept().await {
        let counts = counts.clone();
        tokio::spawn(async move { answer(request, respond, &counts).await });
    }
}

/// Serves a stream until one of the ends gives up.
async fn answer(
    request: http::Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    counts: &Counts,
) -> Option<()> {
    let role = request.headers().get(ROLE).and_then(|role| role.to_str().ok()).unwrap_or_default().to_owned();
    let head = http::Response::builder().header("content-type", "application/grpc").body(()).ok()?;
    let mut out = respond.send_response(head, false).ok()?;
    let mut incoming = Incoming::new(request.into_body());
    let mut received = async || {
        incoming.skip().await?;
        Counts::add(&counts.received);
        Some(())
    };
    received().await?;
    match role.as_str() {
        "push" => {
            for version in 1..=LARGE_PUSHES {
                send(&mut out, data::push(PUSHED_CLUSTERS, version, version * 7)).await.ok()?;
            }
            for _ in 0..LARGE_PUSHES {
                received().await?;
            }
        }
        "refuse" => {
            // The client ends the stream.
            for version in 1.. {
                send(&mut out, data::push(1, version, 0)).await.ok()?;
                received().await?;
                sleep(REFUSED_INTERVAL).await;
            }
        }
        _ => {
            let last = if role == "ended-by-server" { UPDATES_PER_STREAM } else { u64::MAX };
            for nonce in 1..=last {
                let version = VERSION.fetch_add(1, Ordering::Relaxed);
                send(&mut out, data::delta_push(version as usize, nonce as usize)).await.ok()?;
                if received().await.is_none() {
                    break;
                }
                sleep(UPDATE_INTERVAL).await;
            }
        }
    }
    let mut trailers = http::HeaderMap::new();
    trailers.insert("grpc-status", http::HeaderValue::from_static("0"));
    out.send_trailers(trailers).ok()
}

/// Number of the next version: no two updates have the same content.
static VERSION: AtomicU64 = AtomicU64::new(1);

/// Receives [`LARGE_PUSHES`] large pushes on a connection of its own. Returns how long that took.
pub fn large_pushes(to: SocketAddr, counts: &Arc<Counts>) -> Duration {
    let client = Client { to, counts: counts.clone(), stop: Arc::default() };
    let start = Instant::now();
    runtime().block_on(async {
        let done = async {
            let (mut sender, connection) = client.connect().await?;
            let driver = tokio::spawn(connection);
            let (mut out, mut incoming) = client.open(&mut sender, SOTW, "push").await?;
            send(&mut out, data::request(data::CLUSTER, 0)).await.ok()?;
            for version in 1..=LARGE_PUSHES {
                client.receive(&mut incoming).await?;
                send(&mut out, data::request(data::CLUSTER, version)).await.ok()?;
            }
            while incoming.skip().await.is_some() {}
            drop((out, incoming, sender));
            driver.await.ok()?.ok()
        };
        done.await.expect("the pushes arrive");
    });
    start.elapsed()
}

#[derive(Clone)]
struct Client {
    to: SocketAddr,
    counts: Arc<Counts>,
    stop: Arc<AtomicBool>,
}

impl Client {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    async fn connect(
        &self,
    ) -> Option<(SendRequest<Bytes>, impl Future<Output = Result<(), h2::Error>> + use<>)> {
        let socket = TcpStream::connect(self.to).await.ok()?;
        socket.set_nodelay(true).ok()?;
        let mut builder = h2::client::Builder::new();
        builder.initial_window_size(WINDOW).initial_connection_window_size(WINDOW);
        Counts::add(&self.counts.connections);
        builder.handshake::<_, Bytes>(socket).await.ok()
    }

    async fn open(
        &self,
        sender: &mut SendRequest<Bytes>,
        path: &str,
        role: &str,
    ) -> Option<(SendStream<Bytes>, Incoming)> {
        let request = http::Request::post(path).header("content-type", "application/grpc").header(ROLE, role);
        let mut ready = sender.clone().ready().await.ok()?;
        let (response, out) = ready.send_request(request.body(()).ok()?, false).ok()?;
        Counts::add(&self.counts.streams);
        // The server answers with headers at once.
        let body = response.await.ok()?.into_body();
        Some((out, Incoming::new(body)))
    }

    async fn receive(&self, incoming: &mut Incoming) -> Option<()> {
        incoming.skip().await?;
        Counts::add(&self.counts.received);
        Some(())
    }

    async fn run_all(self) {
        let mut all = JoinSet::new();
        for number in 0..CONNECTIONS {
            let client = self.clone();
            all.spawn(async move { client.run(number).await });
            // Spread over an update interval.
            sleep(UPDATE_INTERVAL / CONNECTIONS as u32).await;
        }
        for _ in 0..REFUSING_CLIENTS {
            let client = self.clone();
            all.spawn(async move { client.refuse().await.unwrap_or_default() });
        }
        all.join_all().await;
    }

    /// Connects again and again, as another node each time.
    async fn run(&self, number: u64) {
        let mut generation = 0;
        while !self.is_stopped() {
            let node = (number + generation * CONNECTIONS) % NODES;
            generation += 1;
            let Some((sender, connection)) = self.connect().await else {
                sleep(Duration::from_secs(1)).await;
                continue;
            };
            let driver = tokio::spawn(connection);
            let mut streams = JoinSet::new();
            for slot in 0..STREAMS_PER_CONNECTION {
                let (client, sender) = (self.clone(), sender.clone());
                streams.spawn(async move { client.streams(sender, node, slot).await });
            }
            streams.join_all().await;
            drop(sender);
            let _ = driver.await;
        }
    }

    /// Runs streams one after the other. They end in three ways.
    async fn streams(&self, mut sender: SendRequest<Bytes>, node: u64, slot: u64) -> Option<()> {
        for turn in 0..STREAMS_BEFORE_RECONNECT {
            let way = (node + slot + turn) % 3;
            let role = if way == 0 { "ended-by-server" } else { "delta" };
            let (mut out, mut incoming) = self.open(&mut sender, DELTA, role).await?;
            send(&mut out, data::delta_start(node, turn)).await.ok()?;
            for nonce in 1..=UPDATES_PER_STREAM {
                if self.is_stopped() {
                    break;
                }
                self.receive(&mut incoming).await?;
                send(&mut out, data::delta_request(nonce as usize)).await.ok()?;
            }
            match way {
                1 => out.send_reset(h2::Reason::CANCEL),
                _ => drop(out.send_data(Bytes::new(), true)),
            }
            while incoming.skip().await.is_some() {
                Counts::add(&self.counts.received);
            }
        }
        Some(())
    }

    /// Refuses each push.
    async fn refuse(&self) -> Option<()> {
        let (mut sender, connection) = self.connect().await?;
        tokio::spawn(connection);
        let (mut out, mut incoming) = self.open(&mut sender, SOTW, "refuse").await?;
        send(&mut out, data::request(data::CLUSTER, 0)).await.ok()?;
        for version in 1.. {
            if self.is_stopped() {
                return out.send_data(Bytes::new(), true).ok();
            }
            self.receive(&mut incoming).await?;
            send(&mut out, data::refusal(data::CLUSTER, version)).await.ok()?;
        }
        None
    }
}
