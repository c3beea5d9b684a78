//! The widths of the columns of Overview.

use crate::common::Common;
use crate::input::screen_id::ScreenId;
use crate::widgets::canvas::Span;
use xdscope_present::report::{Role, Row};
use xdscope_present::text::{cut_name, width};
use xdscope_wire::text::{display_safe, type_label};

use super::cells;
use super::state::OverviewScreen;

/// The widest name of a node; on a narrow terminal less.
const NODE_WIDTHS: [usize; 2] = [34, 16];
/// The narrowest and the widest sparkline.
const SPARK_WIDTHS: [usize; 2] = [8, 25];
/// Columns of the number of pushes beside the sparkline.
const PUSHES_WIDTH: usize = 5;
/// Columns of the median and of the 99th percentile.
pub(super) const ANSWER_WIDTH: usize = 5;
/// The widths that the reason gets first: before types, before their ages, before other columns.
const REASON_WIDTHS: [usize; 3] = [14, 30, 40];
/// The width that the reason keeps beside the sparkline.
const MIN_REASON_BESIDE_SPARK: usize = 20;
/// The narrowest and the widest column of the stream.
const STREAM_WIDTHS: [usize; 2] = [8, 22];
/// The narrowest column of a type: `✓ 59s `.
const MIN_TYPE_WIDTH: usize = 6;

/// The titles of columns that can be hidden, besides the types.
pub(super) const PUSHES: &str = "PUSHES";
pub(super) const ANSWERS: &str = "ACK";
pub(super) const STREAM: &str = "STREAM";

/// The columns that are shown, and their widths. A width of 0 leaves a column out.
pub(super) struct Plan {
    pub node: usize,
    /// The widths of the types that are shown.
    pub types: Vec<usize>,
    /// The number of types hidden on the left and on the right.
    pub hidden: (usize, usize),
    /// States have their ages.
    pub with_age: bool,
    pub spark: usize,
    pub has_answers: bool,
    pub stream: usize,
    pub reason: usize,
}

/// The title of a type's column, marked if the column is selected.
pub(super) fn type_title(screen: &OverviewScreen, at: usize) -> String {
    let label = screen.table.types.get(at).map_or(String::new(), |url| type_label(url.as_str()));
    if screen.column == at + 1 { format!("[{label}]") } else { label }
}

/// The state cells of a row.
pub(super) fn states(common: &Common, row: &Row, with_age: bool) -> Vec<Span> {
    row.cells.iter().map(|cell| cells::brief_state(common, cell.as_deref(), with_age)).collect()
}

/// The widths of all types.
fn type_widths(screen: &OverviewScreen, common: &Common, rows: &[&Row], with_age: bool) -> Vec<usize> {
    let title = |at| width(&type_title(screen, at)).max(MIN_TYPE_WIDTH);
    let mut widths: Vec<usize> = (0..screen.table.types.len()).map(title).collect();
    for row in rows {
        for (widest, cell) in widths.iter_mut().zip(states(common, row, with_age)) {
            *widest = (*widest).max(width(&cell.text));
        }
    }
    let table = if with_age { "states with ages" } else { "states" };
    let types = screen.table.types.iter().map(|url| type_label(url.as_str()));
    widths.into_iter().zip(types).map(|(width, label)| common.widths.grow(table, &label, width)).collect()
}

/// Divides `room` columns for these rows. The reason is the last to shrink.
pub(super) fn plan(screen: &OverviewScreen, common: &Common, rows: &[&Row], room: usize) -> Plan {
    let widest = |column: &str, cell: &dyn Fn(&Row) -> Span| {
        let widths = rows.iter().map(|row| width(&display_safe(&cell(row).text)));
        common.widths.grow("nodes", column, widths.max().unwrap_or(0))
    };
    let is_narrow = room < 98;
    let most = NODE_WIDTHS[usize::from(is_narrow)];
    let mark = common.theme.glyphs().cut;
    let short_name = |row: &Row| {
        let name = cells::name(row);
        Span { text: cut_name(&display_safe(&name.text), most, mark).into_owned(), ..name }
    };
    let node = widest("NODE", &short_name).clamp(8, most);
    let reason = widest("REASON", &|row| cells::reason(common, row)).max(6);
    let stream = widest(STREAM, &|row| cells::stream(common, row)).clamp(STREAM_WIDTHS[0], STREAM_WIDTHS[1]);
    let is_hidden = |title: &str| common.hidden_columns.is_hidden(ScreenId::Overview, title);
    let has_charts = screen.charts.has_activity && !is_hidden(PUSHES);
    let spark = if has_charts { SPARK_WIDTHS[0] + PUSHES_WIDTH + 1 } else { 0 };
    let answers = if is_hidden(ANSWERS) { 0 } else { 2 * (ANSWER_WIDTH + 1) };
    let sum = |widths: &[usize]| node + 1 + widths.iter().map(|width| width + 1).sum::<usize>();

    let ages = type_widths(screen, common, rows, true);
    let wanted = REASON_WIDTHS[1].min(reason);
    let with_age = sum(&ages) + wanted + spark + answers + stream < room;
    let all = if with_age { ages } else { type_widths(screen, common, rows, false) };
    let least = REASON_WIDTHS[0].min(reason);
    let (mut left, mut right) = (0, 0);
    while sum(&all[left..all.len() - right]) + least > room && left + right + 1 < all.len() {
        // Hides a type on the right, unless that is the selected one.
        if screen.column >= all.len() - right && screen.column > left + 1 { left += 1 } else { right += 1 }
    }
    let types = all[left..all.len() - right].to_vec();
    let mut rest = room.saturating_sub(sum(&types));
    let mut plan = Plan {
        node,
        types,
        hidden: (left, right),
        with_age,
        spark: 0,
        has_answers: false,
        stream: 0,
        reason: 0,
    };
    let beside_spark = least.max(if is_narrow { wanted } else { wanted.min(MIN_REASON_BESIDE_SPARK) });
    let beside_others = beside_spark.max(REASON_WIDTHS[2].min(reason));
    let mut take = |cost: usize, least: usize| {
        let fits = cost > 0 && rest >= cost + least;
        rest -= if fits { cost } else { 0 };
        fits
    };
    let has_stream = !is_hidden(STREAM);
    // How often the streams of a client failed says more than its traffic.
    let is_failing = rows.iter().any(|row| cells::stream(common, row).role != Role::Muted);
    plan.stream = if has_stream && is_failing && take(stream + 1, beside_spark) { stream } else { 0 };
    plan.spark = if take(spark, beside_spark) { SPARK_WIDTHS[0] } else { 0 };
    plan.has_answers = take(answers, beside_others);
    if plan.stream == 0 && has_stream && take(stream + 1, beside_others) {
        plan.stream = stream;
    }
    if plan.spark > 0 {
        let more = rest.saturating_sub(reason.min(60)).min(SPARK_WIDTHS[1] - SPARK_WIDTHS[0]);
        plan.spark += more;
        rest -= more;
    }
    plan.reason = rest;
    plan
}

impl Plan {
    /// Columns of sparkline and number of pushes.
    pub(super) fn pushes(&self) -> usize {
        if self.spark > 0 { self.spark + PUSHES_WIDTH } else { 0 }
    }

    /// The column of the sparkline within a row.
    pub(super) fn spark_start(&self) -> usize {
        self.node + 1 + self.types.iter().map(|width| width + 1).sum::<usize>()
    }
}
