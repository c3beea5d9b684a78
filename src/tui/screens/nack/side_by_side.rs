//! The refused body beside the last good one.

use crate::present::report::Role;
use crate::tui::screens::nack::compare::{Compared, Pair};
use crate::tui::shell::model::Model;
use crate::tui::widgets::canvas::{Line, span};
use crate::wire::text::{Keep, cut, display_safe, pad, plural};

/// From this width on the two stand side by side.
const WIDE: usize = 96;

pub fn bodies(model: &Model, compared: &Compared, width: usize) -> Vec<Line> {
    if compared.refused.is_none() {
        let text = format!(" {}: its refused content is not held, or not in the push", compared.name);
        return vec![vec![span(text, Role::Muted)]];
    }
    let wide = width >= WIDE && !compared.good.is_empty();
    let mut out = vec![title(compared, wide, width)];
    let left_out = |n: usize| {
        let text = format!("   {} {}; z shows all", model.theme.glyphs().gap, plural(n as u64, "more line"));
        vec![span(text, Role::Muted)]
    };
    let mut skipped = 0;
    for pair in &compared.pairs {
        if !pair.shown && !model.nacks.unfolded {
            skipped += 1;
            continue;
        }
        if skipped > 0 {
            out.push(left_out(skipped));
            skipped = 0;
        }
        let row = Row { model, compared, pair };
        match wide {
            true => out.push(row.side_by_side(width)),
            false => out.extend(row.unified()),
        }
    }
    if skipped > 0 {
        out.push(left_out(skipped));
    }
    out
}

fn title(compared: &Compared, wide: bool, width: usize) -> Line {
    let good = compared.version.as_ref().map(|version| format!("last good {version}"));
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

struct Row<'a> {
    model: &'a Model,
    compared: &'a Compared,
    pair: &'a Pair,
}

impl Row<'_> {
    fn left(&self) -> Option<&str> {
        self.compared.good.get(self.pair.good?).map(|line| line.text.as_str())
    }

    fn right(&self) -> Option<&str> {
        self.compared.refused.as_ref()?.get(self.pair.refused?).map(|line| line.text.as_str())
    }

    fn why(&self) -> String {
        let head = self.model.theme.glyphs().head_left;
        self.pair.why.as_ref().map(|why| format!("   {head} {why}")).unwrap_or_default()
    }

    fn mark(&self) -> (&'static str, Role) {
        match (&self.pair.why, self.pair.differs, self.compared.good.is_empty()) {
            (Some(_), ..) => (self.model.theme.glyphs().bad, Role::Bad),
            (None, true, false) => ("+", Role::Added),
            _ => (" ", Role::Plain),
        }
    }

    fn side_by_side(&self, width: usize) -> Line {
        let half = width.saturating_sub(3) / 2;
        let glyphs = self.model.theme.glyphs();
        let left = self.left().map(display_safe).unwrap_or_default();
        let (sign, role) = if self.pair.differs && self.left().is_some() {
            ("-", Role::Removed)
        } else {
            (" ", Role::Plain)
        };
        let left = pad(&cut(&left, half.saturating_sub(4), Keep::Head, glyphs.cut), half.saturating_sub(3));
        let (mark, right_role) = self.mark();
        let mark = if self.right().is_some() { mark } else { " " };
        vec![
            span(format!(" {sign} {left}"), role),
            span(format!("{} ", glyphs.bar), Role::Muted),
            span(format!("{mark} {}", self.right().unwrap_or_default()), right_role),
            span(self.why(), Role::Bad),
        ]
    }

    fn unified(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        if let Some(left) = self.left().filter(|_| self.pair.differs) {
            lines.push(vec![span(format!("   - {left}"), Role::Removed)]);
        }
        if let Some(right) = self.right() {
            let (mark, role) = self.mark();
            lines.push(vec![span(format!("   {mark} {right}"), role), span(self.why(), Role::Bad)]);
        }
        lines
    }
}
