//! From facts to what is drawn: versions, the comparison, its rows.

use std::sync::Arc;

use serde_json::Value;

use crate::content::BlobId;
use crate::diff::{Comparison, LineDiff, Op, Options, Tag, Verdict, around, compare, folded, versions};
use crate::event::Seq;
use crate::schema::{Schema, to_yaml};
use crate::store::Store;
use crate::tui::data::Data;
use crate::tui::layout::{self, Layout};
use crate::tui::model::Model;
use crate::tui::overview::scroll;

use super::{Base, Compared, Diff, Row, Target};

/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// Lines of a value under its path; the lines of the whole follow further down.
const VALUE: usize = 60;
/// Rows that are looked back over for versions.
pub(super) const ROWS: usize = 1 << 17;
/// Longer lines of a value are cut there.
const LONGEST: usize = 2000;
/// Larger contents are compared only when they are chosen.
const SMALL: u32 = 64 << 10;

/// What a comparison was made of, and its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Key {
    contents: Option<(Option<BlobId>, Option<BlobId>)>,
    strict_order: bool,
    columns: bool,
    context: bool,
}

impl Diff {
    /// Takes a resource; `at` is the response whose content is the new one (the newest without).
    pub fn take(&mut self, data: &dyn Data, total: usize, target: Target, at: Option<Seq>) {
        self.load(data, total, target);
        let known = || self.versions.iter().enumerate().rev();
        self.new = match at {
            Some(n) => known().find(|(_, version)| version.n <= n).map(|(at, _)| at),
            None => known().next().map(|(at, _)| at),
        };
        self.rebase();
    }

    /// Reads the versions of the target in the first `total` rows.
    pub fn load(&mut self, data: &dyn Data, total: usize, target: Target) {
        self.read = total;
        self.versions = match data.source() {
            Some((store, _)) => {
                let on = |stream| stream == target.stream;
                let rows = total.saturating_sub(ROWS)..total;
                versions(store, rows, on, |url| *url == target.type_url, &target.name)
            }
            None => Vec::new(),
        };
        if self.target.as_ref() != Some(&target) {
            self.top_of_it();
        }
        self.target = Some(target);
    }

    /// Finds what the new version is compared with.
    pub fn rebase(&mut self) {
        let Some((new, version)) = self.new.and_then(|new| Some((new, self.versions.get(new)?))) else {
            self.old = None;
            return;
        };
        let mut before = self.versions.iter().enumerate().take(new);
        let against = self.push.as_ref().and_then(|push| push.against);
        let found = match (against, self.base) {
            (Some(n), _) => before.rfind(|(_, old)| old.n <= n),
            (None, Base::Previous) => before.rfind(|(_, old)| old.content != version.content),
            (None, Base::InForce) => before.rfind(|(_, old)| old.verdict == Verdict::Accepted),
            (None, Base::First) => before.next(),
        };
        self.old = found.map(|(at, _)| at);
    }

    fn compare(&mut self, data: &dyn Data, columns: bool) {
        let content = |at: Option<usize>| self.version(at).and_then(|version| version.content);
        let contents = (content(self.old), content(self.new));
        let (strict_order, context) = (self.strict_order, self.context);
        let key = Key { contents: Some(contents), strict_order, columns, context };
        if self.key == key {
            return;
        }
        let again = self.key.contents != key.contents || self.key.strict_order != key.strict_order;
        if again {
            self.compared = Arc::new(match data.source() {
                Some((store, schema)) => compared(store, schema, contents, strict_order),
                None => Compared::default(),
            });
        }
        self.rows = rows(&self.compared, columns, context);
        self.mark = None;
        self.key = key;
    }
}

fn compared(
    store: &Store,
    schema: &Schema,
    (old, new): (Option<BlobId>, Option<BlobId>),
    strict_order: bool,
) -> Compared {
    let tree = |id: Option<BlobId>| Some(schema.any_to_json(&store.catalog().bytes(id?)?));
    let options = Options { strict_order, ..Options::default() };
    let yaml = |value: &Value| value.as_object().map(|_| to_yaml(value)).unwrap_or_default();
    let (a, b) = (tree(old), tree(new));
    let one_sided = a.is_none() || b.is_none();
    let comparison = match (&a, &b) {
        (Some(a), Some(b)) => compare(a, b, &options),
        _ => Comparison { old: a.unwrap_or_default(), new: b.unwrap_or_default(), ..Comparison::default() },
    };
    let lines = LineDiff::new(yaml(&comparison.old), yaml(&comparison.new));
    let text = |value: &Option<Value>| -> Vec<String> {
        let text = value.as_ref().map(to_yaml).unwrap_or_default();
        let short = |line: &str| line.chars().take(LONGEST).collect::<String>();
        let mut lines: Vec<String> = text.lines().take(VALUE).map(short).collect();
        let more = text.lines().count().saturating_sub(VALUE);
        lines.extend((more > 0).then(|| format!("… {more} more lines, below")));
        lines
    };
    let values = comparison.changes.iter().map(|change| [text(&change.from), text(&change.to)]).collect();
    Compared { comparison, lines, values, identical: old == new, one_sided }
}

/// All rows under the rule.
fn rows(compared: &Compared, columns: bool, context: bool) -> Vec<Row> {
    let mut out = Vec::new();
    let nothing = compared.comparison.changes.is_empty() && !compared.one_sided;
    if nothing {
        out.extend([Row::Blank, Row::Same, Row::Blank]);
    }
    if !columns {
        for (change, [from, to]) in compared.values.iter().enumerate() {
            out.extend([Row::Blank, Row::Path(change)]);
            out.extend((0..from.len()).map(|line| Row::Value { change, new: false, line }));
            out.extend((0..to.len()).map(|line| Row::Value { change, new: true, line }));
        }
    }
    out.extend((!nothing).then_some(Row::Blank));
    let (unified, pairs) = (compared.lines.rows(), compared.lines.pairs());
    let len = if columns { pairs.len() } else { unified.len() };
    let changed = |at: usize| match columns {
        true => pairs.get(at).is_some_and(|pair| pair.changed),
        false => unified.get(at).is_some_and(|row| row.tag != Tag::Same),
    };
    let around = if context { len } else { CONTEXT };
    for (range, fold) in folded(len, around, changed) {
        // Without a change all of it would fold.
        if fold && !context {
            out.push(Row::Fold(range.len()));
        } else {
            out.extend(range.map(|at| if columns { Row::Pair(at) } else { Row::Line(at) }));
        }
    }
    out
}

/// Whether there is something to show.
pub fn ready(model: &Model) -> bool {
    model.diff.target.is_some() || model.diff.push.is_some()
}

/// Whether two columns are drawn.
pub fn columns(model: &Model) -> bool {
    model.diff.columns.unwrap_or(model.size.0 >= 120)
}

/// Rows of the detail under its rule.
pub fn rows_high(model: &Model, layout: &Layout) -> usize {
    let entries = model.diff.push.as_ref().map(|push| push.entries.len());
    usize::from(layout::diff(layout, entries, model.whole).1.height).saturating_sub(1)
}

/// Brings the screen in line with the facts.
pub fn settle(model: &mut Model, data: &dyn Data, layout: &Layout) {
    let columns = columns(model);
    model.diff.compare(data, columns);
    let diff = &mut model.diff;
    if let Some(push) = &diff.push {
        let (summary, _) = layout::diff(layout, Some(push.entries.len()), model.whole);
        let height = usize::from(summary.height).saturating_sub(1);
        diff.chosen = diff.chosen.min(push.entries.len().saturating_sub(1));
        diff.top = scroll(diff.top, diff.chosen, height, push.entries.len());
        let (from, to) = (diff.top, (diff.top + height).min(push.entries.len()));
        if let Some((store, schema)) = data.source() {
            for at in from..to {
                let Some(entry) = push.entries.get(at).filter(|entry| entry.op == Op::Changed) else {
                    continue;
                };
                diff.counts.entry(at).or_insert_with(|| {
                    let (old, new) = around(store, push.n, push.against, &entry.name);
                    let small =
                        |id: Option<BlobId>| id.is_some_and(|id| store.catalog().blob(id).size <= SMALL);
                    let tree = |id: Option<BlobId>| Some(schema.any_to_json(&store.catalog().bytes(id?)?));
                    let both = (small(old) && small(new)).then(|| tree(old).zip(tree(new))).flatten()?;
                    Some(compare(&both.0, &both.1, &Options::default()).changes.len())
                });
            }
        }
    }
    let high = rows_high(model, layout);
    let last = super::super::view::diff_last(model, layout, high);
    model.diff.scroll = model.diff.scroll.min(last);
}
