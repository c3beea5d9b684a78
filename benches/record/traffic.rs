//! Seeded sessions, frame by frame, and their recordings.

use std::fs::File;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use xdscope::app::recording::recording_file;
use xdscope_sources::record::{Header, Writer};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Clock, StreamId, Time};
use xdscope_wire::pb::put_len_field;
use xdscope_wire::{Frame, FramePayload, Message, MessageShape, Open};

use crate::clusters;

const ADS: &str = "/envoy.service.discovery.v3.AggregatedDiscoveryService/";

/// A seeded random number generator.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % below
    }

    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for i in (1..list.len()).rev() {
            list.swap(i, self.roll(i + 1));
        }
    }
}

/// A recorder that flushes every tenth of a second of the traffic's time, like the live one.
pub struct Recording {
    pub catalog: Catalog,
    writer: Writer,
    path: PathBuf,
    stream: StreamId,
    now: u64,
    flushed: u64,
    /// gRPC messages in order.
    pub raw: u64,
}

impl Recording {
    pub fn new(path: &Path, method: &str) -> Recording {
        let header =
            Header { seed: 1, clock: Clock { epoch: Some(1 << 60), untimed: false }, ..Header::default() };
        let file = recording_file::replace(path).expect("a file");
        let catalog = Catalog::new(1, None, Box::new(xdscope_wire::content::MemoryBodies::default()));
        let (writer, stream) = (Writer::in_file(file, header).expect("a header"), StreamId(1));
        let mut out =
            Recording { catalog, writer, path: path.to_owned(), stream, now: 0, flushed: 0, raw: 0 };
        let open =
            Open { method: format!("{ADS}{method}"), peer: Some("10.0.0.1:5000".into()), ..Open::default() };
        out.write(FramePayload::Open(Box::new(open)));
        out
    }

    fn write(&mut self, what: FramePayload) {
        let frame = Frame { at: Time(self.now * 1000), stream: self.stream, what };
        self.writer.write(&frame, &self.catalog).expect("a disk");
        if self.now - self.flushed >= 100_000 {
            self.writer.flush().expect("a disk");
            self.flushed = self.now;
        }
    }

    /// Adds one gRPC message, this many microseconds after the previous one.
    pub fn message(&mut self, after: u64, shape: MessageShape, grpc: &[u8]) {
        self.now += after;
        self.raw += grpc.len() as u64;
        let message = Message::parse(shape, &grpc[5..], &mut self.catalog);
        self.write(FramePayload::Message(std::sync::Arc::new(message)));
    }

    /// Completes the file and returns its length.
    pub fn finish(self) -> u64 {
        self.writer.finish().expect("a disk");
        File::open(&self.path).and_then(|file| file.metadata()).expect("the file").len()
    }
}

/// Pushes `count` clusters repeatedly, one changed each time, with ACKs. Returns the bytes of
/// traffic and of the file.
pub fn churn(path: &Path, count: usize, pushes: usize, random: bool) -> (u64, u64) {
    let mut recording = Recording::new(path, "StreamAggregatedResources");
    let mut dice = Dice(7);
    let mut clusters: Vec<Vec<u8>> = (0..count).map(|i| clusters::cluster(i, 5)).collect();
    recording.message(1000, MessageShape::SotwRequest, &clusters::request(clusters::CLUSTER, 0));
    for version in 1..=pushes {
        let push = if version == 1 && !random {
            clusters::push(count, 1, count)
        } else {
            let changed = dice.roll(count);
            clusters[changed] = clusters::cluster(changed, 5 + version as u64);
            if random {
                let mut shown: Vec<&Vec<u8>> = clusters.iter().collect();
                dice.shuffle(&mut shown);
                clusters::response(clusters::CLUSTER, version, shown)
            } else {
                clusters::response(clusters::CLUSTER, version, &clusters)
            }
        };
        recording.message(100_000 + dice.roll(50_000) as u64, MessageShape::SotwResponse, &push);
        recording.message(
            1000 + dice.roll(9000) as u64,
            MessageShape::SotwRequest,
            &clusters::request(clusters::CLUSTER, version),
        );
    }
    (recording.raw, recording.finish())
}

/// Sends delta updates of one cluster each, `pace` microseconds apart, with ACKs.
pub fn deltas(
    path: &Path,
    clusters: usize,
    updates: usize,
    pace: usize,
    frame: &mut dyn FnMut(&[u8]),
) -> (u64, u64) {
    let mut recording = Recording::new(path, "DeltaAggregatedResources");
    let mut dice = Dice(9);
    for version in 1..=updates {
        let (push, ack) = delta(dice.roll(clusters), version, dice.roll(1 << 31));
        frame(&push);
        frame(&ack);
        recording.message((pace / 2 + dice.roll(pace)) as u64, MessageShape::DeltaResponse, &push);
        recording.message(300 + dice.roll(400) as u64, MessageShape::DeltaRequest, &ack);
    }
    (recording.raw, recording.finish())
}

fn delta(cluster: usize, version: usize, nonce: usize) -> (Bytes, Bytes) {
    let nonce = clusters::text(5, &format!("{nonce:08x}-{version}"));
    let any = clusters::cluster(cluster, 5 + version as u64);
    let mut resource = clusters::text(1, &format!("v{version}"));
    put_len_field(&mut resource, 2, &any);
    resource.extend(clusters::text(3, &format!("cluster-{cluster}")));
    let mut push = clusters::text(1, &format!("v{version}"));
    put_len_field(&mut push, 2, &resource);
    push.extend(clusters::text(4, clusters::CLUSTER));
    push.extend_from_slice(&nonce);
    let mut ack = clusters::text(2, clusters::CLUSTER);
    put_len_field(&mut ack, 6, &nonce[2..]);
    (clusters::grpc(&push), clusters::grpc(&ack))
}

/// Returns a request with a node of about 60 KB like Envoy's: its extensions with their types.
pub fn ack_with_node(version: usize, node: &[u8]) -> Bytes {
    let mut body = clusters::text(1, &version.to_string());
    put_len_field(&mut body, 2, node);
    body.extend(clusters::text(4, clusters::CLUSTER));
    body.extend(clusters::text(5, &format!("{:08x}-{version}", Dice(version as u64).roll(1 << 31))));
    clusters::grpc(&body)
}

/// Returns the node of [`ack_with_node`].
pub fn node() -> Vec<u8> {
    let mut out = [
        clusters::text(1, "sidecar~10.0.0.7~shop-7d9f"),
        clusters::text(2, "shop"),
        clusters::text(6, "envoy"),
    ]
    .concat();
    let mut dice = Dice(3);
    for i in 0..480 {
        let category =
            ["filters.http", "filters.network", "transport_sockets", "access_loggers", "matching.inputs"];
        let category = category[dice.roll(5)];
        let name = format!("envoy.{category}.extension_{i}_{:x}", dice.roll(1 << 20));
        let url = format!("envoy.extensions.{category}.extension_{i}.v3.Config{:x}", dice.roll(1 << 16));
        let extension = [
            clusters::text(1, &name),
            clusters::text(2, &format!("envoy.{category}")),
            clusters::text(5, &url),
        ];
        put_len_field(&mut out, 9, &extension.concat());
    }
    out
}
