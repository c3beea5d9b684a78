//! Tests of interventions, and a session for tests of what follows from them.

use std::sync::Arc;

use xdscope_engine::lint::{self, Finding, Lint};
use xdscope_engine::session::MessageKind;
use xdscope_engine::store::{Options, SchemaSemantics, StateFact, Store};
use xdscope_schema::Schema;
use xdscope_sources::{SchemaCodec, script};
use xdscope_wire::content::Catalog;
use xdscope_wire::discovery::encode::{RequestFields, ResourceFields, ResponseFields, encode_any};
use xdscope_wire::event::*;
use xdscope_wire::event::{ApiVersion, Clock, Kind, StreamId};
use xdscope_wire::*;
use xdscope_wire::{Frame, FramePayload, Open};

const CDS: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
const ADS: &str = "/envoy.service.discovery.v3.AggregatedDiscoveryService/";

mod causes;

/// Returns facts of an intervention by `fault N` in a message of a type.
pub(crate) fn facts_by(
    fault: u32,
    interference: Interference,
    (dir, kind, nonce): (Dir, Kind, &str),
) -> InterventionFacts {
    InterventionFacts {
        interference,
        dir,
        is_delta: false,
        type_url: kind.type_url(ApiVersion::V3).expect("a type"),
        version: "2".into(),
        nonce: nonce.into(),
        by: format!("fault {fault}").into(),
    }
}

/// Returns the store after a script, and the findings of the rules. Each intervention comes after
/// the message with its number, on the stream of that message.
#[track_caller]
pub(crate) fn analyse_armed(text: &str, acts: &[(u64, InterventionFacts)]) -> (Store, Vec<Finding>) {
    analyse_armed_by(text, acts, lint::Options::default())
}

/// Returns the store and the findings as `analyse_armed` does, with options of the rules.
#[track_caller]
pub(crate) fn analyse_armed_by(
    text: &str,
    acts: &[(u64, InterventionFacts)],
    options: lint::Options,
) -> (Store, Vec<Finding>) {
    let script = script::parse(text, "test.xds").unwrap_or_else(|error| panic!("{error:?}"));
    let schema = Schema::builtin();
    let loaded =
        script::load(&script, &SchemaCodec(schema.clone())).unwrap_or_else(|error| panic!("{error}"));
    let mut store = Store::new(loaded.catalog, loaded.clock, Options::default());
    store.set_meaning(Arc::new(SchemaSemantics::new(schema)));
    let mut lint = Lint::new(options);
    let mut n = 0;
    for frame in loaded.frames {
        let (at, stream) = (frame.at, frame.stream);
        let is_message = matches!(frame.what, FramePayload::Message(_));
        n += u64::from(is_message);
        lint.handle(&mut store, frame);
        for (_, facts) in acts.iter().filter(|(after, _)| is_message && *after == n) {
            let (facts, sent_dir) = (facts.clone(), facts.dir);
            let what = Intervention { facts, original: None, sent: None, sent_dir };
            lint.handle(&mut store, Frame { at, stream, what: FramePayload::Intercepted(Box::new(what)) });
        }
    }
    lint.advance(&mut store, loaded.end);
    let findings = lint.findings().to_vec();
    (store, findings)
}

/// A session of one client with one type, and a message each 10 ms.
pub(crate) struct Session(pub(crate) Store, u32);

impl Session {
    pub(crate) fn new() -> Session {
        let mut session = Session::of("StreamAggregatedResources");
        session.request("", "");
        session
    }

    fn of(method: &str) -> Session {
        let clock = Clock { epoch: None, untimed: false };
        let mut session = Session(Store::new(Catalog::in_memory(), clock, Options::default()), 0);
        session.open(method);
        session
    }

    fn open(&mut self, method: &str) {
        self.1 += 1;
        let method = format!("{ADS}{method}");
        self.handle(FramePayload::Open(Box::new(Open { method, ..Open::default() })));
    }

    /// Opens another stream, whose first request states a version.
    pub(crate) fn reconnect(&mut self, version: &str) {
        self.open("StreamAggregatedResources");
        self.request(version, "");
    }

    /// A session whose client has a changed push, and has never got a dropped and a bounced one.
    pub(crate) fn with_three_interventions() -> Session {
        let mut session = Session::new();
        session.intercept(Interference::Changed, Dir::Resp);
        session.push("2", "n2");
        session.request("2", "n2");
        session.intercept_nonce(Interference::Dropped, Dir::Resp, "n3");
        session.intercept_nonce(Interference::Bounced, Dir::Resp, "n4");
        session
    }

    pub(crate) fn handle(&mut self, what: FramePayload) {
        let at = self.0.now().after(std::time::Duration::from_millis(10));
        self.0.handle(Frame { at, stream: StreamId(self.1), what });
    }

    fn message(&mut self, shape: MessageShape, bytes: &[u8]) {
        let message = Message::parse(shape, bytes, self.0.catalog_mut());
        self.handle(FramePayload::Message(Arc::new(message)));
    }

    pub(crate) fn request(&mut self, version_info: &str, response_nonce: &str) {
        // The id of the node.
        let node = Some(&[0x0a, 1, b'x'][..]);
        let fields =
            RequestFields { version_info, node, type_url: CDS, response_nonce, ..RequestFields::default() };
        self.message(MessageShape::SotwRequest, &fields.encode(false));
    }

    pub(crate) fn push(&mut self, version: &str, nonce: &str) {
        let fields = ResponseFields { version, type_url: CDS, nonce, ..ResponseFields::default() };
        self.message(MessageShape::SotwResponse, &fields.encode::<&[u8]>(false, []));
    }

    pub(crate) fn intercept(&mut self, interference: Interference, dir: Dir) {
        self.intercept_nonce(interference, dir, "n2");
    }

    pub(crate) fn intercept_nonce(&mut self, interference: Interference, dir: Dir, nonce: &str) {
        let facts = InterventionFacts {
            interference,
            dir,
            is_delta: false,
            type_url: CDS.into(),
            version: "2".into(),
            nonce: nonce.into(),
            by: "fault 1".into(),
        };
        let what = Intervention { facts, original: None, sent: None, sent_dir: dir };
        self.handle(FramePayload::Intercepted(Box::new(what)));
    }

    fn state(&self) -> StateFact {
        self.0.states().remove(0)
    }

    fn is_diverged(&self) -> bool {
        self.state().diverged.is_some()
    }
}

#[test]
fn ends_with_the_ack_of_a_later_push() {
    let mut session = Session::new();
    session.push("1", "n1");
    session.request("1", "n1");
    session.intercept(Interference::Dropped, Dir::Resp);
    assert!(session.is_diverged());
    session.request("1", "n1");
    assert!(session.is_diverged(), "an answer to an earlier push says nothing");
    session.push("3", "n3");
    assert!(session.is_diverged());
    session.request("3", "n3");
    assert!(!session.is_diverged());
}

#[test]
fn postponed_answer_ends_it_when_it_is_sent() {
    let mut session = Session::new();
    session.push("1", "n1");
    session.request("1", "n1");
    session.intercept(Interference::Delayed, Dir::Req);
    session.push("2", "n2");
    session.request("2", "n2");
    assert!(session.is_diverged(), "the later answer waits behind the first");
    session.intercept(Interference::Released, Dir::Req);
    assert!(!session.is_diverged());
    session.intercept(Interference::Dropped, Dir::Resp);
    session.intercept(Interference::Held, Dir::Req);
    session.intercept(Interference::Released, Dir::Req);
    assert!(session.is_diverged(), "a push was dropped too");
}

#[test]
fn earlier_answer_does_not_end_it_while_a_push_is_postponed() {
    let mut session = Session::new();
    session.intercept_nonce(Interference::Delayed, Dir::Resp, "n1");
    session.intercept_nonce(Interference::Delayed, Dir::Resp, "n2");
    session.push("1", "n1");
    session.request("1", "n1");
    assert!(session.is_diverged(), "n2 is still to come");
    session.push("2", "n2");
    session.request("2", "n2");
    assert!(!session.is_diverged());
}

#[test]
fn stream_that_another_one_replaces_is_not_diverged() {
    let mut session = Session::new();
    session.push("1", "n1");
    session.request("1", "n1");
    session.intercept(Interference::Dropped, Dir::Resp);
    session.handle(FramePayload::End(Box::default()));
    assert!(session.is_diverged(), "the client may come back");
    session.reconnect("1");
    assert!(!session.is_diverged());
}

#[test]
fn reordered_pushes_leave_the_client_with_the_older_one() {
    let mut session = Session::new();
    session.intercept_nonce(Interference::Reordered, Dir::Resp, "n1");
    session.push("2", "n2");
    session.request("2", "n2");
    session.push("1", "n1");
    session.request("1", "n1");
    assert!(session.is_diverged());
    session.push("3", "n3");
    session.request("3", "n3");
    assert!(!session.is_diverged());
}

#[test]
fn reordered_push_without_another_one_is_a_late_push() {
    let mut session = Session::new();
    session.intercept_nonce(Interference::Reordered, Dir::Resp, "n1");
    assert!(session.is_diverged());
    session.push("1", "n1");
    assert!(session.is_diverged(), "the client has not answered");
    session.request("1", "n1");
    assert!(!session.is_diverged());
}

#[test]
fn divergence_says_what_each_side_has() {
    let mut session = Session::with_three_interventions();
    let diverged = session.state().diverged.expect("diverged");
    assert_eq!((diverged.offered.as_deref(), diverged.withheld, diverged.refused), (Some("2"), 2, 1));
    assert_eq!(diverged.runs_changed.as_deref(), Some("2"));
    session.push("3", "n5");
    let diverged = session.state().diverged.expect("diverged");
    assert_eq!((diverged.offered, diverged.withheld), (None, 2), "the newest push came through");
}

#[test]
fn correction_is_no_divergence() {
    let mut session = Session::new();
    session.intercept(Interference::Corrected, Dir::Req);
    assert!(!session.is_diverged());
}

/// Returns a delta push with resources of these names, each with this text as its content.
fn delta_push(nonce: &str, resources: &[(&str, &str)]) -> Vec<u8> {
    let entries = resources.iter().map(|(name, text)| {
        let any = encode_any(CDS, text.as_bytes());
        ResourceFields { version: text, payload: Some(&any), name, ..ResourceFields::default() }.encode()
    });
    ResponseFields { type_url: CDS, nonce, ..ResponseFields::default() }.encode(true, entries)
}

/// A delta push that xdscope changed or dropped, and a later one of another resource.
fn delta_session(sent: Option<&[(&str, &str)]>) -> Session {
    let mut session = Session::of("DeltaAggregatedResources");
    let request = |nonce| RequestFields { type_url: CDS, response_nonce: nonce, ..RequestFields::default() };
    session.message(MessageShape::DeltaRequest, &request("").encode(true));
    let original = delta_push("n1", &[("a", "1"), ("b", "1")]);
    let sent = sent.map(|sent| delta_push("n1", sent));
    let facts = InterventionFacts {
        interference: if sent.is_some() { Interference::Changed } else { Interference::Dropped },
        dir: Dir::Resp,
        is_delta: true,
        type_url: CDS.into(),
        version: "".into(),
        nonce: "n1".into(),
        by: "fault 1".into(),
    };
    let (original, bytes) = (Some(original.into()), sent.clone().map(Into::into));
    let what = Intervention { facts, original, sent: bytes, sent_dir: Dir::Resp };
    session.handle(FramePayload::Intercepted(Box::new(what)));
    for (nonce, push) in [("n1", sent), ("n2", Some(delta_push("n2", &[("c", "1")])))] {
        if let Some(push) = push {
            session.message(MessageShape::DeltaResponse, &push);
            session.message(MessageShape::DeltaRequest, &request(nonce).encode(true));
        }
    }
    session
}

#[test]
fn delta_resource_is_wrong_until_it_is_sent_again() {
    let sent: [Option<&[(&str, &str)]>; 3] = [None, Some(&[("a", "9"), ("b", "1")]), Some(&[("b", "1")])];
    for sent in sent {
        let mut session = delta_session(sent);
        assert!(session.is_diverged(), "{sent:?}: another resource repairs nothing");
        session.message(MessageShape::DeltaResponse, &delta_push("n3", &[("a", "1"), ("b", "1")]));
        let ack = RequestFields { type_url: CDS, response_nonce: "n3", ..RequestFields::default() };
        session.message(MessageShape::DeltaRequest, &ack.encode(true));
        assert!(!session.is_diverged(), "{sent:?}");
    }
    let same = Some(&[("a", "1"), ("b", "1")][..]);
    assert!(!delta_session(same).is_diverged(), "no resource was changed");
}

#[test]
fn name_that_the_client_gave_up_is_not_missing_at_the_server() {
    for (gives_up, is_diverged) in [(false, true), (true, false)] {
        let mut session = delta_names();
        let original = delta_request(&["b", "zz"], &[], "");
        session.message(MessageShape::DeltaRequest, &original);
        if gives_up {
            session.message(MessageShape::DeltaRequest, &delta_request(&[], &["zz"], ""));
        }
        // The tap sends the delayed request without the name.
        let sent = delta_request(&["b"], &[], "");
        session.intercept_delta_request(Interference::Corrected, &original, Some(&sent));
        assert_eq!(session.is_diverged(), is_diverged);
    }
}

/// Returns a delta request that subscribes and unsubscribes these names.
fn delta_request(subscribe: &[&str], unsubscribe: &[&str], nonce: &str) -> Vec<u8> {
    let fields = RequestFields {
        type_url: CDS,
        names: subscribe.to_vec(),
        unsubscribe: unsubscribe.to_vec(),
        response_nonce: nonce,
        ..RequestFields::default()
    };
    fields.encode(true)
}

/// A delta session whose client has subscribed to `a`, which the server has sent.
fn delta_names() -> Session {
    let mut session = Session::of("DeltaAggregatedResources");
    session.message(MessageShape::DeltaRequest, &delta_request(&["a"], &[], ""));
    session.delta_exchange("n1", "a");
    session
}

impl Session {
    /// A push of a resource, and its ACK.
    fn delta_exchange(&mut self, nonce: &str, name: &str) {
        self.message(MessageShape::DeltaResponse, &delta_push(nonce, &[(name, "1")]));
        self.message(MessageShape::DeltaRequest, &delta_request(&[], &[], nonce));
    }

    /// A delta request, and what reaches the server in its place.
    fn lose_request(&mut self, request: &[u8], sent: Option<&[u8]>) {
        self.message(MessageShape::DeltaRequest, request);
        let interference = if sent.is_some() { Interference::Changed } else { Interference::Dropped };
        self.intercept_delta_request(interference, request, sent);
    }

    /// An intervention in an earlier delta request.
    fn intercept_delta_request(&mut self, interference: Interference, request: &[u8], sent: Option<&[u8]>) {
        let facts = InterventionFacts {
            interference,
            dir: Dir::Req,
            is_delta: true,
            type_url: CDS.into(),
            version: "".into(),
            nonce: "".into(),
            by: "fault 1".into(),
        };
        let (original, sent) = (Some(request.to_vec().into()), sent.map(|sent| sent.to_vec().into()));
        let what = Intervention { facts, original, sent, sent_dir: Dir::Req };
        self.handle(FramePayload::Intercepted(Box::new(what)));
    }

    fn is_recovered(&self) -> bool {
        xdscope_engine::recovery::recoveries(&self.0).iter().all(|client| client.is_recovered())
    }

    fn agree(&self, wanted: bool, why: &str) {
        assert_eq!((!self.is_diverged(), self.is_recovered()), (wanted, wanted), "{why}");
    }
}

#[test]
fn lost_delta_subscription_lasts_until_the_server_has_it() {
    let request = delta_request(&["c"], &[], "");
    let renamed = delta_request(&["a"], &[], "");
    for sent in [None, Some(&renamed[..]), Some(&request[..request.len() / 2]), Some(b"\xff")] {
        let lost = || {
            let mut session = delta_names();
            session.lose_request(&request, sent);
            session.delta_exchange("n2", "a");
            session.agree(false, "the server has not got the name");
            session
        };
        let mut session = lost();
        session.message(MessageShape::DeltaRequest, &request);
        session.agree(true, "the client has sent it again");
        let mut session = lost();
        session.message(MessageShape::DeltaRequest, &delta_request(&[], &["c"], ""));
        session.agree(true, "the client has given it up");
        let mut session = lost();
        session.delta_exchange("n3", "c");
        session.agree(true, "the server has sent the resource");
        let mut session = lost();
        session.lose_request(&request, sent);
        session.agree(false, "lost again");
    }
}

#[test]
fn lost_delta_unsubscription_lasts_until_the_server_has_it() {
    let request = delta_request(&[], &["a"], "");
    for again in [&request, &delta_request(&["a"], &[], "")] {
        let mut session = delta_names();
        session.lose_request(&request, None);
        session.delta_exchange("n2", "a");
        session.agree(false, "the server still has the name");
        session.message(MessageShape::DeltaRequest, again);
        session.agree(true, "both sides have the same names");
    }
}

#[test]
fn name_that_only_the_server_has_is_a_divergence() {
    let mut session = delta_names();
    session.lose_request(&delta_request(&["c"], &[], ""), Some(&delta_request(&["d"], &[], "")));
    session.message(MessageShape::DeltaRequest, &delta_request(&["c"], &[], ""));
    session.agree(false, "the server has d");
    session.message(MessageShape::DeltaRequest, &delta_request(&[], &["d"], ""));
    session.agree(true, "d is given up");
}

#[test]
fn lost_delta_wildcard_lasts() {
    let mut session = Session::of("DeltaAggregatedResources");
    session.lose_request(&delta_request(&[], &[], ""), Some(&delta_request(&["a"], &[], "")));
    session.delta_exchange("n1", "a");
    session.agree(false, "the server sends a only");
    session.message(MessageShape::DeltaRequest, &delta_request(&["*"], &[], ""));
    session.agree(true, "the client has asked for all resources again");
}

#[test]
fn silenced_types_have_not_recovered() {
    let mut session = delta_names();
    session.intercept(Interference::Blackholed, Dir::Resp);
    let open = |session: &Session| xdscope_engine::recovery::recoveries(&session.0).remove(0).open;
    assert_eq!(open(&session).iter().map(|of| of.type_url.as_str()).collect::<Vec<_>>(), [CDS]);
    session.message(MessageShape::DeltaRequest, &{
        let other = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";
        RequestFields { type_url: other, ..RequestFields::default() }.encode(true)
    });
    session.intercept(Interference::Blackholed, Dir::Req);
    assert_eq!(open(&session).len(), 2, "nothing passes in any type");
}

#[test]
fn changed_push_is_part_of_the_divergence() {
    let mut session = Session::new();
    session.intercept(Interference::Changed, Dir::Resp);
    session.push("2", "n2");
    session.request("2", "n2");
    assert!(session.is_diverged(), "the client has other content than the server sent");
    session.push("3", "n3");
    session.request("3", "n3");
    assert!(!session.is_diverged());
}

#[test]
fn intervention_is_a_row_without_a_number() {
    let mut session = Session::new();
    session.intercept(Interference::Dropped, Dir::Resp);
    let row = session.0.row(session.0.rows() - 1).expect("a row");
    assert_eq!((row.kind, row.n, &*row.nonce), (MessageKind::Intercepted, None, "n2"));
    assert_eq!(row.type_url.as_str(), CDS);
}
