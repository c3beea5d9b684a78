//! Verbs on recordings that do not fit into `--memory`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Exit, run};
use xdscope_schema::Schema;
use xdscope_sources::record::{Header, Writer};
use xdscope_sources::{FrameSink, Limit, Passes, ReadProgress, Spec, StoreUntil, Timeline};
use xdscope_wire::content::{Catalog, MemoryBodies, UsedContent};
use xdscope_wire::discovery::encode::encode_any;
use xdscope_wire::event::{Clock, Seq, StreamId, Time};
use xdscope_wire::pb::put_len_field;
use xdscope_wire::{Frame, FramePayload, Message, MessageShape, Open};

const CDS: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
const METHOD: &str = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";
/// Streams of the recording, which stay open.
const STREAMS: u64 = 10;
/// Clusters of each stream. Each update has new content.
const CLUSTERS: u64 = 20;

fn request(i: u64) -> Vec<u8> {
    let (mut node, mut request) = (vec![], vec![]);
    put_len_field(&mut node, 1, format!("node-{}", i % STREAMS).as_bytes());
    put_len_field(&mut request, 1, &node);
    put_len_field(&mut request, 2, CDS.as_bytes());
    match i.checked_sub(STREAMS) {
        None => put_len_field(&mut request, 3, b"*"),
        Some(before) => put_len_field(&mut request, 6, format!("nonce-{before}").as_bytes()),
    }
    request
}

fn response(i: u64) -> Vec<u8> {
    let name = format!("cluster-{}", i / STREAMS % CLUSTERS);
    let (mut cluster, mut resource, mut response) = (vec![], vec![], vec![]);
    put_len_field(&mut cluster, 1, name.as_bytes());
    // Each second content is one of a few, which the recording has once.
    let content = if i.is_multiple_of(2) { i } else { i % 200 };
    put_len_field(&mut cluster, 28, format!("content {content:032}").as_bytes());
    put_len_field(&mut resource, 3, name.as_bytes());
    put_len_field(&mut resource, 1, format!("version-{i}").as_bytes());
    put_len_field(&mut resource, 2, &encode_any(CDS, &cluster));
    put_len_field(&mut response, 2, &resource);
    put_len_field(&mut response, 4, CDS.as_bytes());
    put_len_field(&mut response, 5, format!("nonce-{i}").as_bytes());
    response
}

/// Writes a recording of this many updates and their ACKs.
fn record(path: &Path, updates: u64) {
    let mut catalog = Catalog::new(1, None, Box::new(MemoryBodies::default()));
    let header =
        Header { seed: 1, clock: Clock { epoch: Some(1 << 60), untimed: false }, ..Header::default() };
    let mut writer = Writer::new(std::fs::File::create(path).expect("a file"), header).expect("a header");
    for i in 0..updates {
        let (at, stream) = (Time(i * 1_000_000), StreamId(u32::try_from(i % STREAMS).expect("few") + 1));
        let mut write = |what, catalog: &Catalog| {
            writer.write(&Frame { at, stream, what }, catalog).expect("a disk");
        };
        if i < STREAMS {
            let open = Open { method: METHOD.into(), peer: Some(format!("10.0.0.{i}:5")), ..Open::default() };
            write(FramePayload::Open(Box::new(open)), &catalog);
        }
        for (shape, bytes) in
            [(MessageShape::DeltaRequest, request(i)), (MessageShape::DeltaResponse, response(i))]
        {
            let message = Message::parse(shape, &bytes, &mut catalog);
            write(FramePayload::Message(Arc::new(message)), &catalog);
        }
    }
    writer.finish().expect("a disk");
}

/// A recording of several times the memory of [`SMALL`].
fn large() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("large.xdsrec");
    record(&path, 4_000);
    (folder, path)
}

const SMALL: &str = "1500KB";

/// Runs a verb on a recording with much and with little memory.
fn with_both(path: &Path, verb: &[&str]) -> [super::CallOutput; 2] {
    let path = path.to_str().expect("a name");
    let args = |memory| -> Vec<String> {
        let words = verb.iter().map(|word| word.replace("PATH", path).replace("MEMORY", memory));
        words.chain(["--memory".to_owned(), memory.to_owned()]).collect()
    };
    ["512MB", SMALL].map(|memory| {
        let args = args(memory);
        run(&args.iter().map(String::as_str).collect::<Vec<_>>())
    })
}

#[test]
fn verbs_print_the_same_with_little_memory() {
    let (_folder, path) = large();
    for verb in [
        &["status", "PATH", "-o", "wide"][..],
        &["log", "PATH"],
        &["log", "PATH", "--tail", "5", "-o", "json"],
        &["log", "PATH", "--filter", "name:cluster-7", "-o", "jsonl", "--body"],
        &["info", "PATH"],
        &["info", "PATH", "-o", "json"],
        &["lint", "PATH", "-o", "json"],
        &["get", "PATH", "cds/cluster-7", "-o", "yaml"],
        &["get", "PATH", "cds", "--at", "#4500", "--node", "node-3", "-o", "json"],
        &["get", "PATH", "cds/cluster-7", "--at", "+1s", "-o", "yaml"],
        &["replay", "PATH", "--no-tui"],
        &["replay", "PATH", "--no-tui", "--at", "#4500", "--filter", "name:cluster-7"],
        &["diff", "PATH", "cds/cluster-7"],
        &["diff", "PATH", "cds/cluster-7", "version-70", "version-3470", "--stream", "#1"],
        &["diff", "PATH", "@#1500", "@#6000", "--stat", "--node", "node-3"],
        &["diff", "PATH", "@end", "@+500ms", "cds/cluster-7"],
        &["diff", "PATH", "PATH", "cds"],
        &["export", "PATH", "--to", "raw"],
        &["export", "PATH", "--to", "script"],
        &["export", "PATH", "--to", "script", "--from", "#4000", "--node", "node-3"],
        &["export", "PATH", "--to", "raw", "--from", "#4000", "--until", "#6000", "--node", "node-3"],
        &["export", "PATH", "--to", "jsonl"],
        &["export", "PATH", "--to", "jsonl", "--filter", "name:cluster-7", "--stream", "#4"],
        &["export", "PATH", "--to", "bootstrap", "--node", "node-3", "--until", "#4500"],
        &["export", "PATH", "--to", "dot", "--node", "node-3"],
    ] {
        let [all, some] = with_both(&path, verb);
        assert_eq!((all.exit, all.err.as_str()), (some.exit, some.err.as_str()), "{verb:?}");
        let says_nothing = verb == ["diff", "PATH", "PATH", "cds"];
        assert_eq!(all.out.is_empty(), says_nothing, "{verb:?}: {}", all.err);
        let differs = all.out.lines().zip(some.out.lines()).find(|(one, other)| one != other);
        assert_eq!(differs, None, "{verb:?}");
        assert_eq!(all.out.len(), some.out.len(), "{verb:?}");
    }
}

/// Sources that are in memory as a whole are refused, with the value that is enough.
#[test]
fn whole_sources_beyond_memory_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("large.xds");
    let lines = "< cds v=1 n=1 [a b c d]\n".repeat(30_000);
    std::fs::write(&path, format!("stream 1 ads\n{lines}")).expect("a file");
    let path = path.to_str().expect("a name");
    let mut enough = String::new();
    for verb in [&["status", path][..], &["log", path], &["lint", path, "--expect"]] {
        let refused = run(&[verb, &["--memory", SMALL]].concat());
        assert_eq!((refused.exit, refused.out.as_str()), (Exit::Unreadable, ""), "{}", refused.err);
        assert!(
            refused.err.contains("cannot read")
                && refused.err.contains("of memory, and the limit is 67.1 MB")
        );
        let (_, next) = refused.err.split_once("next   --memory ").expect("the next step");
        enough = next.trim().to_owned();
    }
    let read = run(&["log", path, "--tail", "1", "--memory", &enough]);
    assert_eq!(read.exit, Exit::Yes, "{enough}: {}", read.err);
}

#[test]
fn applied_dumps_beyond_memory_are_refused() {
    let (_folder, path) = large();
    let path = path.to_str().expect("a name");
    let dump = tempfile::NamedTempFile::new().expect("a file");
    dump.as_file().set_len(30 << 20).expect("a file with a hole");
    let dump = dump.path().to_str().expect("a name");
    let refused = run(&["status", path, "--applied", dump, "--memory", SMALL]);
    assert_eq!((refused.exit, refused.out.as_str()), (Exit::Unreadable, ""), "{}", refused.err);
    assert!(refused.err.contains("of memory, and the limit is 268 MB"), "{}", refused.err);
    assert!(refused.err.contains("next   --memory 346MB"), "{}", refused.err);
}

#[test]
fn raw_jsonl_is_read_with_little_memory() {
    let (folder, path) = large();
    let lines = folder.path().join("large.jsonl");
    let text = lines.to_str().expect("a name");
    let made = run(&["export", path.to_str().expect("a name"), "--to", "raw", "--output", text]);
    assert_eq!(made.exit, Exit::Yes, "{}", made.err);
    for verb in [
        &["status", "PATH", "-o", "wide"][..],
        &["log", "PATH"],
        // JSON has hashes, which are keyed anew for each reading of raw JSONL.
        &["get", "PATH", "cds/cluster-7", "--at", "#4500", "--node", "node-3", "-o", "yaml"],
        &["replay", "PATH", "--no-tui", "--at", "#4500", "--filter", "name:cluster-7"],
        &["diff", "PATH", "cds/cluster-7"],
        &["export", "PATH", "--to", "script"],
    ] {
        let [all, some] = with_both(&lines, verb);
        assert_eq!((all.exit, all.err.as_str()), (some.exit, some.err.as_str()), "{verb:?}");
        assert!(all.out == some.out && !all.out.is_empty(), "{verb:?}");
        // A recording of the session says the same, except for its sizes.
        if verb[0] == "log" {
            assert_eq!(with_both(&path, verb)[0].out, all.out, "{verb:?}");
        }
    }
}

#[test]
fn copies_are_the_same_with_little_memory() {
    let (folder, path) = large();
    for verb in [
        &["redact", "PATH", "--output", "PATH.MEMORY.copy"][..],
        &["export", "PATH", "--to", "xdsrec", "--output", "PATH.MEMORY.copy"],
        &[
            "export",
            "PATH",
            "--to",
            "xdsrec",
            "--from",
            "#4000",
            "--node",
            "node-3",
            "--output",
            "PATH.MEMORY.copy",
        ],
    ] {
        let [all, some] = with_both(&path, verb);
        assert_eq!((all.exit, some.exit), (Exit::Yes, Exit::Yes), "{verb:?}: {} {}", all.err, some.err);
        let raw = |memory: &str| {
            let copy = format!("{}.{memory}.copy", path.display());
            let raw = run(&["export", &copy, "--to", "raw"]);
            std::fs::remove_file(copy).expect("the copy");
            raw.out
        };
        let (all, some) = (raw("512MB"), raw(SMALL));
        assert!(all.lines().count() > 250 && all == some, "{verb:?}");
    }
    drop(folder);
}

/// A fold that remembers the most memory.
struct Measured<T> {
    facts: T,
    memory: fn(&mut T) -> usize,
    most: usize,
}

impl<T: FrameSink> FrameSink for Measured<T> {
    fn catalog_mut(&mut self) -> &mut Catalog {
        self.facts.catalog_mut()
    }

    fn handle(&mut self, frame: Frame) {
        self.facts.handle(frame);
        self.most = self.most.max((self.memory)(&mut self.facts));
    }

    fn advance(&mut self, now: Time) {
        self.facts.advance(now);
    }

    fn drop_old(&mut self, mark: &mut dyn FnMut(&mut UsedContent)) -> Option<UsedContent> {
        self.facts.drop_old(mark)
    }
}

struct NoProgress;

impl ReadProgress for NoProgress {
    fn start(&mut self, _size: u64) {}
    fn update(&mut self, _position: &dyn Fn() -> u64) {}
}

/// `--memory` of a reader.
const BUDGET: usize = 6 << 20;

#[test]
fn memory_of_readers_is_flat() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("large.xdsrec");
    record(&path, 40_000);
    let lines = folder.path().join("large.jsonl");
    let words = ["export", path.to_str().expect("a name"), "--to", "raw", "--output"];
    run(&[&words[..], &[lines.to_str().expect("a name")]].concat());
    for path in [path, lines] {
        memory_of_reader_is_flat(&path);
    }
}

/// `path`: the source of [`memory_of_readers_is_flat`].
fn memory_of_reader_is_flat(path: &Path) {
    let schema = Schema::builtin();
    let mut passes = Passes::open(&Spec::new(path), &schema, BUDGET).expect("a recording");
    let options = xdscope_engine::store::Options { history: BUDGET, ..Default::default() };
    let mut most = |limit: Limit| {
        let folded = passes.fold(&mut NoProgress, |catalog, clock| Measured {
            facts: StoreUntil::new(xdscope_sources::store(options, catalog, clock, &schema), limit),
            memory: |until| until.store().memory(),
            most: 0,
        });
        let Measured { facts, most, .. } = folded.expect("all of it").facts;
        (most, facts.into_facts())
    };
    for limit in [Limit::All, Limit::Message(Seq(50_000)), Limit::Message(Seq(100))] {
        let (most, store) = most(limit);
        assert!(most < BUDGET + BUDGET / 4, "{limit:?}: {most} of {BUDGET}");
        let state = store.states().pop().expect("a state");
        let resources = store.resources(state.summary.stream, &state.summary.type_url);
        assert!(!resources.is_empty());
        for resource in resources {
            let content = resource.content.and_then(|id| store.catalog().bytes(id));
            assert!(content.is_some_and(|bytes| !bytes.is_empty()), "{limit:?}: {}", resource.name);
        }
    }
    let span = passes.span(&mut NoProgress).expect("all of it");
    assert_eq!((span.messages, span.first_nack), (80_000, None));
}
