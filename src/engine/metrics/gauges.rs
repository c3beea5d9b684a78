//! Figures of a source at one moment.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::lint::{Finding, Severity, rules};
use crate::problems::{Urgency, problems};
use crate::session::{CacheCounts, Stream, Track};
use crate::store::{Store, TypeState};
use xdscope_wire::Secured;
use xdscope_wire::event::Variant;

use super::type_label::{TypeLabel, TypeLabels};

/// Figures of the open streams of one type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TypeGauges {
    /// The resources of all clients.
    pub resources: CacheCounts,
    /// The age of the oldest answer that one side owes the other; zero if none is owed.
    pub owed: Duration,
}

/// Figures of a source at one moment, computed from the facts that all views show.
#[derive(Clone, Debug, Default)]
pub struct Gauges {
    /// Number of streams by variant and state; no variant for streams that are not xDS.
    ///
    /// The state of an open stream is the worst of its types.
    pub streams: BTreeMap<(Option<Variant>, TypeState), u64>,
    /// Figures of the types with open streams.
    pub types: BTreeMap<TypeLabel, TypeGauges>,
    /// Number of problems by the word of their kind and urgency.
    pub problems: BTreeMap<(&'static str, Urgency), u64>,
    /// Occurrences of findings by the id of the rule and severity. Each rule has its own severity.
    pub findings: BTreeMap<(&'static str, Severity), u64>,
    /// Estimated memory of the facts, in bytes.
    pub memory: usize,
    /// The earliest end of a certificate of an open connection, in seconds of Unix time.
    pub certificate_expiry: Option<i64>,
}

impl Gauges {
    /// Computes the figures. Takes time in proportion to the number of streams, types, problems and
    /// findings.
    pub(super) fn measure(store: &Store, findings: &[Finding], labels: &TypeLabels) -> Gauges {
        let mut gauges = Gauges::default();
        let rules = rules().map(|rule| ((rule.id, rule.severity), 0));
        gauges.findings.extend(rules);
        for finding in findings {
            *gauges.findings.entry((finding.rule.id, finding.severity)).or_default() += finding.count;
        }
        for problem in problems(store, findings) {
            *gauges.problems.entry((problem.kind.word(), problem.urgency)).or_default() += 1;
        }
        for stream in store.engine().streams().iter() {
            gauges.add_stream(store, labels, stream);
        }
        gauges
    }

    /// Counts a stream by its worst state, and its types.
    fn add_stream(&mut self, store: &Store, labels: &TypeLabels, stream: &Stream) {
        let mut worst = TypeState::Idle;
        if stream.closed.is_some() {
            worst = TypeState::Closed;
        } else {
            for track in stream.tracks_shown() {
                worst = worst.min(store.state_at(stream, track, store.now()).state);
                self.add_type(store, labels.label(&track.type_url), track);
            }
            let tls = &stream.open.tls;
            let legs = [&tls.client, &tls.server].into_iter().flatten();
            let ends = legs.filter_map(|leg| earliest_end(leg));
            self.certificate_expiry = ends.chain(self.certificate_expiry).min();
        }
        *self.streams.entry((stream.variant(), worst)).or_default() += 1;
    }

    fn add_type(&mut self, store: &Store, label: TypeLabel, track: &Track) {
        let gauges = self.types.entry(label).or_default();
        gauges.resources.add(&track.cache_counts(store.catalog(), store.now(), store.limits()));
        let owed = track.owed_since().map(|since| store.now().since(since));
        gauges.owed = gauges.owed.max(owed.unwrap_or_default());
    }
}

/// Returns the earliest end of the certificates of a leg.
fn earliest_end(leg: &Secured) -> Option<i64> {
    [&leg.server, &leg.client].into_iter().flatten().map(|certificate| certificate.not_after).min()
}
