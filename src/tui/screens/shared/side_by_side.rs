//! The rejected body beside the last good one.

use crate::data::BodyFormat;
use crate::widgets::canvas::{StyledLine, span};
use crate::widgets::syntax;
use crate::widgets::theme::Theme;
use xdscope_present::body_comparison::{BodyComparison, LinePair};
use xdscope_present::report::Role;
use xdscope_present::text::{Keep, cut, pad};
use xdscope_wire::text::{display_safe, plural};

/// Columns from which on the bodies stand side by side.
const SIDE_BY_SIDE_WIDTH: usize = 96;

/// The lines of a comparison; unless `is_unfolded`, those near a difference or a fault.
pub(crate) fn bodies(
    theme: Theme,
    compared: &BodyComparison,
    is_unfolded: bool,
    width: usize,
) -> Vec<StyledLine> {
    if compared.refused.is_none() {
        return vec![vec![span(format!(" {}", compared.absence()), Role::Muted)]];
    }
    let wide = width >= SIDE_BY_SIDE_WIDTH && !compared.good.is_empty();
    let mut out = vec![title(compared, wide, width)];
    let left_out = |n: usize| {
        let text = format!("   {} {}; z shows all", theme.glyphs().gap, plural(n as u64, "more line"));
        vec![span(text, Role::Muted)]
    };
    let mut skipped = 0;
    for pair in &compared.pairs {
        if !pair.is_shown && !is_unfolded {
            skipped += 1;
            continue;
        }
        if skipped > 0 {
            out.push(left_out(skipped));
            skipped = 0;
        }
        let row = PairView { theme, compared, pair };
        if wide { out.push(row.side_by_side(width)) } else { out.extend(row.unified()) }
    }
    if skipped > 0 {
        out.push(left_out(skipped));
    }
    out
}

/// Returns the titles of the two bodies, in one column or two.
fn title(compared: &BodyComparison, wide: bool, width: usize) -> StyledLine {
    let good = compared.good_title();
    let name = &compared.name;
    match (good, wide) {
        (Some(good), true) => {
            let half = width.saturating_sub(3) / 2;
            vec![
                span(pad(&format!("   {name}: {good}"), half + 3), Role::Title),
                span("refused", Role::Title),
            ]
        }
        (Some(good), false) => vec![span(format!("   {name}: refused, against {good}"), Role::Title)],
        (None, _) => vec![span(format!("   {name}: refused"), Role::Title)],
    }
}

struct PairView<'a> {
    theme: Theme,
    compared: &'a BodyComparison,
    pair: &'a LinePair,
}

impl PairView<'_> {
    fn left(&self) -> Option<&str> {
        self.compared.good_line(self.pair)
    }

    fn right(&self) -> Option<&str> {
        self.compared.refused_line(self.pair)
    }

    fn why(&self) -> String {
        let head = self.theme.glyphs().head_left;
        self.pair.why.as_ref().map(|why| format!("   {head} {why}")).unwrap_or_default()
    }

    fn mark(&self) -> (&'static str, Role) {
        match (&self.pair.why, self.pair.differs, self.compared.good.is_empty()) {
            (Some(_), ..) => (self.theme.glyphs().bad, Role::Bad),
            (None, true, false) => ("+", Role::Added),
            _ => (" ", Role::Plain),
        }
    }

    /// Returns the good line on the left and the refused one on the right.
    fn side_by_side(&self, width: usize) -> StyledLine {
        let half = width.saturating_sub(3) / 2;
        let glyphs = self.theme.glyphs();
        let left = self.left().map(display_safe).unwrap_or_default();
        let (sign, role) = if self.pair.differs && self.left().is_some() {
            ("-", Role::Removed)
        } else {
            (" ", Role::Plain)
        };
        let left = pad(&cut(&left, half.saturating_sub(4), Keep::Head, glyphs.cut), half.saturating_sub(3));
        let (mark, right_role) = self.mark();
        let mark = if self.right().is_some() { mark } else { " " };
        let mut line = vec![span(format!(" {sign} "), role)];
        line.extend(text(&left, role));
        line.push(span(format!("{} ", glyphs.bar), Role::Muted));
        line.push(span(format!("{mark} "), right_role));
        line.extend(text(self.right().unwrap_or_default(), right_role));
        line.push(span(self.why(), Role::Bad));
        line
    }

    /// Returns the good line above the refused one.
    fn unified(&self) -> Vec<StyledLine> {
        let mut lines = Vec::new();
        if let Some(left) = self.left()
            && self.pair.differs
        {
            lines.push(vec![span(format!("   - {left}"), Role::Removed)]);
        }
        if let Some(right) = self.right() {
            let (mark, role) = self.mark();
            let mut line = vec![span(format!("   {mark} "), role)];
            line.extend(text(right, role));
            line.push(span(self.why(), Role::Bad));
            lines.push(line);
        }
        lines
    }
}

/// A line of a body: with its syntax, unless it has a role of its own.
fn text(line: &str, role: Role) -> StyledLine {
    match role {
        Role::Plain => syntax::colored(line, BodyFormat::Yaml),
        role => vec![span(line, role)],
    }
}
