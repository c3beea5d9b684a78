//! The list of all streams of a client: lifetimes, pauses between attempts, ends.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use ratatui::layout::{Position, Rect};

use crate::common::Common;
use crate::data::Data;
use crate::screens::shared::lifetimes;
use crate::widgets::canvas::{Canvas, Span, StyledLine, plain, span};
use crate::widgets::layout::{self, Content, Layout};
use crate::widgets::list::{List, ListRow, SelectionList, below_title};
use crate::widgets::table::{self, Column, column};
use crate::widgets::text::paragraph;
use xdscope_engine::problems::Problem;
use xdscope_engine::store::StreamFact;
use xdscope_present::report::{self, Role};
use xdscope_present::text::Keep;
use xdscope_wire::event::{Side, StreamId, Time};
use xdscope_wire::text::{age, count, plural};

use super::history;

/// Ends that the headline tells apart.
const MAX_LISTED_ENDS: usize = 3;

/// The lines that the selected stream keeps beside the lifetimes, with their title.
const MIN_DETAIL_LINES: u16 = 6;
/// The fewest lines of the lifetimes, with their title.
const MIN_LIVES_LINES: u16 = 2;

/// All streams of one client, newest first.
#[derive(Clone, Debug, Default)]
pub struct ClientStreams {
    pub list: SelectionList<StreamFact>,
}

impl ListRow for StreamFact {
    type Key = StreamId;

    fn key(&self) -> StreamId {
        self.stream
    }
}

/// The areas of the list.
pub(super) struct StreamListAreas {
    headline: Rect,
    pub(super) list: Rect,
    /// The selected stream.
    detail: Rect,
    /// The lifetimes of the streams on a time axis.
    lives: Rect,
}

impl ClientStreams {
    /// Loads the streams of the client of `stream`.
    pub(super) fn load(&mut self, data: &dyn Data, common: &Common, stream: Option<StreamId>) {
        let all = data.streams();
        let own = all.iter().find(|fact| Some(fact.stream) == stream).cloned();
        let streams = &mut self.list.rows;
        *streams = match own {
            Some(own) => all.into_iter().filter(|fact| is_of_client(common, &own, fact)).collect(),
            None => Vec::new(),
        };
        streams.sort_by_key(|fact| Reverse((fact.opened, fact.stream)));
        if self.list.position().is_none() {
            self.list.selected = stream;
        }
    }

    /// The selected stream.
    pub(super) fn fact(&self) -> Option<&StreamFact> {
        self.list.row()
    }

    /// Keeps the selected stream on the screen.
    pub(super) fn settle(&mut self, common: &Common, layout: &Layout) {
        self.list.settle(self.areas(common, layout).list);
    }

    pub(super) fn areas(&self, common: &Common, layout: &Layout) -> StreamListAreas {
        let lines = layout::height(self.headline(common, usize::from(layout.body.width)).len());
        let (headline, rest) = layout::split(layout.body, lines);
        let (_, rest) = layout::split(rest, u16::from(!layout.low));
        let rows = layout::height(self.list.rows.len() + 1);
        let (list, rest) = layout::split(rest, rows.min(rest.height * 2 / 3));
        let (_, rest) = layout::split(rest, u16::from(!layout.low));
        let lives = layout::height(lifetimes::lives(&self.list.rows).len() + 1);
        let wanted = lives.min(rest.height.saturating_sub(MIN_DETAIL_LINES));
        let lives = if self.list.rows.len() > 1 && wanted >= MIN_LIVES_LINES { wanted } else { 0 };
        let (detail, lives) = layout::split(rest, rest.height - lives);
        StreamListAreas { headline, list, detail, lives }
    }

    /// The lines that the screen fills.
    pub(super) fn content(&self, common: &Common, layout: &Layout) -> Option<Content> {
        let areas = self.areas(common, layout);
        let width = usize::from(areas.detail.width);
        let detail = self.fact().map(|fact| history::lines(std::slice::from_ref(fact), common, width).len());
        let rows = self.list.rows.len() + 1;
        let detail = (detail.unwrap_or(0) + 1).max(usize::from(MIN_DETAIL_LINES));
        let lives = lifetimes::lives(&self.list.rows).len() + 1;
        let below = if self.list.rows.len() > 1 { detail + lives } else { detail };
        // The list gets two thirds of the lines below the headline.
        let list = (rows + 1 + below).max(rows.div_ceil(2) * 3);
        Content::new(usize::from(areas.headline.height) + 1 + list)
    }

    /// How often the streams of the client ended and how, and who is to blame.
    fn headline(&self, common: &Common, width: usize) -> Vec<StyledLine> {
        let ended = self.list.rows.iter().filter(|fact| fact.closed.is_some()).count() as u64;
        let mut ends: BTreeMap<String, u64> = BTreeMap::new();
        for fact in self.list.rows.iter().filter(|fact| fact.closed.is_some()) {
            *ends.entry(end_text(fact)).or_default() += 1;
        }
        let mut ends: Vec<(String, u64)> = ends.into_iter().collect();
        ends.sort_by_key(|(_, count)| Reverse(*count));
        let times = common.theme.glyphs().times;
        let listed = ends.iter().take(MAX_LISTED_ENDS).map(|(end, n)| format!("{n}{times} {end}"));
        let listed = listed.collect::<Vec<_>>().join(", ");
        let mut text = format!("{}, {} ended", plural(self.list.rows.len() as u64, "stream"), count(ended));
        if !listed.is_empty() {
            text.push_str(&format!(": {listed}"));
        }
        if let Some(lasted) = self.lifetimes(common) {
            text.push_str(&format!("; ended ones lasted {lasted}"));
        }
        let mut lines = paragraph(&text, 1, Role::Plain, width);
        for problem in common.problems.all.iter().filter(|problem| {
            matches!(problem.problem, Problem::Failing(_) | Problem::Unreachable(_))
                && self.list.rows.iter().any(|fact| fact.stream == problem.stream)
        }) {
            let (word, role) = report::problem_word(problem);
            let sentence = format!("{word}: {}", report::problem(problem, &common.clock));
            lines.extend(paragraph(&sentence, 1, role, width));
        }
        lines
    }

    /// `2.0s`, or `1.9s to 4.2s`.
    fn lifetimes(&self, common: &Common) -> Option<String> {
        let ages = self.list.rows.iter().filter(|fact| !fact.partial && !common.clock.untimed);
        let ages = ages.filter_map(|fact| Some(fact.closed?.since(fact.opened)));
        let (shortest, longest) = (ages.clone().min()?, ages.max()?);
        let (from, to) = (age(shortest), age(longest));
        Some(if from == to { from } else { format!("{from} to {to}") })
    }

    /// The time between the end of the stream before and the start of a stream.
    fn pause(&self, at: usize) -> Option<String> {
        let opened = self.list.rows.get(at)?.opened;
        let closed = self.list.rows.get(at + 1)?.closed?;
        if closed <= opened { Some(age(opened.since(closed))) } else { None }
    }

    /// The cells of a stream, in the order of the columns.
    pub(super) fn row(&self, common: &Common, at: usize) -> Option<Vec<Span>> {
        let fact = self.list.rows.get(at)?;
        let timed = !common.clock.untimed;
        let lasted = |until: Time| if timed { age(until.since(fact.opened)) } else { "-".to_owned() };
        let (lasted, role) = match fact.closed {
            Some(closed) => (lasted(closed), Role::Plain),
            None => (format!("{} open", lasted(common.now)), Role::Ok),
        };
        let by = fact.end.as_ref().and_then(|end| end.by).map_or("-", Side::word);
        let end = if fact.closed.is_some() { end_text(fact) } else { "-".to_owned() };
        Some(vec![
            plain(format!("#{}", fact.stream.0)),
            plain(common.time_of_day(fact.opened)),
            span(lasted, role),
            plain(match self.pause(at) {
                Some(pause) if timed => pause,
                _ => "-".to_owned(),
            }),
            plain(count(fact.messages)),
            plain(if fact.closed.is_some() { by } else { "-" }),
            span(end, if fact.closed.is_some() { Role::Warn } else { Role::Muted }),
        ])
    }

    /// The cells of the selected stream.
    pub(super) fn selected_row(&self, common: &Common) -> Option<Vec<Span>> {
        self.row(common, self.list.position()?)
    }

    pub(super) fn draw(&self, common: &Common, canvas: &mut Canvas, layout: &Layout) -> Option<Position> {
        let areas = self.areas(common, layout);
        canvas.lines(areas.headline, &self.headline(common, usize::from(areas.headline.width)), 0);
        let visible = self.list.top..self.list.top + below_title(areas.list);
        let rows: Vec<StyledLine> = visible.map_while(|at| self.row(common, at)).collect();
        let cursor = table::draw(canvas, areas.list, &columns(), &rows, self.list.selected_line(), true);
        let (title, rest) = layout::split(areas.detail, 1);
        if let Some(fact) = self.fact()
            && !areas.detail.is_empty()
        {
            canvas.rule(
                title,
                &format!("stream #{}", fact.stream.0),
                "Enter shows its types, 3 its messages",
            );
            let lines = history::lines(std::slice::from_ref(fact), common, usize::from(rest.width));
            canvas.lines(rest, &lines, 0);
        }
        if !areas.lives.is_empty() {
            let (title, rest) = layout::split(areas.lives, 1);
            canvas.rule(title, "lifetimes", "newest first");
            lifetimes::draw(canvas, common, rest, &self.list.rows, self.list.selected, false);
        }
        cursor.map(|y| Position { x: areas.list.x, y })
    }
}

/// The columns of the list of streams.
pub(super) fn columns() -> [Column; 7] {
    [
        column("#", 3, 10, Keep::Tail, 0),
        column("OPENED", 8, 14, Keep::Head, 0),
        column("LASTED", 6, 12, Keep::Head, 0),
        column("PAUSE", 5, 8, Keep::Head, 0),
        column("MESSAGES", 8, 10, Keep::Head, 1),
        column("ENDED BY", 8, 8, Keep::Head, 2),
        column("END", 10, 160, Keep::Head, 0),
    ]
}

/// How a stream ended.
fn end_text(fact: &StreamFact) -> String {
    let words = fact.end.as_ref().map(report::end_words).filter(|words| !words.is_empty());
    words.unwrap_or_else(|| "closed".to_owned())
}

/// Whether a stream is one of the client of another. Without a node, the addresses decide.
fn is_of_client(common: &Common, own: &StreamFact, other: &StreamFact) -> bool {
    let node = |fact: &StreamFact| fact.node.as_ref().map(|node| node.id.clone()).filter(|id| !id.is_empty());
    let host = |fact: &StreamFact| {
        fact.peer.as_deref().map(|peer| peer.rsplit_once(':').map_or(peer, |(host, _)| host).to_owned())
    };
    match (node(own), node(other)) {
        (Some(own_id), Some(id)) => {
            own_id == id && common.marks.get(own.stream) == common.marks.get(other.stream)
        }
        (None, None) => (host(own), &own.server) == (host(other), &other.server),
        _ => own.stream == other.stream || own.reconnect_of == Some(other.stream),
    }
}
