//! The figures of a run as metrics: names, labels and words of `/metrics`.

mod exposition;
mod table;

use std::time::Duration;

use xdscope_engine::activity::LATENCY_CLASSES;
use xdscope_engine::metrics::{Figures, VerdictExample, VerdictTimes, direction};
use xdscope_wire::event::{Clock, Variant};

pub use exposition::{ExpositionFormat, ShownCounters};
pub use table::{METRICS, Metric, MetricKind};

use exposition::{Bucket, Exemplar, Exposition, float};
use table::{
    ACK_DURATION, ADDED_DELAY, BUILD_INFO, CERTIFICATE_EXPIRY, FINDINGS, LOST_MESSAGES, MEMORY_BYTES,
    MESSAGE_BYTES, MESSAGES, NACKS, OWED, PROBLEMS, RECORDING_BYTES, RESOURCES, SPOOL_BYTES, STREAMS,
};

/// The figures of a run. Metrics without a figure are left out.
#[derive(Clone, Debug, Default)]
pub struct RunFigures {
    /// The version of the program.
    pub version: &'static str,
    /// The figures of the protocol.
    pub protocol: Option<Figures>,
    /// The delay that a tap adds to traffic.
    pub added_delay: Option<DelayHistogram>,
    /// Bytes in the spool.
    pub spool: Option<u64>,
    /// Bytes of the session files.
    pub recording: Option<u64>,
}

/// Delays, counted by classes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DelayHistogram {
    /// The longest delay of each class, and the number of delays in the class. A delay that is
    /// longer than all of them is in `longer`.
    pub classes: Vec<(Duration, u64)>,
    /// Number of longer delays.
    pub longer: u64,
    /// The sum of all delays.
    pub sum: Duration,
}

/// Writes the metrics of a run.
pub fn write(run: &RunFigures, format: ExpositionFormat, shown: &mut ShownCounters) -> String {
    let mut out = Exposition::new(format, shown);
    out.begin(&BUILD_INFO);
    out.gauge(&BUILD_INFO, &[run.version], 1);
    if let Some(figures) = &run.protocol {
        write_counters(figures, &mut out);
        write_gauges(figures, &mut out);
    }
    if let Some(delays) = &run.added_delay {
        out.begin(&ADDED_DELAY);
        out.histogram(&ADDED_DELAY, &[], &delay_buckets(delays), delays.sum.as_secs_f64());
    }
    for (metric, bytes) in [(&SPOOL_BYTES, run.spool), (&RECORDING_BYTES, run.recording)] {
        if let Some(bytes) = bytes {
            out.begin(metric);
            out.gauge(metric, &[], bytes);
        }
    }
    out.finish()
}

fn write_counters(figures: &Figures, out: &mut Exposition<'_>) {
    let counters = &figures.counters;
    out.begin(&MESSAGES);
    for (label, kind, count) in counters.messages() {
        if let Some(direction) = direction(kind) {
            out.counter(&MESSAGES, &[direction.word(), label.word(), kind.word()], count);
        }
    }
    out.begin(&MESSAGE_BYTES);
    out.counter(&MESSAGE_BYTES, &[], counters.bytes());
    out.begin(&NACKS);
    for (label, count) in counters.nacks() {
        out.counter(&NACKS, &[label.word()], count);
    }
    out.begin(&FINDINGS);
    for ((rule, severity), count) in &figures.gauges.findings {
        out.counter(&FINDINGS, &[rule, severity.word()], *count);
    }
    out.begin(&ACK_DURATION);
    for (label, times) in counters.verdicts() {
        let buckets = verdict_buckets(times, &figures.clock);
        out.histogram(&ACK_DURATION, &[label.word()], &buckets, times.sum.as_secs_f64());
    }
    out.begin(&LOST_MESSAGES);
    out.counter(&LOST_MESSAGES, &[], counters.lost());
}

fn write_gauges(figures: &Figures, out: &mut Exposition<'_>) {
    let gauges = &figures.gauges;
    out.begin(&STREAMS);
    for ((variant, state), count) in &gauges.streams {
        out.gauge(&STREAMS, &[variant.map_or("opaque", Variant::word), state.word()], count);
    }
    out.begin(&RESOURCES);
    for (label, of) in &gauges.types {
        let states = [
            ("requested", of.resources.requested),
            ("does_not_exist", of.resources.does_not_exist),
            ("acked", of.resources.acked),
            ("nacked", of.resources.nacked),
            ("nacked_but_cached", of.resources.nacked_but_cached),
        ];
        for (state, count) in states {
            out.gauge(&RESOURCES, &[label.word(), state], count);
        }
    }
    out.begin(&PROBLEMS);
    for ((kind, urgency), count) in &gauges.problems {
        out.gauge(&PROBLEMS, &[kind, urgency.word()], count);
    }
    out.begin(&OWED);
    for (label, of) in &gauges.types {
        out.gauge(&OWED, &[label.word()], float(of.owed.as_secs_f64()));
    }
    out.begin(&MEMORY_BYTES);
    out.gauge(&MEMORY_BYTES, &[], gauges.memory);
    if let Some(expiry) = gauges.certificate_expiry {
        out.begin(&CERTIFICATE_EXPIRY);
        out.gauge(&CERTIFICATE_EXPIRY, &[], expiry);
    }
}

fn verdict_buckets(times: &VerdictTimes, clock: &Clock) -> Vec<Bucket> {
    let ends = LATENCY_CLASSES.iter().map(Duration::as_secs_f64).chain([f64::INFINITY]);
    let exemplar = |of: &VerdictExample| Exemplar {
        message: of.message.0,
        value: of.latency.as_secs_f64(),
        at: clock.epoch.map(|epoch| (epoch.saturating_add(i128::from(of.at.0))) as f64 / 1e9),
    };
    let classes = ends.zip(times.counts).zip(&times.newest);
    classes
        .map(|((end, count), newest)| Bucket { end, count, exemplar: newest.as_ref().map(exemplar) })
        .collect()
}

fn delay_buckets(delays: &DelayHistogram) -> Vec<Bucket> {
    let class =
        |(end, count): &(Duration, u64)| Bucket { end: end.as_secs_f64(), count: *count, exemplar: None };
    let longer = Bucket { end: f64::INFINITY, count: delays.longer, exemplar: None };
    delays.classes.iter().map(class).chain([longer]).collect()
}
