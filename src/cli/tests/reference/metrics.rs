//! The metrics of `--metrics`, from the table that writes them.

use super::{code, prose, table};
use xdscope_present::metrics::{METRICS, Metric};

pub(super) fn generate() -> String {
    let row = |metric: &Metric| {
        let labels = metric.labels.iter().map(|label| code(label)).collect::<Vec<_>>().join(", ");
        let unit = metric.unit.unwrap_or_default().to_owned();
        [
            code(metric.name),
            metric.kind.word().to_owned(),
            unit,
            labels,
            prose(metric.help),
            prose(metric.counterpart),
        ]
    };
    table(["metric", "type", "unit", "labels", "meaning", "the same fact"], METRICS.iter().map(row))
}
