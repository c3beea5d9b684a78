//! Charts: sparklines on a time axis, and histograms. They keep their shape without colour, and are
//! digits in ASCII.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::symbols::bar;
use ratatui::widgets::{Bar, BarChart, BarGroup, Sparkline, SparklineBar, Widget};

use xdscope_present::report::Role;

use super::canvas::{Canvas, Span, span};
use super::table::GrownWidths;
use super::theme::Theme;

/// A value of a sparkline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SparkValue {
    /// `None` draws nothing.
    pub value: Option<u64>,
    /// The role of the bar, unless the value is 0.
    pub role: Role,
}

/// A class of a histogram.
#[derive(Clone, Debug)]
pub(crate) struct HistogramClass {
    pub label: String,
    pub value: u64,
    pub role: Role,
}

/// Digits in place of bars.
const DIGITS: bar::Set<'static> = bar::Set {
    full: "9",
    seven_eighths: "8",
    three_quarters: "7",
    five_eighths: "5",
    half: "4",
    three_eighths: "3",
    one_quarter: "1",
    one_eighth: "0",
    empty: " ",
};

/// The levels of one cell.
const LEVELS: u64 = 8;

/// Returns the level of a value: the lowest for 0, and at least the second for others.
fn level(value: u64, most: u64, levels: u64) -> u64 {
    if value == 0 {
        return 1;
    }
    let share = u128::from(value) * u128::from(levels - 1) / u128::from(most.max(1));
    (share as u64 + 1).clamp(2, levels)
}

/// Draws values as bars from the left of `area`, each as wide as fits. Values are compared with the
/// greatest.
pub(crate) fn sparkline(canvas: &mut Canvas, area: Rect, values: &[SparkValue]) {
    let area = area.intersection(canvas.buf.area);
    if area.is_empty() || values.is_empty() {
        return;
    }
    let theme = canvas.theme;
    let most = values.iter().filter_map(|value| value.value).max().unwrap_or(0);
    let levels = LEVELS * u64::from(area.height);
    let width = (usize::from(area.width) / values.len()).max(1);
    let bars = values.iter().flat_map(|SparkValue { value, role }| {
        let style = theme.style(if *value == Some(0) { Role::Muted } else { *role });
        let bar = SparklineBar::from(value.map(|value| level(value, most, levels))).style(style);
        std::iter::repeat_n(bar, width)
    });
    let set = if theme.ascii { DIGITS } else { bar::NINE_LEVELS };
    let chart = Sparkline::default().data(bars).max(levels).bar_set(set);
    chart.absent_value_symbol(" ").render(area, canvas.buf);
}

/// Returns values as a text of bars, one column each, in the role of the worst.
pub(crate) fn spark_text(theme: Theme, values: &[SparkValue]) -> Span {
    let width = u16::try_from(values.len()).unwrap_or(u16::MAX);
    let mut buf = Buffer::empty(Rect { x: 0, y: 0, width, height: 1 });
    let area = buf.area;
    sparkline(
        &mut Canvas { buf: &mut buf, theme, is_covered: false, widths: &GrownWidths::default() },
        area,
        values,
    );
    let text: String = buf.content.iter().map(|cell| cell.symbol()).collect();
    let has_bad = values.iter().any(|value| value.role == Role::Bad);
    let is_idle = values.iter().all(|value| value.value.unwrap_or(0) == 0);
    span(
        text,
        if has_bad {
            Role::Bad
        } else if is_idle {
            Role::Muted
        } else {
            Role::Name
        },
    )
}

/// The columns of a class in a histogram.
const CLASS_WIDTH: u16 = 5;

/// Returns the width of a histogram.
pub(crate) fn histogram_width(classes: usize) -> u16 {
    u16::try_from(classes).unwrap_or(0) * (CLASS_WIDTH + 1)
}

/// Draws a histogram with a label below each class.
pub(crate) fn histogram(canvas: &mut Canvas, area: Rect, classes: &[HistogramClass]) {
    let area = area.intersection(canvas.buf.area);
    if area.height < 3 {
        return;
    }
    let theme = canvas.theme;
    let most = classes.iter().map(|class| class.value).max().unwrap_or(0);
    let levels = LEVELS * u64::from(area.height - 1);
    let bars: Vec<Bar> = classes
        .iter()
        .map(|class| {
            let role = if class.value == 0 { Role::Muted } else { class.role };
            let value = if most == 0 { 1 } else { level(class.value, most, levels) };
            // Numbers would hide short bars.
            Bar::default()
                .value(value)
                .text_value(String::new())
                .label(class.label.clone())
                .style(theme.style(role))
        })
        .collect();
    let set = if theme.ascii { DIGITS } else { bar::NINE_LEVELS };
    let chart = BarChart::default().data(BarGroup::default().bars(&bars)).max(levels).bar_set(set);
    let muted: Style = theme.style(Role::Muted);
    chart.bar_width(CLASS_WIDTH).bar_gap(1).label_style(muted).render(area, canvas.buf);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::run::painter::blank;
    use crate::tests::text;

    fn drawn(theme: Theme, height: u16, values: &[Option<u64>]) -> String {
        let mut buf = blank((8, height));
        let values: Vec<_> =
            values.iter().map(|value| SparkValue { value: *value, role: Role::Plain }).collect();
        let area = buf.area;
        sparkline(
            &mut Canvas { buf: &mut buf, theme, is_covered: false, widths: &GrownWidths::default() },
            area,
            &values,
        );
        text(&buf)
    }

    #[test]
    fn draws_bars_or_digits() {
        let values = [None, Some(0), Some(1), Some(50), Some(100)];
        assert_eq!(drawn(Theme::MONO, 1, &values), " ▁▂▄█");
        assert_eq!(drawn(Theme::MONO.with_ascii(true), 1, &values), " 0149");
        assert_eq!(drawn(Theme::MONO, 2, &values), "    █\n ▁▂██");
    }

    #[test]
    fn widens_few_values() {
        assert_eq!(drawn(Theme::MONO, 1, &[Some(0), Some(9)]), "▁▁▁▁████");
        assert_eq!(drawn(Theme::MONO, 1, &[]), "");
    }
}
