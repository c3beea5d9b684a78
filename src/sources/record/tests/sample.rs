//! Sessions for the tests, and a file in memory to record them to.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use xdscope_wire::GapCause;

use crate::record::{Header, Loaded, Writer, read};
use xdscope_wire::content::{BlobId, Catalog};
use xdscope_wire::event::{Clock, Code, Dir, Side, StreamId, Time};
use xdscope_wire::pb::put_len_field;
use xdscope_wire::{End, Frame, FramePayload, Message, MessageShape, Open};

pub(in crate::record) const ADS: &str =
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";
pub(in crate::record) const CDS: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

/// A file in memory that can be read while it is written.
#[derive(Clone, Default)]
pub(super) struct SharedFile(Arc<Mutex<Vec<u8>>>);

impl SharedFile {
    pub(in crate::record) fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for SharedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(in crate::record) fn header() -> Header {
    Header {
        created: 1_772_460_000_000_000_000,
        seed: 42,
        keep_secrets: false,
        tool: "xdscope test".into(),
        source: "a test".into(),
        clock: Clock { epoch: Some(1_772_460_000_000_000_000), untimed: false },
    }
}

pub(in crate::record) fn frame(ms: u64, stream: u32, what: FramePayload) -> Frame {
    Frame { at: Time(ms * 1_000_000), stream: StreamId(stream), what }
}

pub(in crate::record) fn opened(method: &str) -> FramePayload {
    let metadata = vec![("user-agent".into(), "grpc-c++/1.60".into()), ("x-empty".into(), String::new())];
    FramePayload::Open(Box::new(Open {
        method: method.into(),
        peer: Some("10.0.0.1:5".into()),
        metadata,
        ..Open::default()
    }))
}

pub(in crate::record) fn message(shape: MessageShape, bytes: &[u8], catalog: &mut Catalog) -> FramePayload {
    FramePayload::Message(Arc::new(Message::parse(shape, bytes, catalog)))
}

/// Numbers from a seed.
pub(super) struct Dice(pub u64);

impl Dice {
    pub(in crate::record) fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % below
    }

    pub(in crate::record) fn shuffle<T>(&mut self, list: &mut [T]) {
        for i in (1..list.len()).rev() {
            list.swap(i, self.roll(i as u64 + 1) as usize);
        }
    }
}

fn put(out: &mut Vec<u8>, number: u32, inner: &[Vec<u8>]) {
    put_len_field(out, number, &inner.concat());
}

fn text(number: u32, text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    put_len_field(&mut out, number, text.as_bytes());
    out
}

/// A `Cluster` in an `Any` of about 400 bytes: EDS over ADS, TLS, HTTP/2. `version` changes one
/// number.
pub(in crate::record) fn cluster(i: u64, version: u64) -> Vec<u8> {
    let mut dice = Dice(i * 7919 + 1);
    let name =
        format!("outbound|{}|v{}|service-{i}.team-{}.svc.cluster.local", 80 + i % 9000, i % 3, dice.roll(40));
    let mut out = text(1, &name);
    let mut eds = Vec::new();
    put(&mut eds, 1, &[b"\x1a\x00".to_vec(), b"\x30\x02".to_vec()]);
    put(&mut eds, 2, &[name.into_bytes()]);
    put(&mut out, 3, &[eds]);
    out.extend_from_slice(&[0x22, 0x06, 0x08, dice.roll(60) as u8, 0x10, 0x80 | version as u8, 0x01]);
    let mut tls = text(1, &format!("outbound_.{}_._.service-{i}.svc.cluster.local", 80 + i % 9000));
    put(&mut tls, 2, &[text(1, "default"), text(1, "ROOTCA"), text(2, "istio-peer-exchange"), text(2, "h2")]);
    let any = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext";
    let mut socket = text(1, "envoy.transport_sockets.tls");
    put(&mut socket, 3, &[text(1, any), text(2, &String::from_utf8_lossy(&tls))]);
    put(&mut out, 24, &[socket]);
    let http = "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
    put(&mut out, 36, &[text(1, http), text(2, "\n\x02\x12\x00")]);
    let mut any = text(1, CDS);
    put_len_field(&mut any, 2, &out);
    any
}

/// A SotW response of these entries.
pub(in crate::record) fn push(entries: &[&[u8]], version: u64) -> Vec<u8> {
    let mut out = text(1, &format!("2026-03-02T14:02:{:02}Z/{version}", version % 60));
    for entry in entries {
        put_len_field(&mut out, 2, entry);
    }
    out.extend(text(4, CDS));
    out.extend(text(5, &nonce(version)));
    out
}

pub(in crate::record) fn nonce(version: u64) -> String {
    let mut dice = Dice(version);
    format!("{:08x}-{version}", dice.roll(1 << 31))
}

/// The answer to a push.
pub(in crate::record) fn ack(version: u64, node: Option<&[u8]>) -> Vec<u8> {
    let mut out = text(1, &format!("2026-03-02T14:02:{:02}Z/{version}", version % 60));
    if let Some(node) = node {
        put_len_field(&mut out, 2, node);
    }
    out.extend(text(4, CDS));
    out.extend(text(5, &nonce(version)));
    out
}

/// A delta response with one resource.
pub(in crate::record) fn delta(i: u64, version: u64) -> Vec<u8> {
    let mut resource = text(1, &format!("v{version}"));
    put_len_field(&mut resource, 2, &cluster(i, version));
    resource.extend(text(3, &format!("service-{i}")));
    let mut out = text(1, &format!("v{version}"));
    put_len_field(&mut out, 2, &resource);
    out.extend(text(4, CDS));
    out.extend(text(5, &nonce(version)));
    out
}

/// A session with one of everything.
pub(in crate::record) fn session(catalog: &mut Catalog) -> Vec<Frame> {
    let clusters: Vec<_> = (0..20).map(|i| cluster(i, 0)).collect();
    let mut entries: Vec<&[u8]> = clusters.iter().map(Vec::as_slice).collect();
    let node = [b"\x0a\x04node\x12\x04edge".to_vec(), text(12, &"x".repeat(400))].concat();
    let names: Vec<u8> = (0..200).flat_map(|i| text(3, &format!("cluster-{i}"))).collect();
    let mut frames = vec![frame(0, 1, opened(ADS))];
    frames.push(frame(1, 1, message(MessageShape::SotwRequest, &ack(0, Some(&node)), catalog)));
    frames.push(frame(2, 1, message(MessageShape::SotwResponse, &push(&entries, 1), catalog)));
    frames.push(frame(
        3,
        1,
        message(MessageShape::SotwRequest, &[ack(1, Some(&node)), names].concat(), catalog),
    ));
    frames.push(frame(3, 2, opened("/grpc.health.v1.Health/Watch")));
    frames.push(frame(4, 2, FramePayload::Opaque { dir: Dir::Resp, messages: 3, bytes: 21 }));
    let changed = cluster(7, 1);
    entries[7] = &changed;
    frames.push(frame(5, 1, message(MessageShape::SotwResponse, &push(&entries, 2), catalog)));
    entries.reverse();
    frames.push(frame(6, 1, message(MessageShape::SotwResponse, &push(&entries, 3), catalog)));
    frames.push(frame(7, 1, message(MessageShape::SotwResponse, &push(&entries, 3), catalog)));
    frames.push(frame(8, 1, FramePayload::Gap { dir: None, messages: 2, bytes: 900, cause: GapCause::Lost }));
    frames.push(frame(9, 1, message(MessageShape::SotwRequest, b"\x0a\xff garbage", catalog)));
    frames.push(frame(
        10,
        3,
        opened("/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"),
    ));
    frames.push(frame(11, 3, message(MessageShape::DeltaResponse, &delta(3, 1), catalog)));
    frames.push(frame(12, 3, message(MessageShape::DeltaResponse, &delta(3, 2), catalog)));
    let status = Some((Code(14), "going away".into()));
    frames.push(frame(
        13,
        3,
        FramePayload::End(Box::new(End { by: Some(Side::Server), status, ..End::default() })),
    ));
    let end = End { reset: Some(8), note: Some("connection lost".into()), ..End::default() };
    frames.push(frame(14, 1, FramePayload::End(Box::new(end))));
    frames
}

/// Records the frames, flushing after each `every`th.
pub(in crate::record) fn record(frames: &[Frame], catalog: &Catalog, every: usize) -> Vec<u8> {
    let file = SharedFile::default();
    let mut writer = Writer::new(file.clone(), header()).unwrap();
    for (i, frame) in frames.iter().enumerate() {
        writer.write(frame, catalog).unwrap();
        if i % every == every - 1 {
            writer.flush().unwrap();
        }
    }
    writer.finish().unwrap();
    file.bytes()
}

/// All that a frame says, in words: times, ids and message bytes.
pub(in crate::record) fn describe(frames: &[Frame], catalog: &Catalog) -> Vec<String> {
    let what = |frame: &Frame| match &frame.what {
        FramePayload::Message(m) => {
            let resources: Vec<_> = m.resources().into_iter().flat_map(|list| list.blobs()).collect();
            let entry = |id: &BlobId| {
                let (e, blob) = (catalog.entry(*id), catalog.blob(*id));
                let text = |sym| catalog.text(sym);
                let payload = e.payload.map(|id| catalog.blob(id).hash);
                format!(
                    "{} {} {} {payload:?} {:?} {} {:x} {} {}",
                    text(e.name),
                    text(e.version),
                    text(e.type_url),
                    e.ttl,
                    e.wrapped,
                    blob.hash,
                    blob.size,
                    blob.kept
                )
            };
            let entries: Vec<_> = resources.into_iter().map(entry).collect();
            let node = m.node().map(|node| node.id.clone());
            let bytes = m.bytes(catalog);
            format!("{:?} {} {} {bytes:?} {node:?} {entries:?}", m.shape, m.size, m.redacted)
        }
        other => format!("{other:?}"),
    };
    frames.iter().map(|frame| format!("{:?} {:?} {}", frame.at, frame.stream, what(frame))).collect()
}

pub(in crate::record) fn load(bytes: &[u8]) -> Loaded {
    read(bytes).unwrap()
}
