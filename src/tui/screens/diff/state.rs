//! The state of Diff: the push or resource, its versions, and the comparison.

use std::collections::HashMap;
use std::sync::Arc;

use crate::common::Common;
use crate::screens::screen::ResourcePlace;
use xdscope_engine::diff::{Change, Comparison, LineDiff, LineTag, PushDiff, ResourceVersion};
use xdscope_wire::content::BlobId;
use xdscope_wire::event::{Seq, StreamId};
use xdscope_wire::text::type_label;

/// The version that a version is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Base {
    /// The content before.
    #[default]
    Previous,
    /// The newest content before that the client accepted.
    InForce,
    /// The first content that was sent.
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

/// A row of changes, by indices into the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffRow {
    Blank,
    /// The path of a change.
    Path(usize),
    /// A line of the old or new value of a change.
    Value {
        change: usize,
        new: bool,
        line: usize,
    },
    /// A number of unchanged lines.
    Fold(usize),
    /// A row of the line diff.
    Line(usize),
    /// A row of the line diff in two columns.
    Pair(usize),
    /// Nothing differs.
    Same,
}

/// Two contents, compared and ready to be drawn.
#[derive(Debug, Default)]
pub struct Compared {
    pub comparison: Comparison,
    pub lines: LineDiff,
    /// The lines of the old and the new value of each change.
    pub values: Vec<[Vec<String>; 2]>,
    /// The bytes are the same.
    pub identical: bool,
    /// At least one side has no readable content.
    pub one_sided: bool,
}

impl Compared {
    pub fn change(&self, at: usize) -> Option<&Change> {
        self.comparison.changes.get(at)
    }
}

#[derive(Clone, Debug, Default)]
pub struct DiffScreen {
    pub push: Option<PushDiff>,
    /// The selected entry of the push.
    pub chosen: usize,
    /// The entry was chosen with the mouse, and is not compared yet.
    pub(super) chooses_entry: bool,
    /// The first entry on the screen.
    pub top: usize,
    /// The number of changed fields of entries that were on the screen; `None` for large contents.
    pub counts: HashMap<usize, Option<usize>>,
    /// The resource that is compared.
    pub target: Option<ResourcePlace>,
    /// Oldest first.
    pub versions: Vec<ResourceVersion>,
    /// Rows of the source that were searched for versions.
    pub(super) rows_read: usize,
    /// The target of the versions, and the other stream that they come from.
    pub(super) loaded: Option<(ResourcePlace, Option<StreamId>)>,
    /// The time cursor went back, so everything is read again.
    pub(super) is_stale: bool,
    /// The push comes after the moment that is shown.
    pub(super) is_push_later: bool,
    /// Rows of the source that were searched for the verdict on the push.
    pub(super) rows_heard: usize,
    /// The index of the old version; `None` if the resource was added.
    pub old: Option<usize>,
    /// The index of the new version.
    pub new: Option<usize>,
    /// The versions to compare, whether or not they exist at the moment that is shown.
    pub(super) wanted: WantedVersions,
    /// Nodes of the versions, if they come from two streams.
    pub(super) nodes: HashMap<StreamId, String>,
    pub base: Base,
    /// Two columns; `None`: by the width of the terminal.
    pub(super) columns: Option<bool>,
    pub(super) is_strict_order: bool,
    /// All unchanged lines are shown.
    pub(super) shows_all_lines: bool,
    pub compared: Arc<Compared>,
    /// The inputs of `compared` and `rows`.
    pub(super) key: ComparisonKey,
    pub rows: Vec<DiffRow>,
    /// The number of rows with all unchanged lines.
    pub(super) unfolded_rows: usize,
    /// The first row on the screen.
    pub scroll: usize,
    /// The row of the change that was jumped to.
    pub mark: Option<usize>,
    /// The push that `D` marked.
    pub marked: Option<Seq>,
    /// The newest push with a change, if none was on the stream in scope: `#9 (edge-gw-1 CDS)`.
    pub(super) elsewhere: Option<String>,
}

/// The versions to compare, by the responses that brought them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WantedVersions {
    pub(super) new: Option<Seq>,
    /// The stream of the old version, if it is another one.
    pub(super) other: Option<StreamId>,
    pub(super) old: Option<Seq>,
}

impl DiffScreen {
    pub fn version(&self, at: Option<usize>) -> Option<&ResourceVersion> {
        self.versions.get(at?)
    }

    /// The indices of rows at which a change begins.
    pub(super) fn change_starts(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        let changed = |row: &DiffRow| match row {
            DiffRow::Path(_) => true,
            DiffRow::Line(at) => {
                self.compared.lines.rows().get(*at).is_some_and(|row| row.tag != LineTag::Same)
            }
            DiffRow::Pair(at) => self.compared.lines.pairs().get(*at).is_some_and(|pair| pair.changed),
            _ => false,
        };
        (0..self.rows.len()).filter(move |at| {
            let is_changed = self.rows.get(*at).is_some_and(changed);
            let is_above_changed = at.checked_sub(1).and_then(|at| self.rows.get(at)).is_some_and(changed);
            is_changed && (!is_above_changed || matches!(self.rows.get(*at), Some(DiffRow::Path(_))))
        })
    }

    /// There is something to show.
    pub(super) fn is_ready(&self) -> bool {
        self.target.is_some() || self.push.is_some()
    }

    /// Why nothing is shown: at this moment, the push or resource was not sent yet.
    pub(super) fn absence(&self) -> Option<String> {
        match (&self.push, &self.target) {
            (Some(push), _) if self.is_push_later => {
                Some(format!("push #{} comes after this moment: :goto #{} goes there", push.n.0, push.n.0))
            }
            (None, Some(target)) if self.versions.is_empty() => {
                let label = type_label(target.type_url.as_str());
                Some(format!("{label} {} was not sent up to this moment", target.name))
            }
            _ => None,
        }
    }

    /// The diff is drawn in two columns.
    pub(super) fn has_columns(&self, common: &Common) -> bool {
        self.columns.unwrap_or(common.size.0 >= 120)
    }

    /// Scrolls to the top, for another comparison.
    pub(super) fn scroll_to_top(&mut self) {
        self.scroll = 0;
        self.mark = None;
    }
}

/// The inputs of a comparison and its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ComparisonKey {
    /// The old and the new content.
    pub(super) contents: Option<(Option<BlobId>, Option<BlobId>)>,
    pub(super) is_strict_order: bool,
    pub(super) has_columns: bool,
    pub(super) shows_all_lines: bool,
    /// Rows of the terminal.
    pub(super) room: usize,
}
