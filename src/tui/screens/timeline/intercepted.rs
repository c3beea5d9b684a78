//! A message that xdscope changed or left out, beside what was sent.

use crate::data::Data;
use crate::widgets::canvas::{StyledLine, plain, span};
use xdscope_engine::diff::{DiffSide, LineDiff, SideBySideRow};
use xdscope_engine::store::MessageFact;
use xdscope_present::bodies;
use xdscope_present::report::Role;
use xdscope_present::text::{Keep, cut, pad};
use xdscope_schema::{FieldNames, to_yaml};
use xdscope_wire::text::display_safe;

/// Lines of a message that are shown.
const MAX_LINES: usize = 5_000;

/// Columns from which on both messages stand side by side.
const MIN_WIDTH_BESIDE: usize = 70;

/// The messages of an intervention as texts.
#[derive(Debug)]
pub struct InterceptedTexts {
    has_original: bool,
    has_sent: bool,
    lines: LineDiff,
}

impl InterceptedTexts {
    /// Reads the messages of a row; `None` if the row has none, or they are not kept.
    pub(super) fn read(data: &dyn Data, fact: &MessageFact) -> Option<InterceptedTexts> {
        let bodies = bodies::intervention(data.store(), data.schema(), fact, FieldNames::Original)?;
        let (has_original, has_sent) = (bodies.original.is_some(), bodies.sent.is_some());
        let text = |body: Option<serde_json::Value>| body.map(|body| to_yaml(&body)).unwrap_or_default();
        let lines = LineDiff::new(text(bodies.original), text(bodies.sent));
        Some(InterceptedTexts { has_original, has_sent, lines })
    }

    /// Returns the lines: both messages side by side, or one below the other.
    pub(super) fn lines(&self, width: usize, cut_mark: &str) -> Vec<StyledLine> {
        let title = |text: &str| vec![span(format!(" {text}"), Role::Title)];
        if self.has_original && self.has_sent && width >= MIN_WIDTH_BESIDE {
            return self.beside(width, cut_mark);
        }
        let mut lines = Vec::new();
        for (has, side, name) in
            [(self.has_original, DiffSide::Old, "original"), (self.has_sent, DiffSide::New, "sent instead")]
        {
            if has {
                lines.push(title(name));
                let rows = self.lines.pairs().iter().take(MAX_LINES).filter_map(|pair| {
                    let at = if side == DiffSide::Old { pair.left } else { pair.right };
                    Some((at?, pair.changed && self.has_original && self.has_sent))
                });
                let role = if side == DiffSide::Old { Role::Removed } else { Role::Added };
                lines.extend(rows.map(|(at, is_changed)| {
                    let text = display_safe(self.lines.line(side, at)).into_owned();
                    vec![plain("  "), span(text, if is_changed { role } else { Role::Plain })]
                }));
            }
        }
        lines
    }

    /// Returns the original and what was sent instead in two columns.
    fn beside(&self, width: usize, cut_mark: &str) -> Vec<StyledLine> {
        let column = width.saturating_sub(5) / 2;
        let cell = |side: DiffSide, at: Option<u32>| {
            let text = at.map(|at| display_safe(self.lines.line(side, at)).into_owned()).unwrap_or_default();
            pad(&cut(&text, column, Keep::Head, cut_mark), column)
        };
        let head = vec![
            span(format!(" {}", pad("original", column)), Role::Title),
            plain("   "),
            span("sent instead", Role::Title),
        ];
        let row = |pair: &SideBySideRow| {
            let (old, new) = match pair.changed {
                true => (Role::Removed, Role::Added),
                false => (Role::Plain, Role::Plain),
            };
            let sign = if pair.changed { " ~ " } else { "   " };
            vec![
                plain(" "),
                span(cell(DiffSide::Old, pair.left), old),
                span(sign, Role::Changed),
                span(cell(DiffSide::New, pair.right), new),
            ]
        };
        std::iter::once(head).chain(self.lines.pairs().iter().take(MAX_LINES).map(row)).collect()
    }
}
