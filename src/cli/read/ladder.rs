//! `log --ladder`: messages drawn between the two ends of each stream.

use std::io::Write;
use std::time::Duration;

use xdscope_engine::store::{MessageFact, Store, StreamFact};
use xdscope_present::report;
use xdscope_present::table::LogRow;
use xdscope_present::text::{pad, pad_left, width};
use xdscope_wire::event::{Clock, StreamId};
use xdscope_wire::text::{display_safe, latency};

use crate::cli::error::CliError;
use crate::cli::output::message_line::RowLayout;

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
        write_stream(stream, facts, store.clock(), layout, out)?;
    }
    Ok(printed)
}

fn write_stream(
    stream: Option<&StreamFact>,
    facts: &[MessageFact],
    clock: Clock,
    layout: &RowLayout,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let style = layout.style;
    let mut rows = Vec::new();
    let mut before = None;
    for fact in facts {
        rows.push(LogRow { style, ..LogRow::new(fact, before, clock, &layout.zone) });
        before = Some(fact.at);
    }
    let left = rows.iter().map(|row| width(&row.time())).max().unwrap_or(0);
    let variant = stream.and_then(|stream| stream.variant).map_or("opaque", |variant| variant.word());
    let client = stream.map(report::node_name).unwrap_or_default();
    let client = format!("{client} #{} {variant}", facts.first().map_or(0, |fact| fact.stream.0));
    let server = stream.and_then(|stream| stream.server.clone()).unwrap_or_else(|| "control plane".into());
    let (client, server) = (display_safe(&client), display_safe(&server));
    let room = (LANE + 2).saturating_sub(width(&server));
    writeln!(out, "{} {} {server}", " ".repeat(left), pad(&client, room.saturating_sub(1)))?;
    let bar = style.pick("│", "|");
    for row in &rows {
        let silence = if clock.untimed { Duration::ZERO } else { row.since.unwrap_or_default() };
        if silence.as_secs() >= GAP_SECONDS {
            let mark = format!("{} {}", style.pick("⋮", ":"), latency(silence));
            writeln!(out, "{} {bar}{}{bar}", pad_left(&mark, left), " ".repeat(LANE))?;
        }
        let (time, number) = (pad_left(&row.time(), left), pad(&row.ladder_number(), 12));
        let arrow = row.ladder_arrow(&display_safe(&report::arrow_text(&row.line)), LANE);
        let remark = row.ladder_remark(report::note);
        let line = format!("{time} {bar}{arrow}{bar} {number} {}", display_safe(&remark));
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
