//! The two ends: a control plane that pushes, and clients that ACK complete messages.

use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes, BytesMut};
use h2::{RecvStream, SendStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::data;
use crate::secure::{self, Secure};

pub const SOTW: &str =
    "http://cp/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";
pub const DELTA: &str =
    "http://cp/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";

/// Far above the data in flight, so that flow-control windows are not measured.
pub const WINDOW: u32 = 1 << 30;

/// The default window of HTTP/2.
pub const DEFAULT_WINDOW: u32 = 65_535;

/// Returns a runtime of one thread.
pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Number of clients that connect at a time: more would overflow the listener's queue and measure
/// the system's retries.
const CONNECTING: usize = 128;

/// Pace of the pushes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// After the previous ACK.
    Acked,
    /// At these intervals.
    Every(Duration),
    /// Immediately.
    Flood,
}

/// Pushes of each connection and their pace.
#[derive(Clone)]
pub struct Workload {
    pub pushes: Vec<Bytes>,
    pub connections: usize,
    pub pace: Pace,
    pub delta: bool,
    pub window: u32,
}

impl Workload {
    pub fn acked(pushes: Vec<Bytes>) -> Workload {
        Workload { pushes, connections: 1, pace: Pace::Acked, delta: false, window: WINDOW }
    }
}

/// Measurements of a run.
pub struct Times {
    /// Time from each push to its ACK, over all connections.
    pub answers: Vec<Duration>,
    /// Time from the first push to the last ACK.
    pub wall: Duration,
}

/// Reads complete gRPC messages from one direction.
pub struct Incoming {
    stream: RecvStream,
    buffer: BytesMut,
}

impl Incoming {
    pub fn new(stream: RecvStream) -> Incoming {
        Incoming { stream, buffer: BytesMut::new() }
    }

    /// Waits for the next message, drops it and returns its length; `None` if the stream ended.
    pub async fn skip(&mut self) -> Option<usize> {
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
            // A flow-control error means that the stream is over, which the next iteration sees.
            let _ = self.stream.flow_control().release_capacity(chunk.len());
            self.buffer.extend_from_slice(&chunk);
        }
    }
}

pub async fn send(stream: &mut SendStream<Bytes>, message: Bytes) -> Result<(), h2::Error> {
    stream.send_data(message, false)
}

type Job = (Workload, mpsc::Sender<Times>);

/// A control plane that processes workloads.
pub struct Server {
    pub address: SocketAddr,
    secure: Option<Secure>,
    jobs: mpsc::Sender<Job>,
    _thread: JoinHandle<()>,
}

impl Server {
    /// Processes one job at a time, forever.
    pub fn start(secure: Option<Secure>) -> Server {
        let own = secure.clone();
        let (jobs, todo) = mpsc::channel::<Job>();
        let (told, address) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            runtime().block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
                told.send(listener.local_addr().expect("its address")).expect("somebody waits");
                while let Ok((work, done)) = todo.recv() {
                    let times = fleet(&listener, work, own.as_ref()).await;
                    // A caller that timed out has reported already.
                    let _ = done.send(times);
                }
            });
        });
        Server { address: address.recv().expect("a server"), secure, jobs, _thread: thread }
    }

    /// Connects clients to `to` and pushes to them.
    pub fn run(&self, to: SocketAddr, work: Workload) -> Times {
        let (done, times) = mpsc::channel();
        let count = work.pushes.len() * work.connections;
        self.jobs.send((work.clone(), done)).expect("the server lives");
        let secure = self.secure.clone();
        let clients = std::thread::spawn(move || {
            runtime().block_on(async move {
                let mut clients = JoinSet::new();
                let connecting = Arc::new(Semaphore::new(CONNECTING));
                for _ in 0..work.connections {
                    let connecting = connecting.clone();
                    let secure = secure.clone();
                    clients.spawn(client(to, secure, work.pushes.len(), work.delta, work.window, connecting));
                }
                while let Some(end) = clients.join_next().await {
                    end.expect("a client").expect("a clean end");
                }
            })
        });
        let times = times.recv().expect("times");
        clients.join().expect("the clients");
        assert_eq!(times.answers.len(), count, "every push was answered");
        times
    }
}

async fn fleet(listener: &TcpListener, work: Workload, secure: Option<&Secure>) -> Times {
    let mut streams = JoinSet::new();
    for _ in 0..work.connections {
        let (socket, _) = listener.accept().await.expect("a client");
        streams.spawn(serve(socket, secure.cloned(), work.clone()));
    }
    let mut answers = Vec::new();
    let (mut first, mut last) = (None::<Instant>, None::<Instant>);
    while let Some(done) = streams.join_next().await {
        let StreamTimes { start, end, answers: times } = done.expect("a stream");
        first = Some(first.map_or(start, |known| known.min(start)));
        last = Some(last.map_or(end, |known| known.max(end)));
        answers.extend(times);
    }
    let wall = first.zip(last).map_or(Duration::ZERO, |(first, last)| last - first);
    Times { answers, wall }
}

/// Measurements of one connection.
struct StreamTimes {
    /// Time of the first push.
    start: Instant,
    /// Time of the last ACK.
    end: Instant,
    /// Time from each push to its ACK.
    answers: Vec<Duration>,
}

/// Serves one connection.
async fn serve(socket: TcpStream, secure: Option<Secure>, work: Workload) -> StreamTimes {
    let socket = secure::accepted(socket, secure.as_ref()).await;
    let mut builder = h2::server::Builder::new();
    builder
        .initial_window_size(work.window)
        .initial_connection_window_size(work.window)
        .max_send_buffer_size(1 << 30);
    let mut connection = builder.handshake::<_, Bytes>(socket).await.expect("a handshake");
    let (request, mut respond) = connection.accept().await.expect("a request").expect("a good one");
    // The connection is driven concurrently, until the client closes it.
    let driver = tokio::spawn(async move { while connection.accept().await.is_some() {} });
    let response =
        http::Response::builder().header("content-type", "application/grpc").body(()).expect("a head");
    let mut out = respond.send_response(response, false).expect("headers");
    let mut incoming = Incoming::new(request.into_body());
    incoming.skip().await;
    let start = Instant::now();
    let answers = match work.pace {
        Pace::Acked => acked(&mut out, &mut incoming, work.pushes).await,
        Pace::Every(interval) => paced(&mut out, incoming, work.pushes, Some(interval)).await,
        Pace::Flood => paced(&mut out, incoming, work.pushes, None).await,
    };
    let end = Instant::now();
    let mut trailers = http::HeaderMap::new();
    trailers.insert("grpc-status", http::HeaderValue::from_static("0"));
    let _ = out.send_trailers(trailers);
    let _ = driver.await;
    StreamTimes { start, end, answers }
}

async fn acked(out: &mut SendStream<Bytes>, incoming: &mut Incoming, pushes: Vec<Bytes>) -> Vec<Duration> {
    let mut times = Vec::with_capacity(pushes.len());
    for push in pushes {
        let start = Instant::now();
        if send(out, push).await.is_err() || incoming.skip().await.is_none() {
            break;
        }
        times.push(start.elapsed());
    }
    times
}

/// Sends at intervals or at full speed, while ACKs are read concurrently.
async fn paced(
    out: &mut SendStream<Bytes>,
    mut incoming: Incoming,
    pushes: Vec<Bytes>,
    interval: Option<Duration>,
) -> Vec<Duration> {
    let count = pushes.len();
    let answers = tokio::spawn(async move {
        let mut ends = Vec::with_capacity(count);
        while ends.len() < count && incoming.skip().await.is_some() {
            ends.push(Instant::now());
        }
        ends
    });
    let mut clock = interval.map(tokio::time::interval);
    let mut starts = Vec::with_capacity(count);
    for (i, push) in pushes.into_iter().enumerate() {
        match &mut clock {
            Some(clock) => drop(clock.tick().await),
            // Yields, so that the connection can write and ACKs are read.
            None if i % 64 == 0 => tokio::task::yield_now().await,
            None => {}
        }
        starts.push(Instant::now());
        if send(out, push).await.is_err() {
            break;
        }
    }
    let ends = answers.await.expect("the answers");
    starts.iter().zip(&ends).map(|(start, end)| end.duration_since(*start)).collect()
}

async fn client(
    to: SocketAddr,
    secure: Option<Secure>,
    count: usize,
    delta: bool,
    window: u32,
    connecting: Arc<Semaphore>,
) -> Result<(), h2::Error> {
    let turn = connecting.acquire().await.expect("it stays open");
    let socket = secure::connected(to, secure.as_ref()).await;
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(window).initial_connection_window_size(window);
    let (sender, connection) = builder.handshake::<_, Bytes>(socket).await?;
    let driver = tokio::spawn(connection);
    let mut sender = sender.ready().await?;
    let request = http::Request::post(if delta { DELTA } else { SOTW })
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    let say = |version| {
        if delta { data::delta_request(version) } else { data::request(data::type_of(version), version) }
    };
    let (response, mut out) = sender.send_request(request.body(()).expect("a request"), false)?;
    send(&mut out, say(0)).await?;
    let mut incoming = Incoming::new(response.await?.into_body());
    drop(turn);
    for version in 1..=count {
        assert!(incoming.skip().await.is_some(), "push {version} of {count} came");
        send(&mut out, say(version)).await?;
    }
    // After the trailers, everything may close.
    while incoming.skip().await.is_some() {}
    drop((sender, out, incoming));
    let _ = driver.await;
    Ok(())
}
