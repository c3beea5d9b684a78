//! `report`: a source as one HTML page.

use std::io::Write as _;

use xdscope_engine::analysis;
use xdscope_engine::analysis::Analysis;
use xdscope_present::page::{self, PageSource};
use xdscope_present::report;
use xdscope_present::text::shell_word;
use xdscope_sources::DecodingGaps;
use xdscope_wire::text::{display_safe, size};

use crate::cli::args::{Global, ReportArgs};
use crate::cli::error::{CliError, Exit};
use crate::cli::export::GapSink;
use crate::cli::output::output_file;
use crate::cli::source;
use crate::cli::source::offline;
use crate::cli::source::select::{Picked, Selected};
use crate::cli::terminal::io::Io;
use crate::cli::terminal::progress::Busy;

pub(crate) fn run(args: &ReportArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let name = &args.source.source;
    if args.source.keep_secrets {
        return Err(CliError::usage("--keep-secrets is not supported: a report is made to be passed on"));
    }
    if args.output.is_none() && io.stdout_is_terminal {
        let error = CliError::usage("a report is a page for a browser, and stdout is a terminal");
        return Err(error.next(format!("xdscope report {} --output report.html", shell_word(name))));
    }
    let file = output_file::named(args.output.as_deref());
    let source = &args.source;
    let mut gaps = None;
    let slot = &mut gaps;
    let folded = source::fold(source, global, io, |catalog, clock, schema| {
        let store = xdscope_sources::store(offline::options(&source.timers), catalog, clock, schema);
        let facts = Analysis::new(store, analysis::rules(schema));
        GapSink { facts, gaps: slot.insert(DecodingGaps::new(schema)) }
    })?
    .map(|sink| sink.facts);
    source::say_dropped(&folded.facts, source, global, io);
    if folded.has_secrets {
        let error = CliError::usage(format!("{name} contains secrets, and a report is made to be passed on"));
        return Err(error.next(format!("xdscope redact {} --output redacted.xdsrec", shell_word(name))));
    }
    let mut notices = folded.notices;
    notices.extend(gaps.as_ref().and_then(DecodingGaps::text));
    let bytes = folded.size.map(|bytes| format!(", {}", size(bytes))).unwrap_or_default();
    let form = format!("{}{bytes}", folded.format.word());
    let (store, lint) = folded.facts.into_parts();
    let facts = PageSource { name, form: &form, notices: &notices, version: env!("CARGO_PKG_VERSION") };
    let picked = Picked::of(args.streams.pick().as_ref(), &store)?;
    let is_shown = |stream| picked.has(stream);
    let busy = Busy::start("writing the page", global, io);
    let text = page::write(facts, &store, lint.findings(), &folded.schema, &is_shown);
    drop(busy);
    match file {
        None => {
            io.stdout.write_all(text.as_bytes())?;
            io.flush()?;
        }
        Some(path) => output_file::save(path, args.force, &args.source.source, &text, io)?,
    }
    if !global.quiet {
        let problems = Selected::of(&store, lint.findings(), None, |stream, _| is_shown(stream)).problems;
        let to = file.map(|path| format!(" to {}", path.display())).unwrap_or_default();
        let count = report::problem_count(&problems);
        io.say(&display_safe(&format!("{count}; {} written{to}", size(text.len() as u64))));
    }
    Ok(Exit::Yes)
}
