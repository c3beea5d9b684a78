//! `info`: a summary of a file.

use std::collections::BTreeMap;

use xdscope_engine::store::{MessageKind, Store, StreamFact};
use xdscope_present::table::{TableForm, TableLooks};
use xdscope_present::{json, report, source_facts};
use xdscope_sources::{DecodingGaps, FrameSink};
use xdscope_wire::Frame;
use xdscope_wire::content::{Catalog, UsedContent};
use xdscope_wire::event::{Time, Variant};
use xdscope_wire::text::{count, display_safe, plural, size};

use crate::cli::args::{Format, Global, InfoArgs};
use crate::cli::error::{CliError, Exit};
use crate::cli::output::json_out::{ObjectLooks, Objects};
use crate::cli::output::words;
use crate::cli::source;
use crate::cli::source::{offline, select};
use crate::cli::terminal::io::Io;

pub(crate) fn run(args: &InfoArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let timers = &args.source.timers;
    let folded = source::fold_any(&args.source, global, io, |catalog, clock, schema: &_| {
        let mut store = xdscope_sources::store(offline::options(timers), catalog, clock, schema);
        store.keep_states_only();
        InfoSink { store, gaps: DecodingGaps::new(schema), kinds: BTreeMap::new() }
    })?;
    offline::say(&folded.notices, global, io);
    if let Err(error) = folded.check_content() {
        io.say(&display_safe(&error.to_string()));
    }
    source::say_dropped(&folded.facts.store, &args.source, global, io);
    let (form, file, schema) = (folded.format, folded.size, folded.schema);
    let InfoSink { store, gaps, kinds, .. } = folded.facts;
    let style = io.style(global);
    let out = &mut *io.stdout;
    if args.format != Format::Text {
        let table = TableLooks { style, has_titles: false, form: TableForm::Text };
        let looks = ObjectLooks { table, terminal: io.stdout_is_terminal };
        let mut objects = Objects::new(out, args.format, looks);
        for stream in store.streams() {
            objects.put(&json::stream_with_node(&stream, &store, &schema))?;
        }
        objects.finish()?;
        return Ok(Exit::Yes);
    }
    let file = file.map(|bytes| format!(", {}", size(bytes))).unwrap_or_default();
    writeln!(out, "form      {}{file}", form.word())?;
    writeln!(out, "time      {}", source_facts::span(&store))?;
    let streams = store.streams();
    let nodes: std::collections::BTreeSet<&str> = streams.iter().filter_map(select::node).collect();
    let nodes = format!(
        "{} of {}",
        plural((streams.len() + store.dropped_streams()) as u64, "stream"),
        plural(nodes.len() as u64, "node")
    );
    writeln!(out, "streams   {nodes}")?;
    for stream in &streams {
        let line = stream_line(stream, &store);
        writeln!(out, "{}", display_safe(&line))?;
        for line in words::tls(&stream.tls) {
            writeln!(out, "         {}", display_safe(&line))?;
        }
    }
    let kinds: Vec<String> = kinds.iter().map(|(kind, n)| format!("{} {}", count(*n), kind.word())).collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(": {}", kinds.join(", ")) };
    writeln!(out, "messages  {}{kinds}", count(store.messages()))?;
    writeln!(out, "content   {}", source_facts::content(&store))?;
    writeln!(out, "secrets   {}", source_facts::secrets(&store))?;
    if let Some(unread) = gaps.text() {
        writeln!(out, "          {unread}")?;
    }
    Ok(Exit::Yes)
}

/// A fold that counts messages and contents. It keeps no rows, and reads no content again.
struct InfoSink {
    store: Store,
    gaps: DecodingGaps,
    kinds: BTreeMap<MessageKind, u64>,
}

impl FrameSink for InfoSink {
    fn catalog_mut(&mut self) -> &mut Catalog {
        self.store.catalog_mut()
    }

    fn handle(&mut self, frame: Frame) {
        self.gaps.note(&frame, self.store.catalog());
        self.store.handle(frame);
        if let Some(kind) = self.store.latest_kind() {
            *self.kinds.entry(kind).or_default() += 1;
        }
    }

    fn advance(&mut self, now: Time) {
        self.store.advance(now);
    }

    fn drop_old(&mut self, mark: &mut dyn FnMut(&mut UsedContent)) -> Option<UsedContent> {
        if !self.store.is_over_budget() {
            return None;
        }
        // Contents make room first: ended streams are lines of the output.
        let mut used = self.store.drop_unused(&mut *mark);
        let has_ended = self.store.open_stream_ids().count() < self.store.stream_ids().len();
        if has_ended && self.store.memory() > self.store.budget() / 2 {
            used = self.store.drop_old_facts(mark);
        }
        self.gaps.forget(&used);
        Some(used)
    }
}

/// Describes a stream: node, variant, messages, bytes, losses and life.
fn stream_line(stream: &StreamFact, store: &Store) -> String {
    let variant = stream.variant.map_or("opaque", |variant| variant.word());
    let mut line = format!(
        "  #{:<3} {}  {variant}  {}  {} in, {} out",
        stream.stream.0,
        report::node_name(stream),
        plural(stream.messages, "message"),
        size(stream.bytes_in),
        size(stream.bytes_out),
    );
    if let Some(file) = stream.server.as_deref()
        && variant == Variant::File.word()
    {
        line.push_str(&format!("  {file}"));
        line.extend(stream.file_format.iter().map(|format| format!(", format {format}")));
    }
    for note in report::stream_notes(stream, !store.clock().untimed) {
        line.push_str(&format!("  {note}"));
    }
    line
}
