//! Random traffic between two endpoints, and the expected result.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::*;

/// The treatment of a new stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stance {
    Pass,
    Watch,
    WatchThenArm,
    Arm,
}

/// The treatment of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    Now,
    Later,
    Drop,
    Twice,
    Status,
    Reset,
}

pub struct Plan {
    pub seed: u64,
    pub stances: &'static [Stance],
    pub fates: &'static [Fate],
    pub streams: u32,
    /// Longest message in bytes.
    pub max: u64,
    /// Window of a stream in bytes; any if `None`.
    pub window: Option<u32>,
}

/// A small generator of numbers.
#[derive(Clone)]
struct Rng(u64);

impl Rng {
    fn below(&mut self, max: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % max.max(1)
    }
}

/// The bytes of a stream and direction.
type Bodies = BTreeMap<(u32, Dir), Vec<u8>>;

/// The end of a response, as the client sees it.
#[derive(Clone, Debug, PartialEq)]
enum Outcome {
    Status(String, String),
    Reset,
}

#[derive(Default)]
struct Log {
    written: Bodies,
    sent: Bodies,
    received: Bodies,
    outcomes: BTreeMap<u32, Outcome>,
    /// Streams that the splicer ended.
    ended: BTreeMap<u32, Fate>,
    is_altered: bool,
}

pub struct World {
    log: Log,
    seed: u64,
    streams: u32,
    pub bytes_in: [Vec<u8>; 2],
    pub bytes_out: [Vec<u8>; 2],
}

type Shared = Arc<Mutex<Log>>;

fn framed(rng: &mut Rng, max: u64) -> Vec<u8> {
    let len = match rng.below(4) {
        0 => 0,
        1 => rng.below(100),
        2 => rng.below(5_000),
        _ => rng.below(max),
    } as usize;
    let first = rng.below(251) as usize;
    let body: Vec<u8> = (0..len).map(|i| ((i + first) % 251) as u8).collect();
    [&[0][..], &(len as u32).to_be_bytes(), &body].concat()
}

impl World {
    pub fn run(plan: Plan) -> World {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let time = Duration::from_secs(60);
        runtime.block_on(async { tokio::time::timeout(time, play(plan)).await.expect("the traffic ends") })
    }

    /// Checks that every stream got what was sent, and its own end.
    pub fn check(&self) {
        let empty = Vec::new();
        for n in 0..self.streams {
            let stream = 1 + 2 * n;
            let kind = n % 4;
            let ended = self.log.ended.get(&stream);
            for dir in Dir::ALL {
                let sent = self.log.sent.get(&(stream, dir)).unwrap_or(&empty);
                let received = self.log.received.get(&(stream, dir)).unwrap_or(&empty);
                let place = format!("seed {} stream {stream} {dir:?}", self.seed);
                if kind == 2 || ended.is_some() || kind == 1 && dir == Dir::Req {
                    assert!(sent.starts_with(received), "{place}: a prefix");
                } else {
                    assert!(sent == received, "{place}: {} of {} bytes", received.len(), sent.len());
                    let written = &self.log.written[&(stream, dir)];
                    assert!(self.log.is_altered || written == sent, "{place}: all that was written");
                }
            }
            let outcome = self.log.outcomes.get(&stream);
            match (ended, kind) {
                (Some(Fate::Status), 0 | 1 | 3) => {
                    assert_eq!(outcome, Some(&Outcome::Status("14".into(), "not%20now".into())));
                }
                (Some(_), 0 | 1 | 3) => assert_eq!(outcome, Some(&Outcome::Reset)),
                (None, 0 | 1 | 3) => {
                    let wanted = Outcome::Status("0".into(), format!("stream {n}"));
                    assert_eq!(outcome, Some(&wanted), "seed {} stream {stream}", self.seed);
                }
                _ => {}
            }
        }
    }
}

async fn play(Plan { seed, stances, fates, streams, max, window }: Plan) -> World {
    let mut rng = Rng(seed);
    let (client, client_end) = tokio::io::duplex(1 + rng.below(40_000) as usize);
    let (server, server_end) = tokio::io::duplex(1 + rng.below(40_000) as usize);
    let log = Shared::default();
    let splice = tokio::spawn(splice(client_end, server_end, (rng.clone(), stances, fates), log.clone()));
    let serving = tokio::spawn(serve(server, (rng.clone(), max, window), log.clone()));
    request(client, (rng, max, window), streams, log.clone()).await;
    serving.await.expect("the server");
    let (bytes_in, bytes_out) = splice.await.expect("the splicer");
    let log = std::mem::take(&mut *log.lock().expect("a log"));
    World { log, seed, streams, bytes_in, bytes_out }
}

async fn receive(body: &mut h2::RecvStream, place: (u32, Dir), log: &Shared) -> Result<(), h2::Error> {
    while let Some(bytes) = body.data().await {
        let bytes = bytes?;
        log.lock().expect("a log").received.entry(place).or_default().extend_from_slice(&bytes);
        body.flow_control().release_capacity(bytes.len())?;
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// Writes messages in pieces. `None`: the stream was reset.
async fn send(
    out: &mut h2::SendStream<Bytes>,
    (rng, max): (&mut Rng, u64),
    place: (u32, Dir),
    log: &Shared,
) -> Option<()> {
    log.lock().expect("a log").written.entry(place).or_default();
    for _ in 0..1 + rng.below(5) {
        let bytes = framed(rng, max);
        log.lock().expect("a log").written.entry(place).or_default().extend_from_slice(&bytes);
        let mut rest = Bytes::from(bytes);
        while !rest.is_empty() {
            let part = rest.split_to(rest.len().min(1 + rng.below(60_000) as usize));
            out.send_data(part, false).ok()?;
            tokio::task::yield_now().await;
        }
    }
    Some(())
}

async fn request(
    io: DuplexStream,
    (mut rng, max, window): (Rng, u64, Option<u32>),
    streams: u32,
    log: Shared,
) {
    let mut builder = h2::client::Builder::new();
    let any = 1 + rng.below(70_000) as u32;
    builder.initial_window_size(window.unwrap_or(any)).initial_connection_window_size(65_535);
    let (mut requests, connection) = builder.handshake(io).await.expect("a handshake");
    let driving = tokio::spawn(connection);
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..streams {
        requests = requests.ready().await.expect("a connection");
        let request = http::Request::post(format!("https://cp/{n}"))
            .header("content-type", "application/grpc")
            .header("x-number", n)
            .header("x-long", "same ".repeat(20))
            .body(())
            .expect("a request");
        let (response, mut out) = requests.send_request(request, false).expect("a stream");
        let (mut rng, log) = (Rng(rng.0 ^ u64::from(n)), log.clone());
        calls.spawn(async move {
            let stream = 1 + 2 * n;
            let sending = async {
                if send(&mut out, (&mut rng, max), (stream, Dir::Req), &log).await.is_some() {
                    match n % 4 {
                        // The server ends the stream first.
                        1 => return Some(out),
                        2 => out.send_reset(h2::Reason::CANCEL),
                        _ => drop(out.send_data(Bytes::new(), true)),
                    }
                }
                None
            };
            let receiving = async {
                let response = response.await?;
                let number = response.headers().get("x-number").map(|number| number.to_str());
                if let Some(number) = number {
                    assert_eq!(number.ok(), Some(&*n.to_string()), "the response of the stream");
                }
                let only = response.headers().clone();
                let mut body = response.into_body();
                receive(&mut body, (stream, Dir::Resp), &log).await?;
                let trailers = body.trailers().await?.unwrap_or(only);
                let text = |name: &str| {
                    let value = trailers.get(name).and_then(|value| value.to_str().ok());
                    value.unwrap_or_default().to_owned()
                };
                Ok::<_, h2::Error>(Outcome::Status(text("grpc-status"), text("grpc-message")))
            };
            let (open, outcome) = tokio::join!(sending, receiving);
            drop(open);
            log.lock().expect("a log").outcomes.insert(stream, outcome.unwrap_or(Outcome::Reset));
        });
    }
    while let Some(call) = calls.join_next().await {
        call.expect("a call");
    }
    drop(requests);
    driving.await.expect("the connection").expect("an orderly end");
}

async fn serve(io: DuplexStream, (mut rng, max, window): (Rng, u64, Option<u32>), log: Shared) {
    let mut builder = h2::server::Builder::new();
    let any = 1 + rng.below(70_000) as u32;
    builder.initial_window_size(window.unwrap_or(any)).initial_connection_window_size(65_535);
    let mut connection: h2::server::Connection<_, Bytes> = builder.handshake(io).await.expect("a handshake");
    let mut calls = tokio::task::JoinSet::new();
    while let Some(request) = connection.accept().await {
        let (request, mut respond) = request.expect("a request");
        let number: u32 = request.uri().path()[1..].parse().expect("a number");
        assert_eq!(request.headers()["x-number"].to_str().ok(), Some(&*number.to_string()));
        assert_eq!(request.headers()["x-long"].len(), 100);
        let (mut rng, log) = (Rng(rng.0 ^ 7 ^ u64::from(number)), log.clone());
        calls.spawn(async move {
            let stream = 1 + 2 * number;
            let response = http::Response::builder()
                .header("content-type", "application/grpc")
                .header("x-number", number)
                .body(())
                .expect("a response");
            let mut body = request.into_body();
            let Ok(mut out) = respond.send_response(response, false) else { return };
            // A server that ends a stream first does not wait for the end of the request.
            if number % 4 == 1 {
                let reading = async {
                    let _ = receive(&mut body, (stream, Dir::Req), &log).await;
                };
                let answering = send(&mut out, (&mut rng, max), (stream, Dir::Resp), &log);
                tokio::pin!(reading, answering);
                tokio::select! {
                    () = &mut reading => drop(answering.await),
                    _ = &mut answering => {}
                }
            } else {
                let place = (stream, Dir::Resp);
                let sending = send(&mut out, (&mut rng, max), place, &log);
                let _ = tokio::join!(sending, receive(&mut body, (stream, Dir::Req), &log));
            }
            let mut trailers = http::HeaderMap::new();
            trailers.insert("grpc-status", "0".parse().expect("a value"));
            trailers.insert("grpc-message", format!("stream {number}").parse().expect("a value"));
            let _ = out.send_trailers(trailers);
            // A server that drops a stream resets the stream, and `h2` may drop buffered DATA then.
            let _ = receive(&mut body, (stream, Dir::Req), &log).await;
        });
    }
    while calls.join_next().await.is_some() {}
}

/// Messages of one stream and direction that wait, with their fates.
type Lanes = BTreeMap<(u32, Dir), VecDeque<(SplicedMessage, Fate)>>;

struct Caller {
    splicer: Splicer,
    rng: Rng,
    stances: &'static [Stance],
    fates: &'static [Fate],
    lanes: Lanes,
    log: Shared,
    /// Streams that pass: their bytes are not counted.
    passing: Vec<u32>,
    /// Streams that are armed once their first request is complete. Their bytes pass if they end
    /// before.
    undecided: Vec<u32>,
}

impl Caller {
    fn event(&mut self, event: SpliceEvent) {
        match event {
            SpliceEvent::Opened { stream, head } => {
                assert_eq!(head.path, format!("/{}", (stream - 1) / 2));
                match self.stances[self.rng.below(self.stances.len() as u64) as usize] {
                    Stance::Pass => self.passing.push(stream),
                    Stance::Arm => self.splicer.arm(stream),
                    Stance::Watch => {
                        self.passing.push(stream);
                        self.splicer.watch(stream);
                    }
                    Stance::WatchThenArm => {
                        self.undecided.push(stream);
                        self.splicer.watch(stream);
                    }
                }
            }
            SpliceEvent::FirstRequest { message } if self.passing.contains(&message.stream) => {
                self.splicer.pass(message.stream);
            }
            SpliceEvent::FirstRequest { message } => {
                self.undecided.retain(|stream| *stream != message.stream);
                self.splicer.arm(message.stream);
            }
            SpliceEvent::Message { message } => {
                // A first message that is too long to wait for arms its stream.
                self.passing.retain(|stream| *stream != message.stream);
                self.undecided.retain(|stream| *stream != message.stream);
                let fate = self.fates[self.rng.below(self.fates.len() as u64) as usize];
                let lane = self.lanes.entry((message.stream, message.dir)).or_default();
                lane.push_back((message.clone(), fate));
                if fate != Fate::Later {
                    self.release((message.stream, message.dir), false);
                }
            }
            SpliceEvent::TooLong { stream, bytes } => panic!("{bytes} bytes are allowed on stream {stream}"),
            SpliceEvent::Ended { stream } => self.lanes.retain(|(of, _), _| *of != stream),
            SpliceEvent::Paused => {}
        }
    }

    /// Decides about the first messages of a lane, up to one that waits.
    fn release(&mut self, lane: (u32, Dir), with_later: bool) {
        let mut with_later = with_later;
        while let Some((message, fate)) = self.lanes.get_mut(&lane).and_then(VecDeque::pop_front) {
            if fate == Fate::Later && !with_later {
                let lane = self.lanes.entry(lane).or_default();
                return lane.push_front((message, fate));
            }
            with_later = false;
            let times = match fate {
                Fate::Now | Fate::Later => 1,
                Fate::Twice => 2,
                Fate::Drop => 0,
                Fate::Status | Fate::Reset => {
                    let has_ended = match fate {
                        Fate::Status => self.splicer.end_with_status(message.stream, 14, "not%20now"),
                        _ => self.splicer.reset(message.stream, 2),
                    };
                    if has_ended {
                        self.log.lock().expect("a log").ended.insert(message.stream, fate);
                    }
                    0
                }
            };
            let mut log = self.log.lock().expect("a log");
            log.is_altered |= times != 1;
            for _ in 0..times {
                if self.splicer.send(&message) {
                    let sent = log.sent.entry((message.stream, message.dir)).or_default();
                    sent.push(0);
                    sent.extend_from_slice(&(message.bytes.len() as u32).to_be_bytes());
                    sent.extend_from_slice(&message.bytes);
                }
            }
            drop(log);
            self.splicer.settle(&message);
        }
    }
}

type Both = [Vec<u8>; 2];

async fn splice(
    client: DuplexStream,
    server: DuplexStream,
    (rng, stances, fates): (Rng, &'static [Stance], &'static [Fate]),
    log: Shared,
) -> (Both, Both) {
    let splicer = Splicer::new(None, 1 << 20);
    let (lanes, passing, undecided) = (Lanes::new(), Vec::new(), Vec::new());
    let mut caller = Caller { splicer, rng, stances, fates, lanes, log, passing, undecided };
    let (mut from_client, mut to_client) = tokio::io::split(client);
    let (mut from_server, mut to_server) = tokio::io::split(server);
    let (mut all_in, mut all_out) = (Both::default(), Both::default());
    let mut queues = [VecDeque::new(), VecDeque::new()];
    let mut buffers = [vec![0; 64 << 10], vec![0; 64 << 10]];
    let mut open = [true; 2];
    while open[0] || open[1] || !queues[0].is_empty() || !queues[1].is_empty() {
        let [requests, responses] = &mut buffers;
        let size = 1 + caller.rng.below(20_000) as usize;
        let read = tokio::select! {
            read = from_client.read(&mut requests[..size]), if open[0] && queues[0].is_empty() => {
                Some((Dir::Req, read.expect("the client")))
            }
            read = from_server.read(&mut responses[..size]), if open[1] && queues[1].is_empty() => {
                Some((Dir::Resp, read.unwrap_or(0)))
            }
            sent = write(&mut to_server, &queues[0]), if !queues[0].is_empty() => {
                advance(&mut queues[0], sent, &mut all_out[0]);
                None
            }
            sent = write(&mut to_client, &queues[1]), if !queues[1].is_empty() => {
                advance(&mut queues[1], sent, &mut all_out[1]);
                None
            }
            () = tokio::time::sleep(Duration::from_millis(1)), if !caller.lanes.is_empty() => None,
        };
        if let Some((dir, len)) = read {
            let bytes = &buffers[index(dir)][..len];
            all_in[index(dir)].extend_from_slice(bytes);
            open[index(dir)] = len > 0;
            caller.splicer.push(dir, Bytes::copy_from_slice(bytes));
            while let Some(event) = caller.splicer.next_event(dir).expect("HTTP/2") {
                caller.event(event);
                caller.splicer.streams.check_totals();
            }
        }
        let lanes: Vec<_> =
            caller.lanes.iter().filter(|(_, lane)| !lane.is_empty()).map(|(at, _)| *at).collect();
        caller.lanes.retain(|_, lane| !lane.is_empty());
        if let Some(lane) = lanes.get(caller.rng.below(lanes.len() as u64 * 3) as usize) {
            caller.release(*lane, true);
        }
        for dir in Dir::ALL {
            queues[index(dir)].extend(caller.splicer.take_output(dir));
        }
        if !open[0] && queues[0].is_empty() {
            let _ = to_server.shutdown().await;
        }
        if !open[1] && queues[1].is_empty() {
            let _ = to_client.shutdown().await;
        }
    }
    assert_eq!(Dir::ALL.map(|dir| caller.splicer.buffered(dir)), [0, 0], "nothing is left");
    let mut log = caller.log.lock().expect("a log");
    for stream in caller.passing.iter().chain(&caller.undecided) {
        for dir in Dir::ALL {
            if let Some(written) = log.written.get(&(*stream, dir)).cloned() {
                log.sent.insert((*stream, dir), written);
            }
        }
    }
    drop(log);
    (all_in, all_out)
}

async fn write(to: &mut tokio::io::WriteHalf<DuplexStream>, queue: &VecDeque<Bytes>) -> usize {
    match queue.front() {
        // An end that is gone reads nothing more.
        Some(first) => to.write(first).await.unwrap_or(first.len()),
        None => 0,
    }
}

fn advance(queue: &mut VecDeque<Bytes>, sent: usize, all: &mut Vec<u8>) {
    if let Some(first) = queue.front_mut() {
        all.extend_from_slice(&first.split_to(sent));
        if first.is_empty() {
            queue.pop_front();
        }
    }
}
