//! A source of the target size: resources, streams, and continuing messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use xdscope::app::live::{Decoding, Live};
use xdscope::app::live_state::LiveState;
use xdscope::app::tap::meaning;
use xdscope::net::tap::CopyQueue;
use xdscope_engine::analysis::{Analysis, bounded};
use xdscope_engine::store::{Options, Store};
use xdscope_schema::Schema;
use xdscope_schema::redact::Redactor;
use xdscope_sources::observe::Pipeline;
use xdscope_wire::content::{Catalog, MemoryBodies, Redact};
use xdscope_wire::event::Dir;
use xdscope_wire::pb::{put_len_field, put_tag, put_varint};

use crate::clusters::{self, CLUSTER, any, cluster, grpc, message, text};
use crate::wire::{Wire, chunks};

const LISTENER: &str = "type.googleapis.com/envoy.config.listener.v3.Listener";
const ROUTES: &str = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration";
const ENDPOINTS: &str = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";
/// Number of names in the EDS and RDS subscriptions of each stream.
const NAMES: usize = 10;
/// Number of clusters of a stream without a wildcard.
const FEW: usize = 200;
/// Maximum queue of unprocessed messages while the source is filled.
const AHEAD: u64 = 20_000;

/// Size of the fleet.
#[derive(Clone, Copy)]
pub struct Size {
    pub resources: usize,
    pub streams: usize,
    pub messages: u64,
}

/// The delta stream with all clusters.
pub const DELTA: usize = 0;
/// The state-of-the-world stream with all clusters.
pub const SOTW: usize = 1;

pub struct Fleet {
    pub shared: Arc<LiveState>,
    pub size: Size,
    copies: Arc<CopyQueue>,
    _live: Live,
    sent: Arc<AtomicU64>,
    all: [Vec<Bytes>; 2],
}

/// Returns the name of cluster `i`.
fn name(i: usize) -> String {
    format!("outbound|{}||service-{i:06}.ns-{}", 8000 + i % 100, i % 37)
}

fn endpoints(i: usize, version: u64) -> Vec<u8> {
    let mut socket = text(2, &format!("10.{}.{}.{}", version >> 16 & 255, version >> 8 & 255, version & 255));
    put_tag(&mut socket, 3, 0);
    put_varint(&mut socket, 8080);
    let inner = message(2, &message(1, &message(1, &message(1, &socket))));
    any(ENDPOINTS, &[text(1, &name(i)), message(2, &inner)].concat())
}

/// Returns a SotW request: with names, as an ACK of a push, or with an error as a NACK.
fn request(url: &str, names: &[String], answers: Option<u64>, error: Option<&str>) -> Bytes {
    let mut body = Vec::new();
    if let (Some(version), None) = (answers, error) {
        body.extend(text(1, &version.to_string()));
    }
    names.iter().for_each(|name| body.extend(text(3, name)));
    body.extend(text(4, url));
    if let Some(version) = answers {
        body.extend(text(5, &format!("nonce-{version}")));
    }
    if let Some(error) = error {
        put_len_field(&mut body, 6, &[vec![8, 3], text(2, error)].concat());
    }
    grpc(&body)
}

fn with_node(request: &[u8], node: &str) -> Bytes {
    let node = [text(1, node), text(2, "bench")].concat();
    grpc(&[message(2, &node), request.get(5..).unwrap_or_default().to_vec()].concat())
}

fn delta_push(version: u64, clusters: impl Iterator<Item = (usize, u64)>) -> Bytes {
    let mut body = text(1, &version.to_string());
    for (i, timeout) in clusters {
        let resource =
            [text(1, &format!("v{version}")), message(2, &cluster(i, timeout)), text(3, &name(i))].concat();
        put_len_field(&mut body, 2, &resource);
    }
    body.extend(text(4, CLUSTER));
    body.extend(text(5, &format!("{version:08x}")));
    grpc(&body)
}

fn delta_ack(version: u64) -> Bytes {
    grpc(&[text(2, CLUSTER), text(6, &format!("{version:08x}"))].concat())
}

impl Fleet {
    /// Fills a source through the analysis of a tap.
    pub fn new(size: Size, schema: &Arc<Schema>) -> Fleet {
        let copies = Arc::new(CopyQueue::new(usize::MAX));
        let redactor = Arc::new(Redactor::new(schema.clone(), 1));
        let catalog = || Catalog::new(1, Some(redactor.clone()), Box::new(MemoryBodies::default()));
        let (decoded, read) = (catalog(), catalog());
        let mut store = Store::new(read, copies.clock(), Options::default());
        store.set_meaning(meaning(schema.clone()));
        let store = Analysis::new(store, bounded(schema));
        let pipeline =
            Pipeline::new(move |name, value| redactor.metadata(name, value)).with_rest(schema.clone());
        let decoding =
            Decoding { pipeline, catalog: decoded, recorder: None, budget: usize::MAX, spool: None };
        let live = Live::start(copies.clone(), store, decoding, None).expect("a thread");
        let push = |version, changed| chunks(SOTW, &clusters::push(size.resources, version, changed));
        let all = [push(1, 0), push(2, size.resources / 2)];
        let (shared, sent) = (live.shared.clone(), Arc::new(AtomicU64::new(0)));
        let fleet = Fleet { shared, size, copies, _live: live, sent, all };
        fleet.begin();
        fleet.settle();
        let mut updates = fleet.updates();
        while fleet.sent.load(Ordering::Relaxed) < size.messages {
            updates.send(1000);
            while fleet.behind() > AHEAD {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        fleet.settle();
        fleet
    }

    fn behind(&self) -> u64 {
        self.sent.load(Ordering::Relaxed).saturating_sub(self.shared.store().messages())
    }

    /// Waits until all messages are processed.
    pub fn settle(&self) {
        while self.behind() > 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Opens the streams with their first messages: some send a NACK, some get less than they
    /// request.
    fn begin(&self) {
        let wire = Wire(self.copies.clone());
        let say = |stream: usize, dir: Dir, grpc: &[u8]| {
            wire.send(stream, dir, grpc);
            self.sent.fetch_add(1, Ordering::Relaxed);
        };
        wire.open(DELTA, "DeltaAggregatedResources");
        let subscribe = [text(2, CLUSTER), text(3, "*")].concat();
        let node = message(1, &[text(1, "router-000000"), text(2, "bench")].concat());
        say(DELTA, Dir::Req, &grpc(&[node, subscribe].concat()));
        say(DELTA, Dir::Resp, &delta_push(1, (0..self.size.resources).map(|i| (i, 5))));
        say(DELTA, Dir::Req, &delta_ack(1));
        let few: Vec<Vec<u8>> = (0..FEW).map(|i| cluster(i, 5)).collect();
        let few = clusters::response(CLUSTER, 1, &few);
        for stream in 1..self.size.streams {
            wire.open(stream, "StreamAggregatedResources");
            let first = request(CLUSTER, &[], None, None);
            say(stream, Dir::Req, &with_node(&first, &format!("sidecar-{stream:06}")));
            if stream == SOTW {
                self.push(0);
            } else {
                say(stream, Dir::Resp, &few);
            }
            let refuses = stream % 25 == 7;
            let why = refuses.then_some("outbound|8003||service-000003.ns-3: no such TLS context");
            say(stream, Dir::Req, &request(CLUSTER, &[], Some(1), why));
            say(stream, Dir::Req, &request(LISTENER, &[], None, None));
            let listener = |i| any(LISTENER, &text(1, &format!("0.0.0.0_{}", 8000 + i)));
            say(stream, Dir::Resp, &clusters::response(LISTENER, 1, (0..5).map(listener)));
            say(stream, Dir::Req, &clusters::request(LISTENER, 1));
            let routes: Vec<String> = (0..NAMES).map(|i| format!("route-{i:02}")).collect();
            let route = |name: &String| any(ROUTES, &text(1, name));
            say(stream, Dir::Req, &request(ROUTES, &routes, None, None));
            say(stream, Dir::Resp, &clusters::response(ROUTES, 1, routes.iter().map(route)));
            say(stream, Dir::Req, &request(ROUTES, &routes, Some(1), None));
            let names = asked(stream);
            let misses = usize::from(stream % 40 == 9);
            say(stream, Dir::Req, &request(ENDPOINTS, &names, None, None));
            let sent = (0..NAMES - misses).map(|i| endpoints(first_of(stream) + i, 0));
            say(stream, Dir::Resp, &clusters::response(ENDPOINTS, 1, sent));
            say(stream, Dir::Req, &request(ENDPOINTS, &names, Some(1), None));
        }
    }

    /// Pushes all clusters again on [`SOTW`], one of them changed.
    pub fn push(&self, turn: usize) {
        Wire(self.copies.clone()).send_chunks(SOTW, Dir::Resp, &self.all[turn % 2]);
        self.sent.fetch_add(1, Ordering::Relaxed);
    }

    fn updates(&self) -> Updates {
        let wire = Wire(self.copies.clone());
        let versions = vec![1; self.size.streams];
        Updates { wire, size: self.size, versions, sent: self.sent.clone(), round: 0 }
    }

    /// Sends messages at a rate per second, until dropped.
    pub fn traffic(&self, rate: u64) -> Traffic {
        let (mut updates, stop) = (self.updates(), Arc::new(AtomicBool::new(false)));
        let base = 1 + self.shared.store().messages();
        updates.versions.fill(base);
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let (start, mut sent) = (Instant::now(), 0);
            while !stopped.load(Ordering::Relaxed) {
                let due = start.elapsed().as_millis() as u64 * rate / 1000;
                updates.send(due.saturating_sub(sent));
                sent = sent.max(due);
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        Traffic { stop, thread: Some(thread) }
    }
}

fn first_of(stream: usize) -> usize {
    stream * 7 % (FEW - NAMES)
}

fn asked(stream: usize) -> Vec<String> {
    (first_of(stream)..first_of(stream) + NAMES).map(name).collect()
}

/// Updates with their ACKs, stream after stream.
struct Updates {
    wire: Wire,
    size: Size,
    versions: Vec<u64>,
    sent: Arc<AtomicU64>,
    round: u64,
}

impl Updates {
    /// Adds about this many messages.
    fn send(&mut self, messages: u64) {
        for _ in 0..messages.div_ceil(2) {
            self.round += 1;
            // Every tenth message is on the displayed stream.
            let stream = match self.round % 10 {
                0 => DELTA,
                _ => 1 + (self.round as usize % (self.size.streams - 1)),
            };
            let Some(version) = self.versions.get_mut(stream) else { continue };
            *version += 1;
            let (push, ack) = if stream == DELTA {
                let i = self.round as usize % self.size.resources;
                (delta_push(*version, [(i, self.round % 50)].into_iter()), delta_ack(*version))
            } else {
                let i = first_of(stream) + self.round as usize / self.size.streams % NAMES;
                let resource = endpoints(i, self.round / self.size.streams as u64 % 1000);
                let push = clusters::response(ENDPOINTS, *version as usize, [resource]);
                (push, request(ENDPOINTS, &asked(stream), Some(*version), None))
            };
            self.wire.send(stream, Dir::Resp, &push);
            self.wire.send(stream, Dir::Req, &ack);
            self.sent.fetch_add(2, Ordering::Relaxed);
        }
    }
}

pub struct Traffic {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the traffic");
        }
    }
}
