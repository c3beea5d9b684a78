//! The areas of a frame, by the size of the terminal alone, so that update and view agree.

use ratatui::layout::Rect;

/// The smallest terminal that screens are drawn on, in columns and rows.
pub(crate) const MIN_SIZE: (u16, u16) = (60, 15);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// One row each for source and mode, verdict, tabs, and scope.
    pub head: [Rect; 4],
    pub body: Rect,
    /// `None` on a low terminal, where notices cover the row above the keys, and prompts the keys.
    pub notice: Option<Rect>,
    /// The replay bar: volume and marks, or both in one row on a low terminal. A notice covers the
    /// marks.
    pub bar: Option<Rect>,
    pub keys: Rect,
    /// Words are shortened.
    pub narrow: bool,
    /// Panes stand side by side.
    pub wide: bool,
    /// The notice line and blank lines are left out.
    pub low: bool,
    /// Rows or columns that the user gave to the second pane.
    pub shift: i16,
}

/// `None` if the terminal is too small.
pub(crate) fn layout(width: u16, height: u16) -> Option<Layout> {
    if width < MIN_SIZE.0 || height < MIN_SIZE.1 {
        return None;
    }
    let row = |y| Rect { x: 0, y, width, height: 1 };
    let low = height < 30;
    let (top, bottom) = if low { (4, height - 1) } else { (4, height - 3) };
    Some(Layout {
        head: [row(0), row(1), row(2), row(3)],
        body: Rect { x: 0, y: top, width, height: bottom - top },
        notice: (!low).then(|| row(height - 2)),
        bar: None,
        keys: row(height - 1),
        narrow: width < 100,
        wide: width >= 160,
        low,
        shift: 0,
    })
}

impl Layout {
    /// The size of the second pane with the shift of the user, leaving `least` of `all` to either
    /// pane.
    pub fn shifted(&self, size: u16, all: u16, least: u16) -> u16 {
        let most = all.saturating_sub(least).max(least);
        size.saturating_add_signed(self.shift).clamp(least.min(size), most.max(size.min(all)))
    }

    /// Divides the body into a list of `rows` rows with titles, which gets at most one of `share`
    /// parts, and what is below a gap.
    pub fn list_above(&self, rows: usize, share: u16) -> (Rect, Rect) {
        let whole = self.body.height;
        let list = height(rows + 1).min(whole / share).max(2);
        let (list, rest) = split(self.body, whole - self.shifted(whole - list, whole, 3));
        (list, split(rest, u16::from(!self.low)).1)
    }

    /// Adds the replay bar, in place of the rule above the notice and of the hint there, or in the
    /// last row of the body.
    pub fn with_bar(self) -> Layout {
        let Some(notice) = self.notice else {
            let (body, bar) = split(self.body, self.body.height.saturating_sub(1));
            return Layout { body, bar: Some(bar), ..self };
        };
        Layout { bar: Some(Rect { y: notice.y - 1, height: 2, ..notice }), ..self }
    }
}

/// The lines that a screen above the pane of messages fills.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Content {
    pub lines: usize,
    /// The pane of messages gets no more than what the content leaves.
    pub is_kept_whole: bool,
}

impl Content {
    /// Content above a pane that has some lines in any case.
    pub fn new(lines: usize) -> Option<Content> {
        Some(Content { lines, is_kept_whole: false })
    }

    /// A list of `rows` lines, which gets at least one of `share` parts of the body, above a gap
    /// and `detail` lines.
    pub fn stacked(rows: usize, share: usize, detail: usize) -> Option<Content> {
        Content::new((rows * share).max(rows + 1 + detail))
    }
}

/// The height of a number of rows.
pub(crate) fn height(rows: usize) -> u16 {
    u16::try_from(rows).unwrap_or(u16::MAX)
}

/// Splits the first `height` rows off `area`.
pub(crate) fn split(area: Rect, height: u16) -> (Rect, Rect) {
    let height = height.min(area.height);
    let top = Rect { height, ..area };
    (top, Rect { y: area.y + height, height: area.height - height, ..area })
}

/// The areas to the left and to the right of a bar.
pub(crate) fn beside(area: Rect, left: u16) -> (Rect, Rect) {
    let left = left.min(area.width);
    let right = area.width.saturating_sub(left + 2);
    (Rect { width: left, ..area }, Rect { x: area.right() - right, width: right, ..area })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of messages are those of the last size until they are laid out again.
    #[test]
    fn body_without_rows_has_room_for_no_bar() {
        let mut low = layout(80, 20).expect("large enough");
        assert_eq!(low.with_bar().bar.map(|bar| bar.height), Some(1));
        low.body.height = 0;
        let laid_out = low.with_bar();
        assert_eq!((laid_out.body.height, laid_out.bar.map(|bar| bar.height)), (0, Some(0)));
    }
}
