//! States of the story.

use std::sync::Arc;

use crate::tests::story::{ERROR, at, cluster_names, texts, url};
use xdscope_engine::store::{
    NackFact, PushFact, StateFact, StateTraffic, StateVerdicts, StateVersions, StreamFact, SubscriptionFact,
    SummaryFact, TypeState, Wildcard,
};
use xdscope_wire::event::{Code, Kind, Seq};

/// Returns a healthy state of a stream, but for its word.
pub fn state(stream: &StreamFact, kind: Kind, state: TypeState, since: &str) -> StateFact {
    let summary = SummaryFact {
        stream: stream.stream,
        node: stream.node.as_ref().map(|node| Arc::from(node.id.as_str())),
        variant: stream.variant.unwrap(),
        type_url: url(kind),
        state,
        last_state: None,
        since: at(since),
        open_nacks: 0,
        open_nack: None,
        missing: 0,
        overdue: 0,
        owed_again: 0,
        errors: 0,
        malformed: 0,
        names: 0,
        resources: 12,
        refused: 0,
        refused_unnamed: 0,
        is_diverged: false,
    };
    StateFact {
        summary,
        versions: versions("7", "7"),
        nonce: Some(Arc::from("91b0")),
        pending: Vec::new(),
        subscription: SubscriptionFact { wildcard: Wildcard::Legacy, ..SubscriptionFact::default() },
        verdicts: StateVerdicts { ack_ms: Some((4.2, 180.0)), ..StateVerdicts::default() },
        traffic: StateTraffic { pushes: 3, bytes: 30_000, ..StateTraffic::default() },
        diverged: None,
    }
}

fn versions(in_force: &str, offered: &str) -> StateVersions {
    StateVersions {
        in_force: Some(Arc::from(in_force)),
        in_force_since: Some((Seq(12), at("13:53:20.004"))),
        offered: Some(Arc::from(offered)),
        reported: Some(Arc::from(in_force)),
    }
}

/// Changes the subscription of a state to these names.
fn with_names(mut state: StateFact, names: Vec<Arc<str>>) -> StateFact {
    state.summary.names = names.len() as u64;
    state.subscription.wildcard = Wildcard::None;
    state.subscription.named_resources = names.len() as u64;
    state.subscription.names = names;
    state
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
    let mut refused = state(edge, Cds, Nack, "14:02:23.206");
    refused.versions = versions("41", "42");
    refused.nonce = Some(Arc::from("a821"));
    refused.summary.resources = 118;
    refused.summary.refused = 1;
    refused.summary.open_nacks = 3;
    refused.summary.open_nack = Some((Seq(498), at("14:02:23.206")));
    refused.verdicts.nacks = vec![
        nack(479, 478, "a81f", "14:01:58.131"),
        nack(487, 486, "a820", "14:02:08.155"),
        nack(498, 497, "a821", "14:02:23.206"),
    ];
    refused.verdicts.nack_count = 3;
    refused.traffic.pushes = 9;
    refused.traffic.last_push = Some(PushFact {
        n: 497,
        at: at("14:02:23.190"),
        added: 1,
        changed: 1,
        removed: 0,
        same: 117,
        bytes: 312_000,
        bytes_same: 298_000,
    });
    let mut missing = with_names(state(edge, Eds, Miss, "14:02:09"), cluster_names(119));
    missing.versions = StateVersions { reported: Some(Arc::from("7")), ..versions("41", "41") };
    missing.nonce = Some(Arc::from("a77c"));
    missing.subscription.missing = texts(&["ledger-v2"]);
    missing.summary.missing = 1;
    missing.summary.overdue = 1;
    missing.summary.resources = 118;
    missing.traffic.pushes = 44;
    let mut routes = with_names(state(edge, Rds, Synced, "14:01:40"), texts(&["edge", "internal"]));
    routes.summary.resources = 2;
    let mut all = vec![
        state(edge, Lds, Synced, "13:53:20"),
        refused,
        routes,
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
