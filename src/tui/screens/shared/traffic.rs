//! The last minutes of a source as charts, in one band on one time axis; of a recording, its whole
//! time on the axis of the replay bar.

use std::time::Duration;

use ratatui::layout::Rect;

use crate::common::Common;
use crate::data::Data;
use crate::screens::shared::millis;
use crate::screens::shared::replay_track::ReplayTrack;
use crate::widgets::canvas::Canvas;
use crate::widgets::chart::{self, SparkValue};
use crate::widgets::layout::{self, Layout};
use xdscope_engine::activity::{Axis, Tally};
use xdscope_present::report::Role;
use xdscope_present::text;
use xdscope_wire::event::StreamId;
use xdscope_wire::text::{age, count, latency};

/// Columns of the labels to the left of the charts.
const LABEL_WIDTH: u16 = 10;
/// Columns of the scale to the right of the charts.
const SCALE_WIDTH: u16 = 30;
/// The fewest columns of a chart.
const MIN_CHART_WIDTH: u16 = 20;
/// The lines of a body from which on there is a band.
const MIN_BODY: u16 = 22;
/// The lines of a body from which on the band has a third chart.
const MIN_HIGH_BODY: u16 = 34;
/// The lines of the band without an axis of its own.
const CHART_LINES: u16 = 3;
/// Rows of a recording that are counted for one frame.
const ROWS_PER_STEP: usize = 10_000;

/// The tallies of a time axis.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traffic {
    /// The tally of each cell; `None` before the start of the source.
    pub cells: Vec<Option<Tally>>,
    /// The time of a cell.
    pub cell: Duration,
    /// The time of all cells.
    pub span: Duration,
    /// The area of the replay bar's time, if the charts stand above it.
    track: Option<Rect>,
    /// Rows were not counted yet.
    pub is_partial: bool,
}

/// A figure that a chart shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    Pushes,
    Nacks,
    Slowest,
}

impl Measure {
    fn label(self) -> &'static str {
        match self {
            Measure::Pushes => "pushes",
            Measure::Nacks => "NACKs",
            Measure::Slowest => "slowest",
        }
    }

    fn value(self, tally: &Tally) -> u64 {
        match self {
            Measure::Pushes => tally.pushes.into(),
            Measure::Nacks => tally.nacks.into(),
            Measure::Slowest => tally.slowest.into(),
        }
    }
}

impl Traffic {
    pub(crate) fn new(cells: Vec<Option<Tally>>, axis: Axis) -> Traffic {
        Traffic { cells, cell: axis.cell(), span: axis.span(), ..Traffic::default() }
    }

    /// Counts the whole time of a recording for the charts above the replay bar: of all streams, or
    /// of a type by its index on a stream. `None` if there is no replay bar, or no room above it.
    pub(crate) fn recorded(
        common: &mut Common,
        data: &dyn Data,
        layout: &Layout,
        only: Option<(StreamId, usize)>,
    ) -> Option<Traffic> {
        let (bar, area) = common.info.bar.as_ref().zip(layout.bar)?;
        if band_lines(common, layout) == 0 {
            return None;
        }
        let end = bar.end;
        let track = ReplayTrack::new(common, area, bar).area;
        let is_partial = common.recorded.follow(data.store(), end, only, ROWS_PER_STEP);
        let span = Duration::from_nanos(end.0);
        Some(Traffic {
            cells: common.recorded.columns(data.now(), usize::from(track.width)),
            cell: span / u32::from(track.width.max(1)),
            span,
            track: Some(track),
            is_partial,
        })
    }

    /// The columns of charts that are `width` columns wide with their labels.
    pub(crate) fn columns(width: u16) -> usize {
        usize::from(chart_width(width))
    }

    fn values(&self, measure: Measure) -> Vec<SparkValue> {
        let values = self.cells.iter().map(|cell| cell.as_ref().map(|tally| measure.value(tally)));
        values.map(|value| SparkValue { value, role: Role::Muted }).collect()
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

    /// The scale of a measure in at most `room` columns: the most in a cell, or all. `ack_ms` are
    /// median and 99th percentile of the answers.
    fn scale(&self, measure: Measure, ack_ms: Option<(f64, f64)>, room: usize) -> String {
        let most = self.values(measure).iter().filter_map(|cell| cell.value).max().unwrap_or(0);
        match measure {
            Measure::Pushes if most == 0 => format!("none in {}", age(self.span)),
            Measure::Slowest if !has_answers(&self.sum()) => "no answer".to_owned(),
            Measure::Pushes => format!("max {} in {}", count(most), age(self.cell)),
            Measure::Nacks => format!("{} in {}", count(self.sum().nacks.into()), age(self.span)),
            Measure::Slowest => {
                let percentiles =
                    ack_ms.map(|(p50, p99)| format!("  p50 {} p99 {}", millis(p50), millis(p99)));
                let most = format!("max {}", latency(Duration::from_micros(most)));
                let percentiles = percentiles.unwrap_or_default();
                if most.len() + percentiles.len() > room { most } else { most + &percentiles }
            }
        }
    }
}

/// There is an answer to a push.
fn has_answers(sum: &Tally) -> bool {
    sum.latencies.iter().any(|answers| *answers > 0)
}

fn chart_width(width: u16) -> u16 {
    width.saturating_sub(LABEL_WIDTH + SCALE_WIDTH).max(MIN_CHART_WIDTH)
}

/// The lines of the band. The replay bar of a recording is the axis of its charts.
pub(crate) fn band_lines(common: &Common, layout: &Layout) -> u16 {
    let (height, is_recording) = (layout.body.height, common.info.bar.is_some());
    if height < MIN_BODY || is_recording && common.clock.untimed {
        0
    } else if height < MIN_HIGH_BODY {
        2
    } else {
        CHART_LINES + u16::from(!is_recording)
    }
}

/// Returns the sparkline of the pushes of a row or a type, red where the client refused one.
pub(crate) fn pushes(cells: &[Option<Tally>]) -> Vec<SparkValue> {
    let role = |tally: &Tally| if tally.nacks > 0 { Role::Bad } else { Role::Muted };
    let value = |cell: &Option<Tally>| SparkValue {
        value: cell.as_ref().map(|tally| tally.pushes.into()),
        role: cell.as_ref().map_or(Role::Muted, role),
    };
    cells.iter().map(value).collect()
}

/// Draws the band: pushes, NACKs and, with three lines, the slowest answers; then the axis.
/// `ack_ms` are median and 99th percentile of the answers.
pub(crate) fn draw(canvas: &mut Canvas, area: Rect, traffic: &Traffic, ack_ms: Option<(f64, f64)>) {
    if area.height < 2 || traffic.cells.is_empty() {
        return;
    }
    let mut rest = area;
    let measures = [Measure::Pushes, Measure::Nacks, Measure::Slowest];
    for measure in measures.into_iter().take(usize::from(area.height)) {
        let (row, below) = layout::split(rest, 1);
        line(canvas, row, traffic, measure, ack_ms);
        rest = below;
    }
    axis(canvas, rest, traffic);
}

/// Draws a label, a chart and its scale.
fn line(canvas: &mut Canvas, area: Rect, traffic: &Traffic, measure: Measure, ack_ms: Option<(f64, f64)>) {
    canvas.text(area, &format!(" {}", measure.label()), Role::Muted);
    let chart = match traffic.track {
        Some(track) => Rect { y: area.y, height: 1, ..track },
        None => {
            let width = traffic.filled(chart_width(area.width));
            Rect { x: area.x + LABEL_WIDTH, width, ..area }
        }
    };
    if measure == Measure::Nacks {
        nacks(canvas, chart, traffic);
    } else {
        chart::sparkline(canvas, chart, &traffic.values(measure));
    }
    let x = chart.right() + 2;
    let scale = Rect { x, width: area.right().saturating_sub(x), ..area };
    let words = traffic.scale(measure, ack_ms, usize::from(scale.width));
    canvas.text(scale, &words, Role::Muted);
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
