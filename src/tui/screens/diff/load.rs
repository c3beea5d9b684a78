//! Versions of a resource, and their comparison.

use std::sync::Arc;

use serde_json::Value;

use crate::data::Data;
use crate::screens::screen::ResourcePlace;
use crate::widgets::list::scroll;
use xdscope_engine::diff::{
    Comparison, LineDiff, LineTag, Op, Options, Verdict, compare, contents_around, extend_versions,
    fold_unchanged,
};
use xdscope_engine::store::{ResourceState, Store};
use xdscope_schema::{Schema, to_yaml};
use xdscope_wire::content::BlobId;
use xdscope_wire::event::{Seq, StreamId, TypeUrl};

use super::state::{Base, Compared, ComparisonKey, DiffRow, DiffScreen, WantedVersions};

/// Unchanged lines shown around a change.
const CONTEXT_LINES: usize = 3;
/// Lines of a value under its path. The line diff further down shows all of them.
const MAX_VALUE_LINES: usize = 60;
/// Rows of the source that are searched for versions.
const MAX_SEARCHED_ROWS: usize = 1 << 17;
/// Earlier streams of the client that are searched for versions of a resource that it keeps.
const MAX_EARLIER_STREAMS: usize = 4;
/// Characters of a value line. Longer lines are cut.
const MAX_LINE_CHARS: usize = 2000;
/// Larger contents are compared only when they are selected.
const MAX_COUNTED_BYTES: u32 = 64 << 10;

impl DiffScreen {
    /// Compares a resource. `at` is the response with the new content; `None` is the newest.
    pub(super) fn compare_resource(
        &mut self,
        data: &dyn Data,
        total: usize,
        target: ResourcePlace,
        at: Option<Seq>,
    ) {
        let target = with_versions(data, target);
        if self.target.as_ref() != Some(&target) {
            self.scroll_to_top();
        }
        self.target = Some(target);
        self.wanted = WantedVersions { new: at, ..WantedVersions::default() };
        self.load(data, total);
        self.wanted.new = at.or_else(|| self.version(self.new).map(|version| version.n));
    }

    /// Compares a resource with the same name on another stream. Returns false if either is
    /// unknown.
    pub(super) fn compare_streams(
        &mut self,
        data: &dyn Data,
        total: usize,
        target: ResourcePlace,
        other: StreamId,
    ) -> bool {
        let stream = target.stream;
        self.scroll_to_top();
        self.target = Some(target);
        self.wanted = WantedVersions { other: Some(other), ..WantedVersions::default() };
        self.load(data, total);
        let newest = |stream| self.versions.iter().rposition(|version| version.stream == stream);
        (self.new, self.old) = (newest(stream), newest(other));
        let n = |at| self.version(at).map(|version| version.n);
        self.wanted = WantedVersions { new: n(self.new), other: Some(other), old: n(self.old) };
        self.new.is_some() && self.old.is_some()
    }

    /// Reads the versions of the target in the first `total` rows.
    fn load(&mut self, data: &dyn Data, total: usize) {
        let Some(target) = self.target.clone() else { return };
        let other = self.wanted.other;
        let is_read = |stream| stream == target.stream || Some(stream) == other;
        let is_of_type = |url: &TypeUrl| *url == target.type_url;
        let is_same = self.loaded.as_ref().is_some_and(|(known, with)| *known == target && *with == other);
        let has_grown = !self.is_stale && is_same && self.rows_read <= total;
        let from = if has_grown { self.rows_read } else { total.saturating_sub(MAX_SEARCHED_ROWS) };
        if !has_grown {
            self.versions.clear();
        }
        extend_versions(&mut self.versions, data.store(), from..total, is_read, is_of_type, &target.name);
        (self.rows_read, self.loaded) = (total, Some((target, other)));
        self.find_wanted();
    }

    /// Finds the versions to compare among those that exist.
    fn find_wanted(&mut self) {
        let stream = self.target.as_ref().map(|target| target.stream);
        let known = || self.versions.iter().enumerate().rev();
        let exact = |n: Option<Seq>| known().find(|(_, version)| Some(version.n) == n);
        let before = |n: Option<Seq>, on: Option<StreamId>| {
            known().find(|(_, version)| Some(version.stream) == on && n.is_none_or(|n| version.n <= n))
        };
        let found = |n, on| exact(n).or_else(|| before(n, on)).map(|(at, _)| at);
        let WantedVersions { new, other, old } = self.wanted;
        let (new, old) = (found(new, stream), old.and_then(|n| found(Some(n), other)));
        self.new = new;
        match self.wanted.old {
            Some(_) => self.old = old,
            None => self.rebase(),
        }
    }

    /// Updates versions and verdicts to the first `total` rows.
    pub(super) fn follow(&mut self, data: &dyn Data, total: usize) {
        if (self.rows_read, self.rows_heard, self.is_stale) == (total, total, false) {
            return;
        }
        let store = data.store();
        if self.is_stale || total < self.rows_read.max(self.rows_heard) {
            self.is_stale = true;
            self.key = ComparisonKey::default();
            self.counts.clear();
        }
        if let Some(push) = &mut self.push {
            let row = store.row_of(push.n).filter(|row| *row < total);
            self.is_push_later = row.is_none();
            if self.is_stale {
                push.refused = false;
                self.rows_heard = row.map_or(total, |row| row + 1);
            }
            push.update_verdict(store, self.rows_heard..total);
        }
        self.load(data, total);
        (self.is_stale, self.rows_read, self.rows_heard) = (false, total, total);
    }

    /// Shows another version.
    pub(super) fn show(&mut self, at: usize) {
        self.new = Some(at);
        self.wanted =
            WantedVersions { new: self.version(Some(at)).map(|version| version.n), old: None, ..self.wanted };
        self.rebase();
    }

    /// Compares with the base version on the same stream.
    pub(super) fn compare_with_base(&mut self) {
        self.wanted.old = None;
        self.rebase();
    }

    /// Finds the old version for the new one.
    fn rebase(&mut self) {
        let Some((new, version)) = self.new.and_then(|new| Some((new, self.versions.get(new)?))) else {
            self.old = None;
            return;
        };
        let mut before = self.versions.iter().enumerate().take(new);
        let against = self.push.as_ref().and_then(|push| push.against);
        let found = match (against, self.base) {
            (Some(n), _) => before.rfind(|(_, old)| old.n <= n),
            // Content that was only sent again is compared with the version before: no change.
            (None, Base::Previous) => before.rfind(|(_, old)| old.content != version.content).or_else(|| {
                let at = new.checked_sub(1)?;
                Some((at, self.versions.get(at)?))
            }),
            (None, Base::InForce) => before.rfind(|(_, old)| old.verdict == Verdict::Accepted),
            (None, Base::First) => before.next(),
        };
        self.old = found.map(|(at, _)| at);
    }

    /// Compares the two versions, unless nothing changed since the last comparison. Unchanged lines
    /// are folded unless all lines fit into `room`.
    pub(super) fn compare(&mut self, data: &dyn Data, has_columns: bool, room: usize) {
        let content = |at: Option<usize>| self.version(at).and_then(|version| version.content);
        let (old, new) = (content(self.old), content(self.new));
        let (is_strict_order, shows_all_lines) = (self.is_strict_order, self.shows_all_lines);
        let contents = Some((old, new));
        let key = ComparisonKey { contents, is_strict_order, has_columns, shows_all_lines, room };
        if self.key == key {
            return;
        }
        let is_other = self.key.contents != key.contents || self.key.is_strict_order != key.is_strict_order;
        if is_other {
            self.compared = Arc::new(compared(data, old, new, is_strict_order));
        }
        // Two columns of one side would leave one column empty.
        let has_columns = has_columns && !self.compared.one_sided;
        self.rows = rows(&self.compared, has_columns, true);
        self.unfolded_rows = self.rows.len();
        if !shows_all_lines && self.rows.len() > room {
            self.rows = rows(&self.compared, has_columns, false);
        }
        self.mark = None;
        self.key = key;
    }
}

/// Returns the place of the versions of a resource: an earlier stream of the client, if the client
/// keeps the resource from there.
fn with_versions(data: &dyn Data, target: ResourcePlace) -> ResourcePlace {
    let store = data.store();
    let fact = store.resource(target.stream, &target.type_url, &target.name);
    if fact.is_none_or(|fact| fact.state != ResourceState::Kept) {
        return target;
    }
    let earlier = store.earlier_streams(target.stream).into_iter().take(MAX_EARLIER_STREAMS);
    let has_versions =
        |stream: &StreamId| !store.versions(*stream, &target.type_url, &target.name).is_empty();
    let stream = [target.stream].into_iter().chain(earlier).find(has_versions).unwrap_or(target.stream);
    ResourcePlace { stream, ..target }
}

/// Compares two contents field by field and line by line.
fn compared(data: &dyn Data, old: Option<BlobId>, new: Option<BlobId>, strict_order: bool) -> Compared {
    let tree = |id: Option<BlobId>| data.contents().body(id?);
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
        let short = |line: &str| line.chars().take(MAX_LINE_CHARS).collect::<String>();
        let mut lines: Vec<String> = text.lines().take(MAX_VALUE_LINES).map(short).collect();
        let more = text.lines().count().saturating_sub(MAX_VALUE_LINES);
        if more > 0 {
            lines.push(format!("… {more} more lines, below"));
        }
        lines
    };
    let values = comparison.changes.iter().map(|change| [text(&change.from), text(&change.to)]).collect();
    Compared { comparison, lines, values, identical: old == new, one_sided }
}

/// All rows of a comparison.
fn rows(compared: &Compared, has_columns: bool, shows_all_lines: bool) -> Vec<DiffRow> {
    let mut out = Vec::new();
    let is_same = compared.comparison.changes.is_empty() && !compared.one_sided;
    if is_same {
        out.extend([DiffRow::Blank, DiffRow::Same, DiffRow::Blank]);
    }
    if !has_columns {
        for (change, [from, to]) in compared.values.iter().enumerate() {
            out.extend([DiffRow::Blank, DiffRow::Path(change)]);
            out.extend((0..from.len()).map(|line| DiffRow::Value { change, new: false, line }));
            out.extend((0..to.len()).map(|line| DiffRow::Value { change, new: true, line }));
        }
    }
    if !is_same {
        out.push(DiffRow::Blank);
    }
    let (unified, pairs) = (compared.lines.rows(), compared.lines.pairs());
    let len = if has_columns { pairs.len() } else { unified.len() };
    let changed = |at: usize| {
        if has_columns {
            pairs.get(at).is_some_and(|pair| pair.changed)
        } else {
            unified.get(at).is_some_and(|row| row.tag != LineTag::Same)
        }
    };
    let around = if shows_all_lines { len } else { CONTEXT_LINES };
    for (range, fold) in fold_unchanged(len, around, changed) {
        if fold && !shows_all_lines {
            out.push(DiffRow::Fold(range.len()));
        } else {
            out.extend(range.map(|at| if has_columns { DiffRow::Pair(at) } else { DiffRow::Line(at) }));
        }
    }
    out
}

impl DiffScreen {
    /// Counts the changed fields of the entries on the screen, in a summary of `height` rows.
    pub(super) fn count_changes(&mut self, data: &dyn Data, height: usize) {
        let Some(push) = &self.push else { return };
        if self.is_push_later {
            return;
        }
        let len = push.entries.len();
        self.chosen = self.chosen.min(len.saturating_sub(1));
        self.top = scroll(self.top, self.chosen, height, len);
        let (store, schema) = (data.store(), data.schema());
        for at in self.top..(self.top + height).min(len) {
            let Some(entry) = push.entries.get(at).filter(|entry| entry.op == Op::Changed) else { continue };
            self.counts.entry(at).or_insert_with(|| {
                let (old, new) = contents_around(store, push.n, push.against, &entry.name);
                changed_fields(store, schema, old?, new?)
            });
        }
    }
}

/// The number of fields that differ; `None` for large contents.
fn changed_fields(store: &Store, schema: &Schema, old: BlobId, new: BlobId) -> Option<usize> {
    let is_small = |id: BlobId| store.catalog().blob(id).size <= MAX_COUNTED_BYTES;
    if !is_small(old) || !is_small(new) {
        return None;
    }
    let tree = |id: BlobId| Some(schema.any_to_json(&store.catalog().bytes(id)?));
    let (old, new) = tree(old).zip(tree(new))?;
    Some(compare(&old, &new, &Options::default()).changes.len())
}
