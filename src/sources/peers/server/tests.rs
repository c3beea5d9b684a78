//! Streams of the control plane against clients that send given messages.

mod ttl;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use super::*;
use xdscope_engine::store::{Options, Store};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::Kind;
use xdscope_wire::pb::put_len_field;
use xdscope_wire::{ErrorDetail, Message, MessageBody, MessageShape};

const CDS: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
const EDS: &str = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";
const ADS: &str = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";
const DELTA: &str = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";

fn any(url: &str, name: &str, text: &str) -> Bytes {
    let (mut value, mut out) = (Vec::new(), Vec::new());
    put_len_field(&mut value, 1, name.as_bytes());
    put_len_field(&mut value, 100, text.as_bytes());
    put_len_field(&mut out, 1, url.as_bytes());
    put_len_field(&mut out, 2, &value);
    out.into()
}

/// Resources whose versions equal their contents.
fn known(url: &str, version: &str, resources: &[(&str, &str)]) -> (TypeUrl, Type) {
    let resource = |(name, text): &(&str, &str)| {
        let any = any(url, name, text);
        let resource = SnapshotResource::new((*text).to_owned(), any);
        (Arc::from(*name), resource)
    };
    (url.into(), Type::new(version.to_owned(), resources.iter().map(resource).collect()))
}

fn plan<const N: usize>(types: [(TypeUrl, Type); N]) -> Arc<Plan> {
    Arc::new(Plan::Snapshots { by_node: BTreeMap::new(), all: Arc::new(Snapshot::new(types.into())) })
}

fn two() -> Arc<Plan> {
    plan([known(CDS, "1", &[("A", "1"), ("B", "1")]), known(EDS, "1", &[("a", "1"), ("b", "1")])])
}

/// A stream, and a reader of its responses.
struct Client {
    stream: ServerStream,
    delta: bool,
    catalog: Catalog,
}

/// A request of a client.
#[derive(Default)]
struct Says<'a> {
    url: &'a str,
    names: &'a [&'a str],
    gone: &'a [&'a str],
    held: &'a [(&'a str, &'a str)],
    nonce: &'a str,
    error: bool,
    /// Features of the node; without any, no node is sent.
    features: &'a [&'a str],
}

impl Client {
    fn new(path: &str, plan: &Arc<Plan>) -> Client {
        let stream = ServerStream::open(path, plan.clone(), Time::ZERO).expect("a method of xDS");
        Client { stream, delta: path == DELTA, catalog: Catalog::in_memory() }
    }

    fn say(&mut self, says: &Says<'_>) -> Vec<String> {
        self.say_at(Time::ZERO, says)
    }

    fn say_at(&mut self, now: Time, says: &Says<'_>) -> Vec<String> {
        let (names_at, url_at, nonce_at, error_at) = if self.delta { (3, 2, 6, 7) } else { (3, 4, 5, 6) };
        let (mut out, mut node) = (Vec::new(), Vec::new());
        says.features.iter().for_each(|feature| put_len_field(&mut node, 10, feature.as_bytes()));
        if !node.is_empty() {
            put_len_field(&mut out, if self.delta { 1 } else { 2 }, &node);
        }
        put_len_field(&mut out, url_at, says.url.as_bytes());
        says.names.iter().for_each(|name| put_len_field(&mut out, names_at, name.as_bytes()));
        says.gone.iter().for_each(|name| put_len_field(&mut out, 4, name.as_bytes()));
        for (name, version) in says.held {
            let mut pair = Vec::new();
            put_len_field(&mut pair, 1, name.as_bytes());
            put_len_field(&mut pair, 2, version.as_bytes());
            put_len_field(&mut out, 5, &pair);
        }
        put_len_field(&mut out, nonce_at, says.nonce.as_bytes());
        if says.error {
            put_len_field(&mut out, error_at, &ErrorDetail::default().encode());
        }
        self.stream.handle_request(now, &out);
        self.hear(now)
    }

    /// All actions that are due now, as text.
    fn hear(&mut self, now: Time) -> Vec<String> {
        let mut out = Vec::new();
        loop {
            match self.stream.next(now) {
                Next::Send(pieces) => out.push(self.words(&pieces.concat())),
                Next::End(code, message) => out.push(format!("end {code} {message}")),
                Next::At(at) => {
                    out.push(format!("at {:.1}", at.as_secs_f64()));
                    return out;
                }
                Next::Held(what) => {
                    out.push(format!("held {what}"));
                    return out;
                }
                Next::Reset(code) => out.push(format!("reset {code}")),
                Next::Idle => return out,
            }
        }
    }

    fn words(&mut self, bytes: &[u8]) -> String {
        let shape = if self.delta { MessageShape::DeltaResponse } else { MessageShape::SotwResponse };
        let message = Message::parse(shape, bytes, &mut self.catalog);
        let kind = Kind::of_type_url(message.type_url().as_str()).map_or("?", |(kind, _)| kind.word());
        let list = message.resources().expect("a response");
        let entry = |id: &xdscope_wire::content::BlobId| {
            let entry = self.catalog.entry(*id);
            let version = self.catalog.text(entry.version);
            let mark = if self.delta || entry.wrapped { "@" } else { "" };
            let ttl = entry.ttl.map(|ttl| format!(" ttl={}s", ttl / 1_000_000_000)).unwrap_or_default();
            let hollow = if entry.payload.is_none() { " heartbeat" } else { "" };
            format!("{}{mark}{version}{ttl}{hollow}", self.catalog.text(entry.name))
        };
        let names: Vec<String> = list.blobs().iter().map(entry).collect();
        let (version, nonce, removed) = match &message.body {
            MessageBody::SotwResponse(m) => (m.version_info.to_string(), m.nonce.to_string(), String::new()),
            MessageBody::DeltaResponse(m) => {
                let removed: Vec<&str> = m.removed.iter().map(|name| self.catalog.text(*name)).collect();
                let removed =
                    if removed.is_empty() { String::new() } else { format!(" -{}", removed.join(" -")) };
                (m.system_version_info.to_string(), m.nonce.to_string(), removed)
            }
            _ => panic!("no response: {message:?}"),
        };
        format!("{kind} v={version} n={nonce} [{}]{removed}", names.join(" "))
    }
}

fn none() -> Vec<String> {
    Vec::new()
}

#[test]
fn sends_everything_once_to_sotw_wildcard() {
    let mut client = Client::new(ADS, &two());
    assert_eq!(client.say(&Says { url: CDS, ..Says::default() }), ["cds v=1 n=1 [A B]"]);
    assert_eq!(client.say(&Says { url: CDS, nonce: "1", ..Says::default() }), none());
    // Names end the wildcard (docs/protocol.md#e-41), and an empty list after names is not a
    // wildcard (docs/protocol.md#e-40).
    let named = Says { url: CDS, nonce: "1", names: &["B"], ..Says::default() };
    assert_eq!(client.say(&named), ["cds v=1 n=2 [B]"]);
    assert_eq!(client.say(&Says { url: CDS, nonce: "2", ..Says::default() }), none());
    let star = Says { url: CDS, nonce: "2", names: &["*"], ..Says::default() };
    assert_eq!(client.say(&star), ["cds v=1 n=3 [A B]"]);
}

#[test]
fn answers_sotw_names_as_they_are_added() {
    let mut client = Client::new(ADS, &two());
    let ask = |nonce, names| Says { url: EDS, nonce, names, ..Says::default() };
    assert_eq!(client.say(&ask("", &["x"])), none(), "nothing of it exists");
    assert_eq!(client.say(&ask("", &["x", "a"])), ["eds v=1 n=1 [a]"]);
    assert_eq!(client.say(&ask("1", &["x", "a", "b"])), ["eds v=1 n=2 [b]"], "what is new");
    assert_eq!(client.say(&ask("1", &["a"])), none(), "stale");
    assert_eq!(client.say(&ask("2", &["a"])), none(), "given up");
    assert_eq!(
        client.say(&ask("2", &["a", "b"])),
        ["eds v=1 n=3 [b]"],
        "sent again on request (docs/protocol.md#e-36)"
    );
    // A type whose absence means deletion is sent completely (docs/protocol.md#e-32).
    let clusters = |nonce, names| Says { url: CDS, nonce, names, ..Says::default() };
    assert_eq!(client.say(&clusters("", &["A"])), ["cds v=1 n=4 [A]"]);
    assert_eq!(client.say(&clusters("4", &["A", "B"])), ["cds v=1 n=5 [A B]"]);
    assert_eq!(client.say(&clusters("5", &["A", "B", "C"])), ["cds v=1 n=6 [A B]"]);
}

/// docs/protocol.md#k-12, docs/protocol.md#k-27
#[test]
fn names_lists_and_redirects_by_wrapper() {
    const LDS: &str = "type.googleapis.com/envoy.config.listener.v3.Listener";
    let list = "xdstp://a/envoy.config.listener.v3.ListenerCollection/c";
    let redirect = "xdstp://a/envoy.config.listener.v3.Listener/r";
    let content = |url: &str| SnapshotResource::new("1".to_owned(), any(url, "", ""));
    let resources = [
        (Arc::from(list), content("type.googleapis.com/envoy.config.listener.v3.ListenerCollection")),
        (Arc::from(redirect), content("type.googleapis.com/xds.core.v3.ResourceLocator")),
        (Arc::from("plain"), SnapshotResource::new("1".to_owned(), any(LDS, "plain", ""))),
    ];
    let plan = plan([(LDS.into(), Type::new("1".to_owned(), resources.into()))]);
    let mut client = Client::new(ADS, &plan);
    let named = Says { url: LDS, names: &[list, redirect, "plain"], ..Says::default() };
    assert_eq!(client.say(&named), [format!("lds v=1 n=1 [plain {redirect}@1 {list}@1]")]);
}

#[test]
fn resends_rejected_resource_after_change() {
    for path in [ADS, DELTA] {
        let mut client = Client::new(path, &two());
        let first = client.say(&Says { url: CDS, ..Says::default() });
        assert_eq!(first.len(), 1);
        let nack = Says { url: CDS, nonce: "1", error: true, ..Says::default() };
        assert_eq!(client.say(&nack), none(), "{path}");
        client.stream.handle_plan(Time::ZERO, two());
        assert_eq!(client.hear(Time::ZERO), none(), "{path}: the same is no news");
        let mended = plan([known(CDS, "2", &[("A", "2"), ("B", "1")])]);
        client.stream.handle_plan(Time::ZERO, mended);
        let news = if path == DELTA { "cds v=2 n=2 [A@2]" } else { "cds v=2 n=2 [A B]" };
        assert_eq!(client.hear(Time::ZERO), [news]);
    }
}

#[test]
fn delta_reports_existing_and_missing_resources() {
    let mut client = Client::new(DELTA, &two());
    let sub = |names| Says { url: EDS, names, ..Says::default() };
    assert_eq!(client.say(&sub(&["a", "x"])), ["eds v=1 n=1 [a@1] -x"]);
    assert_eq!(client.say(&sub(&["a"])), ["eds v=1 n=2 [a@1]"], "docs/protocol.md#f-14");
    assert_eq!(
        client.say(&Says { url: EDS, gone: &["a"], ..Says::default() }),
        none(),
        "docs/protocol.md#f-25"
    );
    assert_eq!(client.say(&Says { url: CDS, ..Says::default() }), ["cds v=1 n=3 [A@1 B@1]"]);
    let both = Says { url: CDS, names: &["A", "C"], ..Says::default() };
    assert_eq!(client.say(&both), ["cds v=1 n=4 [A@1] -C"]);
    // docs/protocol.md#f-26
    let drop = Says { url: CDS, gone: &["A", "C"], ..Says::default() };
    assert_eq!(client.say(&drop), ["cds v=1 n=5 [A@1] -C"]);
    client.stream.handle_plan(
        Time::ZERO,
        plan([known(CDS, "2", &[("B", "1"), ("D", "1")]), known(EDS, "1", &[("a", "9"), ("x", "1")])]),
    );
    let news = client.hear(Time::ZERO);
    assert_eq!(news, ["cds v=2 n=6 [D@1] -A", "eds v=1 n=7 [x@1]"], "`a` was given up");
}

#[test]
fn delta_skips_initial_resource_versions() {
    let mut client = Client::new(DELTA, &two());
    let held = &[("A", "1"), ("B", "0"), ("Z", "7")];
    assert_eq!(client.say(&Says { url: CDS, held, ..Says::default() }), ["cds v=1 n=1 [B@1] -Z"]);
    let held = &[("a", "1"), ("z", "1")];
    let names = &["a"];
    assert_eq!(
        client.say(&Says { url: EDS, names, held, ..Says::default() }),
        none(),
        "docs/protocol.md#f-17"
    );
}

#[test]
fn answers_wildcard_without_resources() {
    for (path, answer) in [(ADS, "cds v=0 n=1 []"), (DELTA, "cds v=0 n=1 []")] {
        let mut client = Client::new(path, &plan([known(EDS, "1", &[("a", "1")])]));
        assert_eq!(client.say(&Says { url: CDS, ..Says::default() }), [answer]);
    }
}

#[test]
fn expands_globs_to_members() {
    let name = |id: &str| format!("xdstp://shop/envoy.config.cluster.v3.Cluster/{id}");
    let (one, two) = (name("mine/a?x=1&y=2"), name("other/b"));
    let mut client = Client::new(DELTA, &plan([known(CDS, "1", &[(&one, "1"), (&two, "1")])]));
    let mut ask = |id: &str| client.say(&Says { url: CDS, names: &[&name(id)], ..Says::default() });
    assert_eq!(ask("mine/*?y=2&x=1"), [format!("cds v=1 n=1 [{one}@1]")]);
    assert_eq!(ask("none/*"), [format!("cds v=1 n=2 [] -{}", name("none/*"))]);
    assert_eq!(ask("mine/a?y=2&x=1"), [format!("cds v=1 n=3 [{one}@1]")], "spelled otherwise");
}

#[test]
fn gives_changed_content_a_new_version() {
    let before = Snapshot::new([known(CDS, "7", &[("A", "1"), ("B", "1")])].into());
    let mut same = known(CDS, "7", &[("A", "1"), ("B", "1"), ("C", "1")]);
    same.1 = {
        let mut resources: BTreeMap<Arc<str>, SnapshotResource> =
            same.1.resources().map(|(name, resource)| (name.clone(), resource.clone())).collect();
        resources.get_mut("A").expect("A").any = any(CDS, "A", "new");
        Type::new("7".into(), resources)
    };
    let after = Snapshot::new([same].into()).after(&before);
    let (_, now) = after.types().next().expect("a type");
    assert!(now.stated_version(false).starts_with("7+"), "{}", now.stated_version(false));
    assert_eq!(now.stated_version(true), "7", "only SotW versions are marked");
    let version = |name: &str| now.find(name).expect("a resource").1.version.clone();
    assert!(version("A") != "1" && !version("A").contains('+'), "{}", version("A"));
    assert_eq!((version("B"), version("C")), ("1".into(), "1".into()));
    // Missing versions are derived from the content.
    let bare = |text: &str| {
        let any = any(CDS, "A", text);
        let resource = SnapshotResource::new(String::new(), any);
        Type::new(String::new(), [(Arc::from("A"), resource)].into())
    };
    assert_ne!(bare("1").version, bare("2").version);
    assert_eq!(bare("1").version, bare("1").version);
    assert!(!bare("1").find("A").expect("A").1.version.is_empty());
}

struct Bare;

impl crate::script::Codec for Bare {
    fn encode(&self, message: &str, _: &serde_json::Value) -> Result<Vec<u8>, crate::script::CodecError> {
        Err(crate::script::CodecError::new(format!("no content for {message}")))
    }
    fn decode(&self, _: &str, _: &[u8]) -> Option<serde_json::Value> {
        None
    }
}

/// Reads the scripts of a session, if they fit into `limit` bytes.
fn read_scripts(loaded: &crate::record::Loaded, limit: u64) -> Result<Vec<Script>, TooLarge> {
    let mut reader = ScriptsReader::new(limit);
    loaded.frames.iter().try_for_each(|frame| reader.read(frame, &loaded.catalog))?;
    Ok(reader.finish())
}

/// An arrow script to play.
fn scripts(text: &str, pace: PlaybackSpeed) -> Arc<Plan> {
    let script = crate::script::parse(text, "test.xds").expect("a script");
    let loaded = crate::script::load(&script, &Bare).expect("frames");
    let scripts = read_scripts(&loaded, 1 << 20).expect("few bytes");
    Arc::new(Plan::Scripts(Scripts::new(scripts, pace)))
}

const RECORDED: &str = "node me
+0s stream 1 ads
+0s > cds
+0s < cds v=1 n=a [A B]
+1s > cds v=1 n=a
+1s > eds names=[a]
+3s < eds v=1 n=b [a]
+7s > eds v=1 n=b names=[a]
+7500ms < cds v=2 n=c [A]
+7500ms 1 close status=14 \"moving\"
";

#[test]
fn script_waits_for_recorded_requests() {
    let mut client = Client::new(ADS, &scripts(RECORDED, PlaybackSpeed::Full));
    assert_eq!(client.say(&Says { url: CDS, ..Says::default() }), ["cds v=1 n=a [A B]"]);
    // The client requests endpoints and answers the clusters; a NACK is an answer too.
    assert_eq!(client.say(&Says { url: EDS, names: &["other"], ..Says::default() }), none());
    assert_eq!(client.stream.waits_for().as_deref(), Some("an answer to CDS nonce a"));
    let nack = Says { url: CDS, nonce: "a", error: true, ..Says::default() };
    assert_eq!(client.say(&nack), ["eds v=1 n=b [a]"]);
    assert_eq!(client.stream.waits_for().as_deref(), Some("an answer to EDS nonce b"));
    let ack = Says { url: EDS, names: &["other"], nonce: "b", ..Says::default() };
    let last = client.say(&ack);
    assert_eq!(last, ["cds v=2 n=c [A]", "end UNAVAILABLE moving"]);
    assert_eq!(client.stream.waits_for(), None);
}

#[test]
fn script_keeps_recorded_pace() {
    let at = Time::from_secs_f64;
    for (times, answer, last) in [(1.0, 12.0, 20.5), (2.0, 11.0, 20.25)] {
        let mut client = Client::new(ADS, &scripts(RECORDED, PlaybackSpeed::Times(times)));
        let clusters = client.say_at(at(0.0), &Says { url: CDS, ..Says::default() });
        assert_eq!(clusters, ["cds v=1 n=a [A B]"], "at once");
        // The client takes ten seconds instead of one: the next step follows two seconds later, as
        // recorded.
        assert_eq!(client.say_at(at(10.0), &Says { url: CDS, nonce: "a", ..Says::default() }), none());
        let ask = Says { url: EDS, names: &["a"], ..Says::default() };
        assert_eq!(client.say_at(at(10.0), &ask), [format!("at {answer:.1}")]);
        assert_eq!(client.hear(at(answer)), ["eds v=1 n=b [a]"]);
        // Half a second after the client's answer, whenever that arrives.
        let ack = Says { url: EDS, names: &["a"], nonce: "b", ..Says::default() };
        assert_eq!(client.say_at(at(20.0), &ack).len(), 1, "it waits");
        assert!(matches!(client.stream.next(at(20.0)), Next::At(due) if due == at(last)), "at {times}");
        assert_eq!(client.hear(at(last)), ["cds v=2 n=c [A]", "end UNAVAILABLE moving"]);
    }
    // An early answer does not speed up the script: the clusters came 4.5 s after the endpoints.
    let mut client = Client::new(ADS, &scripts(RECORDED, PlaybackSpeed::Times(1.0)));
    client.say(&Says { url: CDS, ..Says::default() });
    client.say(&Says { url: CDS, nonce: "a", ..Says::default() });
    let ask = Says { url: EDS, names: &["a"], ..Says::default() };
    assert_eq!(client.say(&ask), ["at 3.0"]);
    client.hear(at(3.0));
    let ack = Says { url: EDS, names: &["a"], nonce: "b", ..Says::default() };
    assert_eq!(client.say_at(at(3.0), &ack), ["at 7.5"]);
}

#[test]
fn script_waits_for_release_of_each_step() {
    let mut client = Client::new(ADS, &scripts(RECORDED, PlaybackSpeed::Step));
    let held = client.say(&Says { url: CDS, ..Says::default() });
    assert_eq!(held, ["held CDS version 1 nonce a, 2 resources"]);
    client.stream.release();
    assert_eq!(client.hear(Time::ZERO), ["cds v=1 n=a [A B]"]);
    client.stream.release();
    assert_eq!(client.hear(Time::ZERO), none(), "the client has not said it");
}

#[test]
fn returning_client_gets_next_script() {
    let text = "node me
stream 1 ads
> cds
< cds v=1 n=a [A]
1 close status=14 \"moving\"
stream 2 ads
> cds v=1
< cds v=2 n=b [A B]
stream 3 delta eds
> sub=[a]
< n=1 [a@1]
";
    let plan = scripts(text, PlaybackSpeed::Full);
    let mut heard = Vec::new();
    for _ in 0..3 {
        heard.extend(Client::new(ADS, &plan).say(&Says { url: CDS, ..Says::default() }));
    }
    assert_eq!(
        heard,
        [
            "cds v=1 n=a [A]",
            "end UNAVAILABLE moving",
            "cds v=2 n=b [A B]",
            "cds v=1 n=a [A]",
            "end UNAVAILABLE moving"
        ],
        "and begins again"
    );
    let other = Client::new(DELTA, &plan).say(&Says { url: EDS, names: &["a"], ..Says::default() });
    assert_eq!(other, ["end UNIMPLEMENTED no delta-ads stream was recorded, only ads, delta EDS"]);
}

#[test]
fn sends_recorded_bytes() {
    let script = crate::script::parse(RECORDED, "test.xds").expect("a script");
    let loaded = crate::script::load(&script, &Bare).expect("frames");
    let recorded = loaded.frames.iter().find_map(|frame| match &frame.what {
        xdscope_wire::FramePayload::Message(message) if message.dir() == xdscope_wire::event::Dir::Resp => {
            message.bytes(&loaded.catalog)
        }
        _ => None,
    });
    let read = |limit| read_scripts(&loaded, limit);
    let plan = Arc::new(Plan::Scripts(Scripts::new(read(1 << 20).expect("few bytes"), PlaybackSpeed::Full)));
    let mut stream = ServerStream::open(ADS, plan, Time::ZERO).expect("a method of xDS");
    let mut request = Vec::new();
    put_len_field(&mut request, 4, CDS.as_bytes());
    stream.handle_request(Time::ZERO, &request);
    match stream.next(Time::ZERO) {
        Next::Send(pieces) => assert_eq!(Some(pieces.concat()), recorded),
        other => panic!("{other:?}"),
    }
    assert_eq!(read(10).err(), Some(TooLarge { limit: 10 }));
}

#[test]
fn snapshot_has_last_sent_resources() {
    let text = "node one
stream 1 ads
> cds
< cds v=1 n=a [A B]
> cds v=1 n=a
> eds names=[a b]
< eds v=1 n=b [a b]
> eds v=1 n=b
< cds v=2 n=c [A C]
> cds v=1 n=c nack=\"no\"
1 close
stream 2 ads
> cds v=1
< cds v=3 n=d [A D]
node two
stream 3 delta cds
> sub=[*]
< n=1 [X@1 Y@1]
< n=2 [] rm=[Y]
";
    let script = crate::script::parse(text, "test.xds").expect("a script");
    let loaded = crate::script::load(&script, &Bare).expect("frames");
    let mut store = Store::new(loaded.catalog, loaded.clock, Options::default());
    loaded.frames.into_iter().for_each(|frame| store.handle(frame));
    let names = |node: Option<&str>| {
        let mut streams = store.streams();
        streams.retain(|stream| {
            let id = stream.node.as_ref().map(|node| node.id.as_str());
            node.is_none() || id == node
        });
        let snapshot = Snapshot::from_store(&store, &streams);
        let of_type = |(url, known): (&TypeUrl, &Arc<Type>)| {
            let kind = Kind::of_type_url(url.as_str()).map_or("?", |(kind, _)| kind.word());
            let names: Vec<&str> = known.names().map(|name| &**name).collect();
            format!("{kind} {} {}", known.version, names.join(" "))
        };
        snapshot.types().map(of_type).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(names(Some("one")), "cds 3 A D; eds 1 a b");
    assert!(names(Some("two")).ends_with(" X"), "{}", names(Some("two")));
    assert!(names(None).contains(" A D X; eds 1 a b"), "{}", names(None));
}

#[test]
fn malformed_request_ends_stream() {
    let mut client = Client::new(ADS, &two());
    client.stream.handle_request(Time::ZERO, b"\xff\xff\xff");
    assert_eq!(client.hear(Time::ZERO), ["end INVALID_ARGUMENT the request can't be decoded"]);
    let mut client = Client::new(ADS, &two());
    let untyped = client.say(&Says::default());
    assert_eq!(untyped, ["end INVALID_ARGUMENT an aggregated stream needs a type_url in each request"]);
    assert!(ServerStream::open("/grpc.health.v1.Health/Watch", two(), Time::ZERO).is_none());
    let path = "/envoy.service.cluster.v3.ClusterDiscoveryService/StreamClusters";
    assert_eq!(
        Client::new(path, &two()).say(&Says::default()),
        ["cds v=1 n=1 [A B]"],
        "docs/protocol.md#i-02"
    );
}
