//! Metrics as text: OpenMetrics 1.0, and the text format 0.0.4 of Prometheus.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::{Display, Write as _};

use xdscope_wire::text::display_safe;

use super::table::{Metric, MetricKind};

/// The format of a scrape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExpositionFormat {
    /// The text format 0.0.4 of Prometheus.
    #[default]
    Prometheus,
    /// OpenMetrics 1.0, with units and exemplars.
    OpenMetrics,
}

impl ExpositionFormat {
    /// The content type of a scrape.
    pub fn content_type(self) -> &'static str {
        match self {
            ExpositionFormat::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            ExpositionFormat::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// Chooses the format that an `Accept` header prefers.
    ///
    /// ```
    /// use xdscope_present::metrics::ExpositionFormat;
    ///
    /// let of = ExpositionFormat::of_accept;
    /// let prometheus = "application/openmetrics-text;version=1.0.0;q=0.8,text/plain;q=0.5";
    /// assert_eq!(of(prometheus), ExpositionFormat::OpenMetrics);
    /// assert_eq!(of("text/html,*/*;q=0.8"), ExpositionFormat::Prometheus);
    /// ```
    pub fn of_accept(accept: &str) -> ExpositionFormat {
        let quality = |media_type: &str| {
            let ranges = accept.split(',').filter_map(|range| {
                let mut parts = range.split(';').map(str::trim);
                let is_meant = parts.next().is_some_and(|of| of.eq_ignore_ascii_case(media_type));
                let q = parts.find_map(|part| part.strip_prefix("q=")).map_or(Some(1.0), |q| q.parse().ok());
                q.filter(|_: &f64| is_meant)
            });
            ranges.fold(0.0, f64::max)
        };
        let open_metrics = quality("application/openmetrics-text");
        let is_preferred = open_metrics > 0.0 && open_metrics >= quality("text/plain");
        if is_preferred { ExpositionFormat::OpenMetrics } else { ExpositionFormat::Prometheus }
    }
}

/// The values of counters that were shown, which later ones never fall below.
///
/// A fact that turns out not to be one, such as a finding that proves harmless, is not counted any
/// more. A counter that decreased would count as a restart, and its whole value as new.
#[derive(Debug, Default)]
pub struct ShownCounters(HashMap<String, u64>);

/// An observation of a histogram, with the number of its message.
pub(super) struct Exemplar {
    pub(super) message: u64,
    pub(super) value: f64,
    /// Unix time of the message in seconds.
    pub(super) at: Option<f64>,
}

/// A class of a histogram.
pub(super) struct Bucket {
    /// The highest value of the class; infinite for the last one.
    pub(super) end: f64,
    pub(super) count: u64,
    pub(super) exemplar: Option<Exemplar>,
}

/// Labels of a sample and their values.
pub(super) type Labels<'a> = &'a [&'a str];

/// A scrape that is being written.
pub(super) struct Exposition<'a> {
    out: String,
    format: ExpositionFormat,
    shown: &'a mut ShownCounters,
}

impl<'a> Exposition<'a> {
    pub(super) fn new(format: ExpositionFormat, shown: &'a mut ShownCounters) -> Exposition<'a> {
        Exposition { out: String::new(), format, shown }
    }

    /// Ends the text.
    pub(super) fn finish(mut self) -> String {
        if self.format == ExpositionFormat::OpenMetrics {
            self.out.push_str("# EOF\n");
        }
        self.out
    }

    /// Begins a metric, whose samples follow.
    pub(super) fn begin(&mut self, metric: &Metric) {
        let (name, kind) = match (self.format, metric.kind) {
            // The samples of a family have its name and a suffix.
            (ExpositionFormat::OpenMetrics, MetricKind::Counter) => {
                (without(metric.name, "_total"), metric.kind)
            }
            (ExpositionFormat::OpenMetrics, MetricKind::Info) => (without(metric.name, "_info"), metric.kind),
            (ExpositionFormat::Prometheus, MetricKind::Info) => (metric.name, MetricKind::Gauge),
            _ => (metric.name, metric.kind),
        };
        self.line(format_args!("# HELP {name} {}", metric.help));
        self.line(format_args!("# TYPE {name} {}", kind.word()));
        if let Some(unit) = metric.unit
            && self.format == ExpositionFormat::OpenMetrics
        {
            self.line(format_args!("# UNIT {name} {unit}"));
        }
    }

    /// Writes the value of a gauge or info.
    pub(super) fn gauge(&mut self, metric: &Metric, values: Labels<'_>, value: impl Display) {
        let labels = braces(&labels(metric, values));
        self.line(format_args!("{}{labels} {value}", metric.name));
    }

    /// Writes the value of a counter.
    pub(super) fn counter(&mut self, metric: &Metric, values: Labels<'_>, value: u64) {
        let sample = format!("{}{}", metric.name, braces(&labels(metric, values)));
        let shown = self.shown.0.entry(sample.clone()).or_default();
        *shown = value.max(*shown);
        let value = *shown;
        self.line(format_args!("{sample} {value}"));
    }

    /// Writes a histogram. The last bucket has no end.
    pub(super) fn histogram(&mut self, metric: &Metric, values: Labels<'_>, buckets: &[Bucket], sum: f64) {
        let (name, own) = (metric.name, labels(metric, values));
        let mut count = 0;
        for bucket in buckets {
            count += bucket.count;
            let mut labels = own.clone();
            labels.push(format!("le=\"{}\"", float(bucket.end)));
            let exemplar = bucket.exemplar.as_ref().filter(|_| self.format == ExpositionFormat::OpenMetrics);
            let exemplar = exemplar.map(exemplar_text).unwrap_or_default();
            self.line(format_args!("{name}_bucket{} {count}{exemplar}", braces(&labels)));
        }
        self.line(format_args!("{name}_sum{} {}", braces(&own), float(sum)));
        self.line(format_args!("{name}_count{} {count}", braces(&own)));
    }

    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string never fails.
        let _ = writeln!(self.out, "{text}");
    }
}

fn exemplar_text(exemplar: &Exemplar) -> String {
    let at = exemplar.at.map(|at| format!(" {at:.3}")).unwrap_or_default();
    format!(" # {{message=\"{}\"}} {}{at}", exemplar.message, float(exemplar.value))
}

fn without<'a>(name: &'a str, suffix: &str) -> &'a str {
    name.strip_suffix(suffix).unwrap_or(name)
}

/// Formats the labels of a metric with their values.
fn labels(metric: &Metric, values: Labels<'_>) -> Vec<String> {
    let label = |(name, value): (&&str, &&str)| format!("{name}=\"{}\"", escaped(value));
    metric.labels.iter().zip(values).map(label).collect()
}

fn braces(labels: &[String]) -> String {
    if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) }
}

/// Escapes a value of a label. Control characters of peers are shown as text.
fn escaped(value: &str) -> Cow<'_, str> {
    let safe = display_safe(value);
    if !safe.contains(['\\', '"']) {
        return safe;
    }
    safe.replace('\\', r"\\").replace('"', "\\\"").into()
}

/// Formats a number in one spelling for both formats: a bucket is told by the text of its end.
pub(super) fn float(value: f64) -> String {
    if value == f64::INFINITY { "+Inf".to_owned() } else { format!("{value:?}") }
}

#[cfg(test)]
mod tests {
    use super::super::table::{ACK_DURATION, BUILD_INFO, NACKS};
    use super::*;

    fn scrape(format: ExpositionFormat, write: impl FnOnce(&mut Exposition<'_>)) -> String {
        let mut shown = ShownCounters::default();
        let mut out = Exposition::new(format, &mut shown);
        write(&mut out);
        out.finish()
    }

    #[test]
    fn families_of_openmetrics_have_no_suffix() {
        let write = |out: &mut Exposition<'_>| {
            out.begin(&BUILD_INFO);
            out.gauge(&BUILD_INFO, &["1.2.3"], 1);
            out.begin(&NACKS);
            out.counter(&NACKS, &["cds"], 7);
        };
        assert_eq!(
            scrape(ExpositionFormat::OpenMetrics, write),
            "# HELP xdscope_build The version of xdscope.\n# TYPE xdscope_build info\n\
             xdscope_build_info{version=\"1.2.3\"} 1\n\
             # HELP xdscope_nacks Refused responses by resource type.\n# TYPE xdscope_nacks counter\n\
             xdscope_nacks_total{type=\"cds\"} 7\n# EOF\n"
        );
        let text = scrape(ExpositionFormat::Prometheus, write);
        assert!(text.contains("# TYPE xdscope_build_info gauge\n"), "{text}");
        assert!(text.contains("# TYPE xdscope_nacks_total counter\n") && !text.contains("EOF"), "{text}");
    }

    #[test]
    fn only_openmetrics_has_exemplars_and_units() {
        let exemplar = Exemplar { message: 487, value: 0.002, at: Some(1.5) };
        let buckets = [
            Bucket { end: 0.01, count: 2, exemplar: Some(exemplar) },
            Bucket { end: f64::INFINITY, count: 1, exemplar: None },
        ];
        let write = |out: &mut Exposition<'_>| {
            out.begin(&ACK_DURATION);
            out.histogram(&ACK_DURATION, &["eds"], &buckets, 12.0);
        };
        let text = scrape(ExpositionFormat::OpenMetrics, write);
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "# UNIT xdscope_ack_duration_seconds seconds",
                "xdscope_ack_duration_seconds_bucket{type=\"eds\",le=\"0.01\"} 2 # {message=\"487\"} 0.002 1.500",
                "xdscope_ack_duration_seconds_bucket{type=\"eds\",le=\"+Inf\"} 3",
                "xdscope_ack_duration_seconds_sum{type=\"eds\"} 12.0",
                "xdscope_ack_duration_seconds_count{type=\"eds\"} 3",
                "# EOF",
            ]
        );
        let text = scrape(ExpositionFormat::Prometheus, write);
        assert!(!text.contains("# {") && !text.contains("UNIT"), "{text}");
    }

    #[test]
    fn values_of_peers_are_escaped() {
        let text =
            scrape(ExpositionFormat::Prometheus, |out| out.counter(&NACKS, &["a\"b\\c\nd\x1b[31m"], 1));
        assert_eq!(text, "xdscope_nacks_total{type=\"a\\\"b\\\\c\\\\nd\\\\x1b[31m\"} 1\n");
    }

    #[test]
    fn counters_never_decrease() {
        let mut shown = ShownCounters::default();
        let mut scrape = |value| {
            let mut out = Exposition::new(ExpositionFormat::Prometheus, &mut shown);
            out.counter(&NACKS, &["cds"], value);
            out.finish()
        };
        let values: Vec<String> = [3, 2, 4].map(&mut scrape).to_vec();
        assert_eq!(values, [3, 3, 4].map(|value| format!("xdscope_nacks_total{{type=\"cds\"}} {value}\n")));
    }

    #[test]
    fn accept_headers_choose_the_format() {
        for (accept, format) in [
            ("", ExpositionFormat::Prometheus),
            ("*/*", ExpositionFormat::Prometheus),
            ("text/plain", ExpositionFormat::Prometheus),
            ("application/openmetrics-text", ExpositionFormat::OpenMetrics),
            ("application/openmetrics-text; version=1.0.0; charset=utf-8", ExpositionFormat::OpenMetrics),
            ("text/plain;q=0.9,application/openmetrics-text;q=0.2", ExpositionFormat::Prometheus),
            ("application/openmetrics-text;q=0", ExpositionFormat::Prometheus),
            ("application/openmetrics-text;q=x", ExpositionFormat::Prometheus),
        ] {
            assert_eq!(ExpositionFormat::of_accept(accept), format, "{accept}");
        }
    }
}
