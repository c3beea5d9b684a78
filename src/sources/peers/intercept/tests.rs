mod by_hand;
mod made_up;
mod new_streams;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::*;
use xdscope_schema::Schema;
use xdscope_wire::discovery::encode::{RequestFields, ResourceFields, ResponseFields, encode_any};
use xdscope_wire::event::{ApiVersion, Dir, Method, Time, Variant};
use xdscope_wire::h2::SplicedMessage;
use xdscope_wire::pb::put_len_field;
use xdscope_wire::{ErrorDetail, Interference, NodeInfo};

const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

pub(super) struct Bench {
    pub(super) stream: InterceptedStream,
    /// Type of all messages.
    pub(super) type_url: &'static str,
    faults: FaultSet,
    hold: HoldQueue,
    schema: Arc<Schema>,
    memory: Arc<ClientMemory>,
    is_delta: bool,
    at: Time,
    /// The message that was sent last.
    last: Option<SplicedMessage>,
}

/// A message that comes out, or what happens to the stream.
#[derive(Debug, PartialEq)]
pub(super) enum Out {
    /// To the server: version, nonce, text of the error.
    Request(String, String, String),
    /// To the client: version, nonce, names.
    Push(String, String, Vec<String>),
    Report(Interference),
    Other(Step),
}

fn any_of(type_url: &str, name: &str) -> Vec<u8> {
    let mut cluster = Vec::new();
    put_len_field(&mut cluster, 1, name.as_bytes());
    encode_any(type_url, &cluster)
}

impl Bench {
    pub(super) fn new(is_delta: bool, faults: &[&str]) -> Bench {
        Bench::with(is_delta, faults, Arc::default())
    }

    fn with(is_delta: bool, faults: &[&str], memory: Arc<ClientMemory>) -> Bench {
        let variant = if is_delta { Variant::DeltaAds } else { Variant::Ads };
        let path = Method::path(variant, None, ApiVersion::V3).expect("a method");
        Bench {
            type_url: CLUSTER,
            stream: InterceptedStream::new(1, Method::parse(&path).expect("a method"), memory.clone()),
            memory,
            faults: FaultSet::parse(faults.iter().copied(), 1).expect("faults"),
            hold: HoldQueue::new(HoldOptions::default()),
            schema: Schema::builtin(),
            is_delta,
            at: Time(0),
            last: None,
        }
    }

    /// Returns a new stream of the client with the same faults.
    pub(super) fn again(&self) -> Bench {
        let new = Bench::with(self.is_delta, &[], self.memory.clone());
        Bench { faults: self.faults.clone(), at: self.at, type_url: self.type_url, ..new }
    }

    pub(super) fn plan(&mut self, text: &str) {
        self.faults.add_plan(text).expect("a plan");
    }

    pub(super) fn last_bytes(&self) -> &[u8] {
        &self.last.as_ref().expect("a message").bytes
    }

    /// Returns the names that the last request asks for.
    pub(super) fn last_names(&self) -> Vec<String> {
        let mut catalog = xdscope_wire::content::Catalog::in_memory();
        let shape = xdscope_wire::MessageShape::of(&self.method(), Dir::Req);
        let message = xdscope_wire::Message::parse(shape, self.last_bytes(), &mut catalog);
        let names = message.request().expect("a request").names;
        names.iter().map(|name| catalog.text(*name).to_owned()).collect()
    }

    fn method(&self) -> Method {
        let variant = if self.is_delta { Variant::DeltaAds } else { Variant::Ads };
        let path = Method::path(variant, None, ApiVersion::V3).expect("a method");
        Method::parse(&path).expect("a method")
    }

    pub(super) fn wait(&mut self, time: Duration) -> Vec<Out> {
        self.at = self.at.after(time);
        let steps = self.stream.release_due(self.at, &mut self.hold);
        self.out(steps)
    }

    pub(super) fn feed(&mut self, dir: Dir, bytes: Vec<u8>) -> Vec<Out> {
        let message = SplicedMessage { stream: 1, dir, encoding: None, bytes: bytes.into() };
        let steps = self.stream.receive(message, self.at, (&mut self.faults, &mut self.hold), &self.schema);
        self.out(steps)
    }

    pub(super) fn request(&mut self, version: &str, nonce: &str, error: Option<&str>) -> Vec<Out> {
        let detail = error.map(|text| ErrorDetail { code: 13, message: text.into(), details: Vec::new() });
        let fields = RequestFields {
            version_info: version,
            type_url: self.type_url,
            names: if self.is_delta { Vec::new() } else { vec!["a", "b"] },
            response_nonce: nonce,
            error_detail: detail.as_ref(),
            ..RequestFields::default()
        };
        let bytes = fields.encode(self.is_delta);
        self.feed(Dir::Req, bytes)
    }

    pub(super) fn push(&mut self, version: &str, nonce: &str) -> Vec<Out> {
        self.push_of(version, nonce, &["a", "b"])
    }

    pub(super) fn push_of(&mut self, version: &str, nonce: &str, names: &[&str]) -> Vec<Out> {
        let fields = ResponseFields { version, type_url: self.type_url, nonce, ..ResponseFields::default() };
        let entries = names.iter().map(|name| {
            let any = any_of(self.type_url, name);
            if self.is_delta {
                ResourceFields { version, payload: Some(&any), name, ..ResourceFields::default() }.encode()
            } else {
                any
            }
        });
        let bytes = fields.encode(self.is_delta, entries);
        self.feed(Dir::Resp, bytes)
    }

    fn out(&mut self, steps: Vec<Step>) -> Vec<Out> {
        let sent = steps.iter().rev().find_map(|step| match step {
            Step::Send(message) => Some(message.clone()),
            _ => None,
        });
        self.last = sent.or(self.last.take());
        let shown = |step| match step {
            Step::Settle(_) => None,
            Step::Report(report) => Some(Out::Report(report.facts.interference)),
            Step::Send(message) => Some(self.read(&message)),
            other => Some(Out::Other(other)),
        };
        steps.into_iter().filter_map(shown).collect()
    }

    fn read(&self, message: &SplicedMessage) -> Out {
        let mut catalog = xdscope_wire::content::Catalog::in_memory();
        let mut builder =
            xdscope_wire::MessageBuilder::new(xdscope_wire::MessageShape::of(&self.method(), message.dir));
        builder.push(&message.bytes, &mut catalog);
        let message = builder.finish(&mut catalog).expect("a message");
        if let Some(request) = message.request() {
            let error = request.error_detail.map(|error| error.message.to_string()).unwrap_or_default();
            let version = request.version.map(|version| version.as_str().to_owned()).unwrap_or_default();
            return Out::Request(version, request.response_nonce.as_str().to_owned(), error);
        }
        let push = message.response().expect("a response");
        let names = push.resources.blobs().iter().map(|blob| catalog.text(catalog.name(*blob)).to_owned());
        let removed = push.removed.iter().map(|name| format!("-{}", catalog.text(*name)));
        Out::Push(
            push.version.as_str().to_owned(),
            push.nonce.as_str().to_owned(),
            names.chain(removed).collect(),
        )
    }
}

pub(super) fn request(version: &str, nonce: &str) -> Out {
    Out::Request(version.to_owned(), nonce.to_owned(), String::new())
}

pub(super) fn push(version: &str, nonce: &str) -> Out {
    Out::Push(version.to_owned(), nonce.to_owned(), vec!["a".to_owned(), "b".to_owned()])
}

#[test]
fn messages_that_do_not_match_pass() {
    let mut bench = Bench::new(false, &["type:eds => drop"]);
    assert_eq!(bench.request("", "", None), [request("", "")]);
    assert_eq!(bench.push("1", "n1"), [push("1", "n1")]);
    assert_eq!(bench.request("1", "n1", None), [request("1", "n1")]);
}

#[test]
fn requests_after_a_dropped_push_are_not_stale() {
    let mut bench = Bench::new(false, &["kind:push version:2 => drop"]);
    bench.request("", "", None);
    bench.push("1", "n1");
    assert_eq!(bench.request("1", "n1", None), [request("1", "n1")]);
    assert_eq!(bench.push("2", "n2"), [Out::Report(Interference::Dropped)]);
    // The client knows nothing of n2; the server ignores requests with n1.
    let restated = Out::Report(Interference::Restated);
    assert_eq!(bench.request("1", "n1", None), [restated, request("1", "n2")]);
    assert_eq!(bench.push("3", "n3"), [push("3", "n3")]);
    assert_eq!(bench.request("3", "n3", None), [request("3", "n3")]);
}

#[test]
fn bounced_push_is_refused_in_the_name_of_the_client() {
    let mut bench = Bench::new(false, &["kind:push version:2 => bounce not today"]);
    bench.request("", "", None);
    bench.push("1", "n1");
    bench.request("1", "n1", None);
    let nack = Out::Request("1".into(), "n2".into(), "not today".into());
    assert_eq!(bench.push("2", "n2"), [Out::Report(Interference::Bounced), nack]);
    let mut bench = Bench::new(true, &["kind:push => bounce not today"]);
    bench.request("", "", None);
    let nack = Out::Request(String::new(), "n1".into(), "not today".into());
    assert_eq!(bench.push("", "n1"), [Out::Report(Interference::Bounced), nack]);
    assert_eq!(bench.request("", "", None), [request("", "")], "spontaneous requests have no nonce");
}

#[test]
fn waiting_messages_keep_the_order_of_their_type() {
    let mut bench = Bench::new(false, &["kind:push => delay 2s times=1"]);
    bench.request("", "", None);
    assert_eq!(bench.push("1", "n1"), [Out::Report(Interference::Delayed)]);
    assert_eq!(bench.push("2", "n2"), []);
    assert_eq!(bench.stream.next_due(), Some(Time(2_000_000_000)));
    assert_eq!(bench.wait(Duration::from_millis(1999)), []);
    assert_eq!(bench.wait(Duration::from_millis(1)), [push("1", "n1"), push("2", "n2")]);
    assert_eq!(bench.stream.next_due(), None);
}

#[test]
fn postponed_request_is_reported_when_it_is_sent() {
    let mut bench = Bench::new(false, &["kind:ack => delay 2s times=1"]);
    bench.request("", "", None);
    bench.push("1", "n1");
    assert_eq!(bench.request("1", "n1", None), [Out::Report(Interference::Delayed)]);
    assert_eq!(bench.request("1", "n1", None), [], "behind the other");
    let released = Out::Report(Interference::Released);
    let requests = [request("1", "n1"), request("1", "n1")];
    let [first, second] = requests;
    assert_eq!(bench.wait(Duration::from_secs(2)), [released, first, second]);
}

#[test]
fn faults_that_stay_go_on_counting() {
    let mut bench = Bench::new(false, &["type:cds kind:push => drop times=1"]);
    bench.request("", "", None);
    assert_eq!(bench.push("1", "n1"), [Out::Report(Interference::Dropped)]);
    let newer = ["version:3 => drop", "type:cds kind:push => drop times=1"];
    bench.faults.renew(FaultSet::parse(newer, 1).expect("faults"));
    assert_eq!(bench.push("2", "n2"), [push("2", "n2")]);
    assert_eq!(bench.push("3", "n3"), [Out::Report(Interference::Dropped)]);
}

#[test]
fn all_waiting_messages_are_released_unmodified() {
    let mut bench = Bench::new(false, &["version:1 => hold 1h", "version:2 => reorder"]);
    bench.request("", "", None);
    bench.push("1", "n1");
    bench.push("2", "n2");
    let steps = bench.stream.release_all(&mut bench.hold);
    assert_eq!(bench.out(steps), [push("1", "n1"), push("2", "n2")]);
}

#[test]
fn reordered_message_follows_the_next_one() {
    let mut bench = Bench::new(false, &["version:1 => reorder"]);
    assert_eq!(bench.push("1", "n1"), [Out::Report(Interference::Reordered)]);
    assert_eq!(bench.push("2", "n2"), [push("2", "n2"), push("1", "n1")]);
}

#[test]
fn second_answer_to_a_repeated_push_is_left_out() {
    let mut bench = Bench::new(false, &["kind:push => duplicate"]);
    bench.request("", "", None);
    assert_eq!(
        bench.push("1", "n1"),
        [Out::Report(Interference::Duplicated), push("1", "n1"), push("1", "n1")]
    );
    assert_eq!(bench.request("1", "n1", None), [request("1", "n1")]);
    assert_eq!(bench.request("1", "n1", None), [Out::Report(Interference::Dropped)]);
    assert_eq!(bench.request("1", "n1", None), [request("1", "n1")], "and only that one");
}

#[test]
fn answers_are_withheld_or_stale() {
    let mut bench =
        Bench::new(false, &["version:1 kind:push => drop-ack", "version:3 kind:push => stale-nonce"]);
    bench.request("", "", None);
    assert_eq!(bench.push("1", "n1"), [push("1", "n1")]);
    assert_eq!(bench.request("1", "n1", None), [Out::Report(Interference::Dropped)]);
    bench.push("2", "n2");
    assert_eq!(bench.request("2", "n2", None), [request("2", "n2")]);
    bench.push("3", "n3");
    assert_eq!(bench.request("3", "n3", None), [Out::Report(Interference::Restated), request("3", "n2")]);
}

#[test]
fn server_gets_its_own_nonces_and_versions_back() {
    let mut bench = Bench::new(false, &["kind:push => set nonce=same"]);
    bench.request("", "", None);
    assert_eq!(bench.push("1", "n1"), [Out::Report(Interference::Changed), push("1", "same")]);
    assert_eq!(bench.request("1", "same", None), [request("1", "n1")]);
    bench.push("2", "n2");
    assert_eq!(bench.request("2", "same", None), [request("2", "n2")]);
    let mut bench = Bench::new(false, &["kind:push => set version=x"]);
    bench.push("1", "n1");
    assert_eq!(bench.request("x", "n1", None), [request("1", "n1")]);
}

#[test]
fn changes_resources() {
    let names = |names: &[&str]| {
        Out::Push("1".into(), "n1".into(), names.iter().map(|name| (*name).into()).collect())
    };
    for (is_delta, fault, wanted) in [
        (false, "=> remove a", &["b"][..]),
        (true, "=> remove a", &["b", "-a"]),
        (false, "=> rename a c", &["c", "b"]),
        (true, "=> rename a c", &["c", "b"]),
    ] {
        let mut bench = Bench::new(is_delta, &[fault]);
        assert_eq!(bench.push("1", "n1"), [Out::Report(Interference::Changed), names(wanted)], "{fault}");
    }
    let mut bench = Bench::new(false, &["kind:push => set connect_timeout=3s"]);
    let message = ResponseFields { version: "1", type_url: CLUSTER, nonce: "n", ..ResponseFields::default() };
    let bytes: Bytes = message.encode(false, [any_of(CLUSTER, "a")]).into();
    let message = SplicedMessage { stream: 1, dir: Dir::Resp, encoding: None, bytes };
    let steps = bench.stream.receive(message, Time(0), (&mut bench.faults, &mut bench.hold), &bench.schema);
    let sent = steps.iter().find_map(|step| match step {
        Step::Send(sent) => Some(sent),
        _ => None,
    });
    let sent = sent.expect("the message");
    // Field 4, a Duration of 3 seconds.
    assert!(sent.bytes.windows(4).any(|part| part == [0x22, 2, 8, 3]), "{:?}", sent.bytes);
}

#[test]
fn streams_end() {
    let mut bench = Bench::new(false, &["kind:push => status UNAVAILABLE going down times=1"]);
    let status = Out::Other(Step::Status(xdscope_wire::event::Code(14), "going down".into()));
    assert_eq!(bench.push("1", "n1"), [Out::Report(Interference::Ended), status]);
    assert_eq!(bench.push("1", "n1"), [push("1", "n1")]);
}

#[test]
fn counts_matches() {
    let mut bench = Bench::new(false, &["kind:push => drop every=3 times=2 after=1s"]);
    bench.request("", "", None);
    let dropped = |bench: &mut Bench| bench.push("1", "n") == [Out::Report(Interference::Dropped)];
    assert!(!dropped(&mut bench) && !dropped(&mut bench) && !dropped(&mut bench), "too early");
    bench.wait(Duration::from_secs(1));
    let fates: Vec<bool> = (0..10).map(|_| dropped(&mut bench)).collect();
    let wanted = [false, false, true, false, false, true, false, false, false, false];
    assert_eq!(fates, wanted);
}

#[test]
fn chance_follows_the_seed() {
    let fates = |seed| {
        let mut bench = Bench::new(false, &[]);
        bench.faults = FaultSet::parse(["kind:push => drop p=0.5"], seed).expect("a fault");
        let dropped = [Out::Report(Interference::Dropped)];
        (0..40).map(|_| bench.push("1", "n") == dropped).collect::<Vec<_>>()
    };
    assert_eq!(fates(1), fates(1));
    assert_ne!(fates(1), fates(2));
}

#[test]
fn node_selects_streams() {
    let mut node = Vec::new();
    put_len_field(&mut node, 1, b"edge-1");
    assert_eq!(NodeInfo::parse(&node).id, "edge-1");
    for (fault, is_dropped) in [("node:edge-1 kind:push => drop", true), ("node:edge-2 => drop", false)] {
        let mut bench = Bench::new(false, &[fault]);
        let fields = RequestFields { node: Some(&node), type_url: CLUSTER, ..RequestFields::default() };
        bench.feed(Dir::Req, fields.encode(false));
        let out = bench.push("1", "n1");
        assert_eq!(out == [Out::Report(Interference::Dropped)], is_dropped, "{fault}");
    }
}

#[test]
fn bounce_states_the_version_of_the_server() {
    let mut bench = Bench::new(false, &["version:1 kind:push => set version=zz", "version:2 => bounce no"]);
    bench.request("", "", None);
    bench.push("1", "n1");
    assert_eq!(bench.request("zz", "n1", None), [request("1", "n1")]);
    let out = bench.push("2", "n2");
    let [Out::Report(Interference::Bounced), Out::Request(version, nonce, ..)] = &out[..] else {
        panic!("{out:?}")
    };
    assert_eq!((version.as_str(), nonce.as_str()), ("1", "n2"));
}

#[test]
fn kinds_of_requests_are_those_of_the_log() {
    let encoded = |is_delta: bool, lists: [&[&'static str]; 2]| {
        let [names, unsubscribe] = lists.map(<[_]>::to_vec);
        let fields = RequestFields { type_url: CLUSTER, names, unsubscribe, ..RequestFields::default() };
        fields.encode(is_delta)
    };
    let requests = |is_delta: bool| -> [[&'static [&'static str]; 2]; 4] {
        match is_delta {
            false => [[&["a", "b"], &[]], [&["a"], &[]], [&["a"], &[]], [&["a", "c"], &[]]],
            true => [[&["a", "b"], &[]], [&[], &["b"]], [&[], &[]], [&["c"], &[]]],
        }
    };
    for is_delta in [false, true] {
        for (kind, wanted) in [
            ("subscribe", [true, false, false, true]),
            ("unsubscribe", [false, true, false, false]),
            ("repeat", [false, false, true, false]),
        ] {
            let mut bench = Bench::new(is_delta, &[&format!("kind:{kind} => drop")]);
            let dropped = requests(is_delta).map(|lists| {
                bench.feed(Dir::Req, encoded(is_delta, lists)) == [Out::Report(Interference::Dropped)]
            });
            assert_eq!(dropped, wanted, "{kind}, delta {is_delta}");
        }
    }
}
