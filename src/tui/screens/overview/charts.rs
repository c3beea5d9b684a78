//! The charts of Overview: the last minutes of each node that is shown, and of all.

use std::time::Duration;

use crate::common::Common;
use crate::data::Data;
use crate::screens::shared::traffic::Traffic;
use xdscope_engine::activity::Tally;
use xdscope_present::report::Row;
use xdscope_wire::event::{StreamId, Time};

use super::fleet::Extremes;
use super::table::NodeTable;

/// The newest streams of a node whose answers are measured.
const MAX_MEASURED_STREAMS: usize = 16;
/// The number of streams up to which the answers of all are measured.
const MAX_STREAMS: usize = 32;
/// Cells of the sparkline of a node.
const ROW_CELLS: usize = 25;

/// The last minutes of one node.
#[derive(Clone, Debug, Default)]
pub(super) struct RowChart {
    /// The tally of each cell; `None` before the start of the source.
    pub cells: Vec<Option<Tally>>,
    /// Pushes in all cells.
    pub pushes: u64,
    /// Median and 99th percentile of the time from response to verdict, in milliseconds.
    pub ack_ms: Option<(f64, f64)>,
}

/// The last minutes of the nodes on the screen, and of all.
#[derive(Clone, Debug, Default)]
pub(super) struct OverviewCharts {
    pub rows: Vec<RowChart>,
    /// The time that the sparkline of a row shows.
    pub row_span: Duration,
    pub traffic: Traffic,
    /// Median and 99th percentile of all answers.
    pub ack_ms: Option<(f64, f64)>,
    /// The slowest and the busiest of many nodes.
    pub extremes: Extremes,
    /// The source has timestamps and messages.
    pub has_activity: bool,
    /// The rows and columns for which this was loaded, and when.
    key: Option<(Vec<StreamId>, usize, Time)>,
}

/// The age at which charts of a live source are loaded again. Frames come more often.
const REFRESH_INTERVAL: Duration = Duration::from_millis(500);

impl OverviewCharts {
    /// Loads the charts of some rows, and of all streams in `cells` cells.
    ///
    /// At a point of a recording, charts are always those of the point.
    pub(super) fn settle(
        &mut self,
        common: &Common,
        data: &dyn Data,
        rows: &[Row],
        cells: usize,
        table: &NodeTable,
    ) {
        let keys: Vec<StreamId> = rows.iter().map(|row| row.key).collect();
        let is_fresh = self.key.as_ref().is_some_and(|(known, width, at)| {
            let is_young = *at <= common.now && common.now.since(*at) < REFRESH_INTERVAL;
            *known == keys && *width == cells && (is_young && common.refresh.is_live)
        });
        let is_counted = !common.activity.is_counting();
        if !is_fresh || !is_counted {
            let mut extremes = std::mem::take(&mut self.extremes);
            extremes.settle(common, data, table);
            let key = if is_counted { Some((keys, cells, common.now)) } else { None };
            *self = OverviewCharts { extremes, key, ..load(common, data, rows, cells) };
        }
    }
}

/// Median and 99th percentile of the newest streams of a node.
pub(super) fn answers(data: &dyn Data, row: &Row) -> Option<(f64, f64)> {
    let newest = row.streams.iter().rev().take(MAX_MEASURED_STREAMS);
    data.store().ack_ms(newest.map(|stream| stream.stream))
}

/// Returns the pushes to a node in the last minutes.
pub(super) fn pushes(common: &Common, data: &dyn Data, row: &Row) -> u64 {
    let store = data.store();
    if store.clock().untimed {
        return 0;
    }
    let axis = common.chart_axis(ROW_CELLS);
    let cells = common.activity.of_streams(store, row.all_streams(), axis);
    cells.iter().flatten().map(|tally| u64::from(tally.pushes)).sum()
}

/// Returns the charts of some rows, and of all streams in `cells` cells.
fn load(common: &Common, data: &dyn Data, rows: &[Row], cells: usize) -> OverviewCharts {
    let activity = &common.activity;
    let store = data.store();
    if store.clock().untimed || store.rows() == 0 {
        let rows = rows.iter().map(|row| RowChart { ack_ms: answers(data, row), ..RowChart::default() });
        return OverviewCharts { rows: rows.collect(), ..OverviewCharts::default() };
    }
    let axis = common.chart_axis(ROW_CELLS);
    let chart = |row: &Row| {
        let cells = activity.of_streams(store, row.all_streams(), axis);
        let pushes = cells.iter().flatten().map(|tally| u64::from(tally.pushes)).sum();
        RowChart { cells, pushes, ack_ms: answers(data, row) }
    };
    let all = common.wide_chart_axis(cells);
    let open = store.open_stream_ids().take(MAX_STREAMS);
    OverviewCharts {
        rows: rows.iter().map(chart).collect(),
        row_span: axis.span(),
        traffic: Traffic::new(activity.total(all), all),
        ack_ms: store.ack_ms(open),
        has_activity: true,
        ..OverviewCharts::default()
    }
}
