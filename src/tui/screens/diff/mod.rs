//! Screen 5: what changed.

mod keys;
mod load;
pub mod view;

use std::collections::HashMap;
use std::sync::Arc;

use crate::engine::diff::{Change, Comparison, LineDiff, PushDiff, ResourceVersion};
use crate::wire::event::{Seq, StreamId, TypeUrl};

pub use keys::{act, change, command, copied, from_here, open_named, open_push, open_variants};
pub use load::{absent, ready, rows_high, settle};

/// The resource that is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub stream: StreamId,
    pub type_url: TypeUrl,
    pub name: Arc<str>,
}

/// What a version is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Base {
    /// The content before it.
    #[default]
    Previous,
    /// The newest content before it that the client accepted.
    InForce,
    /// The first that was sent.
    First,
}

impl Base {
    pub fn next(self) -> Base {
        match self {
            Base::Previous => Base::InForce,
            Base::InForce => Base::First,
            Base::First => Base::Previous,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Base::Previous => "the version before",
            Base::InForce => "the version accepted before",
            Base::First => "the first version",
        }
    }
}

/// One row under the rule, by places in what was compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    Blank,
    /// A change by its path.
    Path(usize),
    /// A line of its old or new value.
    Value {
        change: usize,
        new: bool,
        line: usize,
    },
    /// So many unchanged lines.
    Fold(usize),
    /// A row of the line diff.
    Line(usize),
    /// A row of its two columns.
    Pair(usize),
    /// Nothing differs: why.
    Same,
}

/// Two contents, compared and ready to be drawn.
#[derive(Debug, Default)]
pub struct Compared {
    pub comparison: Comparison,
    pub lines: LineDiff,
    /// Old and new value of each change, in lines.
    pub values: Vec<[Vec<String>; 2]>,
    /// The bytes are the same.
    pub identical: bool,
    /// Neither or only one side has content, or it can't be read.
    pub one_sided: bool,
}

impl Compared {
    pub fn change(&self, at: usize) -> Option<&Change> {
        self.comparison.changes.get(at)
    }
}

/// The screen.
#[derive(Clone, Debug, Default)]
pub struct Diff {
    pub push: Option<PushDiff>,
    /// The selected entry of the push, and the first one on the screen.
    pub chosen: usize,
    pub top: usize,
    /// Fields changed in entries that were on the screen.
    pub counts: HashMap<usize, Option<usize>>,
    pub target: Option<Target>,
    /// Oldest first; as of so many rows.
    pub versions: Vec<ResourceVersion>,
    pub read: usize,
    /// Whose versions they are, and the other stream that has some of them.
    loaded: Option<(Target, Option<StreamId>)>,
    /// What was read holds no more.
    stale: bool,
    /// The push that was opened comes after what is shown.
    pub later: bool,
    /// Answers to it were looked for in so many rows.
    heard: usize,
    /// Places among the versions; without an old one the new one was added.
    pub old: Option<usize>,
    pub new: Option<usize>,
    /// The versions that were asked for, whether or not they are there at this moment.
    wanted: Wanted,
    pub base: Base,
    /// `None`: by the width of the terminal.
    pub columns: Option<bool>,
    pub strict_order: bool,
    /// Unchanged lines are shown in full.
    pub context: bool,
    pub compared: Arc<Compared>,
    /// What was compared, so that it is done once.
    key: load::Key,
    pub rows: Vec<Row>,
    /// First row on the screen.
    pub scroll: usize,
    /// The row of the change that was gone to.
    pub mark: Option<usize>,
    /// The push that `D` marked.
    pub marked: Option<Seq>,
}

/// Versions by the responses that brought them.
#[derive(Clone, Copy, Debug, Default)]
struct Wanted {
    new: Option<Seq>,
    /// Of another stream, against which the new one is held.
    other: Option<StreamId>,
    old: Option<Seq>,
}

impl Diff {
    /// All is read again: the cursor went back.
    pub fn forget(&mut self) {
        self.stale = true;
    }

    pub fn version(&self, at: Option<usize>) -> Option<&ResourceVersion> {
        self.versions.get(at?)
    }

    /// Places of rows that a change begins at.
    pub fn starts(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        let changed = |row: &Row| match row {
            Row::Path(_) => true,
            Row::Line(at) => self
                .compared
                .lines
                .rows()
                .get(*at)
                .is_some_and(|row| row.tag != crate::engine::diff::LineTag::Same),
            Row::Pair(at) => self.compared.lines.pairs().get(*at).is_some_and(|pair| pair.changed),
            _ => false,
        };
        (0..self.rows.len()).filter(move |at| {
            let here = self.rows.get(*at).is_some_and(changed);
            let above = at.checked_sub(1).and_then(|at| self.rows.get(at)).is_some_and(changed);
            here && (!above || matches!(self.rows.get(*at), Some(Row::Path(_))))
        })
    }
}
