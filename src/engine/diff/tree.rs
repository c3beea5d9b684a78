use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::align::aligned;
use super::ignore::{IgnorePattern, without};
use super::keys;
use super::path::{DiffPath, DiffStep, ListKey};

/// Options of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whether the order of all keyed lists matters (`--strict-order`).
    pub strict_order: bool,
    /// Fields to ignore (`--ignore`).
    pub ignore: Vec<IgnorePattern>,
    /// Whether the two resources come from sessions with different redaction seeds, so that
    /// redacted values cannot be compared.
    pub has_foreign_seed: bool,
}

/// The kind of a change: `op` in the JSON output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    /// Only in the old value.
    Removed,
    /// Only in the new value.
    Added,
    /// Different in the two values.
    Changed,
    /// Equal items in a different order, in a list whose order matters.
    Reordered,
}

impl Op {
    /// All kinds of changes.
    pub const ALL: [Op; 4] = [Op::Removed, Op::Added, Op::Changed, Op::Reordered];

    /// Returns the word for the change in JSON and messages.
    pub fn word(self) -> &'static str {
        match self {
            Op::Removed => "removed",
            Op::Added => "added",
            Op::Changed => "changed",
            Op::Reordered => "reordered",
        }
    }

    /// Returns the sign of the change: `+`, `~` or `-`.
    pub fn sign(self) -> char {
        match self {
            Op::Removed => '-',
            Op::Added => '+',
            Op::Changed | Op::Reordered => '~',
        }
    }
}

/// A change at a path. For a reordered list, the values are the keys of its items.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Path of the changed value.
    pub path: DiffPath,
    /// The kind of change.
    pub op: Op,
    /// The old value. `None` for an addition.
    pub from: Option<Value>,
    /// The new value. `None` for a removal.
    pub to: Option<Value>,
}

/// The result of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// In the order of the old resource. Additions come last on each level.
    pub changes: Vec<Change>,
    /// Keyed lists that differ in their order, which does not matter.
    pub reordered: Vec<DiffPath>,
    /// Paths of redacted secrets that may or may not differ.
    pub uncertain: Vec<DiffPath>,
    /// The compared values without ignored fields, for line diffs. Where the order does not matter,
    /// the new value is in the order of the old value.
    pub old: Value,
    /// The new value, see `old`.
    pub new: Value,
}

impl Comparison {
    /// Returns the change of the resource as a whole, or `None` without changes.
    pub fn op(&self) -> Option<Op> {
        let reordered = self.changes.iter().all(|change| change.op == Op::Reordered);
        (!self.changes.is_empty()).then_some(if reordered { Op::Reordered } else { Op::Changed })
    }
}

/// Compares two resources.
pub fn compare(old: &Value, new: &Value, options: &Options) -> Comparison {
    let (old, new) = (without(old, &options.ignore), without(new, &options.ignore));
    let mut walk = Walk { options, path: DiffPath::default(), found: Comparison::default() };
    walk.value("", &old, &new);
    let new = if options.strict_order { new } else { aligned("", &old, new) };
    Comparison { old, new, ..walk.found }
}

struct Walk<'a> {
    options: &'a Options,
    path: DiffPath,
    found: Comparison,
}

/// Maximum number of item pairs to align in lists without keys. Larger lists are compared index by
/// index.
const MAX_ALIGNED_PAIRS: usize = 4_000_000;

impl Walk<'_> {
    /// Compares two values. `field` is the name of the field with the values.
    fn value(&mut self, field: &str, old: &Value, new: &Value) {
        if old == new {
            return;
        }
        match (old, new) {
            (Value::Object(a), Value::Object(b)) if a.get("@type") == b.get("@type") => self.fields(a, b),
            (Value::Array(a), Value::Array(b)) => match keys::common_key(field, a, b) {
                Some(by) => self.keyed(by, field, a, b),
                None => self.list(field, a, b),
            },
            (Value::String(a), Value::String(b)) if self.options.has_foreign_seed && incomparable(a, b) => {
                self.found.uncertain.push(self.path.clone());
            }
            _ => self.change(Op::Changed, Some(old), Some(new)),
        }
    }

    /// Compares two objects field by field.
    fn fields(&mut self, old: &Map<String, Value>, new: &Map<String, Value>) {
        for (name, a) in old {
            self.down(DiffStep::Field(name.clone()), |walk| match new.get(name) {
                Some(b) => walk.value(name, a, b),
                None => walk.change(Op::Removed, Some(a), None),
            });
        }
        for (name, b) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
            self.down(DiffStep::Field(name.clone()), |walk| walk.change(Op::Added, None, Some(b)));
        }
    }

    /// Compares two lists whose items have keys. Items with equal keys are compared.
    fn keyed(&mut self, by: ListKey, field: &str, old: &[Value], new: &[Value]) {
        let ordered = self.options.strict_order || keys::is_ordered(field);
        let key = |item: &Value| keys::key(by, field, item).unwrap_or_default();
        let place: HashMap<String, usize> =
            new.iter().enumerate().map(|(place, item)| (key(item), place)).collect();
        let before: Vec<String> = old.iter().map(key).collect();
        let known: HashSet<&String> = before.iter().collect();
        let mut last = None;
        let mut moved = false;
        for (a, key) in old.iter().zip(&before) {
            let at = place.get(key).copied();
            moved |= at.is_some() && at < last;
            last = at.or(last);
            let step = DiffStep::Item { by, key: key.clone(), at: if ordered { at } else { None } };
            self.down(step, |walk| match at.and_then(|at| new.get(at)) {
                Some(b) => walk.value("", a, b),
                None => walk.change(Op::Removed, Some(a), None),
            });
        }
        for (at, b) in new.iter().enumerate() {
            let key = key(b);
            if !known.contains(&key) {
                let step = DiffStep::Item { by, key, at: ordered.then_some(at) };
                self.down(step, |walk| walk.change(Op::Added, None, Some(b)));
            }
        }
        if moved && ordered {
            let after: Vec<String> = new.iter().map(key).collect();
            self.change(Op::Reordered, Some(&before.into()), Some(&after.into()));
        } else if moved {
            self.found.reordered.push(self.path.clone());
        }
    }

    /// Compares two lists by place, after equal items have been aligned.
    fn list(&mut self, field: &str, old: &[Value], new: &[Value]) {
        for op in align_items(old, new) {
            let (olds, news) = (op.old_range(), op.new_range());
            if matches!(op, DiffOp::Equal { .. }) {
                continue;
            }
            for at in 0..olds.len().max(news.len()) {
                // One of the two ranges may be shorter.
                let (old_place, new_place) = (olds.clone().nth(at), news.clone().nth(at));
                let before = old_place.and_then(|place| old.get(place));
                let after = new_place.and_then(|place| new.get(place));
                let step = DiffStep::Index { old: old_place, new: new_place };
                self.down(step, |walk| match (before, after) {
                    (Some(before), Some(after)) => walk.value(field, before, after),
                    (Some(_), None) => walk.change(Op::Removed, before, None),
                    _ => walk.change(Op::Added, None, after),
                });
            }
        }
    }

    fn down(&mut self, step: DiffStep, see: impl FnOnce(&mut Self)) {
        self.path.0.push(step);
        see(self);
        self.path.0.pop();
    }

    fn change(&mut self, op: Op, from: Option<&Value>, to: Option<&Value>) {
        let path = self.path.clone();
        self.found.changes.push(Change { path, op, from: from.cloned(), to: to.cloned() });
    }
}

/// Aligns equal items of two lists.
///
/// Swapping the lists gives the same pairs, even if there are several equally good alignments.
fn align_items(old: &[Value], new: &[Value]) -> Vec<DiffOp> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let first = |list: &[Value]| list.get(head).map(Value::to_string);
    if first(old) <= first(new) {
        align_in_order(old, new)
    } else {
        align_in_order(new, old).into_iter().map(swapped).collect()
    }
}

/// Aligns equal items of two lists; very long lists are replaced as a whole.
fn align_in_order(old: &[Value], new: &[Value]) -> Vec<DiffOp> {
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut number = |item: &Value| {
        let next = numbers.len() as u32;
        *numbers.entry(item.to_string()).or_insert(next)
    };
    let old: Vec<u32> = old.iter().map(&mut number).collect();
    let new: Vec<u32> = new.iter().map(&mut number).collect();
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let most = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let (m, n) = (old.len() - head - tail, new.len() - head - tail);
    if m.saturating_mul(n) <= MAX_ALIGNED_PAIRS {
        return capture_diff_slices(Algorithm::Myers, &old, &new);
    }
    vec![DiffOp::Replace { old_index: head, old_len: m, new_index: head, new_len: n }]
}

/// Returns the operation with the two lists swapped.
fn swapped(op: DiffOp) -> DiffOp {
    match op {
        DiffOp::Equal { old_index, new_index, len } => {
            DiffOp::Equal { old_index: new_index, new_index: old_index, len }
        }
        DiffOp::Delete { old_index, old_len, new_index } => {
            DiffOp::Insert { old_index: new_index, new_index: old_index, new_len: old_len }
        }
        DiffOp::Insert { old_index, new_index, new_len } => {
            DiffOp::Delete { old_index: new_index, old_len: new_len, new_index: old_index }
        }
        DiffOp::Replace { old_index, old_len, new_index, new_len } => {
            DiffOp::Replace { old_index: new_index, old_len: new_len, new_index: old_index, new_len: old_len }
        }
    }
}

/// Whether two redacted secrets cannot be compared.
///
/// Ids from different seeds are incomparable if the lengths are equal. Envoy's placeholder has
/// neither length nor id.
fn incomparable(a: &str, b: &str) -> bool {
    const ENVOY_PLACEHOLDER: &str = "[redacted]";
    if a == ENVOY_PLACEHOLDER || b == ENVOY_PLACEHOLDER {
        return true;
    }
    let len = |text: &str| -> Option<u64> {
        text.strip_prefix("[redacted ")?.split_once(" B, id ")?.0.parse().ok()
    };
    matches!((len(a), len(b)), (Some(a), Some(b)) if a == b)
}
