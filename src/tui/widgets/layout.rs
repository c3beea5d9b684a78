//! Where things are, by the size of the terminal alone, so that update and view agree.

use ratatui::layout::Rect;

/// Below this no screen is drawn, one line says the size needed.
pub const SMALLEST: (u16, u16) = (60, 15);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Source and mode; tabs; scope. One row each.
    pub head: [Rect; 3],
    pub body: Rect,
    /// Absent on low terminals: notices then stand above the row of keys, prompts in it.
    pub notice: Option<Rect>,
    /// The bar of a replay, above the notice.
    pub bar: Option<Rect>,
    pub keys: Rect,
    /// Words shorten.
    pub narrow: bool,
    /// Panes stand side by side.
    pub wide: bool,
    /// Rules and the notice line are left out.
    pub low: bool,
    /// Rows, or columns, that the second pane was given by hand.
    pub shift: i16,
}

/// `None` if the terminal is too small.
pub fn layout(width: u16, height: u16) -> Option<Layout> {
    if width < SMALLEST.0 || height < SMALLEST.1 {
        return None;
    }
    let row = |y| Rect { x: 0, y, width, height: 1 };
    let low = height < 30;
    let (top, bottom) = if low { (3, height - 1) } else { (4, height - 3) };
    Some(Layout {
        head: [row(0), row(1), row(2)],
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
    /// A size of the second pane with what was added by hand, leaving `least` of `all` on either side.
    pub fn shifted(&self, size: u16, all: u16, least: u16) -> u16 {
        let most = all.saturating_sub(least).max(least);
        size.saturating_add_signed(self.shift).clamp(least.min(size), most.max(size.min(all)))
    }

    /// With the bar of a replay: in place of the rule above the notice, or in the last row of the body.
    pub fn with_bar(self) -> Layout {
        let Some(notice) = self.notice else {
            let (body, bar) = split(self.body, self.body.height - 1);
            return Layout { body, bar: Some(bar), ..self };
        };
        Layout { bar: Some(Rect { y: notice.y - 1, ..notice }), ..self }
    }
}

/// The first `height` rows of `area`, and the rest.
pub fn split(area: Rect, height: u16) -> (Rect, Rect) {
    let height = height.min(area.height);
    let top = Rect { height, ..area };
    (top, Rect { y: area.y + height, height: area.height - height, ..area })
}

/// Left and right of a bar.
pub fn beside(area: Rect, left: u16) -> (Rect, Rect) {
    let left = left.min(area.width);
    let right = area.width.saturating_sub(left + 2);
    (Rect { width: left, ..area }, Rect { x: area.right() - right, width: right, ..area })
}

/// List and detail of the timeline. Either may be empty.
pub fn timeline(layout: &Layout, whole: bool) -> (Rect, Rect) {
    let body = layout.body;
    if whole {
        return split(body, 0);
    }
    if layout.wide {
        return beside(body, body.width - layout.shifted(body.width * 4 / 9, body.width, 20));
    }
    // The message in full wants eight lines; the list keeps at least half.
    let detail = layout.shifted((body.height / 2).min(10), body.height, 3);
    split(body, body.height - detail)
}

/// Summary of a push with `entries` entries, and what changed. The first is empty without a push.
pub fn diff(layout: &Layout, entries: Option<usize>, whole: bool) -> (Rect, Rect) {
    let body = layout.body;
    let Some(entries) = entries.filter(|_| !whole) else { return split(body, 0) };
    let want = u16::try_from(entries.max(1) + 1).unwrap_or(u16::MAX);
    let first = want.min(body.height / 3).max(2);
    let (summary, rest) = split(body, body.height - layout.shifted(body.height - first, body.height, 3));
    (summary, split(rest, u16::from(!layout.low)).1)
}

/// The parts of Overview: nodes, problems, the selected node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverviewParts {
    pub nodes: Rect,
    pub problems: Rect,
    pub selected: Rect,
}

/// Lines about the selected node, with their rule.
const SELECTED: u16 = 4;

/// `rows` lines of nodes with their titles, `problems` lines of problems with their rule.
pub fn overview(layout: &Layout, rows: usize, problems: usize) -> OverviewParts {
    let body = layout.body;
    let want = |lines: usize| u16::try_from(lines).unwrap_or(u16::MAX);
    let gap = u16::from(!layout.low);
    let selected = if layout.low || layout.wide { 0 } else { SELECTED + gap };
    let least = want(problems).min(body.height / 3);
    let (nodes, rest) = split(body, want(rows).min(body.height.saturating_sub(selected + least + gap)));
    let (_, rest) = split(rest, gap);
    if layout.wide {
        let (problems, selected) = beside(rest, rest.width * 5 / 9);
        return OverviewParts { nodes, problems, selected };
    }
    let (problems, rest) = split(rest, want(problems).min(rest.height.saturating_sub(selected)));
    let (_, selected) = split(rest, gap);
    OverviewParts { nodes, problems, selected }
}

/// The parts of Stream: types, the selected type, the stream's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamParts {
    pub types: Rect,
    pub detail: Rect,
    pub history: Rect,
}

/// `rows` lines of types with their titles; `detail` lines about the selected one with their rule.
pub fn stream(layout: &Layout, rows: usize, detail: usize) -> StreamParts {
    let want = |lines: usize| u16::try_from(lines).unwrap_or(u16::MAX);
    let gap = u16::from(!layout.low);
    let (types, rest) = split(layout.body, want(rows).min(layout.body.height / 2));
    let (_, rest) = split(rest, gap);
    if layout.wide {
        let (detail, history) = beside(rest, rest.width * 5 / 9);
        return StreamParts { types, detail, history };
    }
    let (detail, rest) = split(rest, want(detail).min(rest.height.saturating_sub(4)));
    let (_, history) = split(rest, gap);
    StreamParts { types, detail, history }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_stays_on_the_screen() {
        for width in 0..220 {
            for height in 0..70 {
                let screen = Rect { x: 0, y: 0, width, height };
                let Some(plain) = layout(width, height) else {
                    assert!(width < SMALLEST.0 || height < SMALLEST.1);
                    continue;
                };
                let layout = if (width + height) % 2 == 0 { plain.with_bar() } else { plain };
                let bar = layout.bar.unwrap_or(layout.keys);
                assert_eq!(bar.intersection(screen), bar, "{width}x{height}");
                assert!(bar.intersection(layout.body).is_empty(), "{width}x{height}");
                let (list, detail) = timeline(&layout, false);
                for area in [layout.body, layout.keys, list, detail] {
                    assert_eq!(area.intersection(screen), area, "{width}x{height}");
                    assert!(!area.is_empty(), "{width}x{height}");
                }
                for lines in [0, 1, 5, 20, 1000] {
                    let first = overview(&layout, lines, 5);
                    let second = stream(&layout, lines, 9);
                    let areas = [first.nodes, first.problems, second.types, second.detail, second.history];
                    for area in areas {
                        assert_eq!(area.intersection(layout.body), area, "{width}x{height} {lines}");
                    }
                    assert!(
                        !first.problems.is_empty() && !second.detail.is_empty(),
                        "{width}x{height} {lines}"
                    );
                }
            }
        }
    }
}
