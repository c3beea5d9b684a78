//! The metrics, with the words that `/metrics` and the manual have in common.

/// The type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// A number that never decreases.
    Counter,
    /// A number of the moment.
    Gauge,
    /// Counts of observations by their size.
    Histogram,
    /// A constant 1 with facts as labels.
    Info,
}

impl MetricKind {
    /// The word in the manual, and after `# TYPE` in OpenMetrics.
    pub fn word(self) -> &'static str {
        match self {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
            MetricKind::Info => "info",
        }
    }
}

/// A metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// The name, with the suffix of its samples; of a histogram without one.
    pub name: &'static str,
    /// The type.
    pub kind: MetricKind,
    /// The unit, which the name contains.
    pub unit: Option<&'static str>,
    /// The names of the labels.
    pub labels: &'static [&'static str],
    /// The meaning, in one line.
    pub help: &'static str,
    /// The place at which `xdscope` prints the fact elsewhere, in the words of the manual.
    pub counterpart: &'static str,
}

/// All metrics.
pub const METRICS: [Metric; 16] = [
    BUILD_INFO,
    STREAMS,
    MESSAGES,
    MESSAGE_BYTES,
    NACKS,
    RESOURCES,
    PROBLEMS,
    FINDINGS,
    ACK_DURATION,
    ADDED_DELAY,
    OWED,
    LOST_MESSAGES,
    SPOOL_BYTES,
    MEMORY_BYTES,
    RECORDING_BYTES,
    CERTIFICATE_EXPIRY,
];

pub(super) const BUILD_INFO: Metric = Metric {
    name: "xdscope_build_info",
    kind: MetricKind::Info,
    unit: None,
    labels: &["version"],
    help: "The version of xdscope.",
    counterpart: "`--version`",
};

pub(super) const STREAMS: Metric = Metric {
    name: "xdscope_streams",
    kind: MetricKind::Gauge,
    unit: None,
    labels: &["variant", "state"],
    help: "Streams by variant of the protocol and by the worst state of their types; closed ones as long as the memory has them.",
    counterpart: "`status -o json`: objects `stream`; the first `state` of a stream in the order of `help states`",
};

pub(super) const MESSAGES: Metric = Metric {
    name: "xdscope_messages_total",
    kind: MetricKind::Counter,
    unit: None,
    labels: &["direction", "type", "kind"],
    help: "Messages by direction, resource type and kind.",
    counterpart: "`log -o jsonl`: objects `message` with `n`, by `dir`, `type` and `kind`",
};

pub(super) const MESSAGE_BYTES: Metric = Metric {
    name: "xdscope_message_bytes_total",
    kind: MetricKind::Counter,
    unit: Some("bytes"),
    labels: &[],
    help: "Bytes of messages, without compression.",
    counterpart: "`log -o jsonl`: `size`",
};

pub(super) const NACKS: Metric = Metric {
    name: "xdscope_nacks_total",
    kind: MetricKind::Counter,
    unit: None,
    labels: &["type"],
    help: "Refused responses by resource type.",
    counterpart: "`log -o jsonl`: `kind` `nack`; `nack_count` of `status` has no late ones",
};

pub(super) const RESOURCES: Metric = Metric {
    name: "xdscope_resources",
    kind: MetricKind::Gauge,
    unit: None,
    labels: &["type", "cache_state"],
    help: "Resources of all connected clients by resource type and state in the cache of the client, in the words of gRFC A78.",
    counterpart: "`status -o json`: `resources`, `refused`, `refused_unnamed`, `missing` and `absent` of open streams",
};

pub(super) const PROBLEMS: Metric = Metric {
    name: "xdscope_problems",
    kind: MetricKind::Gauge,
    unit: None,
    labels: &["kind", "severity"],
    help: "Problems by kind and urgency; pending ones are still in time, those that are over had consequences that ended.",
    counterpart: "`status -o json`: objects `problem` by `problem` and `urgency`",
};

pub(super) const FINDINGS: Metric = Metric {
    name: "xdscope_findings_total",
    kind: MetricKind::Counter,
    unit: None,
    labels: &["rule", "severity"],
    help: "Broken rules by rule and severity, each occurrence counted.",
    counterpart: "`lint -o json`: `count` by `rule` and `severity`",
};

pub(super) const ACK_DURATION: Metric = Metric {
    name: "xdscope_ack_duration_seconds",
    kind: MetricKind::Histogram,
    unit: Some("seconds"),
    labels: &["type"],
    help: "Time from a response to the verdict of the client, ACK or NACK; exemplars have the number of the message.",
    counterpart: "`log -o jsonl`: `latency_ms` of `ack` and `nack`",
};

pub(super) const ADDED_DELAY: Metric = Metric {
    name: "xdscope_added_delay_seconds",
    kind: MetricKind::Histogram,
    unit: Some("seconds"),
    labels: &[],
    help: "Time from having read a chunk of traffic to having written it, of a sample of the chunks.",
    counterpart: "Overview screen: `tap adds p50 … p99 …`",
};

pub(super) const OWED: Metric = Metric {
    name: "xdscope_owed_seconds",
    kind: MetricKind::Gauge,
    unit: Some("seconds"),
    labels: &["type"],
    help: "Age of the oldest response without a verdict or request without its resources, on open streams; 0 if nothing is owed.",
    counterpart: "`status -o json`: `since` of the states `sent`, `stale`, `wait` and `miss`",
};

pub(super) const LOST_MESSAGES: Metric = Metric {
    name: "xdscope_lost_messages_total",
    kind: MetricKind::Counter,
    unit: None,
    labels: &[],
    help: "Messages that were forwarded and not analysed: lost in the copy, or too large to be kept.",
    counterpart: "`status -o json`: `gaps` of objects `stream`",
};

pub(super) const SPOOL_BYTES: Metric = Metric {
    name: "xdscope_spool_bytes",
    kind: MetricKind::Gauge,
    unit: Some("bytes"),
    labels: &[],
    help: "Bytes in the spool file: traffic that is not recorded or not analysed yet.",
    counterpart: "part of `… behind` on the Overview screen",
};

pub(super) const MEMORY_BYTES: Metric = Metric {
    name: "xdscope_memory_bytes",
    kind: MetricKind::Gauge,
    unit: Some("bytes"),
    labels: &[],
    help: "Estimated memory of the facts, a part of what --memory limits.",
    counterpart: "",
};

pub(super) const RECORDING_BYTES: Metric = Metric {
    name: "xdscope_recording_bytes",
    kind: MetricKind::Gauge,
    unit: Some("bytes"),
    labels: &[],
    help: "Size of the session files of this run.",
    counterpart: "size of the session in the top line of the screens",
};

pub(super) const CERTIFICATE_EXPIRY: Metric = Metric {
    name: "xdscope_certificate_expiry_timestamp_seconds",
    kind: MetricKind::Gauge,
    unit: Some("seconds"),
    labels: &[],
    help: "Unix time at which the first certificate of an open connection expires, on either leg.",
    counterpart: "`status -o json`: `not_after` in `tls` of objects `stream` without `closed`",
};
