//! Messages of the story.

use std::sync::Arc;
use std::time::Duration;

use crate::tests::story::{ERROR, at, cluster_names, texts, url};
use xdscope_engine::nack::StatedFaults;
use xdscope_engine::store::{MessageFact, MessageKind, RowFact, RowNote};
use xdscope_wire::Tls;
use xdscope_wire::event::{Code, Dir, Kind, Seq, StreamId, TypeUrl};

struct MessageSpec<'a> {
    n: u64,
    time: &'a str,
    dir: Dir,
    kind: Kind,
    word: MessageKind,
    version: &'a str,
    nonce: &'a str,
    size: u64,
}

fn message(spec: MessageSpec, more: impl FnOnce(&mut MessageFact)) -> MessageFact {
    let mut fact = MessageFact {
        row: RowFact {
            n: Some(Seq(spec.n)),
            at: at(spec.time),
            stream: StreamId(1),
            node: Some(Arc::from("edge-gw-1")),
            dir: Some(spec.dir),
            type_url: url(spec.kind),
            kind: spec.word,
            class: None,
            implied: false,
            other_reading: None,
            version: Arc::from(spec.version),
            nonce: Arc::from(spec.nonce),
            answers: None,
            latency: None,
            same: 0,
            count: 0,
            size: spec.size,
            error: None,
            faults: None,
            keeps: (spec.word == MessageKind::Nack).then(|| Arc::from(spec.version)),
            partial: false,
            stated: None,
            note: None,
        },
        names: Vec::new(),
        added: Vec::new(),
        changed: Vec::new(),
        removed: Vec::new(),
        details: Default::default(),
    };
    more(&mut fact);
    let faults = |text: &str| Arc::from(StatedFaults::read(text, &[]).to_string());
    fact.row.faults = fact.row.error.as_ref().map(|(_, text)| faults(text));
    fact
}

pub fn messages() -> Vec<MessageFact> {
    use Dir::{Req, Resp};
    use Kind::{Cds, Eds, Rds};
    use MessageKind::{Ack, Nack, Push, Resend, Subscribe};
    let spec = |n, time, dir, kind, word, version, nonce, size| MessageSpec {
        n,
        time,
        dir,
        kind,
        word,
        version,
        nonce,
        size,
    };
    let answer = |n: u64, ms: u64| {
        move |fact: &mut MessageFact| {
            fact.row.answers = Some(Seq(n));
            fact.row.latency = Some(Duration::from_millis(ms));
            if fact.kind == MessageKind::Nack {
                fact.row.error = Some((Code(13), Arc::from(ERROR)));
            }
        }
    };
    let same = |fact: &mut MessageFact| (fact.row.count, fact.row.same) = (119, 119);
    let mut open = message(spec(0, "13:53:19.100", Req, Cds, MessageKind::Open, "", "", 0), |fact| {
        let method = "ADS, state of the world, from 10.1.0.7:51234".to_owned();
        fact.row.note = Some(RowNote::Opened { method, tls: Tls::default() }.into());
    });
    (open.row.n, open.row.dir, open.row.type_url) = (None, None, TypeUrl::default());
    let mut rows = vec![
        open,
        message(spec(478, "14:01:58.112", Resp, Cds, Push, "42", "a81f", 312_000), |fact| {
            (fact.row.count, fact.row.same) = (119, 117);
            fact.added = texts(&["ledger-v2"]);
            fact.changed = texts(&["reviews"]);
            fact.names = cluster_names(119);
        }),
        message(spec(479, "14:01:58.131", Req, Cds, Nack, "41", "a81f", 1_100), answer(478, 19)),
        message(spec(480, "14:01:58.140", Resp, Eds, Push, "41", "a77b", 44_000), |fact| {
            fact.row.count = 118;
            fact.changed = texts(&["search", "cart"]);
        }),
        message(spec(481, "14:01:58.142", Req, Eds, Ack, "41", "a77b", 3_900), answer(480, 2)),
        message(spec(433, "14:01:59.000", Resp, Rds, Push, "17", "c001", 5_000_000), |fact| {
            (fact.row.stream, fact.row.node) = (StreamId(2), Some(Arc::from("ratings-v1-77d0")));
            fact.row.count = 2;
        }),
        message(spec(486, "14:02:08.140", Resp, Cds, Resend, "42", "a820", 312_000), same),
        message(spec(487, "14:02:08.155", Req, Cds, Nack, "41", "a820", 1_100), answer(486, 15)),
        message(spec(489, "14:02:09.402", Req, Eds, Subscribe, "41", "a77b", 3_900), |fact| {
            fact.row.count = 119;
            fact.added = texts(&["ledger-v2"]);
            fact.names = cluster_names(119);
        }),
        message(spec(490, "14:02:09.611", Resp, Eds, Push, "41", "a77c", 44_000), |fact| {
            fact.row.count = 118;
            fact.changed = texts(&["search"]);
        }),
        message(spec(491, "14:02:09.613", Req, Eds, Ack, "41", "a77c", 3_900), answer(490, 2)),
        message(spec(497, "14:02:23.190", Resp, Cds, Resend, "42", "a821", 312_000), same),
        message(spec(498, "14:02:23.206", Req, Cds, Nack, "41", "a821", 1_100), answer(497, 16)),
    ];
    rows.sort_by_key(|row| row.at);
    rows
}
