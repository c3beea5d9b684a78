//! Checks that a packet capture shows the same session as the recording of a tap.

use std::{
    collections::BTreeMap,
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};

use serde_json::Value;
use xdscope::app::recording::recording_file;
use xdscope::net::tap::CopyQueue;
use xdscope_schema::{Schema, redact::Redactor};
use xdscope_sources::observe::{ConnId, Pipeline, TapCopy, TapEvent};
use xdscope_sources::pcap;
use xdscope_sources::record::{Header, Loaded, Writer};
use xdscope_wire::content::{Catalog, MemoryBodies, Redact};
use xdscope_wire::event::{Clock, Dir, Side};
use xdscope_wire::pb::put_len_field;
use xdscope_wire::{Frame, FramePayload};

use crate::support::{
    bootstrap::Variant,
    capture::{self, ACK, ADS, FIN, Form, Link, PLAIN, RST, SYN, Segment, Session},
    snapshot::{CLUSTER, ENDPOINTS, LISTENER, ROUTE, Snapshot, bad_clusters, cluster},
    tap::{self, Recording},
    wait::PATIENCE,
    world::World,
};

/// A seeded random number generator.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % below
    }
}

/// Order of the segments of a connection.
#[derive(Clone, Copy)]
enum Manner {
    /// In order.
    InOrder,
    /// In any order within one moment, some twice, the second time with other boundaries.
    Tangled,
}

/// Packets of a connection that a relay passed on.
struct Packets {
    segments: Vec<Segment>,
    epoch: u64,
    manner: Manner,
    dice: Dice,
    /// The ends of each connection and their sequence numbers.
    open: BTreeMap<ConnId, ([SocketAddr; 2], [u32; 2])>,
    /// Connections that one end has closed.
    half: BTreeMap<ConnId, usize>,
}

impl Packets {
    fn new(epoch: u64, manner: Manner) -> Packets {
        Packets {
            segments: Vec::new(),
            epoch,
            manner,
            dice: Dice(5),
            open: BTreeMap::new(),
            half: BTreeMap::new(),
        }
    }

    fn take(&mut self, copied: &TapCopy) {
        let at = self.epoch + copied.at.0;
        match &copied.event {
            TapEvent::Opened { peer, server } => {
                let ends = [peer, server].map(|end| end.parse().expect("an address"));
                // Both sequence numbers wrap around soon.
                self.open.insert(copied.conn, (ends, [0xffff_ff00, 0xffff_0000]));
                for (side, flags) in [(0, SYN), (1, SYN | ACK), (0, ACK)] {
                    self.segment(at, copied.conn, side, flags, &[]);
                }
            }
            TapEvent::Bytes { dir, bytes } => {
                let first = self.segments.len();
                let side = usize::from(*dir == Dir::Resp);
                let mut rest = &bytes[..];
                while !rest.is_empty() {
                    let (now, later) = rest.split_at((1 + self.dice.roll(1448)).min(rest.len()));
                    self.segment(at, copied.conn, side, ACK, now);
                    rest = later;
                }
                if matches!(self.manner, Manner::Tangled) {
                    self.tangle(first);
                }
                self.segment(at, copied.conn, 1 - side, ACK, &[]);
            }
            TapEvent::Finished { dir } => {
                let side = usize::from(*dir == Dir::Resp);
                // The second FIN closes the connection, which is a separate event.
                if self.half.insert(copied.conn, side).is_none() {
                    self.segment(at, copied.conn, side, FIN | ACK, &[]);
                }
            }
            TapEvent::Closed { by: None, .. } => {
                let last = self.half.remove(&copied.conn).expect("both are done");
                self.segment(at, copied.conn, last, FIN | ACK, &[]);
            }
            TapEvent::Closed { by: Some(by), .. } => {
                let side = usize::from(*by == Side::Server);
                self.segment(at, copied.conn, side, RST | ACK, &[]);
            }
            other => panic!("{other:?} is not in this session"),
        }
    }

    fn tangle(&mut self, first: usize) {
        for n in first..self.segments.len() {
            if self.dice.roll(3) == 0 {
                let mut copy = self.segments[n].clone();
                let skip = self.dice.roll(copy.bytes.len());
                copy.bytes.drain(..skip);
                copy.seq = copy.seq.wrapping_add(skip as u32);
                self.segments.push(copy);
            }
        }
        for n in (first + 1..self.segments.len()).rev() {
            let other = first + self.dice.roll(n - first + 1);
            self.segments.swap(n, other);
        }
    }

    fn segment(&mut self, at: u64, conn: ConnId, side: usize, flags: u8, bytes: &[u8]) {
        let (ends, seq) = self.open.get_mut(&conn).expect("an open connection");
        let (from, to) = (ends[side], ends[1 - side]);
        let ack = if flags & ACK == 0 { 0 } else { seq[1 - side] };
        self.segments.push(Segment { at, from, to, seq: seq[side], ack, flags, bytes: bytes.to_vec() });
        seq[side] = seq[side].wrapping_add(bytes.len() as u32 + u32::from(flags & (SYN | FIN) != 0));
    }
}

fn file(segments: &[Segment], form: Form) -> Vec<u8> {
    let mut writer = capture::Writer::new(Vec::new(), form).expect("memory");
    segments.iter().for_each(|segment| writer.segment(segment).expect("memory"));
    writer.into_inner()
}

/// Collects all copies until the tap has stopped.
fn all(copies: Arc<CopyQueue>) -> thread::JoinHandle<Vec<TapCopy>> {
    thread::spawn(move || {
        let mut all = Vec::new();
        loop {
            let mut batch = Vec::new();
            let more = copies.drain(&mut batch, PATIENCE);
            assert!(!more || !batch.is_empty(), "the session goes on");
            all.append(&mut batch);
            if !more {
                return all;
            }
        }
    })
}

/// Writes the recording of a tap that made these copies.
fn recorded(copies: &[TapCopy], clock: Clock, path: &Path) {
    let seed = 11;
    let redactor = Arc::new(Redactor::new(Schema::builtin(), seed));
    let mut catalog = Catalog::new(seed, Some(redactor.clone()), Box::new(MemoryBodies::default()));
    let mut pipeline = Pipeline::new(move |name, value| redactor.metadata(name, value));
    pipeline = pipeline.with_rest(Schema::builtin());
    let header = Header { seed, clock, ..Header::default() };
    let mut writer =
        Writer::in_file(recording_file::create(path).expect("a file"), header).expect("a header");
    let mut frames = Vec::new();
    for copied in copies {
        let mut copied = copied.clone();
        // The error text of the system.
        if let TapEvent::Closed { error: Some(error), .. } = &mut copied.event {
            assert!(error.starts_with("Connection reset"), "{error}");
            *error = "the connection was reset".to_owned();
        }
        pipeline.handle(copied.clone(), &mut catalog, &mut frames);
        writer.advance(copied.at);
        frames.drain(..).for_each(|frame| writer.write(&frame, &catalog).expect("a disk"));
    }
    writer.finish().expect("a disk");
}

/// Returns the objects of a verb without hashes, which depend on the source.
fn objects(file: &Path, verb: &str, args: &[&str]) -> Vec<Value> {
    let mut objects = Recording { file: file.to_owned() }.objects(verb, args);
    objects.iter_mut().filter_map(Value::as_object_mut).for_each(|object| drop(object.remove("hash")));
    objects
}

fn assert_alike(recording: &Path, capture: &Path) {
    for (verb, args) in [
        ("log", &["--body"][..]),
        ("status", &[]),
        ("get", &[]),
        ("get", &["-o", "yaml"]),
        ("lint", &[]),
        ("log", &["--filter", "type:cds", "-o", "text"]),
        ("export", &["--to", "raw"]),
        ("export", &["--to", "script"]),
        ("replay", &["--no-tui"]),
    ] {
        let typed = args.contains(&"-o") || matches!(verb, "export" | "replay");
        let said = |file: &Path| match typed {
            true => Recording { file: file.to_owned() }.text(verb, args).lines().map(Value::from).collect(),
            false => objects(file, verb, args),
        };
        let (tapped, captured) = (said(recording), said(capture));
        assert!(!tapped.is_empty(), "{verb} {args:?}: {tapped:#?}");
        for (tapped, captured) in tapped.iter().zip(&captured) {
            assert_eq!(tapped, captured, "{verb} {args:?} of {}", capture.display());
        }
        assert_eq!(tapped.len(), captured.len(), "{verb} {args:?} of {}", capture.display());
    }
}

#[test]
fn capture_matches_recording_of_envoy_over_ads() {
    envoy("capture_matches_recording_of_envoy_over_ads", Variant::Ads);
}

#[test]
fn capture_matches_recording_of_envoy_over_delta_ads() {
    envoy("capture_matches_recording_of_envoy_over_delta_ads", Variant::DeltaAds);
}

fn envoy(test: &str, variant: Variant) {
    let Some(world) = World::open(test) else { return };
    let mut plane = world.control_plane(Default::default());
    let relay = tap::relay(&[plane.address()]);
    let copies = relay.copies.clone().expect("copies");
    let (clock, passed) = (copies.clock(), all(copies));
    let mut envoy =
        world.envoy("edge-1", variant, relay.listening[0].to_string().parse().expect("an address"));
    let chain = Snapshot::chain(variant, envoy.admin());
    plane.set(&chain);
    envoy.wait_live();
    for type_url in [CLUSTER, ENDPOINTS, LISTENER, ROUTE] {
        plane.wait_for_ack(0, type_url, "1");
    }
    let mark = plane.mark();
    plane.set(&chain.clone().with(CLUSTER, "2", [vec![cluster("echo", variant)], bad_clusters()].concat()));
    plane.wait_for(mark, "a NACK", |e| e.is_nack(CLUSTER));
    let mark = plane.mark();
    plane.close_streams(14, "scripted");
    plane.wait_for(mark, "a new stream's CDS request", |e| e.is_request(CLUSTER));
    drop(envoy);
    drop(plane);
    drop(relay);
    let mut copies = passed.join().expect("the copies");
    // The clock of a capture begins with its first packet, in microseconds for a plain pcap file.
    let zero = copies.first().expect("a connection").at.0;
    copies.iter_mut().for_each(|copied| copied.at.0 -= zero);
    let epoch = clock.epoch.expect("a date") / 1000 * 1000 + i128::from(zero);
    let clock = Clock { epoch: Some(epoch), ..clock };
    let recording = world.folder().join("relay.xdsrec");
    recorded(&copies, clock, &recording);
    let tangled = Form { ng: true, big: true, nanos: true, link: Link::Cooked2 };
    for (manner, form, name) in
        [(Manner::InOrder, PLAIN, "in-order"), (Manner::Tangled, tangled, "tangled.log")]
    {
        let mut packets = Packets::new(u64::try_from(epoch).expect("now"), manner);
        copies.iter().for_each(|copied| packets.take(copied));
        let path = world.folder().join(name);
        fs::write(&path, file(&packets.segments, form)).expect("a disk");
        assert_alike(&recording, &path);
    }
}

fn read(bytes: &[u8]) -> Loaded {
    let options = pcap::Options { redact: None, seed: 1, schema: Schema::builtin() };
    pcap::read(bytes, &options).expect("a capture")
}

fn words(frames: &[Frame]) -> Vec<String> {
    let word = |frame: &Frame| match &frame.what {
        FramePayload::Open(open) => format!(
            "open {}{}",
            open.method.rsplit('/').next().unwrap_or(""),
            if open.partial { " partial" } else { "" }
        ),
        FramePayload::Message(message) => format!("{} {}", message.dir().word(), message.size),
        FramePayload::Opaque { dir, bytes, .. } => format!("opaque {} {bytes}", dir.word()),
        FramePayload::Gap { messages, bytes, .. } => format!("gap {messages} {bytes}"),
        FramePayload::Intercepted(what) => what.facts.interference.word().to_owned(),
        FramePayload::End(end) => format!("end {}", end.note.as_deref().unwrap_or("")),
    };
    frames.iter().map(word).collect()
}

fn grpc(fields: &[(u32, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    fields.iter().for_each(|(number, value)| put_len_field(&mut body, *number, value));
    [&[0][..], &(body.len() as u32).to_be_bytes(), &body].concat()
}

const TYPE: &[u8] = b"type.googleapis.com/envoy.config.cluster.v3.Cluster";

fn response(names: usize) -> Vec<u8> {
    let any = |name: String| {
        let (mut value, mut any) = (Vec::new(), Vec::new());
        put_len_field(&mut value, 1, name.as_bytes());
        put_len_field(&mut any, 1, TYPE);
        put_len_field(&mut any, 2, &value);
        any
    };
    let resources: Vec<Vec<u8>> = (0..names).map(|n| any(format!("cluster-{n}"))).collect();
    let mut fields: Vec<(u32, &[u8])> = vec![(1, b"v1")];
    fields.extend(resources.iter().map(|any| (2, &any[..])));
    fields.extend([(4, TYPE), (5, b"n1")]);
    grpc(&fields)
}

/// Returns the segments of one stream: a request, a response of 300 clusters, an ACK.
fn session(ends: Option<[SocketAddr; 2]>, close: bool) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut session = Session::new(|segment| segments.push(segment));
    session.ends = ends.unwrap_or(session.ends);
    session.connect();
    session.greet();
    session.open(1, ADS);
    session.message(1, 0, &grpc(&[(4, TYPE)]));
    session.message(1, 1, &response(300));
    session.message(1, 0, &grpc(&[(1, b"v1"), (4, TYPE), (5, b"n1")]));
    if close {
        for side in [0, 1] {
            session.segment(side, FIN | ACK, &[]);
        }
        session.segment(0, ACK, &[]);
    }
    segments
}

#[test]
fn reads_every_file_and_link_format_alike() {
    let six = ["[2001:db8::1]:40000", "[2001:db8::2]:15010"].map(|end| end.parse().expect("an address"));
    for ends in [None, Some(six)] {
        let segments = session(ends, true);
        let plain = read(&file(&segments, PLAIN));
        let expected = [
            "open StreamAggregatedResources",
            "req 53",
            "resp 20951",
            "req 61",
            "end the connection was closed",
        ];
        assert_eq!(words(&plain.frames), expected);
        assert_eq!(plain.notices, Vec::<String>::new());
        for link in [Link::Null, Link::Ethernet, Link::Vlan, Link::Raw, Link::Cooked, Link::Cooked2] {
            for bits in 0..8 {
                let form = Form { ng: bits & 1 != 0, big: bits & 2 != 0, nanos: bits & 4 != 0, link };
                let loaded = read(&file(&segments, form));
                assert_eq!(words(&loaded.frames), words(&plain.frames), "{form:?}");
                assert_eq!(loaded.notices, plain.notices, "{form:?}");
                let first = i128::from(segments[0].at);
                let epoch = if form.nanos { first } else { first / 1000 * 1000 };
                assert_eq!(loaded.clock.epoch, Some(epoch), "{form:?}");
                for (frame, plain) in loaded.frames.iter().zip(&plain.frames) {
                    assert!(
                        frame.at.0.abs_diff(plain.at.0) <= 1000,
                        "{form:?}: {:?} and {:?}",
                        frame.at,
                        plain.at
                    );
                }
            }
        }
    }
}

#[test]
fn reports_missing_packets_as_gaps() {
    let segments = session(None, true);
    let data: Vec<usize> = (0..segments.len()).filter(|n| segments[*n].bytes.len() == 1448).collect();
    assert!(data.len() > 10, "the response is in many segments");
    for lost in &data {
        let mut fewer = segments.clone();
        fewer.remove(*lost);
        let loaded = read(&file(&fewer, PLAIN));
        let words = words(&loaded.frames);
        let gaps: Vec<&String> = words.iter().filter(|word| word.starts_with("gap")).collect();
        assert!(matches!(gaps[..], [gap] if gap.ends_with(" 1448")), "without segment {lost}: {words:?}");
        assert!(
            loaded.notices.iter().any(|notice| notice.contains("1,448 bytes of TCP streams")),
            "{:?}",
            loaded.notices
        );
        // The following messages are complete again.
        assert_eq!(words.last().map(String::as_str), Some("end the connection was closed"), "{words:?}");
        assert!(words.contains(&"req 61".to_owned()), "{words:?}");
    }
    // The snapshot length truncates each long packet by as many bytes.
    let mut writer = capture::Writer::new(Vec::new(), PLAIN).expect("memory");
    writer.snaplen = 1000;
    segments.iter().for_each(|segment| writer.segment(segment).expect("memory"));
    let loaded = read(&writer.into_inner());
    let missing = data.len() * (1448 + 54 - 1000);
    let notice = format!("{} bytes of TCP streams", xdscope_wire::text::count(missing as u64));
    assert!(loaded.notices.iter().any(|said| said.starts_with(&notice)), "{notice}: {:?}", loaded.notices);
}

/// Most captures begin long after their streams.
#[test]
fn reads_streams_begun_before_capture() {
    let delta = ADS.replace("Stream", "Delta");
    let resource = |name: &str| {
        let (mut any, mut resource) = (Vec::new(), Vec::new());
        put_len_field(&mut any, 1, TYPE);
        put_len_field(&mut resource, 3, name.as_bytes());
        put_len_field(&mut resource, 2, &any);
        resource
    };
    let asked = grpc(&[(2, TYPE), (3, b"a")]);
    let pushed = grpc(&[(2, &resource("a")), (4, TYPE), (5, b"n")]);
    type Messages<'a> = &'a [(usize, &'a [u8])];
    let cases: [(&str, Messages<'_>); 4] = [
        (ADS, &[(1, &response(300)), (0, &grpc(&[(1, b"v1"), (4, TYPE), (5, b"n1")]))]),
        (ADS, &[(0, &grpc(&[(1, b"v1"), (4, TYPE), (5, b"n1")])), (1, &response(3))]),
        (&delta, &[(1, &pushed), (0, &grpc(&[(2, TYPE), (6, b"n")]))]),
        (&delta, &[(0, &asked), (1, &pushed)]),
    ];
    for (path, messages) in cases {
        let mut segments = Vec::new();
        let mut session = Session::new(|segment| segments.push(segment));
        session.connect();
        session.greet();
        session.open(7, path);
        let before = session.at;
        messages.iter().for_each(|(side, message)| session.message(7, *side, message));
        segments.retain(|segment| segment.at > before);
        let loaded = read(&file(&segments, PLAIN));
        let mut expected = vec![format!("open {} partial", path.rsplit('/').next().expect("a name"))];
        expected.extend(messages.iter().map(|(side, message)| {
            format!("{} {}", if *side == 0 { "req" } else { "resp" }, message.len() - 5)
        }));
        assert_eq!(words(&loaded.frames), expected);
        assert!(
            loaded.notices[0].starts_with("1 connection began before the capture"),
            "{:?}",
            loaded.notices
        );
        // A capture that begins inside a message is read from the next message.
        let later = &segments[1..];
        let words = words(&read(&file(later, PLAIN)).frames);
        assert!(words.len() >= 2 && words[0].ends_with(" partial"), "{words:?}");
    }
}

#[test]
fn keeps_frames_of_truncated_file() {
    let segments = session(None, false);
    for form in [PLAIN, Form { ng: true, ..PLAIN }] {
        let whole = file(&segments, form);
        let all = words(&read(&whole).frames);
        for cut in (64..whole.len()).step_by(97) {
            let loaded = read(&whole[..cut]);
            let some = words(&loaded.frames);
            assert!(all.starts_with(&some), "cut at {cut}: {some:?}");
            let notice = loaded.notices.first().map(String::as_str).unwrap_or("");
            let within = notice.starts_with("the file ends within the ");
            assert!(within || loaded.notices.iter().all(|notice| !notice.contains("byte ")), "{notice}");
        }
        let damaged = [&whole[..], &[0xff; 40]].concat();
        let loaded = read(&damaged);
        assert_eq!(words(&loaded.frames), all);
        assert!(loaded.notices[0].contains("impossible length of"), "{:?}", loaded.notices);
    }
}

#[test]
fn distinguishes_reset_and_reused_connections() {
    let mut segments = session(None, false);
    let last = segments.last().expect("some").clone();
    segments.push(Segment {
        flags: RST | ACK,
        seq: last.seq.wrapping_add(last.bytes.len() as u32),
        bytes: Vec::new(),
        ..last
    });
    // A new connection reuses the ports with other sequence numbers.
    segments.extend(session(None, true).into_iter().map(|segment| Segment {
        at: segment.at + 1_000_000_000,
        seq: segment.seq.wrapping_add(77_777),
        ack: segment.ack.wrapping_add(if segment.flags & ACK == 0 { 0 } else { 77_777 }),
        ..segment
    }));
    let words = words(&read(&file(&segments, PLAIN)).frames);
    let one = ["open StreamAggregatedResources", "req 53", "resp 20951", "req 61"];
    assert_eq!(words[..4], one);
    assert_eq!(words[4], "end the connection was reset");
    assert_eq!(words[5..9], one);
}

/// A scan of ports, each with one SYN, must not hide the connection after it, nor cost a search of
/// all connections for each packet.
#[test]
fn follows_a_connection_after_a_scan_of_many_ports() {
    let session = session(None, true);
    let server: SocketAddr = "10.0.0.9:15010".parse().expect("an address");
    let scan = (0..70_000u32).map(|i| {
        let from = SocketAddr::from(([10, 1, (i >> 14) as u8, 1], 1024 + (i % 16_384) as u16));
        Segment { at: session[0].at, from, to: server, seq: i, ack: 0, flags: SYN, bytes: Vec::new() }
    });
    let segments: Vec<Segment> = scan.chain(session.iter().cloned()).collect();
    let read_after_scan = read(&file(&segments, PLAIN));
    assert_eq!(words(&read_after_scan.frames), words(&read(&file(&session, PLAIN)).frames));
}

#[test]
fn reports_tls_fragments_and_other_packets() {
    let mut segments = Vec::new();
    let mut other = Session::new(|segment| segments.push(segment));
    other.connect();
    other.send(0, b"\x16\x03\x01\x00\x05\x01hello");
    let mut writer = capture::Writer::new(Vec::new(), Form { link: Link::Raw, ..PLAIN }).expect("memory");
    segments.iter().for_each(|segment| writer.segment(segment).expect("memory"));
    let mut fragment = capture::ip(&segments[0]);
    fragment[6] = 0x20;
    writer.packet(segments[0].at, &fragment).expect("memory");
    writer.packet(segments[0].at, &[0x45; 9]).expect("memory");
    let loaded = read(&writer.into_inner());
    assert_eq!(words(&loaded.frames)[0], "open TLS");
    for said in [
        "1 IP fragment skipped",
        "1 packet with damaged headers",
        "1 connection under TLS can't be decrypted",
    ] {
        assert!(loaded.notices.iter().any(|notice| notice.starts_with(said)), "{said}: {:?}", loaded.notices);
    }
}

/// A capture may have any file name, or come from stdin.
#[test]
fn detects_capture_by_content() {
    let folder = tempfile::tempdir().expect("a folder");
    let path: PathBuf = folder.path().join("notes.txt");
    fs::write(&path, file(&session(None, false), Form { ng: true, ..PLAIN })).expect("a disk");
    let recording = Recording { file: path.clone() };
    assert!(recording.text("info", &[]).contains("packet capture"), "{}", recording.text("info", &[]));
    assert!(recording.text("status", &[]).contains("CDS"), "{}", recording.text("status", &[]));
    let output = std::process::Command::new("sh")
        .args(["-c", "\"$0\" log - < \"$1\"", env!("CARGO_BIN_EXE_xdscope")])
        .arg(&path)
        .output()
        .expect("a shell");
    assert_eq!(String::from_utf8_lossy(&output.stdout), recording.text("log", &[]));
    let exported = folder.path().join("out.xdsrec");
    recording.run("export", &["--to", "xdsrec", "--output", exported.to_str().expect("a name")]);
    assert_eq!(objects(&exported, "log", &[]), objects(&path, "log", &[]));
}
