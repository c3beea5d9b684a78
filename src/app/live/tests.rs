//! Every script as a live session: the facts of the run are those of the replay of its session
//! file.

use std::fmt::{Debug, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use regex::Regex;

use super::{Decoding, Live};
use crate::app::recording::recorder::Recorder;
use crate::app::recording::recording_file::{self, SessionFile};
use crate::app::recording::spool::Spool;
use crate::app::tap::meaning;
use crate::net::tap::CopyQueue;
use xdscope_engine::analysis::{Analysis, rules};
use xdscope_engine::store::{Options, Store};
use xdscope_schema::Schema;
use xdscope_schema::redact::Redactor;
use xdscope_sources::observe::{ConnId, Pipeline, StreamEvent, TapEvent};
use xdscope_sources::record::{Header, Loaded};
use xdscope_sources::{SchemaCodec, open_recording, script};
use xdscope_wire::content::{Catalog, MemoryBodies, Redact};
use xdscope_wire::event::{Clock, Seq};
use xdscope_wire::h2::Head;
use xdscope_wire::{Frame, FramePayload, Message};

/// The seed of the catalogs and secrets.
const SEED: u64 = 42;

pub(in crate::app) fn scripts() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let folders = ["lint", "rows", "scripts", "tui", "cli"].map(|folder| root.join(folder));
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "xds"));
    files.sort();
    files
}

pub(in crate::app) fn load(file: &Path, schema: &Arc<Schema>) -> Option<Loaded> {
    let text = std::fs::read_to_string(file).ok()?;
    let script = script::parse(&text, &file.to_string_lossy()).ok()?;
    script::load_into(&script, &SchemaCodec(schema.clone()), Catalog::in_memory()).ok()
}

/// Returns what a server that is xdscope itself reports about a frame.
fn events(frame: &Frame, catalog: &Catalog) -> Vec<TapEvent> {
    let stream = |event| TapEvent::Stream { stream: 1, event };
    match &frame.what {
        FramePayload::Open(open) => {
            let peer = open.peer.clone().unwrap_or_else(|| format!("10.0.0.{}:1", frame.stream.0));
            let server = open.server.clone().unwrap_or_else(|| "10.0.1.1:18000".to_owned());
            let metadata = open.metadata.clone();
            let head = Head { path: open.method.clone(), metadata, ..Head::default() };
            vec![TapEvent::Opened { peer, server }, stream(StreamEvent::Open(head))]
        }
        FramePayload::Message(message) => {
            let Some(bytes) = message.bytes(catalog) else { return Vec::new() };
            let (dir, pieces) = (message.shape.dir(), vec![Bytes::from(bytes)]);
            vec![stream(StreamEvent::Message { dir, pieces })]
        }
        FramePayload::Gap { bytes, .. } => vec![stream(StreamEvent::Lost { bytes: *bytes })],
        FramePayload::Opaque { .. } | FramePayload::Intercepted(_) => Vec::new(),
        FramePayload::End(end) => {
            let closed = TapEvent::Closed { by: end.by, error: None };
            vec![stream(StreamEvent::End(end.as_ref().clone())), closed]
        }
    }
}

pub(in crate::app) fn empty(catalog: Catalog, clock: Clock, schema: &Arc<Schema>) -> Analysis {
    let mut store = Store::new(catalog, clock, Options::default());
    store.set_meaning(meaning(schema.clone()));
    Analysis::new(store, rules(schema))
}

/// Plays a script through the threads of a tap, with `limit` bytes for copies. Returns its facts
/// and those of the replay of its session file.
fn live_and_replayed(script: &Loaded, schema: &Arc<Schema>, limit: usize) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.xdsrec");
    let copies = Arc::new(CopyQueue::new(limit));
    let redactor = Arc::new(Redactor::new(schema.clone(), SEED));
    let catalog = || Catalog::new(SEED, Some(redactor.clone()), Box::new(MemoryBodies::default()));
    let session = SessionFile::new(path.clone(), recording_file::create(&path).unwrap());
    let header = Header { seed: SEED, clock: script.clock, ..Header::default() };
    let metadata = redactor.clone();
    let decoding = Decoding {
        pipeline: Pipeline::new(move |name, value| metadata.metadata(name, value)),
        catalog: catalog(),
        recorder: Some(Recorder::new(session, header).unwrap()),
        budget: usize::MAX,
        spool: Some(Spool::create(folder.path(), 1 << 30).unwrap()),
    };
    let store = empty(catalog(), script.clock, schema);
    let live = Live::start(copies.clone(), store, decoding, None).unwrap();
    for frame in &script.frames {
        for event in events(frame, &script.catalog) {
            copies.push(ConnId(frame.stream.0.into()), frame.at, event);
        }
    }
    copies.close();
    let shared = live.stop(Instant::now() + Duration::from_secs(60));
    let replayed = open_recording(&path).unwrap();
    assert_eq!(replayed.notices, Vec::<String>::new());
    let mut replay = empty(replayed.catalog, replayed.clock, schema);
    replayed.frames.into_iter().for_each(|frame| replay.handle(frame));
    replay.advance(replayed.end);
    (facts(&shared.store()), facts(&replay))
}

/// All facts as text, without numbers that depend on the catalog.
fn facts(analysis: &Analysis) -> String {
    static IDS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"BlobId\(\s*\d+,?\s*\)|Sym\(\s*\d+,?\s*\)").unwrap());
    let mut out = String::new();
    let mut put = |fact: &dyn Debug| writeln!(out, "{fact:#?}").unwrap();
    analysis.streams().iter().for_each(|fact| put(fact));
    for state in analysis.states() {
        put(&state);
        let resources = analysis.resources(state.summary.stream, &state.summary.type_url);
        resources.iter().for_each(|fact| put(fact));
    }
    (0..analysis.rows()).filter_map(|row| analysis.row(row)).for_each(|fact| put(&fact));
    let bytes = |message: Arc<Message>| message.bytes(analysis.catalog());
    (1..=analysis.messages())
        .filter_map(|n| analysis.message(Seq(n)))
        .for_each(|message| put(&bytes(message)));
    analysis.findings().iter().for_each(|finding| put(finding));
    analysis.problems().iter().for_each(|problem| put(problem));
    IDS.replace_all(&out, "ID").into_owned()
}

#[test]
fn live_sessions_and_their_recordings_have_the_same_facts() {
    let schema = Schema::builtin();
    let mut compared = 0;
    for (n, file) in scripts().iter().enumerate() {
        let Some(script) = load(file, &schema) else { continue };
        // Small limits send copies and records through the spool.
        let limit = if n % 2 == 0 { 1 << 20 } else { 64 };
        let (live, replayed) = live_and_replayed(&script, &schema, limit);
        if live != replayed {
            let diff = similar::TextDiff::from_lines(&replayed, &live);
            panic!("{}:\n{}", file.display(), diff.unified_diff().context_radius(4));
        }
        compared += 1;
    }
    assert!(compared > 200, "{compared} scripts");
}
