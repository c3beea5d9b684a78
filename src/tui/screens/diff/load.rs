//! From facts to what is drawn: versions, the comparison, its rows.

use std::sync::Arc;

use serde_json::Value;

use crate::engine::diff::{
    Comparison, LineDiff, LineTag, Op, Options, ResourceVersion, Verdict, compare, contents_around,
    extend_versions, fold_unchanged,
};
use crate::engine::store::Store;
use crate::schema::{Schema, to_yaml};
use crate::tui::data::Data;
use crate::tui::screens::overview::scroll;
use crate::tui::shell::model::Model;
use crate::tui::shell::update::total;
use crate::tui::widgets::layout::{self, Layout};
use crate::wire::content::BlobId;
use crate::wire::event::{Seq, StreamId, TypeUrl};
use crate::wire::text::type_label;

use crate::tui::screens::diff::{Base, Compared, Diff, Row, Target, Wanted};

/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// Lines of a value under its path; the lines of the whole follow further down.
const VALUE: usize = 60;
/// Rows that are looked back over for versions.
const ROWS: usize = 1 << 17;
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
        if self.target.as_ref() != Some(&target) {
            self.top_of_it();
        }
        self.target = Some(target);
        self.wanted = Wanted { new: at, ..Wanted::default() };
        self.load(data, total);
        self.wanted.new = at.or_else(|| self.version(self.new).map(|version| version.n));
    }

    /// The same against what another stream has under that name. False if one of them has nothing.
    pub fn take_two(&mut self, data: &dyn Data, total: usize, target: Target, other: StreamId) -> bool {
        let stream = target.stream;
        self.top_of_it();
        self.target = Some(target);
        self.wanted = Wanted { other: Some(other), ..Wanted::default() };
        self.load(data, total);
        let newest = |of| self.versions.iter().rposition(|version| version.stream == of);
        (self.new, self.old) = (newest(stream), newest(other));
        let n = |at| self.version(at).map(|version| version.n);
        self.wanted = Wanted { new: n(self.new), other: Some(other), old: n(self.old) };
        self.new.is_some() && self.old.is_some()
    }

    /// Reads the versions of the target in the first `total` rows.
    fn load(&mut self, data: &dyn Data, total: usize) {
        let Some((target, (store, _))) = self.target.clone().zip(data.source()) else { return };
        let other = self.wanted.other;
        let on = |stream| stream == target.stream || Some(stream) == other;
        let is = |url: &TypeUrl| *url == target.type_url;
        let same = self.loaded.as_ref().is_some_and(|(known, with)| *known == target && *with == other);
        let grown = !self.stale && same && self.read <= total;
        let from = if grown { self.read } else { total.saturating_sub(ROWS) };
        if !grown {
            self.versions.clear();
        }
        extend_versions(&mut self.versions, store, from..total, on, is, &target.name);
        (self.read, self.loaded) = (total, Some((target, other)));
        self.place();
    }

    /// Finds the versions that were asked for among those that there are.
    fn place(&mut self) {
        let stream = self.target.as_ref().map(|target| target.stream);
        let known = || self.versions.iter().enumerate().rev();
        let on = |version: &ResourceVersion, of: Option<StreamId>| Some(version.stream) == of;
        let exact = |n: Option<Seq>| known().find(|(_, version)| Some(version.n) == n);
        let before = |n: Option<Seq>, of| {
            known().find(|(_, version)| on(version, of) && n.is_none_or(|n| version.n <= n))
        };
        let found = |n, of| exact(n).or_else(|| before(n, of)).map(|(at, _)| at);
        let Wanted { new, other, old } = self.wanted;
        let (new, old) = (found(new, stream), old.and_then(|n| found(Some(n), other)));
        self.new = new;
        match self.wanted.old {
            Some(_) => self.old = old,
            None => self.rebase(),
        }
    }

    /// Brings all of it in line with the first `total` rows: what came since, or what is not there yet.
    pub fn follow(&mut self, data: &dyn Data, total: usize) {
        if (self.read, self.heard, self.stale) == (total, total, false) {
            return;
        }
        let Some((store, _)) = data.source() else { return };
        if self.stale || total < self.read.max(self.heard) {
            self.stale = true;
            self.key = Key::default();
            self.counts.clear();
        }
        if let Some(push) = &mut self.push {
            let row = store.row_of(push.n).filter(|row| *row < total);
            self.later = row.is_none();
            if self.stale {
                push.refused = false;
                self.heard = row.map_or(total, |row| row + 1);
            }
            push.update_verdict(store, self.heard..total);
        }
        self.load(data, total);
        (self.stale, self.read, self.heard) = (false, total, total);
    }

    /// Shows another of the versions.
    pub fn show(&mut self, at: usize) {
        self.new = Some(at);
        self.wanted =
            Wanted { new: self.version(Some(at)).map(|version| version.n), old: None, ..self.wanted };
        self.rebase();
    }

    /// Compares with what the base says, not with another stream.
    pub fn within(&mut self) {
        self.wanted.old = None;
        self.rebase();
    }

    /// Finds what the new version is compared with.
    fn rebase(&mut self) {
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
        false => unified.get(at).is_some_and(|row| row.tag != LineTag::Same),
    };
    let around = if context { len } else { CONTEXT };
    for (range, fold) in fold_unchanged(len, around, changed) {
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

/// Why nothing of it is shown: at this moment it was not sent.
pub fn absent(model: &Model) -> Option<String> {
    let diff = &model.diff;
    match (&diff.push, &diff.target) {
        (Some(push), _) if diff.later => {
            Some(format!("push #{} comes after this moment: :goto #{} goes there", push.n.0, push.n.0))
        }
        (None, Some(target)) if diff.versions.is_empty() => {
            let label = type_label(target.type_url.as_str());
            Some(format!("{label} {} was not sent up to this moment", target.name))
        }
        _ => None,
    }
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
    let total = total(model, data);
    model.diff.follow(data, total);
    model.diff.compare(data, columns);
    let diff = &mut model.diff;
    if let Some(push) = diff.push.as_ref().filter(|_| !diff.later) {
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
                    let (old, new) = contents_around(store, push.n, push.against, &entry.name);
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
    let last = crate::tui::screens::diff::view::diff_last(model, layout, high);
    model.diff.scroll = model.diff.scroll.min(last);
}
