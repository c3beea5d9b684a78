//! Charts of one line on a time axis. They keep their shape without colour: digits in ASCII.

use ratatui::layout::Rect;

use xdscope_present::report::Role;

use super::canvas::{Canvas, Span, span};
use super::theme::Theme;

/// A value of a sparkline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SparkValue {
    /// `None` draws nothing.
    pub value: Option<u64>,
    /// The role of the bar, unless the value is 0.
    pub role: Role,
}

/// The baseline, and bars that leave a gap to the line above.
const BARS: [&str; 8] = ["·", "▁", "▂", "▃", "▄", "▅", "▆", "▇"];
const ASCII_BARS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

/// Returns the symbol of a value: the baseline for 0, and a bar for others.
fn symbol(theme: Theme, value: u64, most: u64) -> &'static str {
    let bars = if theme.ascii { &ASCII_BARS[..] } else { &BARS[..] };
    let highest = bars.len() - 1;
    let share = u128::from(value) * highest as u128;
    let level = usize::try_from(share.div_ceil(u128::from(most.max(1)))).unwrap_or(highest);
    bars.get(level.min(highest)).copied().unwrap_or_default()
}

fn greatest(values: &[SparkValue]) -> u64 {
    values.iter().filter_map(|value| value.value).max().unwrap_or(0)
}

/// Draws values as bars from the left of `area`, each as wide as fits. Values are compared with the
/// greatest.
pub(crate) fn sparkline(canvas: &mut Canvas, area: Rect, values: &[SparkValue]) {
    let area = area.intersection(canvas.buf.area);
    if area.is_empty() || values.is_empty() {
        return;
    }
    let (theme, most) = (canvas.theme, greatest(values));
    let width = (usize::from(area.width) / values.len()).max(1);
    let mut rest = area;
    for SparkValue { value, role } in values {
        let text = value.map_or(" ", |value| symbol(theme, value, most)).repeat(width);
        let end = canvas.text(rest, &text, if *value == Some(0) { Role::Muted } else { *role });
        rest = Rect { x: end, width: area.right().saturating_sub(end), ..area };
        if rest.is_empty() {
            return;
        }
    }
}

/// Returns values as a text of bars, one column each, in the role of the worst.
pub(crate) fn spark_text(theme: Theme, values: &[SparkValue]) -> Span {
    let most = greatest(values);
    let text: String =
        values.iter().map(|of| of.value.map_or(" ", |value| symbol(theme, value, most))).collect();
    let has_bad = values.iter().any(|value| value.role == Role::Bad);
    span(text, if has_bad { Role::Bad } else { Role::Muted })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::run::painter::blank;
    use crate::tests::text;
    use crate::widgets::table::GrownWidths;

    fn drawn(theme: Theme, values: &[Option<u64>]) -> String {
        let mut buf = blank((8, 1));
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
    fn draws_bars_below_the_line_above_or_digits() {
        let values = [None, Some(0), Some(1), Some(50), Some(100)];
        assert_eq!(drawn(Theme::MONO, &values), " ·▁▄▇");
        assert_eq!(drawn(Theme::MONO.with_ascii(true), &values), " 0159");
    }

    #[test]
    fn widens_few_values() {
        assert_eq!(drawn(Theme::MONO, &[Some(0), Some(9)]), "····▇▇▇▇");
        assert_eq!(drawn(Theme::MONO, &[]), "");
    }
}
