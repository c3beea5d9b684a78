//! Screen 3: what was said, in which order, and what answers what.

pub mod index;
pub mod ladder;
pub mod view;

use std::sync::Arc;
use std::time::Duration;

use crate::engine::store::{LineFact, MessageFact};
use crate::wire::event::Seq;

use crate::tui::data::{Applied, Data, Format};
use crate::tui::screens::overview::scroll;
use crate::tui::screens::timeline::index::Index;
use crate::tui::shell::model::Scope;

/// Rows looked at in one step of a search.
pub const SLICE: usize = 256;
/// Lines of a body that are searched.
const LINES: usize = 200_000;
/// A silence longer than this folds in the ladder.
pub const GAP: Duration = Duration::from_secs(5);

/// What the rows were chosen by; another one starts a new search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    scope: Scope,
    filter: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Timeline {
    /// The selected row of the source: it stays while rows come and go around it.
    pub selected: Option<usize>,
    /// The row at the top of the list.
    pub top: usize,
    pub follow: bool,
    /// Rows of the source when following ended: later ones count as new.
    pub seen: usize,
    pub ladder: bool,
    pub unfolded: bool,
    /// `None` shows the message's fields.
    pub format: Option<Format>,
    /// Lines scrolled in the detail pane.
    pub scroll: usize,
    /// Columns scrolled to the right in a body.
    pub left: usize,
    /// Long lines of a body wrap.
    pub wrap: bool,
    pub index: Index,
    chosen: Option<Chosen>,
    /// The rows on the screen, and the one before them.
    pub window: Vec<Shown>,
    pub current: Option<Current>,
    pub body: Option<Body>,
}

impl Default for Timeline {
    fn default() -> Self {
        Timeline {
            selected: None,
            top: 0,
            follow: true,
            seen: 0,
            ladder: false,
            unfolded: false,
            format: None,
            scroll: 0,
            left: 0,
            wrap: false,
            index: Index::default(),
            chosen: None,
            window: Vec::new(),
            current: None,
            body: None,
        }
    }
}

/// A row on the screen.
#[derive(Clone, Debug)]
pub struct Shown {
    pub row: usize,
    pub line: Arc<LineFact>,
    /// Since the row shown before it.
    pub delta: Option<Duration>,
}

impl Shown {
    /// A gap line stands above this row in the ladder.
    pub fn after_gap(&self) -> bool {
        self.delta.is_some_and(|delta| delta > GAP)
    }
}

/// The selected row, with all its names.
#[derive(Clone, Debug)]
pub struct Current {
    pub shown: Shown,
    pub fact: Arc<MessageFact>,
    /// It is of a delta variant, whose messages have other fields.
    pub delta: bool,
}

/// The lines of a body that have been asked for.
#[derive(Clone, Debug)]
pub struct Body {
    pub n: Seq,
    pub format: Format,
    pub limit: usize,
    pub lines: Vec<String>,
}

impl Timeline {
    /// Looks at one more slice of rows. True while there are more.
    pub fn search(&mut self, data: &dyn Data, total: usize, scope: &Scope, filter: Option<&Applied>) -> bool {
        let chosen = Chosen { scope: scope.clone(), filter: filter.map(|f| f.text.clone()) };
        if self.chosen.as_ref() != Some(&chosen) {
            let all = *scope == Scope::default() && filter.is_none();
            let anchor = if self.follow { total } else { self.selected.unwrap_or(total) };
            self.index = if all { Index::all(total) } else { Index::at(anchor.min(total)) };
            self.chosen = Some(chosen);
        }
        self.index.extend(total, SLICE, |row| {
            let in_scope = || {
                data.place_of(row).is_some_and(|(stream, type_url)| {
                    scope.stream.is_none_or(|wanted| wanted == stream)
                        && scope.type_url.as_ref().is_none_or(|wanted| *wanted == type_url)
                })
            };
            let matches = |applied| data.row(row).is_some_and(|fact| data.row_matches(applied, &fact));
            (*scope == Scope::default() || in_scope()) && filter.is_none_or(matches)
        });
        !self.index.complete()
    }

    /// Rows and what was loaded of them are looked for again.
    pub fn forget(&mut self) {
        self.chosen = None;
        self.window.clear();
        self.current = None;
        self.body = None;
    }

    /// Position of the selected row among those shown.
    pub fn position(&self) -> Option<usize> {
        self.index.nearest(self.selected?)
    }

    pub fn step(&mut self, by: isize, total: usize) {
        let Some(at) = self.position() else { return };
        let last = self.index.len().saturating_sub(1);
        let to = at.saturating_add_signed(by).min(last);
        if by < 0 {
            self.stop_following(total);
        }
        self.select(self.index.get(to));
    }

    pub fn select(&mut self, row: Option<usize>) {
        if row != self.selected {
            self.scroll = 0;
            self.left = 0;
        }
        self.selected = row;
    }

    pub fn stop_following(&mut self, total: usize) {
        if self.follow {
            self.follow = false;
            self.seen = total;
        }
    }

    /// All rows of the source, shown or not.
    pub fn total(&self) -> usize {
        self.index.total()
    }

    /// Rows that arrived since following ended.
    pub fn new_below(&self) -> usize {
        if self.follow { 0 } else { self.index.len() - self.index.rank(self.seen) }
    }

    /// Brings selection, scroll offset and the loaded rows in line with what there is now.
    /// With `whole` all of the body is wanted.
    pub fn settle(&mut self, data: &dyn Data, height: usize, detail: usize, whole: bool) {
        let last = self.index.len().checked_sub(1);
        let at = if self.follow { last } else { self.position().or(last) };
        let Some(at) = at else {
            self.window.clear();
            self.current = None;
            return;
        };
        self.select(self.index.get(at));
        let mut top = scroll(self.index.rank(self.top), at, height, self.index.len());
        self.load(data, top, height, at);
        // Gap lines take room too: the selected row must not fall off the lower edge.
        while self.ladder && top < at && self.lines_to_selected() > height {
            top += 1;
            self.load(data, top, height, at);
        }
        self.top = self.index.get(top).unwrap_or(0);
        self.load_body(data, detail, whole);
    }

    fn lines_to_selected(&self) -> usize {
        let shown = self.window.iter().take_while(|shown| Some(shown.row) <= self.selected);
        shown
            .enumerate()
            .map(|(i, shown)| 1 + usize::from(i > 0 && !self.unfolded && shown.after_gap()))
            .sum()
    }

    fn load(&mut self, data: &dyn Data, top: usize, height: usize, at: usize) {
        let mut known = std::mem::take(&mut self.window);
        let current = self.current.take();
        let mut fetch = |position: usize| {
            let row = self.index.get(position)?;
            if let Some(shown) = known.iter().find(|shown| shown.row == row) {
                return Some(shown.clone());
            }
            let shown = Shown { row, line: Arc::new(data.line(row)?), delta: None };
            known.push(shown.clone());
            Some(shown)
        };
        let mut before = top.checked_sub(1).and_then(&mut fetch).map(|shown| shown.line.at);
        let mut window = Vec::with_capacity(height);
        for position in top..top + height {
            let Some(mut shown) = fetch(position) else { break };
            shown.delta = before.map(|before| shown.line.at.since(before));
            before = Some(shown.line.at);
            window.push(shown);
        }
        self.current = fetch(at).and_then(|shown| {
            if let Some(known) = current.filter(|current| current.shown.row == shown.row) {
                return Some(Current { shown, ..known });
            }
            let fact = data.row(shown.row).map(Arc::new)?;
            let delta = data.variant(fact.stream).is_some_and(|variant| variant.is_delta());
            Some(Current { shown, fact, delta })
        });
        self.window = window;
    }

    fn load_body(&mut self, data: &dyn Data, detail: usize, whole: bool) {
        let n = self.current.as_ref().and_then(|current| current.fact.n);
        let (Some(format), Some(n)) = (self.format, n) else {
            self.body = None;
            return;
        };
        // What is looked for may be on any line.
        let limit = if whole { LINES } else { self.scroll + detail + 1 };
        let enough = |body: &Body| body.n == n && body.format == format && body.limit >= limit;
        if !self.body.as_ref().is_some_and(enough) {
            // A page ahead, so that scrolling by lines does not ask each time.
            let limit = (limit + detail).min(LINES.max(limit));
            self.body = Some(Body { n, format, limit, lines: data.body(n, format, limit) });
        }
    }
}
