//! Messages as rows, in the words of `log`.

use std::borrow::Cow;
use std::time::Duration;

use jiff::tz::TimeZone;

use xdscope_engine::store::{LineFact, MessageFact, MessageKind};
use xdscope_wire::event::{Clock, Dir, Time};
use xdscope_wire::text::{latency, size, time_of_day, type_label};

use super::{Cell, Columns, Style};
use crate::report::{self, Role};
use crate::text::{Keep, pad, width};

/// Default limit of gRPC for one message, in bytes. Larger messages are marked.
const GRPC_MAX_MESSAGE_BYTES: u64 = 4 << 20;

/// A message, or the start or end of a stream.
pub struct LogRow<'a> {
    /// The message, with counts in place of its names.
    pub line: Cow<'a, LineFact>,
    /// The message with its names. A row without it has no note.
    pub message: Option<&'a MessageFact>,
    /// The time since the row before.
    pub since: Option<Duration>,
    /// The clock of the source.
    pub clock: Clock,
    /// The zone of the times.
    pub zone: &'a TimeZone,
    /// The symbols.
    pub style: Style,
}

impl<'a> LogRow<'a> {
    /// Returns a message with times in `zone`. `before` is the time of the row before.
    pub fn new(
        message: &'a MessageFact,
        before: Option<Time>,
        clock: Clock,
        zone: &'a TimeZone,
    ) -> LogRow<'a> {
        let line = Cow::Owned(message.line());
        let since = before.map(|before| message.at.since(before));
        LogRow { line, message: Some(message), since, clock, zone, style: Style::PLAIN }
    }

    /// Returns the number of the message; `-` for the start and end of a stream.
    pub fn number(&self) -> String {
        self.line.n.map_or("-".to_owned(), |n| n.0.to_string())
    }

    /// Returns the time of the message.
    pub fn time(&self) -> String {
        time_of_day(self.line.at, self.clock, self.zone)
    }

    /// Returns the time since the row before; empty for the first row and without times.
    pub fn delta(&self) -> String {
        match self.since {
            Some(since) if !self.clock.untimed => report::delta(since),
            _ => String::new(),
        }
    }

    /// Returns the node of the message; `-` if it has none.
    pub fn node(&self) -> &str {
        self.line.node.as_deref().unwrap_or("-")
    }

    /// Returns the direction of the message; empty for the start and end of a stream.
    pub fn arrow(&self) -> &'static str {
        match self.line.dir {
            Some(Dir::Req) => self.style.pick("→", "->"),
            Some(Dir::Resp) => self.style.pick("←", "<-"),
            None => "",
        }
    }

    /// Returns the label of the type; empty for the start and end of a stream.
    pub fn label(&self) -> String {
        match self.line.dir {
            Some(_) => type_label(self.line.type_url.as_str()),
            None => String::new(),
        }
    }

    /// Returns the kind of the message: `push`, `└ NACK #478`.
    pub fn kind(&self) -> (String, Role) {
        report::kind(&self.line, self.style.pick("└", "`"))
    }

    /// Returns the size of the message; empty for the start and end of a stream.
    pub fn size(&self) -> String {
        self.line.n.map_or_else(String::new, |_| size(self.line.size))
    }

    /// Returns the size, marked if gRPC would refuse the message.
    pub fn marked_size(&self) -> (String, Role) {
        match self.line.size > GRPC_MAX_MESSAGE_BYTES {
            true => (format!("{}!", self.size()), Role::Warn),
            false => (self.size(), Role::Plain),
        }
    }

    /// Returns the time that a client took to answer a response.
    pub fn latency(&self) -> String {
        match self.line.latency {
            Some(taken) if self.line.dir == Some(Dir::Req) => latency(taken),
            _ => String::new(),
        }
    }

    /// Returns the remarks on the message: the reason of a NACK, resource errors, events.
    pub fn remarks(&self) -> String {
        self.message.map(|message| report::remarks(message, &self.line, false)).unwrap_or_default()
    }

    /// Draws the arrow of the message between two lines of a ladder, with a text on the arrow, and
    /// the size of a response at its right end.
    pub fn ladder_arrow(&self, text: &str, cells: usize) -> String {
        let rule = self.style.pick("─", "-");
        let left = cells.saturating_sub(width(text) + 4);
        match self.line.dir {
            Some(Dir::Req) => format!("{rule} {text} {}{}", rule.repeat(left), self.style.pick("►", ">")),
            Some(Dir::Resp) => {
                let size = format!(" {} {rule}", self.size());
                let size = if left > width(&size) { size } else { String::new() };
                let rest = rule.repeat(left - width(&size));
                format!("{}{rule} {text} {rest}{size}", self.style.pick("◄", "<"))
            }
            None => pad(&format!("  {text}"), cells),
        }
    }

    /// Returns number and answer time beside the arrow.
    pub fn ladder_number(&self) -> String {
        match self.line.n {
            Some(n) => format!("#{} {}", n.0, self.latency()).trim_end().to_owned(),
            None => String::new(),
        }
    }

    /// Returns the remark beside the arrow. `reason` is that of a NACK.
    pub fn ladder_remark(&self, reason: impl FnOnce(&LineFact) -> String) -> String {
        let bad = self.style.pick("✗", "x");
        match (self.line.kind, &self.line.error) {
            (MessageKind::Nack, Some(_)) => format!("{bad} {}", reason(&self.line)),
            (MessageKind::Nack, None) => format!("{bad} by version alone"),
            (MessageKind::Ack, _) => self.style.pick("✓", "+").to_owned(),
            (MessageKind::Resend, _) => "! same content again".to_owned(),
            _ => String::new(),
        }
    }

    /// Returns the offer, and all remarks.
    fn note(&self) -> String {
        let Some(message) = self.message else { return String::new() };
        let mut notes = report::offer(message, self.style.pick("→", "->"));
        let remarks = report::remarks(message, &self.line, true);
        if !remarks.is_empty() {
            notes.push(remarks);
        }
        notes.join("; ")
    }
}

/// Terminal cells of a row in which each column has its usual width.
const ROW: usize = 100;
/// Terminal cells of the node and its stream, and the most that a wide row adds.
const NODE: usize = 15;
const MORE_NODE: usize = 25;
/// Terminal cells of a version, and the most that a wide row adds.
const VERSION: usize = 9;
const MORE_VERSION: usize = 16;
/// Terminal cells of the counts of resources, and the most that a wide row adds.
const RESOURCES: usize = 10;
const MORE_RESOURCES: usize = 20;
/// Terminal cells that a version keeps beside a long kind.
const MIN_VERSION: usize = 6;

/// The columns of a log.
#[derive(Clone, Copy, Debug)]
pub struct LogColumns {
    /// Colours and symbols.
    pub style: Style,
    /// Whether rows name their node and stream.
    pub has_nodes: bool,
    /// Whether the time is that since the row before.
    pub is_by_delta: bool,
    /// Terminal cells of a row.
    pub columns: usize,
}

impl LogColumns {
    /// Returns the columns. Without nodes, versions have the room of the nodes. A wide row has more
    /// room for nodes first, then for versions; a narrow one leaves out resources and sizes.
    pub fn columns<'a>(self) -> Columns<'static, LogRow<'a>> {
        let LogColumns { style, has_nodes, is_by_delta, columns } = self;
        let more = columns.saturating_sub(ROW);
        let more_node = more.min(MORE_NODE);
        let more_version = (more - more_node).min(MORE_VERSION);
        let more_resources = (more - more_node - more_version).min(MORE_RESOURCES);
        let node_cells = NODE + more_node;
        let version = match has_nodes {
            true => VERSION + more_version,
            false => VERSION + more_version + node_cells + super::text::GAP,
        };
        let narrow = if columns < ROW { 1 } else { 0 };
        let mut out: Columns<'static, LogRow<'a>> = Columns::new()
            .number("#", LogRow::number)
            .role(Role::Muted)
            .fixed(6)
            .number("TIME", move |row: &LogRow<'a>| if is_by_delta { row.delta() } else { row.time() })
            .fixed(12);
        if !is_by_delta {
            out = out.text(style.pick("Δ", "DELTA"), LogRow::delta).role(Role::Muted).wide();
        }
        if has_nodes {
            let node = |row: &LogRow<'a>| Cell::new(row.node()).with_aside(format!("#{}", row.line.stream.0));
            out = out.text("NODE", node).cut(node_cells, Keep::Name);
        }
        out.text("", LogRow::arrow)
            .fixed(style.pick("→", "->").chars().count())
            .gap(1)
            .text("TYPE", LogRow::label)
            .cut(4, Keep::Ends)
            .text("KIND", LogRow::kind)
            .cut(13, Keep::Ends)
            .text("VER", |row: &LogRow<'a>| row.line.version.to_string())
            .cut(version, Keep::Tail)
            .lends_beyond(MIN_VERSION)
            .text("NONCE", |row: &LogRow<'a>| row.line.nonce.to_string())
            .wide()
            .text("RESOURCES", |row: &LogRow<'a>| report::resources(&row.line))
            .cut(RESOURCES + more_resources, Keep::Head)
            .with_priority(narrow)
            .number("SIZE", LogRow::marked_size)
            .fixed(7)
            .with_priority(narrow)
            .number("LAT", LogRow::latency)
            .fixed(5)
            .text("CLASS", |row: &LogRow<'a>| row.line.class.map_or("", |class| class.word()))
            .wide()
            .text("NOTE", LogRow::note)
            .wide()
    }
}
