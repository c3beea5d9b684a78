//! Rows of at most 100 columns, for `log`, `replay` without screens, and live runs.
//!
//! Columns have fixed widths, so that rows can be printed one by one. A version keeps its end, a
//! name both ends, and a long kind takes columns of a short version. What does not fit beside a row
//! stands below it.

use jiff::tz::TimeZone;

use xdscope_engine::store::{LineFact, MessageFact, Store};
use xdscope_present::report::Role;
use xdscope_present::text::cut_name;
use xdscope_present::text::{Keep, cut, pad, pad_left, width, wrap};
use xdscope_present::{json, report};
use xdscope_wire::event::{Clock, Dir, Time};
use xdscope_wire::text::{display_safe, latency, size, time_of_day, type_label};

use super::{json_out, words};
use crate::cli::args::TimeFormat;
use crate::cli::terminal::io::{Style, sgr};

/// Widest row.
const MAX_COLUMNS: usize = 100;
/// Default limit of gRPC for one message, in bytes. Larger messages are marked.
pub(crate) const GRPC_MAX_MESSAGE_BYTES: u64 = 4 << 20;

/// Blanks between columns.
const GAP: usize = 2;

const NUMBER: usize = 6;
const TIME: usize = 12;
const NODE: usize = 15;
const TYPE: usize = 4;
const KIND: usize = 13;
const VERSION: usize = 9;
const RESOURCES: usize = 10;
const SIZE: usize = 7;
const LATENCY: usize = 5;
/// Columns that a version keeps beside a long kind.
const MIN_VERSION: usize = 6;
/// Columns that versions gain in rows without a node.
const WITHOUT_NODE: usize = NODE + GAP;
/// Columns before the text below a row: under the time.
const INDENT: usize = NUMBER + GAP;

/// The layout of rows.
#[derive(Clone, Debug)]
pub struct RowLayout {
    pub time: TimeFormat,
    pub zone: TimeZone,
    pub style: Style,
    /// Whether rows name their node and stream.
    pub has_nodes: bool,
    /// Whether what is too long for its column is cut, as on a terminal.
    pub is_cut: bool,
}

/// A cell with its width; numbers are aligned to the right.
struct RowCell {
    text: String,
    role: Role,
    width: usize,
    is_number: bool,
}

impl RowLayout {
    /// Returns the titles of the columns.
    pub(crate) fn titles(&self) -> String {
        let cell = |text: &str, width, is_number| RowCell {
            text: text.to_owned(),
            role: Role::Plain,
            width,
            is_number,
        };
        let mut cells = vec![cell("#", NUMBER, true), cell("TIME", TIME, true)];
        if self.has_nodes {
            cells.push(cell("NODE", NODE, false));
        }
        let blank = " ".repeat(width(self.style.pick("→", "->")));
        cells.extend([
            cell(&format!("{blank} TYPE"), blank.len() + 1 + TYPE, false),
            cell("KIND", KIND, false),
            cell("VER", self.version_width(), false),
            cell("RESOURCES", RESOURCES, false),
            cell("SIZE", SIZE, true),
            cell("LAT", LATENCY, true),
        ]);
        join(&cells, self.style.color)
    }

    /// Formats a row, with its notes below. `before` is the time of the row before.
    pub fn row(&self, fact: &MessageFact, before: Option<Time>, store: &Store) -> String {
        let line = fact.line();
        let cells = self.cells(fact, before, store);
        let mut out = join(&cells, self.style.color);
        let note = self.note(fact, &line);
        let note = display_safe(&note);
        if note.is_empty() {
            return out;
        }
        // An event of a stream has no columns after its kind.
        if fact.n.is_none() && width(&join(&cells, false)) + 2 + width(&note) <= MAX_COLUMNS {
            out.push_str(&format!("  {note}"));
            return out;
        }
        for text in wrap(&note, MAX_COLUMNS - INDENT) {
            out.push_str(&format!("\n{}{text}", " ".repeat(INDENT)));
        }
        out
    }

    /// Returns the text below a row: cells that do not fit into their columns, and remarks.
    fn note(&self, fact: &MessageFact, line: &LineFact) -> String {
        let (kind, _) = words::kind(line, self.style);
        let (kind_width, _) = self.kind_and_version(&kind, &fact.version);
        let resources = report::resources(line);
        let mut notes = Vec::new();
        if self.is_cut && width(&kind) > kind_width {
            notes.push(kind);
        }
        if self.is_cut && width(&resources) > RESOURCES {
            notes.push(format!("resources {resources}"));
        }
        notes.extend(Some(report::remarks(fact, line, false)).filter(|remarks| !remarks.is_empty()));
        notes.join("; ")
    }

    fn version_width(&self) -> usize {
        if self.has_nodes { VERSION } else { VERSION + WITHOUT_NODE }
    }

    /// The widths of kind and version. A long kind takes columns that the version does not need.
    fn kind_and_version(&self, kind: &str, version: &str) -> (usize, usize) {
        let both = KIND + self.version_width();
        let needed = width(&display_safe(version)).min(MIN_VERSION);
        let kind = width(kind).clamp(KIND, both - needed);
        (kind, both - kind)
    }

    fn cells(&self, fact: &MessageFact, before: Option<Time>, store: &Store) -> Vec<RowCell> {
        let row = fact.line();
        let mark = self.style.pick("…", "..");
        let text = |text: &str, width: usize, keep| match self.is_cut {
            true => cut(&display_safe(text), width, keep, mark).into_owned(),
            false => display_safe(text).into_owned(),
        };
        let cell = |text: String, role, width, is_number| RowCell { text, role, width, is_number };
        let number = fact.n.map_or_else(|| "-".to_owned(), |n| n.0.to_string());
        let mut cells = vec![
            cell(number, Role::Muted, NUMBER, true),
            cell(self.time(fact.at, before, store.clock()), Role::Plain, TIME, true),
        ];
        if self.has_nodes {
            cells.push(cell(self.node(fact), Role::Plain, NODE, false));
        }
        let arrow = match fact.dir {
            Some(Dir::Req) => self.style.pick("→", "->"),
            Some(Dir::Resp) => self.style.pick("←", "<-"),
            None => self.style.pick(" ", "  "),
        };
        let label = fact.dir.map_or_else(String::new, |_| type_label(fact.type_url.as_str()));
        let (kind, role) = words::kind(&row, self.style);
        let (kind_width, version_width) = self.kind_and_version(&kind, &fact.version);
        let is_large = fact.size > GRPC_MAX_MESSAGE_BYTES;
        let bytes = fact.n.map(|_| format!("{}{}", size(fact.size), if is_large { "!" } else { "" }));
        let taken = fact.latency.filter(|_| fact.dir == Some(Dir::Req)).map(latency);
        let bytes_role = if is_large { Role::Warn } else { Role::Plain };
        cells.extend([
            cell(
                format!("{arrow} {}", text(&label, TYPE, Keep::Ends)),
                Role::Plain,
                width(arrow) + 1 + TYPE,
                false,
            ),
            cell(text(&kind, kind_width, Keep::Ends), role, kind_width, false),
            cell(text(&fact.version, version_width, Keep::Tail), Role::Plain, version_width, false),
            cell(text(&report::resources(&row), RESOURCES, Keep::Head), Role::Plain, RESOURCES, false),
            cell(bytes.unwrap_or_default(), bytes_role, SIZE, true),
            cell(taken.unwrap_or_default(), Role::Plain, LATENCY, true),
        ]);
        cells
    }

    /// Names node and stream: `edge-gw-1 #1`.
    fn node(&self, fact: &MessageFact) -> String {
        let stream = format!(" #{}", fact.stream.0);
        let node = display_safe(fact.node.as_deref().unwrap_or("-")).into_owned();
        if !self.is_cut {
            return format!("{node}{stream}");
        }
        let room = NODE.saturating_sub(width(&stream));
        format!("{}{stream}", cut_name(&node, room, self.style.pick("…", "..")))
    }

    fn time(&self, at: Time, before: Option<Time>, clock: Clock) -> String {
        match self.time {
            TimeFormat::Delta => {
                let before = before.filter(|_| !clock.untimed);
                before.map(|before| report::delta(at.since(before))).unwrap_or_default()
            }
            TimeFormat::Relative => time_of_day(at, Clock { epoch: None, ..clock }, &self.zone),
            TimeFormat::Local | TimeFormat::Utc => time_of_day(at, clock, &self.zone),
        }
    }
}

/// Joins cells with blanks between them.
fn join(cells: &[RowCell], has_color: bool) -> String {
    let last = cells.iter().rposition(|cell| !cell.text.trim().is_empty()).map_or(0, |last| last + 1);
    let mut out = String::new();
    for (at, cell) in cells.iter().take(last).enumerate() {
        let text = padded(cell, at + 1 == last);
        out.push_str(&" ".repeat(if at == 0 { 0 } else { GAP }));
        match sgr(cell.role).filter(|_| has_color) {
            Some(sgr) => out.push_str(&format!("\x1b[{sgr}m{text}\x1b[0m")),
            None => out.push_str(&text),
        }
    }
    out
}

fn padded(cell: &RowCell, is_last: bool) -> String {
    match (cell.is_number, is_last) {
        (true, _) => pad_left(&cell.text, cell.width),
        (false, true) => cell.text.clone(),
        (false, false) => pad(&cell.text, cell.width),
    }
}

/// Formats a row as one line of JSON.
pub(crate) fn json(fact: &MessageFact, store: &Store) -> String {
    json_out::line(&json::complete_message(fact, store))
}
