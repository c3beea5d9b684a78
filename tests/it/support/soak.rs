//! A control plane that pushes without end, and clients that come and go.
//!
//! The node ids of one half of the streams begin with `odd-`, those of the other half with `even-`.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_stream::StreamExt;
use tonic::transport::Endpoint;
use tonic::transport::server::TcpIncoming;
use tonic::{Code, Status, Streaming};
use xdscope::net::rpc;
use xdscope_wire::pb::{Fields, put_len_field};

use super::grpc_server::{Handler, Responses, Streams};
use super::snapshot::{CLUSTER, ENDPOINTS, LISTENER, ROUTE};

/// Connections at a time, with one stream each.
const CLIENTS: u64 = 40;

/// Nodes of each client, which come again and again.
const NODES_PER_CLIENT: u64 = 50;

/// Responses of a stream before its client leaves it, and before the control plane ends it.
const RESPONSES_PER_CLIENT: u64 = 60;
const RESPONSES_PER_PLANE: u64 = 80;

/// Pause of the control plane before it answers an ACK or NACK with the next push.
const PUSH_INTERVAL: Duration = Duration::from_millis(150);

/// Time without a response after which a client leaves its stream: a fault has dropped a message.
const PATIENCE: Duration = Duration::from_secs(2);

/// Time before a client connects again.
const RECONNECT_INTERVAL: Duration = Duration::from_millis(50);

/// Names of each type that a push is about.
const NAMES: u64 = 500;

const SOTW: &str = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";
const DELTA: &str = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";
const TYPES: [&str; 4] = [CLUSTER, ENDPOINTS, LISTENER, ROUTE];

/// A control plane and clients of a tap, which run until [`Load::stop`].
pub struct Load {
    stopped: Arc<AtomicBool>,
    /// Responses that arrived at clients.
    received: Arc<AtomicU64>,
    clients: Option<JoinHandle<()>>,
}

/// Starts a control plane that runs as long as this process, and returns its address.
pub fn control_plane() -> SocketAddr {
    let (send, address) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        runtime().block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            send.send(listener.local_addr().expect("its address")).expect("a caller");
            let served = tonic::transport::Server::builder()
                .serve_with_incoming(Streams::new(Pushes), TcpIncoming::from(listener))
                .await;
            served.expect("a server");
        });
    });
    address.recv().expect("an address")
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

impl Load {
    /// Starts clients of the tap at `tap`.
    pub fn start(tap: SocketAddr) -> Load {
        let (stopped, received) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let client = Client { tap, stopped: stopped.clone(), received: received.clone() };
        let run = move || {
            runtime().block_on(async {
                let clients = (0..CLIENTS).map(|number| tokio::spawn(client.clone().run(number)));
                for client in clients.collect::<Vec<_>>() {
                    client.await.expect("a client");
                }
            });
        };
        Load { stopped, received, clients: Some(std::thread::spawn(run)) }
    }

    /// Returns the number of responses that arrived at clients.
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Ends all streams.
    pub fn stop(mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        if let Some(clients) = self.clients.take() {
            clients.join().expect("an end");
        }
    }
}

/// Pushes a changed resource, of a type after the other, whenever the client answers.
struct Pushes;

impl Handler for Pushes {
    fn stream(
        &self,
        path: &str,
        mut requests: Streaming<Bytes>,
        responses: Responses,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let is_delta = path == DELTA;
        Box::pin(async move {
            for number in 1..=RESPONSES_PER_PLANE {
                let Some(Ok(_)) = requests.next().await else { return };
                sleep(PUSH_INTERVAL).await;
                if responses.send(Ok(push(is_delta, number))).await.is_err() {
                    return;
                }
            }
            // The client may be gone.
            let _ = responses.send(Err(Status::new(Code::Unavailable, "the server restarts"))).await;
        })
    }
}

/// Number of the next version: no two pushes have the same content.
static VERSION: AtomicU64 = AtomicU64::new(1);

fn type_of(number: u64) -> &'static str {
    TYPES[(number % TYPES.len() as u64) as usize]
}

/// Returns a push of one resource.
fn push(is_delta: bool, number: u64) -> Bytes {
    let version = VERSION.fetch_add(1, Ordering::Relaxed);
    let (kind, name) = (type_of(number), format!("resource-{}", version % NAMES));
    let (mut value, mut any) = (Vec::new(), Vec::new());
    put_len_field(&mut value, 1, name.as_bytes());
    // A field that no type has: unknown content of a usual size.
    put_len_field(&mut value, 1000, format!("{version:0>300}").as_bytes());
    put_len_field(&mut any, 1, kind.as_bytes());
    put_len_field(&mut any, 2, &value);
    let (version, nonce) = (version.to_string(), format!("nonce-{version}"));
    let mut body = Vec::new();
    put_len_field(&mut body, 1, version.as_bytes());
    if is_delta {
        let mut resource = Vec::new();
        put_len_field(&mut resource, 1, version.as_bytes());
        put_len_field(&mut resource, 2, &any);
        put_len_field(&mut resource, 3, name.as_bytes());
        put_len_field(&mut body, 2, &resource);
    } else {
        put_len_field(&mut body, 2, &any);
    }
    put_len_field(&mut body, 4, kind.as_bytes());
    put_len_field(&mut body, 5, nonce.as_bytes());
    body.into()
}

/// Returns a text field of a message; empty if the message does not have it.
fn text_of(message: &[u8], number: u32) -> String {
    let fields = Fields::new(message).map_while(Result::ok);
    fields
        .filter(|field| field.number == number)
        .last()
        .map(|field| field.text().into_owned())
        .unwrap_or_default()
}

/// Returns the answer to a response; a NACK with an error.
fn answer(is_delta: bool, response: &[u8], is_accepted: bool) -> Bytes {
    let (nonce, kind) = if is_delta { (6, 2) } else { (5, 4) };
    let mut body = Vec::new();
    if !is_delta && is_accepted {
        put_len_field(&mut body, 1, text_of(response, 1).as_bytes());
    }
    put_len_field(&mut body, kind, text_of(response, 4).as_bytes());
    put_len_field(&mut body, nonce, text_of(response, 5).as_bytes());
    if !is_accepted {
        let mut error = vec![8, 13];
        put_len_field(&mut error, 2, b"duplicate listener");
        put_len_field(&mut body, if is_delta { 7 } else { 6 }, &error);
    }
    body.into()
}

/// Returns the first request of a stream for a type.
fn subscription(is_delta: bool, node: &str, kind: &str) -> Bytes {
    let (mut id, mut body) = (Vec::new(), Vec::new());
    put_len_field(&mut id, 1, node.as_bytes());
    put_len_field(&mut id, 2, b"soak");
    put_len_field(&mut body, if is_delta { 1 } else { 2 }, &id);
    put_len_field(&mut body, if is_delta { 2 } else { 4 }, kind.as_bytes());
    body.into()
}

#[derive(Clone)]
struct Client {
    tap: SocketAddr,
    stopped: Arc<AtomicBool>,
    received: Arc<AtomicU64>,
}

impl Client {
    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Connects again and again, as one of the nodes of the client.
    async fn run(self, number: u64) {
        let mut turn = 0;
        while !self.is_stopped() {
            let half = if number.is_multiple_of(2) { "even" } else { "odd" };
            let node = format!("{half}-{}", number + CLIENTS * (turn % NODES_PER_CLIENT));
            // Faults end streams in many ways.
            let _ = self.stream(&node, !(number / 2).is_multiple_of(4), turn).await;
            turn += 1;
            sleep(RECONNECT_INTERVAL).await;
        }
    }

    /// Runs one stream on a connection of its own: answers each response.
    async fn stream(&self, node: &str, is_delta: bool, turn: u64) -> Option<()> {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.tap)).ok()?;
        let channel = timeout(PATIENCE, endpoint.connect()).await.ok()?.ok()?;
        let (send, requests) = mpsc::channel(2 * TYPES.len());
        for kind in TYPES {
            send.send(subscription(is_delta, node, kind)).await.ok()?;
        }
        let path = if is_delta { DELTA } else { SOTW };
        let mut responses = timeout(PATIENCE, rpc::open(channel, path, requests)).await.ok()?.ok()?;
        for number in 0..RESPONSES_PER_CLIENT + turn % 40 {
            if self.is_stopped() {
                break;
            }
            let response = timeout(PATIENCE, responses.message()).await.ok()?.ok()??;
            self.received.fetch_add(1, Ordering::Relaxed);
            send.send(answer(is_delta, &response, number % 10 != 9)).await.ok()?;
        }
        // Every other stream ends in order, the others with a reset.
        if turn.is_multiple_of(2) {
            drop(send);
            let _ = timeout(PATIENCE, responses.message()).await;
        }
        Some(())
    }
}
