//! Facts of a story: `edge-gw-1` refuses cluster version 42, and one endpoint name is never sent.

use std::rc::Rc;
use std::sync::Arc;

use crate::data::{AppliedFilter, BodyFormat, BodyRenderer, Data, Info, Mode, ViewTime};
use crate::screens::overview::tests::problems::problems;
use crate::screens::stream::tests::states::states;
use crate::screens::timeline::tests::messages::messages;
use crate::tests::script::ScriptedStore;
use xdscope_engine::applied::AppliedState;
use xdscope_engine::filter::{Filter, FilterError};
use xdscope_engine::lint::Finding;
use xdscope_engine::problems::ProblemFact;
use xdscope_engine::session::NotKept;
use xdscope_engine::store::{
    EndFact, LeftResource, LineFact, MessageFact, ReconnectCounts, ReconnectFact, StateFact, Store,
    StreamFact, SummaryFact,
};
use xdscope_wire::event::{ApiVersion, Clock, Code, Kind, Seq, Side, StreamId, Time, TypeUrl, Variant};
use xdscope_wire::{NodeInfo, Tls};

/// 13:52:00 UTC on 2 March 2026.
const EPOCH: i128 = 1_772_459_520_000_000_000;

/// The error of the NACKs.
pub const ERROR: &str = "Error adding/updating cluster(s) reviews: Proto constraint validation failed \
                         (ClusterValidationError.ConnectTimeout: value must be greater than 0s)";

/// Facts of one moment.
#[derive(Clone)]
pub struct Story {
    pub now: Time,
    pub rows: Vec<MessageFact>,
    pub streams: Vec<StreamFact>,
    pub states: Vec<StateFact>,
    pub problems: Vec<ProblemFact>,
    /// The moment of facts that do not change.
    pub moment: Option<ViewTime>,
    /// A store without messages.
    pub source: Rc<ScriptedStore>,
}

impl Data for Story {
    fn store(&self) -> &Store {
        self.source.store()
    }
    fn bodies(&self) -> &dyn BodyRenderer {
        self.source.bodies()
    }
    fn findings(&self) -> &[Finding] {
        &[]
    }
    fn applied_state(&self) -> Option<&AppliedState> {
        None
    }
    fn stream(&self, stream: StreamId) -> Option<StreamFact> {
        self.streams.iter().find(|fact| fact.stream == stream).cloned()
    }
    fn stream_ids(&self) -> Vec<StreamId> {
        self.streams.iter().map(|fact| fact.stream).collect()
    }
    fn place_of(&self, index: usize) -> Option<(StreamId, TypeUrl)> {
        self.line(index).map(|line| (line.stream, line.row.type_url))
    }
    fn summaries_of(&self, stream: StreamId) -> Vec<SummaryFact> {
        self.summaries().into_iter().filter(|cell| cell.stream == stream).collect()
    }
    fn cell_matches(&self, applied: &AppliedFilter, cell: &SummaryFact) -> bool {
        let state = self.state(cell.stream, &cell.type_url);
        state.is_some_and(|state| self.state_matches(applied, &state))
    }
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
        self.states.iter().map(|state| state.summary.clone()).collect()
    }
    fn state(&self, stream: StreamId, type_url: &TypeUrl) -> Option<StateFact> {
        self.states
            .iter()
            .find(|state| state.summary.stream == stream && state.summary.type_url == *type_url)
            .cloned()
    }
    fn nacks(&self) -> Vec<Seq> {
        self.states.iter().flat_map(|state| &state.verdicts.nacks).map(|nack| nack.n).collect()
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
            Some(("type", word)) => is_of_type(&fact.type_url, word),
            _ => false,
        })
    }
    fn state_matches(&self, applied: &AppliedFilter, fact: &StateFact) -> bool {
        applied.text.split(' ').all(|word| match word.split_once(':') {
            None | Some((_, "")) => true,
            Some(("state", state)) => fact.summary.state.word() == state,
            Some(("type", word)) => is_of_type(&fact.summary.type_url, word),
            _ => false,
        })
    }
}

fn is_of_type(type_url: &TypeUrl, word: &str) -> bool {
    Kind::parse(word).and_then(|kind| kind.type_url(ApiVersion::V3)).as_ref() == Some(type_url)
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

pub fn texts(words: &[&str]) -> Vec<Arc<str>> {
    words.iter().map(|word| Arc::from(*word)).collect()
}

pub fn cluster_names(n: usize) -> Vec<Arc<str>> {
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
        planes: Vec::new(),
        plane_changes: 0,
        node_from: None,
        file_format: None,
        opened: at(opened),
        closed: None,
        end: None,
        ended_by: None,
        reconnect_of: None,
        first: StreamId(id),
        reconnects: 0,
        account: None,
        messages: 498,
        bytes_in: 96_000,
        bytes_out: 41_200_000,
        gaps: 0,
        not_kept: NotKept::default(),
        partial: false,
        last_message: Some(at("14:02:23.206")),
        keepalive: None,
    }
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
    (second.reconnect_of, second.first, second.reconnects) = (Some(StreamId(9)), StreamId(9), 1);
    let counts =
        ReconnectCounts { claimed: 119, resent: 1, removed: 0, left_behind: 2, owed: 0, unclaimed: 0 };
    let url = TypeUrl::from("type.googleapis.com/envoy.config.cluster.v3.Cluster");
    let left = ["old-a", "old-b"].map(|name| LeftResource { type_url: url.clone(), name: name.into() });
    second.account = Some(ReconnectFact { counts, left: left.into() });
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
    let source = Rc::new(ScriptedStore::new(""));
    let (rows, problems) = (messages(), problems());
    Story { now: at("14:02:31"), rows, streams, states, problems, moment: None, source }
}

/// Returns the story before the first stream.
pub fn empty_story() -> Story {
    Story { rows: Vec::new(), streams: Vec::new(), states: Vec::new(), problems: Vec::new(), ..story() }
}
