//! Facts of a story: `edge-gw-1` refuses cluster version 42, and one endpoint name is never sent.

use std::sync::Arc;
use std::time::Duration;

use crate::engine::filter::{Filter, FilterError};
use crate::engine::store::{
    EndFact, LineFact, MessageFact, MessageKind, NackFact, OwedResources, Problem, ProblemFact, PushFact,
    ReconnectFact, RefusedPush, RequestSpan, RowFact, StateFact, StreamFact, SummaryFact, TypeState,
    Wildcard,
};
use crate::tui::data::{AppliedFilter, BodyFormat, Data, Info, Mode, ViewTime};
use crate::wire::event::{ApiVersion, Clock, Code, Dir, Kind, Seq, Side, StreamId, Time, TypeUrl, Variant};
use crate::wire::{NodeInfo, Tls};

/// 13:52:00 UTC on 2 March 2026.
const EPOCH: i128 = 1_772_459_520_000_000_000;

pub const ERROR: &str = "Error adding/updating cluster(s) reviews: Proto constraint validation failed \
                         (ClusterValidationError.ConnectTimeout: value must be greater than 0s)";

#[derive(Clone)]
pub struct Story {
    pub now: Time,
    pub rows: Vec<MessageFact>,
    pub streams: Vec<StreamFact>,
    pub states: Vec<StateFact>,
    pub problems: Vec<ProblemFact>,
    /// The moment of facts that do not change.
    pub moment: Option<ViewTime>,
}

impl Data for Story {
    fn moment(&self) -> Option<ViewTime> {
        self.moment
    }
    fn rows(&self) -> usize {
        self.rows.len()
    }
    fn row(&self, index: usize) -> Option<MessageFact> {
        self.rows.get(index).cloned()
    }
    fn row_of(&self, n: Seq) -> Option<usize> {
        self.rows.iter().position(|row| row.n == Some(n))
    }
    fn streams(&self) -> Vec<StreamFact> {
        self.streams.clone()
    }
    fn line(&self, index: usize) -> Option<LineFact> {
        self.rows.get(index).map(MessageFact::line)
    }
    fn summaries(&self) -> Vec<SummaryFact> {
        self.states.iter().map(summary).collect()
    }
    fn state(&self, stream: StreamId, type_url: &TypeUrl) -> Option<StateFact> {
        self.states.iter().find(|state| state.stream == stream && state.type_url == *type_url).cloned()
    }
    fn nacks(&self) -> Vec<Seq> {
        self.states.iter().flat_map(|state| &state.nacks).map(|nack| nack.n).collect()
    }
    fn problems(&self) -> Vec<ProblemFact> {
        self.problems.clone()
    }
    fn now(&self) -> Time {
        self.now
    }
    fn clock(&self) -> Clock {
        Clock { epoch: Some(EPOCH), untimed: false }
    }
    fn body(&self, n: Seq, format: BodyFormat, limit: usize) -> Vec<String> {
        (0..30).map(|i| format!("{} of #{}, line {i}", format.word(), n.0)).take(limit).collect()
    }
    fn json(&self, fact: &MessageFact) -> String {
        format!("{{\"n\":{}}}", fact.n.map_or(0, |n| n.0))
    }
    // A small filter language: words `field:word`, all of which must match.
    fn read_filter(&self, text: &str) -> Result<Filter, FilterError> {
        match text.find("kind:x") {
            Some(at) => Err(FilterError { at: at + 5, reason: "no such kind".to_owned() }),
            None => Ok(Filter::default()),
        }
    }
    fn row_matches(&self, applied: &AppliedFilter, fact: &MessageFact) -> bool {
        applied.text.split(' ').all(|word| match word.split_once(':') {
            None | Some((_, "")) => true,
            Some(("kind", kind)) => fact.kind.word() == kind,
            Some(("type", kind)) => {
                Kind::parse(kind).and_then(|k| k.type_url(ApiVersion::V3)).as_ref() == Some(&fact.type_url)
            }
            _ => false,
        })
    }
    fn state_matches(&self, applied: &AppliedFilter, fact: &StateFact) -> bool {
        applied.text.split(' ').all(|word| match word.split_once(':') {
            None | Some((_, "")) => true,
            Some(("state", state)) => fact.state.word() == state,
            Some(("type", kind)) => {
                Kind::parse(kind).and_then(|k| k.type_url(ApiVersion::V3)).as_ref() == Some(&fact.type_url)
            }
            _ => false,
        })
    }
}

fn summary(state: &StateFact) -> SummaryFact {
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
        overdue: state.missing.len() as u64,
        names: state.names.len() as u64,
        resources: state.resources,
        refused: u64::from(state.open_nacks > 0),
    }
}

/// Parses `14:02:08.155` as a time of the source.
pub fn at(clock: &str) -> Time {
    let mut parts = clock.split(':').map(|part| part.parse::<f64>().unwrap());
    let mut next = || parts.next().unwrap();
    let secs = next() * 3600.0 + next() * 60.0 + next();
    Time(((secs - (13.0 * 3600.0 + 52.0 * 60.0)) * 1e3).round() as u64 * 1_000_000)
}

pub fn url(kind: Kind) -> TypeUrl {
    kind.type_url(ApiVersion::V3).unwrap()
}

pub fn info() -> Info {
    Info {
        source: "tap 127.0.0.1:18001 → cp.mesh:15010".to_owned(),
        mode: Mode::Live,
        recording: Some(("session-20260302-135200.xdsrec".to_owned(), 12_400_000)),
        rerun: "session-20260302-135200.xdsrec".to_owned(),
        empty: vec!["Listening on 127.0.0.1:18001, no client connected yet".to_owned()],
        ..Info::default()
    }
}

fn texts(words: &[&str]) -> Vec<Arc<str>> {
    words.iter().map(|word| Arc::from(*word)).collect()
}

fn many(n: usize) -> Vec<Arc<str>> {
    (0..n).map(|i| Arc::from(format!("cluster-{i}"))).collect()
}

pub fn stream(id: u32, node: &str, variant: Variant, opened: &str) -> StreamFact {
    let info = NodeInfo {
        id: node.to_owned(),
        cluster: "edge".to_owned(),
        locality: ["eu-west-1".to_owned(), "a".to_owned(), String::new()],
        user_agent: "envoy".to_owned(),
        user_agent_version: "1.31.2".to_owned(),
        client_features: vec!["xds.config.supports-resource-ttl".to_owned(), "other".to_owned()],
        blob: None,
    };
    StreamFact {
        stream: StreamId(id),
        node: Some(Arc::new(info)),
        method: "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources".to_owned(),
        variant: Some(variant),
        transport: Some(ApiVersion::V3),
        peer: Some(format!("10.1.0.{}:51234", id + 6)),
        server: Some("cp.mesh:15010".to_owned()),
        tls: Tls::default(),
        control_plane: Some(Arc::from("istiod-6c9f-x2")),
        opened: at(opened),
        closed: None,
        end: None,
        reconnect_of: None,
        account: None,
        messages: 498,
        bytes_in: 96_000,
        bytes_out: 41_200_000,
        gaps: 0,
        partial: false,
        last_message: Some(at("14:02:23.206")),
        keepalive: None,
    }
}

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
        effective: None,
        missing: Vec::new(),
        absent: Vec::new(),
        resources: 12,
        nacks: Vec::new(),
        nack_count: 0,
        open_nack: None,
        open_nacks: 0,
        ack_ms: Some((4.2, 180.0)),
        pushes: 3,
        bytes: 30_000,
        bytes_same: 0,
        last_push: None,
    }
}

fn nack(n: u64, refused: u64, nonce: &str, time: &str) -> NackFact {
    NackFact {
        n: Seq(n),
        at: at(time),
        refused: Some(Seq(refused)),
        nonce: Arc::from(nonce),
        version: Arc::from("42"),
        code: Code(13),
        message: Arc::from(ERROR),
        implied: false,
    }
}

fn states(streams: &[StreamFact]) -> Vec<StateFact> {
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
        names: many(119),
        missing: texts(&["ledger-v2"]),
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

struct Said<'a> {
    n: u64,
    time: &'a str,
    dir: Dir,
    kind: Kind,
    word: MessageKind,
    version: &'a str,
    nonce: &'a str,
    size: u64,
}

fn message(said: Said, more: impl FnOnce(&mut MessageFact)) -> MessageFact {
    let mut fact = MessageFact {
        row: RowFact {
            n: Some(Seq(said.n)),
            at: at(said.time),
            stream: StreamId(1),
            node: Some(Arc::from("edge-gw-1")),
            dir: Some(said.dir),
            type_url: url(said.kind),
            kind: said.word,
            class: None,
            implied: false,
            version: Arc::from(said.version),
            nonce: Arc::from(said.nonce),
            answers: None,
            latency: None,
            same: 0,
            count: 0,
            size: said.size,
            error: None,
            partial: false,
            note: None,
        },
        names: Vec::new(),
        added: Vec::new(),
        changed: Vec::new(),
        removed: Vec::new(),
    };
    more(&mut fact);
    fact
}

fn rows() -> Vec<MessageFact> {
    use Dir::{Req, Resp};
    use Kind::{Cds, Eds, Rds};
    use MessageKind::{Ack, Nack, Push, Resend, Subscribe};
    let said = |n, time, dir, kind, word, version, nonce, size| Said {
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
    let mut open = message(said(0, "13:53:19.100", Req, Cds, MessageKind::Open, "", "", 0), |fact| {
        fact.row.note = Some("ADS, state of the world, from 10.1.0.7:51234".to_owned());
    });
    (open.row.n, open.row.dir, open.row.type_url) = (None, None, TypeUrl::default());
    let mut rows = vec![
        open,
        message(said(478, "14:01:58.112", Resp, Cds, Push, "42", "a81f", 312_000), |fact| {
            (fact.row.count, fact.row.same) = (119, 117);
            fact.added = texts(&["ledger-v2"]);
            fact.changed = texts(&["reviews"]);
            fact.names = many(119);
        }),
        message(said(479, "14:01:58.131", Req, Cds, Nack, "41", "a81f", 1_100), answer(478, 19)),
        message(said(480, "14:01:58.140", Resp, Eds, Push, "41", "a77b", 44_000), |fact| {
            fact.row.count = 118;
            fact.changed = texts(&["search", "cart"]);
        }),
        message(said(481, "14:01:58.142", Req, Eds, Ack, "41", "a77b", 3_900), answer(480, 2)),
        message(said(433, "14:01:59.000", Resp, Rds, Push, "17", "c001", 5_000_000), |fact| {
            (fact.row.stream, fact.row.node) = (StreamId(2), Some(Arc::from("ratings-v1-77d0")));
            fact.row.count = 2;
        }),
        message(said(486, "14:02:08.140", Resp, Cds, Resend, "42", "a820", 312_000), same),
        message(said(487, "14:02:08.155", Req, Cds, Nack, "41", "a820", 1_100), answer(486, 15)),
        message(said(489, "14:02:09.402", Req, Eds, Subscribe, "41", "a77b", 3_900), |fact| {
            fact.row.count = 119;
            fact.added = texts(&["ledger-v2"]);
            fact.names = many(119);
        }),
        message(said(490, "14:02:09.611", Resp, Eds, Push, "41", "a77c", 44_000), |fact| {
            fact.row.count = 118;
            fact.changed = texts(&["search"]);
        }),
        message(said(491, "14:02:09.613", Req, Eds, Ack, "41", "a77c", 3_900), answer(490, 2)),
        message(said(497, "14:02:23.190", Resp, Cds, Resend, "42", "a821", 312_000), same),
        message(said(498, "14:02:23.206", Req, Cds, Nack, "41", "a821", 1_100), answer(497, 16)),
    ];
    rows.sort_by_key(|row| row.at);
    rows
}

/// A problem of `edge-gw-1` with its clusters.
fn problem(state: TypeState, since: &str, n: u64, problem: Problem) -> ProblemFact {
    ProblemFact {
        state,
        since: at(since),
        stream: StreamId(1),
        node: Some(Arc::from("edge-gw-1")),
        type_url: url(Kind::Cds),
        at: Some(Seq(n)),
        problem,
    }
}

fn problems() -> Vec<ProblemFact> {
    let refused = RefusedPush {
        version: "42".into(),
        implied: false,
        times: 3,
        first: at("14:01:58"),
        is_resent: true,
        in_force: Some("41".into()),
        message: Some(ERROR.into()),
    };
    let asked = RequestSpan { count: 2, first: Seq(489), last: Seq(491) };
    let owed = |name: &str| OwedResources {
        names: vec![name.into()],
        more: 0,
        requests: None,
        is_first: true,
        limit: None,
    };
    let missing = OwedResources { requests: Some(asked), ..owed("ledger-v2") };
    let waiting = OwedResources { limit: Some(Duration::from_secs(15)), ..owed("cart-backend") };
    let unanswered = Problem::Unanswered { version: "17".into(), response: Seq(433) };
    vec![
        problem(TypeState::Nack, "14:02:23", 498, Problem::Refused(refused)),
        ProblemFact {
            type_url: url(Kind::Eds),
            ..problem(TypeState::Miss, "14:02:09", 489, Problem::Owed(missing))
        },
        ProblemFact {
            stream: StreamId(2),
            node: Some(Arc::from("ratings-v1-77d0")),
            type_url: url(Kind::Rds),
            ..problem(TypeState::Stale, "14:01:50", 433, unanswered)
        },
        ProblemFact {
            stream: StreamId(3),
            node: Some(Arc::from("grpc-cart-0")),
            at: None,
            ..problem(TypeState::Wait, "14:02:25", 0, Problem::Owed(waiting))
        },
    ]
}

pub fn story() -> Story {
    let mut streams = vec![
        stream(1, "edge-gw-1", Variant::Ads, "13:53:19"),
        stream(2, "ratings-v1-77d0", Variant::Ads, "13:59:00"),
        stream(3, "grpc-cart-0", Variant::Ads, "14:02:25"),
        stream(4, "reviews-v2-6b8f", Variant::DeltaAds, "13:54:00"),
    ];
    streams.extend((5..9).map(|id| stream(id, "batch-9", Variant::Sotw, "14:00:00")));
    let mut first = stream(9, "payments-v3-1c2a", Variant::DeltaAds, "13:56:00");
    first.closed = Some(at("13:58:00"));
    first.end = Some(EndFact { by: Some(Side::Client), reset: Some(8), ..EndFact::default() });
    let mut second = stream(10, "payments-v3-1c2a", Variant::DeltaAds, "13:58:01");
    second.reconnect_of = Some(StreamId(9));
    second.account = Some(ReconnectFact { claimed: 119, resent: 1, removed: 0, left_behind: 2 });
    second.closed = Some(at("14:00:20"));
    second.last_message = Some(at("14:00:00"));
    second.end = Some(EndFact {
        by: Some(Side::Server),
        code: Some(Code(14)),
        message: Some("keepalive timeout".to_owned()),
        ..EndFact::default()
    });
    streams.extend([first, second]);
    let states = states(&streams);
    Story { now: at("14:02:31"), rows: rows(), streams, states, problems: problems(), moment: None }
}

/// A source of many messages, made on demand, that counts the reads.
pub struct Long {
    pub rows: usize,
    pub asked: std::cell::Cell<usize>,
    story: Story,
    template: MessageFact,
}

impl Long {
    pub fn new(rows: usize) -> Long {
        let template = self::rows().remove(2);
        let story = Story { rows: Vec::new(), states: Vec::new(), problems: Vec::new(), ..story() };
        Long { rows, asked: std::cell::Cell::new(0), story, template }
    }
}

impl Data for Long {
    fn rows(&self) -> usize {
        self.rows
    }
    fn row(&self, index: usize) -> Option<MessageFact> {
        self.asked.set(self.asked.get() + 1);
        let n = Some(Seq(index as u64 + 1));
        (index < self.rows).then(|| {
            let mut fact = self.template.clone();
            (fact.row.n, fact.row.at) = (n, Time(index as u64));
            fact
        })
    }
    fn row_of(&self, n: Seq) -> Option<usize> {
        Some(n.0 as usize - 1)
    }
    fn streams(&self) -> Vec<StreamFact> {
        self.story.streams()
    }
    fn line(&self, index: usize) -> Option<LineFact> {
        self.row(index).as_ref().map(MessageFact::line)
    }
    fn summaries(&self) -> Vec<SummaryFact> {
        Vec::new()
    }
    fn state(&self, _: StreamId, _: &TypeUrl) -> Option<StateFact> {
        None
    }
    fn nacks(&self) -> Vec<Seq> {
        Vec::new()
    }
    fn problems(&self) -> Vec<ProblemFact> {
        Vec::new()
    }
    fn now(&self) -> Time {
        Time(self.rows as u64)
    }
    fn clock(&self) -> Clock {
        self.story.clock()
    }
    fn body(&self, n: Seq, format: BodyFormat, limit: usize) -> Vec<String> {
        self.story.body(n, format, limit)
    }
    fn json(&self, fact: &MessageFact) -> String {
        self.story.json(fact)
    }
    fn row_matches(&self, applied: &AppliedFilter, fact: &MessageFact) -> bool {
        self.story.row_matches(applied, fact)
    }
    fn state_matches(&self, applied: &AppliedFilter, fact: &StateFact) -> bool {
        self.story.state_matches(applied, fact)
    }
}
