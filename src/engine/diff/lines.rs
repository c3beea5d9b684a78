use std::ops::Range;
use std::time::Duration;

use similar::{ChangeTag, DiffOp, TextDiff};

/// Time limit of a line diff. Lines that are not aligned in time count as changed.
const DIFF_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum length of a line with highlighted words, in bytes.
const MAX_EMPHASIS_BYTES: usize = 4096;

/// The kind of a row in a unified diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineTag {
    /// In both texts.
    Same,
    /// In the old text only.
    Removed,
    /// In the new text only.
    Added,
}

/// The side of a text in a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffSide {
    /// The old text.
    Old,
    /// The new text.
    New,
}

/// A row of a unified diff, with line numbers in the two texts, from 0.
///
/// A removed line that was replaced has the number of its replacement in `new`, and vice versa.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiffRow {
    /// The kind of the row.
    pub tag: LineTag,
    /// Line number in the old text.
    pub old: Option<u32>,
    /// Line number in the new text.
    pub new: Option<u32>,
}

/// A row of a side-by-side diff, with line numbers in the two texts, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SideBySideRow {
    /// Line number in the old text.
    pub left: Option<u32>,
    /// Line number in the new text.
    pub right: Option<u32>,
    /// Whether the lines differ.
    pub changed: bool,
}

#[derive(Debug, Default)]
struct Text {
    text: String,
    starts: Vec<usize>,
}

impl Text {
    fn new(text: String) -> Text {
        let mut starts: Vec<usize> = vec![0];
        starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
        Text { text, starts }
    }

    /// Returns the number of lines. A final line break does not begin another line.
    fn len(&self) -> usize {
        let open = self.starts.last().is_some_and(|last| *last < self.text.len());
        self.starts.len() - usize::from(!open)
    }

    fn lines(&self) -> Vec<&str> {
        (0..self.len()).map(|at| self.line(at as u32)).collect()
    }

    fn line(&self, number: u32) -> &str {
        let number = number as usize;
        let from = self.starts.get(number).copied().unwrap_or(self.text.len());
        let to = self.starts.get(number + 1).map_or(self.text.len(), |next| next - 1);
        self.text.get(from..to).unwrap_or_default()
    }
}

/// A line diff of two texts. Rows refer to lines by number.
#[derive(Debug, Default)]
pub struct LineDiff {
    old: Text,
    new: Text,
    rows: Vec<DiffRow>,
    pairs: Vec<SideBySideRow>,
}

impl LineDiff {
    /// Compares two texts by line. Stops looking for a smaller diff after a time limit.
    pub fn new(old: String, new: String) -> LineDiff {
        let (old, new) = (Text::new(old), Text::new(new));
        let (a, b) = (old.lines(), new.lines());
        let diff = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_slices(&a, &b);
        let (mut rows, mut pairs) = (Vec::new(), Vec::new());
        for op in diff.ops() {
            put(op, &mut rows, &mut pairs);
        }
        LineDiff { rows, pairs, old, new }
    }

    /// Returns the rows of a unified diff, with removed lines before their replacements.
    pub fn rows(&self) -> &[DiffRow] {
        &self.rows
    }

    /// Returns the rows of a side-by-side diff.
    pub fn pairs(&self) -> &[SideBySideRow] {
        &self.pairs
    }

    /// Returns a line without its line break.
    pub fn line(&self, side: DiffSide, number: u32) -> &str {
        match side {
            DiffSide::Old => self.old.line(number),
            DiffSide::New => self.new.line(number),
        }
    }
}

/// Adds the rows of one operation of the diff, in one column and in two.
fn put(op: &DiffOp, rows: &mut Vec<DiffRow>, pairs: &mut Vec<SideBySideRow>) {
    let (olds, news) = (op.old_range(), op.new_range());
    let place = |range: &Range<usize>, at: usize| {
        Some(range.start + at).filter(|at| *at < range.end).and_then(|at| u32::try_from(at).ok())
    };
    let same = matches!(op, DiffOp::Equal { .. });
    for at in 0..olds.len().max(news.len()) {
        pairs.push(SideBySideRow { left: place(&olds, at), right: place(&news, at), changed: !same });
    }
    for at in 0..olds.len() {
        let tag = if same { LineTag::Same } else { LineTag::Removed };
        rows.push(DiffRow { tag, old: place(&olds, at), new: place(&news, at) });
    }
    if !same {
        for at in 0..news.len() {
            rows.push(DiffRow { tag: LineTag::Added, old: place(&olds, at), new: place(&news, at) });
        }
    }
}

/// A part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinePart<'a> {
    /// The text of the part.
    pub text: &'a str,
    /// Whether the other line lacks this part.
    pub changed: bool,
}

/// Splits two lines into changed and unchanged parts, by words.
///
/// Lines with little in common count as entirely changed. Returns the parts of the old and the new
/// line.
pub fn emphasis<'a>(old: &'a str, new: &'a str) -> (Vec<LinePart<'a>>, Vec<LinePart<'a>>) {
    let whole = |text| vec![LinePart { text, changed: true }];
    if old.len().max(new.len()) > MAX_EMPHASIS_BYTES {
        return (whole(old), whole(new));
    }
    let diff = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_unicode_words(old, new);
    let (mut left, mut right) = (Pieces::split(old), Pieces::split(new));
    let mut common = 0;
    for change in diff.iter_all_changes() {
        let len = change.value().len();
        match change.tag() {
            ChangeTag::Equal => {
                common += change.value().trim().len();
                left.take(len, false);
                right.take(len, false);
            }
            ChangeTag::Delete => left.take(len, true),
            ChangeTag::Insert => right.take(len, true),
        }
    }
    if common * 4 < old.trim().len().max(new.trim().len()) {
        return (whole(old), whole(new));
    }
    (left.parts, right.parts)
}

struct Pieces<'a> {
    rest: &'a str,
    parts: Vec<LinePart<'a>>,
    text: &'a str,
}

impl<'a> Pieces<'a> {
    fn split(text: &'a str) -> Pieces<'a> {
        Pieces { rest: text, parts: Vec::new(), text }
    }

    fn take(&mut self, len: usize, changed: bool) {
        let Some((piece, rest)) = self.rest.split_at_checked(len) else { return };
        self.rest = rest;
        let end = self.text.len() - rest.len();
        match self.parts.last_mut() {
            Some(last) if last.changed == changed => {
                last.text = self.text.get(end - len - last.text.len()..end).unwrap_or(piece);
            }
            _ => self.parts.push(LinePart { text: piece, changed }),
        }
    }
}

/// Splits `len` rows into shown and folded ranges. The flag marks folded ranges.
///
/// Shows `context` unchanged rows on each side of a change, and never folds a single row.
pub fn fold_unchanged(
    len: usize,
    context: usize,
    changed: impl Fn(usize) -> bool,
) -> Vec<(Range<usize>, bool)> {
    let mut out: Vec<(Range<usize>, bool)> = Vec::new();
    let mut put = |range: Range<usize>, fold: bool| match out.last_mut() {
        _ if range.is_empty() => {}
        Some((last, folded)) if *folded == fold => last.end = range.end,
        _ => out.push((range, fold)),
    };
    let mut at = 0;
    while at < len {
        let run = (at..len).take_while(|row| !changed(*row)).count();
        let head = if at == 0 { 0 } else { context.min(run) };
        let tail = if at + run == len { 0 } else { context.min(run - head) };
        let fold = run - head - tail > 1;
        put(at..at + head, false);
        put(at + head..at + run - tail, fold);
        put(at + run - tail..at + run, false);
        at += run;
        let run = (at..len).take_while(|row| changed(*row)).count();
        put(at..at + run, false);
        at += run;
    }
    out
}
