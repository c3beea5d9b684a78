//! States of the story.

use std::sync::Arc;

use crate::tests::story::{ERROR, at, cluster_names, texts, url};
use xdscope_engine::store::{NackFact, PushFact, StateFact, StreamFact, SummaryFact, TypeState, Wildcard};
use xdscope_wire::event::{Code, Kind, Seq};

/// Returns a healthy state of a stream, but for its word.
pub fn state(stream: &StreamFact, kind: Kind, state: TypeState, since: &str) -> StateFact {
    StateFact {
        stream: stream.stream,
        node: stream.node.as_ref().map(|node| Arc::from(node.id.as_str())),
        variant: stream.variant.unwrap(),
        type_url: url(kind),
        state,
        last_state: None,
        since: at(since),
        in_force: Some(Arc::from("7")),
        in_force_since: Some((Seq(12), at("13:53:20.004"))),
        offered: Some(Arc::from("7")),
        reported: Some(Arc::from("7")),
        nonce: Some(Arc::from("91b0")),
        pending: Vec::new(),
        wildcard: Wildcard::Legacy,
        names: Vec::new(),
        named_resources: 0,
        effective: None,
        missing: Vec::new(),
        overdue: 0,
        owed_again: vec![],
        errors: 0,
        malformed: 0,
        absent: Vec::new(),
        resources: 12,
        newest_accepted: None,
        refused: 0,
        refused_unnamed: 0,
        nacks: Vec::new(),
        standing_nacks: Vec::new(),
        nack_count: 0,
        open_nack: None,
        open_nacks: 0,
        is_settled_later: false,
        ack_ms: Some((4.2, 180.0)),
        pushes: 3,
        bytes: 30_000,
        bytes_same: 0,
        last_push: None,
        diverged: None,
    }
}

fn nack(n: u64, refused: u64, nonce: &str, time: &str) -> NackFact {
    NackFact {
        n: Seq(n),
        at: at(time),
        refused: Some(Seq(refused)),
        may_refuse: None,
        nonce: Arc::from(nonce),
        version: Arc::from("42"),
        code: Code(13),
        message: Arc::from(ERROR),
        implied: false,
        keeps: None,
        resources: Vec::new(),
    }
}

pub fn states(streams: &[StreamFact]) -> Vec<StateFact> {
    use Kind::{Cds, Eds, Lds, Rds, Sds};
    use TypeState::{Closed, Idle, Miss, Nack, Sent, Stale, Synced, Wait};
    let edge = &streams[0];
    let refused = StateFact {
        in_force: Some(Arc::from("41")),
        offered: Some(Arc::from("42")),
        reported: Some(Arc::from("41")),
        nonce: Some(Arc::from("a821")),
        resources: 118,
        nacks: vec![
            nack(479, 478, "a81f", "14:01:58.131"),
            nack(487, 486, "a820", "14:02:08.155"),
            nack(498, 497, "a821", "14:02:23.206"),
        ],
        nack_count: 3,
        open_nack: Some(Seq(498)),
        open_nacks: 3,
        pushes: 9,
        last_push: Some(PushFact {
            n: 497,
            at: at("14:02:23.190"),
            added: 1,
            changed: 1,
            removed: 0,
            same: 117,
            bytes: 312_000,
            bytes_same: 298_000,
        }),
        ..state(edge, Cds, Nack, "14:02:23.206")
    };
    let missing = StateFact {
        in_force: Some(Arc::from("41")),
        offered: Some(Arc::from("41")),
        nonce: Some(Arc::from("a77c")),
        wildcard: Wildcard::None,
        names: cluster_names(119),
        named_resources: 119,
        missing: texts(&["ledger-v2"]),
        overdue: 1,
        malformed: 0,
        resources: 118,
        pushes: 44,
        ..state(edge, Eds, Miss, "14:02:09")
    };
    let mut all = vec![
        state(edge, Lds, Synced, "13:53:20"),
        refused,
        StateFact {
            wildcard: Wildcard::None,
            names: texts(&["edge", "internal"]),
            named_resources: 2,
            resources: 2,
            ..state(edge, Rds, Synced, "14:01:40")
        },
        missing,
        state(edge, Sds, Synced, "13:53:20"),
    ];
    for (stream, cells) in [
        (
            1,
            &[
                (Lds, Synced, "13:59:20"),
                (Cds, Synced, "13:59:20"),
                (Rds, Stale, "14:01:50"),
                (Eds, Synced, "13:59:20"),
                (Sds, Idle, "13:59:20"),
            ][..],
        ),
        (2, &[(Lds, Synced, "14:02:25"), (Cds, Wait, "14:02:25"), (Rds, Synced, "14:02:25")][..]),
        (
            3,
            &[
                (Lds, Synced, "14:01:20"),
                (Cds, Synced, "14:01:20"),
                (Rds, Synced, "14:01:20"),
                (Eds, Sent, "14:02:30.8"),
                (Sds, Synced, "13:54:20"),
            ][..],
        ),
        (4, &[(Lds, Synced, "14:00:20")][..]),
        (5, &[(Cds, Synced, "14:00:20")][..]),
        (6, &[(Rds, Synced, "14:00:20")][..]),
        (7, &[(Eds, Synced, "14:00:20")][..]),
        (9, &[(Cds, Closed, "14:00:20")][..]),
    ] {
        all.extend(cells.iter().map(|(kind, word, since)| state(&streams[stream], *kind, *word, since)));
    }
    all
}

/// Returns a state without its resource names.
pub fn summary_of(state: &StateFact) -> SummaryFact {
    SummaryFact {
        stream: state.stream,
        node: state.node.clone(),
        variant: state.variant,
        type_url: state.type_url.clone(),
        state: state.state,
        last_state: state.last_state,
        since: state.since,
        open_nacks: state.open_nacks,
        last_nack: state.nacks.last().map(|nack| (nack.n, nack.at)),
        missing: state.missing.len() as u64,
        overdue: state.overdue,
        owed_again: 0,
        errors: 0,
        malformed: 0,
        names: state.names.len() as u64,
        resources: state.resources,
        refused: u64::from(state.open_nacks > 0),
        refused_unnamed: 0,
    }
}
