//! `log --ladder`: messages drawn between the two ends of each stream.

use std::io::Write;
use std::time::Duration;

use jiff::tz::TimeZone;

use xdscope_engine::store::{MessageFact, MessageKind, Store, StreamFact};
use xdscope_present::report;
use xdscope_present::text::{pad, pad_left, width};
use xdscope_wire::event::{Dir, StreamId};
use xdscope_wire::text::{display_safe, latency, time_of_day};

use crate::cli::error::CliError;
use crate::cli::output::message_line::RowLayout;
use crate::cli::terminal::io::Style;

/// Columns between the two lifelines; a longer text lengthens its own line.
const LANE: usize = 48;
/// Silences longer than this are folded.
const GAP_SECONDS: u64 = 5;

/// Writes one ladder for each stream with rows, and returns the number of rows.
pub(crate) fn write(
    streams: &[StreamFact],
    rows: impl Iterator<Item = MessageFact>,
    store: &Store,
    layout: &RowLayout,
    out: &mut dyn Write,
) -> Result<usize, CliError> {
    let mut by_stream: std::collections::BTreeMap<StreamId, Vec<MessageFact>> = Default::default();
    for fact in rows {
        by_stream.entry(fact.stream).or_default().push(fact);
    }
    let mut printed = 0;
    for (id, facts) in &by_stream {
        if printed > 0 {
            writeln!(out)?;
        }
        printed += facts.len();
        let stream = streams.iter().find(|stream| stream.stream == *id);
        Ladder { store, zone: &layout.zone, style: layout.style }.write(stream, facts, out)?;
    }
    Ok(printed)
}

struct Ladder<'a> {
    store: &'a Store,
    zone: &'a TimeZone,
    style: Style,
}

impl Ladder<'_> {
    fn write(
        &self,
        stream: Option<&StreamFact>,
        facts: &[MessageFact],
        out: &mut dyn Write,
    ) -> Result<(), CliError> {
        let time = |fact: &MessageFact| time_of_day(fact.at, self.store.clock(), self.zone);
        let left = facts.iter().map(|fact| width(&time(fact))).max().unwrap_or(0);
        let variant = stream.and_then(|stream| stream.variant).map_or("opaque", |variant| variant.word());
        let client = stream.map(report::node_name).unwrap_or_default();
        let client = format!("{client} #{} {variant}", facts.first().map_or(0, |fact| fact.stream.0));
        let server =
            stream.and_then(|stream| stream.server.clone()).unwrap_or_else(|| "control plane".into());
        let (client, server) = (display_safe(&client), display_safe(&server));
        let room = (LANE + 2).saturating_sub(width(&server));
        writeln!(out, "{} {} {server}", " ".repeat(left), pad(&client, room.saturating_sub(1)))?;
        let bar = self.style.pick("│", "|");
        let mut before = None;
        for fact in facts {
            let silence = before.map_or(Duration::ZERO, |before| fact.at.since(before));
            if silence.as_secs() >= GAP_SECONDS && !self.store.clock().untimed {
                let mark = format!("{} {}", self.style.pick("⋮", ":"), latency(silence));
                writeln!(out, "{} {bar}{}{bar}", pad_left(&mark, left), " ".repeat(LANE))?;
            }
            before = Some(fact.at);
            let line = format!(
                "{} {bar}{}{bar}{}",
                pad_left(&time(fact), left),
                self.arrow(fact),
                self.remark(fact)
            );
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }

    /// Draws the arrow between the lifelines, with its label.
    fn arrow(&self, fact: &MessageFact) -> String {
        let rule = self.style.pick("─", "-");
        let text = report::arrow_text(&fact.line());
        let text = display_safe(&text);
        let rest = |used: usize| rule.repeat(LANE.saturating_sub(used + width(&text)));
        match fact.dir {
            Some(Dir::Req) => format!("{rule} {text} {}{}", rest(4), self.style.pick("►", ">")),
            Some(Dir::Resp) => format!("{}{rule} {text} {}", self.style.pick("◄", "<"), rest(4)),
            None => pad(&format!("  {text}"), LANE),
        }
    }

    /// Formats number, latency and note of a row.
    fn remark(&self, fact: &MessageFact) -> String {
        let mut words: Vec<String> = Vec::new();
        words.extend(fact.n.map(|n| format!("#{}", n.0)));
        if fact.dir == Some(Dir::Req) {
            words.extend(fact.latency.map(latency));
        }
        let text = format!(" {}", pad(&words.join(" "), 12));
        let remark = match (fact.kind, &fact.error) {
            (MessageKind::Nack, Some(_)) => {
                format!("{} {}", self.style.pick("✗", "x"), report::note(&fact.line()))
            }
            (MessageKind::Nack, None) => format!("{} by version alone", self.style.pick("✗", "x")),
            (MessageKind::Ack, _) => self.style.pick("✓", "+").to_owned(),
            (MessageKind::Resend, _) => "! same content again".to_owned(),
            _ => String::new(),
        };
        format!("{text} {}", display_safe(&remark))
    }
}
