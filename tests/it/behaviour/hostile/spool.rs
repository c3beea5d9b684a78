//! A tap whose analysis falls behind: the recording goes on, copies wait in memory and in the
//! spool, and beyond both the bodies of messages are counted.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use xdscope::app::recording::recording_file;
use xdscope::app::tap::{CopyLimits, Front, Options, Running};
use xdscope::net::tap::{self, CopyQueue, Tls};
use xdscope::net::transport::Address;
use xdscope_engine::session::TypeState;
use xdscope_engine::store::{self, Store};
use xdscope_schema::Schema;
use xdscope_sources::observe::Pipeline;
use xdscope_sources::open_recording;
use xdscope_sources::record::{Header, Writer};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::StreamId;
use xdscope_wire::{Frame, FramePayload, GapCause};

use crate::support::raw_pair::Pair;
use crate::support::tap::{Recording, Tap};
use crate::support::wait::{PATIENCE, wait_for, wait_for_analysis};

/// A tap in this process, whose analysis stops while [`Stalled::gate`] is locked.
struct Stalled {
    running: Running,
    gate: Arc<Mutex<()>>,
    plane: TcpListener,
}

impl Stalled {
    fn start(folder: &Path, copies: CopyLimits) -> Stalled {
        let plane = TcpListener::bind("127.0.0.1:0").expect("a port");
        let file = folder.join("stalled.xdsrec");
        let upstream = plane.local_addr().expect("an address").to_string();
        let address = |text: &str| text.parse::<Address>().expect("an address");
        let options = Options {
            front: Front::Tap {
                maps: vec![(address("127.0.0.1:0"), address(&upstream))],
                connect_timeout: PATIENCE,
                tls: Tls::default(),
                changes: None,
                faults: None,
                desk: None,
            },
            decode: true,
            record: Some(recording_file::SessionFile::new(
                file.clone(),
                recording_file::create(&file).expect("a file"),
            )),
            keep_secrets: false,
            copies,
            store: store::Options::default(),
            schema: Schema::builtin(),
            verb: "tap",
        };
        let gate = Arc::new(Mutex::new(()));
        let waits = gate.clone();
        let sink = move |_: &_, _, _| {
            drop(waits.lock().expect("the gate"));
            Ok(())
        };
        let running = Running::start(options, Some(Box::new(sink))).expect("a tap");
        Stalled { running, gate, plane }
    }

    fn open(&self) -> Pair {
        let address: SocketAddr = self.running.tap.listening[0].to_string().parse().expect("an address");
        Pair::open(address, &self.plane)
    }

    fn gate(&self) -> MutexGuard<'_, ()> {
        self.gate.lock().expect("the gate")
    }

    fn backlog(&self) -> u64 {
        self.running.meter().expect("a tap").backlog()
    }

    fn see<T>(&self, look: impl FnOnce(&Store) -> T) -> T {
        look(&self.running.shared.as_ref().expect("facts").store())
    }

    /// Waits until the client has accepted `version`.
    fn wait_for_version(&self, version: u32) {
        wait_for_analysis("the newest version", || {
            self.see(|store| {
                let states = store.states();
                let state = states.first()?;
                let accepted = state.versions.in_force.as_deref() == Some(version.to_string().as_str());
                (accepted && state.summary.state == TypeState::Synced).then_some(())
            })
        });
    }

    /// Sends pushes with their ACKs, each when the one before is recorded: two of them fill the
    /// memory of a decoder that waits for a core.
    fn push_recorded(&self, pair: &mut Pair, pushes: usize) {
        self.push_recorded_after(pair, 1, pushes);
    }

    /// Sends pushes like [`Stalled::push_recorded`], after `before` messages.
    fn push_recorded_after(&self, pair: &mut Pair, before: usize, pushes: usize) {
        for push in 1..=pushes {
            pair.push(PUSH.0, PUSH.1);
            pair.ack();
            self.wait_for_recorded(before + 2 * push);
        }
    }

    /// Waits until the recording has `count` messages.
    fn wait_for_recorded(&self, count: usize) {
        let file = self.running.recording.as_ref().expect("a recording");
        wait_for("the recording", || {
            // The file is no recording before its first message.
            let frames = open_recording(file).ok()?.frames;
            let messages = frames.iter().filter(|frame| matches!(frame.what, FramePayload::Message(_)));
            (messages.count() >= count).then_some(())
        });
    }
}

/// Bytes of a push of [`Pair::push`] with these arguments, about.
const PUSH: (u32, usize) = (20, 50_000);

fn limits(spool: Option<&Path>) -> CopyLimits {
    let spool = spool.map(|folder| (folder.to_owned(), 1 << 30));
    CopyLimits { memory: Some(2 << 20), spool, ..CopyLimits::default() }
}

#[test]
fn records_before_the_analysis() {
    let folder = tempfile::tempdir().expect("a folder");
    let tap = Stalled::start(folder.path(), limits(Some(folder.path())));
    let held = tap.gate();
    let mut pair = tap.open();
    tap.push_recorded(&mut pair, 5);
    assert!(tap.backlog() > 4_000_000, "the analysis has not seen the pushes");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "the spool has no name");
    drop(held);
    tap.wait_for_version(5);
    tap.see(|store| assert_eq!((store.messages(), store.gaps()), (11, 0), "nothing is missing"));
    wait_for_analysis("the end of the backlog", || (tap.backlog() == 0).then_some(()));
}

#[test]
fn stops_while_the_analysis_is_stuck() {
    let folder = tempfile::tempdir().expect("a folder");
    let copies = CopyLimits { drain: Duration::from_millis(300), ..limits(Some(folder.path())) };
    let tap = Stalled::start(folder.path(), copies);
    let gate = tap.gate.clone();
    let held = gate.lock().expect("the gate");
    let mut pair = tap.open();
    tap.push_recorded(&mut pair, 5);
    let (file, _) = tap.running.stop().expect("a recording");
    let recording = Recording { file };
    assert_eq!(recording.messages().len(), 11);
    assert_eq!(recording.state("cds")["in_force"], "5");
    drop(held);
}

#[test]
fn view_counts_messages_that_have_no_room() {
    let folder = tempfile::tempdir().expect("a folder");
    let tap = Stalled::start(folder.path(), limits(None));
    let mut pair = tap.open();
    pair.push(PUSH.0, PUSH.1);
    pair.ack();
    tap.wait_for_version(1);
    let held = tap.gate();
    tap.push_recorded_after(&mut pair, 3, 6);
    drop(held);
    wait_for_analysis("every message", || tap.see(|store| (store.messages() > 7 * 2).then_some(())));
    let lost = tap.see(|store| store.gaps());
    assert!((1..12).contains(&lost), "{lost} messages did not fit");
    let version = pair.push(PUSH.0, PUSH.1);
    pair.ack();
    tap.wait_for_version(version);
    tap.see(|store| {
        assert_eq!(store.gaps(), lost, "later messages are whole");
        assert_eq!(store.messages(), 1 + 8 * 2, "lost messages have numbers too");
        assert_eq!(store.states()[0].summary.resources, u64::from(PUSH.0), "the state is known again");
    });
    drop(pair);
    let (file, _) = tap.running.stop().expect("a recording");
    assert_eq!(Recording { file: file.clone() }.messages().len(), 1 + 8 * 2, "the recording has all of them");
    let frames = open_recording(&file).expect("a recording").frames;
    assert!(!frames.iter().any(|frame| matches!(frame.what, FramePayload::Gap { .. })));
}

/// The decoder of a tap that has no other threads, and decodes only when asked.
struct LateDecoder {
    copies: Arc<CopyQueue>,
    pipeline: Pipeline,
    store: Store,
    writer: Writer,
    frames: Vec<Frame>,
}

impl LateDecoder {
    fn new(copies: Arc<CopyQueue>, file: &Path) -> LateDecoder {
        let header = Header { clock: copies.clock(), ..Header::default() };
        let file = std::fs::File::create_new(file).expect("a file");
        let writer = Writer::in_file(file, header).expect("a recording");
        let store = Store::new(Catalog::in_memory(), copies.clock(), store::Options::default());
        LateDecoder { copies, pipeline: Pipeline::new(|_, _| None), store, writer, frames: Vec::new() }
    }

    /// Decodes copies until the store has seen or counted `count` messages.
    fn decode(&mut self, count: u64) {
        wait_for("every message", || {
            let mut copies = Vec::new();
            self.copies.drain(&mut copies, Duration::from_millis(10));
            for copy in copies {
                self.copies.decoded(copy.event.memory());
                self.pipeline.handle(copy, self.store.catalog_mut(), &mut self.frames);
                for frame in self.frames.drain(..) {
                    self.writer.write(&frame, self.store.catalog()).expect("a written frame");
                    self.store.handle(frame);
                }
            }
            (self.store.messages() + self.store.gaps() >= count).then_some(())
        });
    }
}

#[test]
fn follows_the_stream_again_after_dropped_messages() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("late.xdsrec");
    let plane = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = |text: &str| text.parse::<Address>().expect("an address");
    let upstream = plane.local_addr().expect("an address").to_string();
    let tap = tap::Tap::start(tap::Config {
        maps: vec![(address("127.0.0.1:0"), address(&upstream))],
        queue: Some(2 << 20),
        connect_timeout: PATIENCE,
        tls: Tls::default(),
        changes: None,
        arms: None,
    });
    let tap = tap.expect("a tap");
    let mut decoder = LateDecoder::new(tap.copies.clone().expect("copies"), &file);
    let listening: SocketAddr = tap.listening[0].to_string().parse().expect("an address");
    let mut pair = Pair::open(listening, &plane);
    pair.push(PUSH.0, PUSH.1);
    pair.ack();
    decoder.decode(1 + 2);
    for _ in 0..6 {
        pair.push(PUSH.0, PUSH.1);
        pair.ack();
    }
    decoder.decode(1 + 7 * 2);
    let lost = decoder.store.gaps();
    assert!((1..6).contains(&lost), "{lost} pushes did not fit");
    let version = pair.push(PUSH.0, PUSH.1);
    pair.ack();
    decoder.decode(1 + 8 * 2);
    let LateDecoder { store, writer, .. } = decoder;
    assert_eq!(store.gaps(), lost, "later messages are whole");
    assert_eq!(store.messages() + lost, 1 + 8 * 2, "each message is seen or counted");
    assert_eq!(store.streams().len(), 1, "the connection is not opaque");
    let state = &store.states()[0];
    assert_eq!(state.versions.in_force.as_deref(), Some(version.to_string().as_str()));
    assert_eq!(state.summary.resources, u64::from(PUSH.0), "the state is known again");
    drop(pair);
    writer.finish().expect("a complete recording");
    let (mut messages, mut bytes) = (0, 0);
    for frame in open_recording(&file).expect("a recording").frames {
        if let FramePayload::Gap { messages: some, bytes: size, cause, .. } = frame.what {
            assert_eq!((frame.stream, cause), (StreamId(1), GapCause::Lost));
            messages += some;
            bytes += size;
        }
    }
    assert_eq!(messages, lost, "gaps count messages");
    let push = u64::from(PUSH.0) * (PUSH.1 as u64);
    // The start of the first dropped push was copied.
    assert!(((lost - 1) * push..lost * (push + 10_000)).contains(&bytes), "{bytes} bytes of {lost} pushes");
    let objects = Recording { file }.objects("info", &[]);
    let stream = objects.iter().find(|object| object["object"] == "stream").expect("a stream");
    assert_eq!(stream["gaps"], lost, "{stream}");
}

#[test]
fn loses_nothing_of_three_large_pushes() {
    let folder = tempfile::tempdir().expect("a folder");
    let plane = TcpListener::bind("127.0.0.1:0").expect("a port");
    let tap = Tap::start(folder.path(), plane.local_addr().expect("an address"), &["-o", "jsonl"]);
    let mut pair = Pair::open(tap.address(), &plane);
    for _ in 0..3 {
        pair.push(1_000, 39_000);
    }
    pair.ack();
    let is_ack = |line: &str| line.contains(r#""kind":"ack""#) && line.contains(r#""version":"3""#);
    wait_for_analysis("the ACK", || tap.log().lines().any(is_ack).then_some(()));
    let recording = tap.stop();
    assert_eq!(recording.messages().len(), 5);
    assert!(!recording.text("info", &[]).contains("gap"));
}
