//! Facts do not depend on what the analysis has dropped, and its memory stays bounded.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use std::sync::Arc;

use xdscope_engine::analysis::*;
use xdscope_engine::lint::Blame;
use xdscope_engine::store::Store;
use xdscope_engine::store::{Options, SchemaSemantics};
use xdscope_schema::Schema;
use xdscope_sources::record::Loaded;
use xdscope_sources::{SchemaCodec, script};
use xdscope_wire::Frame;
use xdscope_wire::content::MemoryBodies;
use xdscope_wire::content::*;
use xdscope_wire::discovery::encode::{RequestFields, ResponseFields};
use xdscope_wire::event::Time;
use xdscope_wire::event::{Clock, Dir, StreamId};
use xdscope_wire::pb::put_len_field;
use xdscope_wire::{
    FramePayload, Interference, Intervention, InterventionFacts, Message, MessageShape, Open,
};

pub(super) fn scripts() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let folders = ["lint", "rows", "scripts", "tui", "cli"].map(|folder| root.join(folder));
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a folder"));
    let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "xds"));
    files.sort();
    files
}

pub(super) fn load(file: &Path, schema: &Arc<Schema>) -> Option<Loaded> {
    let text = std::fs::read_to_string(file).ok()?;
    let script = script::parse(&text, &file.to_string_lossy()).ok()?;
    script::load_into(&script, &SchemaCodec(schema.clone()), Catalog::in_memory()).ok()
}

/// Returns an analysis without messages.
pub(super) fn empty(catalog: Catalog, clock: Clock, schema: &Arc<Schema>) -> Analysis {
    let mut store = Store::new(catalog, clock, Options::default());
    store.set_meaning(Arc::new(SchemaSemantics::new(schema.clone())));
    Analysis::new(store, rules(schema))
}

/// Plays a script. `drops`: after each frame, everything is dropped to which neither the facts nor
/// later frames refer.
pub(super) fn play(loaded: Loaded, schema: &Arc<Schema>, drops: bool) -> Analysis {
    let mut analysis = empty(loaded.catalog, loaded.clock, schema);
    let mut frames = loaded.frames.into_iter();
    while let Some(frame) = frames.next() {
        analysis.handle(frame);
        if drops {
            let later = frames.as_slice();
            analysis.drop_old_now(|used| {
                for frame in later {
                    if let FramePayload::Message(message) = &frame.what {
                        message.mark(used);
                    }
                }
            });
        }
    }
    analysis.advance(loaded.end);
    analysis
}

/// All facts as text, without numbers that depend on the catalog.
pub(super) fn facts(analysis: &Analysis) -> String {
    static IDS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"BlobId\(\s*\d+,?\s*\)|Sym\(\s*\d+,?\s*\)").expect("a pattern"));
    let mut out = String::new();
    let mut put = |fact: &dyn std::fmt::Debug| writeln!(out, "{fact:#?}").expect("a string");
    analysis.streams().iter().for_each(|fact| put(fact));
    for state in analysis.states() {
        put(&state);
        let resources = analysis.resources(state.summary.stream, &state.summary.type_url);
        resources.iter().for_each(|fact| put(fact));
        let contents = resources.iter().filter_map(|fact| analysis.catalog().bytes(fact.content?));
        contents.for_each(|bytes| put(&bytes));
    }
    (0..analysis.rows()).filter_map(|row| analysis.row(row)).for_each(|fact| put(&fact));
    (1..=analysis.messages())
        .filter_map(|n| analysis.message(xdscope_wire::event::Seq(n)))
        .for_each(|message| put(&message.bytes(analysis.catalog())));
    analysis.findings().iter().for_each(|finding| put(finding));
    analysis.problems().iter().for_each(|problem| put(problem));
    IDS.replace_all(&out, "ID").into_owned()
}

#[test]
fn facts_do_not_depend_on_dropped_content() {
    let schema = Schema::builtin();
    let mut compared = 0;
    for file in scripts() {
        let (Some(kept), Some(dropped)) = (load(&file, &schema), load(&file, &schema)) else { continue };
        let (kept, dropped) = (facts(&play(kept, &schema, false)), facts(&play(dropped, &schema, true)));
        if kept != dropped {
            let diff = similar::TextDiff::from_lines(&kept, &dropped);
            panic!("{}:\n{}", file.display(), diff.unified_diff().context_radius(4));
        }
        compared += 1;
    }
    assert!(compared > 200, "{compared} scripts");
}

/// Messages of the long session.
const MESSAGES: u64 = 40_000;
/// Messages of a stream.
const MESSAGES_PER_STREAM: u64 = 50;
/// The budget of the long session in bytes.
const BUDGET: usize = 6 << 20;

fn delta_response(i: u64) -> Vec<u8> {
    let (mut cluster, mut any, mut resource, mut response) = (vec![], vec![], vec![], vec![]);
    put_len_field(&mut cluster, 1, format!("cluster-{i}").as_bytes());
    put_len_field(&mut any, 1, b"type.googleapis.com/envoy.config.cluster.v3.Cluster");
    put_len_field(&mut any, 2, &cluster);
    put_len_field(&mut resource, 3, format!("cluster-{i}").as_bytes());
    put_len_field(&mut resource, 1, format!("version-{i}").as_bytes());
    put_len_field(&mut resource, 2, &any);
    put_len_field(&mut response, 2, &resource);
    put_len_field(&mut response, 4, b"type.googleapis.com/envoy.config.cluster.v3.Cluster");
    put_len_field(&mut response, 5, format!("nonce-{i}").as_bytes());
    if let Some(old) = i.checked_sub(20) {
        put_len_field(&mut response, 6, format!("cluster-{old}").as_bytes());
    }
    response
}

fn delta_request(i: u64) -> Vec<u8> {
    let (mut node, mut request) = (vec![], vec![]);
    put_len_field(&mut node, 1, format!("node-{}", i / MESSAGES_PER_STREAM).as_bytes());
    put_len_field(&mut request, 1, &node);
    put_len_field(&mut request, 2, b"type.googleapis.com/envoy.config.cluster.v3.Cluster");
    if i.is_multiple_of(MESSAGES_PER_STREAM) {
        put_len_field(&mut request, 3, b"*");
    } else {
        put_len_field(&mut request, 6, format!("nonce-{}", i - 1).as_bytes());
    }
    request
}

#[test]
fn memory_of_a_long_session_is_flat() {
    let catalog = Catalog::new(1, None, Box::new(MemoryBodies::default()));
    let options = Options { history: BUDGET, ..Options::default() };
    let store = Store::new(catalog, Clock { epoch: None, untimed: false }, options);
    let mut analysis = Analysis::new(store, bounded(&Schema::builtin()));
    let method = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";
    let mut most = [0; 2];
    for i in 0..MESSAGES {
        let at = Time(i * 10_000_000);
        let stream = StreamId(u32::try_from(i / MESSAGES_PER_STREAM).expect("few streams") + 1);
        let mut handle = |what| analysis.handle(Frame { at, stream, what });
        if i.is_multiple_of(MESSAGES_PER_STREAM) {
            let open = Open { method: method.into(), peer: Some(format!("10.0.0.1:{i}")), ..Open::default() };
            handle(FramePayload::Open(Box::new(open)));
        }
        for (shape, bytes) in
            [(MessageShape::DeltaRequest, delta_request(i)), (MessageShape::DeltaResponse, delta_response(i))]
        {
            let message = Message::parse(shape, &bytes, analysis.catalog_mut());
            analysis.handle(Frame { at, stream, what: FramePayload::Message(Arc::new(message)) });
        }
        if i % MESSAGES_PER_STREAM == MESSAGES_PER_STREAM - 1 {
            analysis.handle(Frame { at, stream, what: FramePayload::End(Box::default()) });
        }
        analysis.drop_old(|_| {});
        let half = usize::from(i > MESSAGES / 2);
        most[half] = most[half].max(analysis.memory());
    }
    let [first, second] = most;
    let limit = BUDGET + BUDGET / 8;
    let parts = (analysis.catalog().memory(), analysis.store().memory());
    assert!(first < limit && second < limit, "{first} and {second} of {BUDGET}: {parts:?}");
    assert!(analysis.first_row() > 0 && analysis.dropped_streams() > 0);
    assert_eq!(analysis.messages(), 2 * MESSAGES);
    let state = analysis.states().pop().expect("a state");
    let resources = analysis.resources(state.summary.stream, &state.summary.type_url);
    let newest = format!("cluster-{}", MESSAGES - 1);
    assert!(resources.iter().any(|resource| resource.name.as_ref() == newest), "the newest resource");
}

/// Returns the bytes of facts that are visited to drop old ones, for each update on open streams,
/// whose facts are never dropped.
fn visited_per_update(streams: u64) -> usize {
    let catalog = Catalog::new(1, None, Box::new(MemoryBodies::default()));
    let options = Options { history: 4 << 20, ..Options::default() };
    let store = Store::new(catalog, Clock { epoch: None, untimed: false }, options);
    let mut analysis = Analysis::new(store, bounded(&Schema::builtin()));
    let method = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";
    let stream = |n: u64| StreamId(u32::try_from(n % streams).expect("few streams") + 1);
    let message = |analysis: &mut Analysis, n: u64, shape, bytes: &[u8]| {
        let message = Arc::new(Message::parse(shape, bytes, analysis.catalog_mut()));
        let what = FramePayload::Message(message);
        analysis.handle(Frame { at: Time(n * 10_000_000), stream: stream(n), what });
    };
    for n in 0..streams {
        let open = Open { method: method.into(), ..Open::default() };
        let what = FramePayload::Open(Box::new(open));
        analysis.handle(Frame { at: Time(0), stream: stream(n), what });
        message(&mut analysis, n, MessageShape::DeltaRequest, &delta_request(n * MESSAGES_PER_STREAM));
    }
    assert!(analysis.memory() > 4 << 20, "open streams exceed the budget");
    let updates = 20_000;
    let mut visited = 0;
    for n in 0..updates {
        message(&mut analysis, n, MessageShape::DeltaResponse, &delta_response(n));
        message(&mut analysis, n, MessageShape::DeltaRequest, &delta_request(n / 50 * 50 + 1));
        if analysis.drop_old(|_| {}).is_some() {
            visited += analysis.memory();
        }
    }
    assert!(visited > 0, "old facts were dropped");
    visited / usize::try_from(updates).expect("few updates")
}

#[test]
fn dropping_costs_an_update_the_same_however_much_stays() {
    let (small, large) = (visited_per_update(800), visited_per_update(3200));
    assert!(large <= 2 * small, "{small} bytes visited for each update, {large} with four times the streams");
}

/// Returns the blames of the findings about a push that xdscope has changed or not.
fn blames_about(pushed: &[u8], is_changed: bool) -> Vec<Blame> {
    const CDS: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
    let clock = Clock { epoch: None, untimed: false };
    let store = Store::new(Catalog::in_memory(), clock, Options::default());
    let mut analysis = Analysis::new(store, bounded(&Schema::builtin()));
    let handle = |analysis: &mut Analysis, what| {
        analysis.handle(Frame { at: Time(1), stream: StreamId(1), what });
    };
    let message = |analysis: &mut Analysis, shape, bytes: &[u8]| {
        let message = Message::parse(shape, bytes, analysis.catalog_mut());
        handle(analysis, FramePayload::Message(Arc::new(message)));
    };
    let method = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";
    let open = Open { method: method.into(), ..Open::default() };
    handle(&mut analysis, FramePayload::Open(Box::new(open)));
    let request = RequestFields { type_url: CDS, ..RequestFields::default() };
    message(&mut analysis, MessageShape::SotwRequest, &request.encode(false));
    if is_changed {
        let facts = InterventionFacts {
            interference: Interference::Changed,
            dir: Dir::Resp,
            is_delta: false,
            type_url: CDS.into(),
            version: "1".into(),
            nonce: "n1".into(),
            by: "fault 1: => corrupt".into(),
        };
        let what = Intervention { facts, original: None, sent: None, sent_dir: Dir::Resp };
        handle(&mut analysis, FramePayload::Intercepted(Box::new(what)));
    }
    message(&mut analysis, MessageShape::SotwResponse, pushed);
    analysis.findings().iter().map(|finding| finding.blame).collect()
}

#[test]
fn wrong_bytes_of_a_changed_push_are_not_the_fault_of_the_server() {
    let type_url = "type.googleapis.com/envoy.config.cluster.v3.Clustes";
    let other_type = ResponseFields { version: "1", type_url, nonce: "n1", ..ResponseFields::default() };
    for pushed in [other_type.encode::<&[u8]>(false, []), vec![0x0a, 0xff]] {
        assert!(blames_about(&pushed, false).contains(&Blame::Server), "{pushed:?}");
        let blames = blames_about(&pushed, true);
        let (ours, theirs) = (blames.contains(&Blame::Xdscope), blames.contains(&Blame::Server));
        assert!(ours && !theirs, "{pushed:?}: {blames:?}");
    }
}
