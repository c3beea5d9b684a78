use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use xdscope_engine::nack::RestUse;
use xdscope_engine::session::NotKept;
use xdscope_engine::store::{
    EndFact, MessageKind, NackFact, Origin, RefusalFact, RefusedVersion, ResourceState, RowFact,
    StateTraffic, StateVerdicts, StateVersions, SubscriptionFact, SummaryFact, Wildcard,
};
use xdscope_wire::Tls;
use xdscope_wire::event::{Code, Seq, Side, StreamId, Variant};

const UNDATED: Clock = Clock { epoch: None, untimed: false };

fn message_fact(dir: Option<Dir>) -> MessageFact {
    MessageFact {
        row: RowFact {
            n: dir.map(|_| Seq(3)),
            at: Time::from_secs_f64(1.5),
            stream: StreamId(2),
            node: Some("edge".into()),
            dir,
            type_url: Kind::Cds.type_url(xdscope_wire::event::ApiVersion::V3).unwrap_or_default(),
            kind: MessageKind::Ack,
            class: None,
            implied: false,
            other_reading: None,
            version: "v1".into(),
            nonce: "a".into(),
            answers: Some(Seq(2)),
            latency: Some(Duration::from_micros(2500)),
            same: 0,
            count: 1,
            size: 40,
            error: None,
            faults: None,
            keeps: None,
            partial: false,
            stated: None,
            note: None,
        },
        names: vec!["x".into()],
        added: Vec::new(),
        changed: Vec::new(),
        removed: Vec::new(),
        details: Default::default(),
    }
}

fn keys(value: &Value) -> String {
    value.as_object().map(|o| o.keys().cloned().collect::<Vec<_>>().join(" ")).unwrap_or_default()
}

#[test]
fn prints_times_by_clock_of_source() {
    let at = Time::from_secs_f64(1.5);
    assert_eq!(time(at, &UNDATED), json!(1.5));
    let dated = Clock { epoch: Some(1_700_000_000_000_000_000), untimed: false };
    assert_eq!(time(at, &dated), json!("2023-11-14T22:13:21.5Z"));
    assert_eq!(time(at, &Clock { epoch: Some(i128::MAX), untimed: false }), Value::Null);
    assert_eq!(time(at, &Clock { epoch: None, untimed: true }), Value::Null);
}

#[test]
fn message_has_fields_in_order() {
    let mut fact = message_fact(Some(Dir::Req));
    fact.row.class = Some(xdscope_engine::store::RequestClass::NewestNonce);
    fact.row.error = Some((Code(3), "bad".into()));
    let value = message(&fact, &UNDATED);
    assert_eq!(
        keys(&value),
        "schema object n time stream node dir type type_url kind class implied version nonce answers \
         latency_ms names added removed size error partial"
    );
    assert_eq!(value["type"], "cds");
    assert_eq!(value["latency_ms"], 2.5);
    assert_eq!(value["error"], json!({ "code": 3, "message": "bad" }));
    let response = message(&message_fact(Some(Dir::Resp)), &UNDATED);
    assert_eq!(
        keys(&response),
        "schema object n time stream node dir type type_url kind version nonce answers latency_ms names added \
         changed removed same size partial"
    );
}

#[test]
fn open_and_close_rows_have_no_message_fields() {
    let fact = {
        let mut fact = message_fact(None);
        fact.row.kind = MessageKind::Open;
        fact
    };
    assert_eq!(keys(&message(&fact, &UNDATED)), "schema object time stream node kind partial");
}

#[test]
fn close_row_states_code_text_and_side() {
    let closed = |end: EndFact| {
        let mut fact = message_fact(None);
        (fact.row.kind, fact.row.note) = (MessageKind::Close, Some(Arc::new(RowNote::Closed(end))));
        message(&fact, &UNDATED)["end"].clone()
    };
    let by = Some(Side::Server);
    let status = EndFact { by, code: Some(Code(14)), message: Some("gone".into()), ..EndFact::default() };
    let words = json!({ "by": "server", "code": 14, "message": "gone", "text": "UNAVAILABLE gone" });
    assert_eq!(closed(status), words);
    let note = Some("GOAWAY ENHANCE_YOUR_CALM (too_many_pings)".to_owned());
    let goaway = closed(EndFact { by, note: note.clone(), ..EndFact::default() });
    assert_eq!(goaway, json!({ "by": "server", "goaway": 11, "note": note, "text": note }));
    assert_eq!(closed(EndFact::default()), json!({ "by": null }));
}

fn state_fact() -> StateFact {
    let summary = SummaryFact {
        stream: StreamId(1),
        node: None,
        variant: Variant::DeltaAds,
        type_url: TypeUrl::from("type.googleapis.com/x.Y"),
        state: TypeState::Closed,
        last_state: Some(TypeState::Nack),
        since: Time::ZERO,
        open_nacks: 1,
        open_nack: Some((Seq(4), Time::from_secs_f64(2.0))),
        missing: 0,
        overdue: 0,
        owed_again: 0,
        errors: 0,
        malformed: 0,
        names: 0,
        resources: 0,
        refused: 0,
        refused_unnamed: 0,
        is_diverged: false,
    };
    let nack = NackFact {
        n: Seq(4),
        at: Time::from_secs_f64(2.0),
        refused: Some(Seq(3)),
        may_refuse: Some(Seq(5)),
        nonce: "a".into(),
        version: "1".into(),
        code: Code(3),
        message: "no".into(),
        implied: false,
        keeps: None,
        resources: vec![RefusedVersion { name: "c".into(), version: "7".into() }],
    };
    StateFact {
        summary,
        versions: StateVersions { offered: Some("2".into()), ..StateVersions::default() },
        nonce: Some("b".into()),
        pending: vec!["b".into()],
        subscription: SubscriptionFact {
            wildcard: Wildcard::Legacy,
            effective: Some(vec!["*".into()]),
            ..SubscriptionFact::default()
        },
        verdicts: StateVerdicts {
            nacks: vec![nack],
            nack_count: 1,
            ack_ms: Some((1.0, 9.5)),
            ..StateVerdicts::default()
        },
        traffic: StateTraffic { pushes: 2, bytes: 100, bytes_same: 40, last_push: None },
        diverged: None,
    }
}

#[test]
fn state_has_fields_in_order() {
    let value = state(&state_fact(), &UNDATED);
    assert_eq!(
        keys(&value),
        "schema object stream node variant type type_url state last_state since in_force offered reported nonce \
         pending wildcard names effective missing absent resources refused \
         refused_unnamed nacks nack_count open_nack ack_ms pushes bytes bytes_same"
    );
    assert_eq!(value["type"], "type.googleapis.com/x.Y", "a type without a word is its URL");
    assert_eq!(value["node"], Value::Null);
    assert_eq!(
        value["nacks"],
        json!([{
            "n": 4, "time": 2.0, "may_refuse": 5, "nonce": "a", "version": "1", "code": 3, "message": "no",
            "resources": [{ "name": "c", "version": "7" }],
        }])
    );
    let mut open = state_fact();
    open.subscription.effective = None;
    open.summary.last_state = None;
    let value = state(&open, &UNDATED);
    assert_eq!((value.get("effective"), value.get("last_state")), (None, None));
}

#[test]
fn stream_has_end_only_when_closed() {
    let mut fact = StreamFact {
        stream: StreamId(3),
        node: None,
        method: "/a.B/C".into(),
        variant: None,
        transport: None,
        peer: None,
        server: Some("cp".into()),
        tls: Tls::default(),
        control_plane: None,
        planes: Vec::new(),
        plane_changes: 0,
        node_from: None,
        file_format: None,
        opened: Time::ZERO,
        closed: None,
        end: None,
        ended_by: None,
        reconnect_of: None,
        first: StreamId(3),
        reconnects: 0,
        account: None,
        messages: 0,
        bytes_in: 0,
        bytes_out: 0,
        gaps: 0,
        not_kept: NotKept::default(),
        partial: false,
        last_message: None,
        keepalive: None,
    };
    assert_eq!(
        keys(&stream(&fact, &UNDATED)),
        "schema object stream node method peer server opened messages bytes_in bytes_out gaps"
    );
    fact.closed = Some(Time::from_secs_f64(5.0));
    fact.partial = true;
    fact.variant = Some(Variant::Ads);
    fact.reconnect_of = Some(StreamId(1));
    fact.end = Some(EndFact { code: Some(Code(14)), message: Some("gone".into()), ..EndFact::default() });
    let value = stream(&fact, &UNDATED);
    assert_eq!(
        keys(&value),
        "schema object stream node method variant peer server opened closed end reconnect_of messages bytes_in \
         bytes_out gaps"
    );
    assert_eq!(value["opened"], Value::Null);
    assert_eq!(
        value["end"],
        json!({ "by": null, "code": 14, "message": "gone", "text": "UNAVAILABLE gone" })
    );
}

#[test]
fn resource_has_fields_in_order() {
    let fact = ResourceFact {
        stream: StreamId(1),
        node: None,
        type_url: Kind::Eds.type_url(xdscope_wire::event::ApiVersion::V3).unwrap_or_default(),
        name: "foo".into(),
        aliases: vec![Arc::from("bar")],
        version: Some("1".into()),
        acked_version: None,
        state: ResourceState::Absent,
        is_stream_down: false,
        is_unreadable: false,
        owed_again: None,
        refused: true,
        refusal: Some(RefusalFact {
            nack: Seq(3),
            push: Seq(2),
            is_named: true,
            is_removal: false,
            rest: RestUse::NotUsed,
            knows_in_force: true,
            is_guess: false,
            version: "2".into(),
            content: None,
        }),
        earlier_refusal: None,
        in_force: None,
        is_unanswered: false,
        is_removal_unanswered: false,
        absent_by: Some(xdscope_engine::store::AbsentBy::Server),
        unclassified: None,
        origin: Origin::Named,
        hash: Some("00ff".into()),
        size: 10,
        ttl_deadline: Some(Time::from_secs_f64(18.0)),
        ttl_left: None,
        ttl: None,
        error: None,
        content: None,
    };
    let value = resource(&fact, &UNDATED);
    assert_eq!(
        keys(&value),
        "schema object stream type name aliases version acked_version state refused in_force refusal absent_by \
         origin hash size ttl_deadline"
    );
    assert_eq!(value["ttl_deadline"], 18.0);
    assert_eq!(value["acked_version"], Value::Null);
}
