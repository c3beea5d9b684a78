//! The last minutes of a source as charts, on one time axis.

use std::time::Duration;

use ratatui::layout::Rect;

use crate::screens::shared::millis;
use crate::widgets::canvas::{Canvas, plain, span};
use crate::widgets::chart::{self, HistogramClass, SparkValue};
use crate::widgets::layout;
use xdscope_engine::activity::{Axis, LATENCY_CLASS_COUNT, LATENCY_CLASSES, Tally};
use xdscope_present::report::Role;
use xdscope_present::text;
use xdscope_wire::text::{age, count, latency, size};

/// Columns of the labels to the left of the charts.
const LABEL_WIDTH: u16 = 10;
/// Columns of the scale to the right of the charts.
const SCALE_WIDTH: u16 = 22;
/// The fewest columns of a chart.
const MIN_CHART_WIDTH: u16 = 20;
/// The smallest width at which the histogram stands beside the charts.
const MIN_WIDTH_WITH_HISTOGRAM: u16 = 150;

/// The tallies of a time axis.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traffic {
    /// The tally of each cell; `None` before the start of the source.
    pub cells: Vec<Option<Tally>>,
    /// The time of a cell.
    pub cell: Duration,
    /// The time of all cells.
    pub span: Duration,
}

/// A figure that a chart shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    Pushes,
    Nacks,
    Bytes,
    Slowest,
}

impl Measure {
    fn label(self) -> &'static str {
        match self {
            Measure::Pushes => "pushes",
            Measure::Nacks => "NACKs",
            Measure::Bytes => "bytes/s",
            Measure::Slowest => "slowest",
        }
    }

    /// Returns the figure of a cell of this length.
    fn value(self, tally: &Tally, cell: Duration) -> u64 {
        match self {
            Measure::Pushes => tally.pushes.into(),
            Measure::Nacks => tally.nacks.into(),
            Measure::Bytes => tally.bytes / cell.as_secs().max(1),
            Measure::Slowest => tally.slowest.into(),
        }
    }

    fn role(self) -> Role {
        match self {
            Measure::Nacks => Role::Bad,
            Measure::Slowest => Role::Pending,
            Measure::Pushes | Measure::Bytes => Role::Name,
        }
    }
}

impl Traffic {
    pub(crate) fn new(cells: Vec<Option<Tally>>, axis: Axis) -> Traffic {
        Traffic { cells, cell: axis.cell(), span: axis.span() }
    }

    /// The columns of charts that are `width` columns wide with their labels.
    pub(crate) fn columns(width: u16) -> usize {
        usize::from(chart_width(width))
    }

    fn values(&self, measure: Measure) -> Vec<SparkValue> {
        let value = |tally: &Tally| measure.value(tally, self.cell);
        let values = self.cells.iter().map(|cell| cell.as_ref().map(value));
        values.map(|value| SparkValue { value, role: measure.role() }).collect()
    }

    /// The columns that the bars fill of `columns`: each cell has the same width.
    fn filled(&self, columns: u16) -> u16 {
        let cells = u16::try_from(self.cells.len().max(1)).unwrap_or(u16::MAX);
        (columns / cells).max(1).saturating_mul(cells).min(columns)
    }

    fn sum(&self) -> Tally {
        let mut sum = Tally::default();
        for tally in self.cells.iter().flatten() {
            sum.merge(tally);
        }
        sum
    }

    /// The scale of a measure: the most in a cell, or all.
    fn scale(&self, measure: Measure) -> String {
        let most = self.values(measure).iter().filter_map(|cell| cell.value).max().unwrap_or(0);
        match measure {
            Measure::Pushes | Measure::Bytes if most == 0 => format!("none in {}", age(self.span)),
            Measure::Slowest if !has_answers(&self.sum()) => "no answer".to_owned(),
            Measure::Pushes => format!("max {} in {}", count(most), age(self.cell)),
            Measure::Nacks => format!("{} in {}", count(self.sum().nacks.into()), age(self.span)),
            Measure::Bytes => format!("max {}/s", size(most)),
            Measure::Slowest => format!("max {}", latency(Duration::from_micros(most))),
        }
    }
}

/// There is an answer to a push.
fn has_answers(sum: &Tally) -> bool {
    sum.latencies.iter().any(|answers| *answers > 0)
}

/// Columns of the charts in an area, without the histogram beside them.
pub(crate) fn charts_width(area: Rect) -> u16 {
    split(area).0.width
}

/// The areas of the charts and of the histogram beside them.
fn split(area: Rect) -> (Rect, Rect) {
    match area.width >= MIN_WIDTH_WITH_HISTOGRAM && area.height >= 4 {
        true => {
            let wanted = chart::histogram_width(LATENCY_CLASS_COUNT) + 2;
            layout::beside(area, area.width.saturating_sub(wanted + 2))
        }
        false => (area, Rect { width: 0, ..area }),
    }
}

fn chart_width(width: u16) -> u16 {
    width.saturating_sub(LABEL_WIDTH + SCALE_WIDTH).max(MIN_CHART_WIDTH)
}

/// Returns the sparkline of the pushes of a row or a type, red where the client refused one.
pub(crate) fn pushes(cells: &[Option<Tally>]) -> Vec<SparkValue> {
    let role = |tally: &Tally| if tally.nacks > 0 { Role::Bad } else { Role::Name };
    let value = |cell: &Option<Tally>| SparkValue {
        value: cell.as_ref().map(|tally| tally.pushes.into()),
        role: cell.as_ref().map_or(Role::Muted, role),
    };
    cells.iter().map(value).collect()
}

/// The heights of the charts in some lines.
struct Heights {
    pushes: u16,
    bytes: u16,
    slowest: u16,
    /// The histogram as one line.
    classes: u16,
    axis: u16,
}

/// Divides the lines of an area among the charts.
fn heights(area: Rect) -> Heights {
    let one_line = u16::from(split(area).1.is_empty());
    match area.height {
        0..=2 => Heights { pushes: 1, bytes: 0, slowest: 0, classes: 0, axis: 0 },
        3 => Heights { pushes: 1, bytes: 0, slowest: 0, classes: 0, axis: 1 },
        4..=6 => Heights { pushes: 1, bytes: 1, slowest: 0, classes: one_line, axis: 1 },
        7..=9 => Heights { pushes: 3, bytes: 1, slowest: 2, classes: one_line, axis: 1 },
        _ => Heights { pushes: 4, bytes: 2, slowest: 3, classes: one_line, axis: 1 },
    }
}

/// Draws the charts of all streams: pushes, NACKs and, with more lines, bytes, the slowest answers
/// and a histogram of answers. `ack_ms` are median and 99th percentile of the answers.
pub(crate) fn draw(canvas: &mut Canvas, area: Rect, traffic: &Traffic, ack_ms: Option<(f64, f64)>) {
    if area.height < 2 || traffic.cells.is_empty() {
        return;
    }
    let heights = heights(area);
    let sum = traffic.sum();
    let (charts, beside) = split(area);
    let mut rest = charts;
    for (measure, height) in [
        (Measure::Pushes, heights.pushes),
        (Measure::Nacks, 1),
        (Measure::Bytes, heights.bytes),
        (Measure::Slowest, heights.slowest),
    ] {
        let (row, below) = layout::split(rest, height);
        rest = below;
        line(canvas, row, traffic, measure);
    }
    let (row, below) = layout::split(rest, heights.classes);
    classes_line(canvas, row, &sum, ack_ms);
    axis(canvas, layout::split(below, heights.axis).0, traffic);
    if !beside.is_empty() {
        histogram(canvas, beside, &sum, ack_ms);
    }
}

/// Draws a label, a chart and its scale.
fn line(canvas: &mut Canvas, area: Rect, traffic: &Traffic, measure: Measure) {
    if area.is_empty() {
        return;
    }
    let last = Rect { y: area.bottom() - 1, height: 1, ..area };
    canvas.text(last, &format!(" {}", measure.label()), Role::Muted);
    let width = traffic.filled(chart_width(area.width));
    let chart = Rect { x: area.x + LABEL_WIDTH, width, ..area };
    if measure == Measure::Nacks {
        nacks(canvas, chart, traffic);
    } else {
        chart::sparkline(canvas, chart, &traffic.values(measure));
    }
    let x = chart.right() + 2;
    let scale = Rect { x, width: area.right().saturating_sub(x), ..last };
    canvas.text(scale, &traffic.scale(measure), Role::Muted);
}

/// Draws a mark in each cell with a NACK.
fn nacks(canvas: &mut Canvas, area: Rect, traffic: &Traffic) {
    let glyphs = canvas.glyphs();
    let (columns, cells) = (usize::from(area.width), traffic.cells.len());
    for (at, _) in
        traffic.cells.iter().enumerate().filter(|(_, cell)| cell.is_some_and(|tally| tally.nacks > 0))
    {
        let x = area.x + u16::try_from((at * columns).div_ceil(cells)).unwrap_or(u16::MAX);
        canvas.text(Rect { x, width: area.right().saturating_sub(x).min(1), ..area }, glyphs.bad, Role::Bad);
    }
}

/// Draws the time axis.
fn axis(canvas: &mut Canvas, area: Rect, traffic: &Traffic) {
    if area.is_empty() {
        return;
    }
    let width = usize::from(traffic.filled(chart_width(area.width)));
    let (from, to) = (format!("-{}", age(traffic.span)), "now");
    let dashes = width.saturating_sub(text::width(&from) + to.len() + 2);
    let rule = canvas.glyphs().rule.repeat(dashes);
    let words = format!("{from} {rule} {to}");
    canvas.text(Rect { x: area.x + LABEL_WIDTH, ..area }.intersection(area), &words, Role::Muted);
}

/// The classes of latency with their labels.
fn classes(sum: &Tally) -> Vec<HistogramClass> {
    let short = |end: &Duration| match end.as_millis() {
        millis @ 0..1000 => format!("{millis}ms"),
        millis => format!("{}s", millis / 1000),
    };
    let label = |at: usize| LATENCY_CLASSES.get(at).map_or_else(|| "more".to_owned(), short);
    let role = |at: usize| if at > 5 { Role::Warn } else { Role::Name };
    let classes = sum.latencies.iter().enumerate();
    classes
        .map(|(at, value)| HistogramClass { label: label(at), value: (*value).into(), role: role(at) })
        .collect()
}

/// `p50 4ms  p99 31ms`.
fn percentiles(ack_ms: Option<(f64, f64)>) -> String {
    ack_ms.map(|(p50, p99)| format!("p50 {}  p99 {}", millis(p50), millis(p99))).unwrap_or_default()
}

/// Draws the histogram in one line: `answers <1ms ▁▃▇▅▂▁ >10s  p50 4ms  p99 31ms`.
fn classes_line(canvas: &mut Canvas, area: Rect, sum: &Tally, ack_ms: Option<(f64, f64)>) {
    if area.is_empty() {
        return;
    }
    canvas.text(area, " answers", Role::Muted);
    if !has_answers(sum) {
        canvas.text(Rect { x: area.x + LABEL_WIDTH, ..area }.intersection(area), "none", Role::Muted);
        return;
    }
    let classes = classes(sum);
    let (first, bars) = (5, u16::try_from(classes.len()).unwrap_or(0) * 3);
    let x = area.x + LABEL_WIDTH;
    canvas.text(Rect { x, ..area }.intersection(area), "<1ms", Role::Muted);
    let values: Vec<_> =
        classes.iter().map(|class| SparkValue { value: Some(class.value), role: class.role }).collect();
    let chart = Rect { x: x + first, width: bars, ..area }.intersection(area);
    chart::sparkline(canvas, chart, &values);
    let after = Rect { x: chart.right() + 1, ..area }.intersection(area);
    let words = [span(">10s   ", Role::Muted), plain(percentiles(ack_ms))];
    canvas.line(after, &words);
}

/// Draws the histogram with a title.
fn histogram(canvas: &mut Canvas, area: Rect, sum: &Tally, ack_ms: Option<(f64, f64)>) {
    let (title, rest) = layout::split(area, 1);
    if !has_answers(sum) {
        canvas.text(title, "time to ACK or NACK: no answer", Role::Muted);
        return;
    }
    canvas.line(title, &[span("time to ACK or NACK:  ", Role::Muted), plain(percentiles(ack_ms))]);
    chart::histogram(canvas, rest, &classes(sum));
}
