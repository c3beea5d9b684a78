//! `export --to parquet`: session files as tables, a batch for each file.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use xdscope_engine::analysis::{self, Analysis};
use xdscope_fleet::{Batch, BatchError, BatchId, BatchOutcome, FinishedBatch};
use xdscope_present::text::shell_word;
use xdscope_sources::record::Header;
use xdscope_sources::{ReplayPosition, RowSink};
use xdscope_wire::text::{display_safe, plural, size};

use crate::cli::args::{ExportArgs, Global, SourceArgs};
use crate::cli::error::{CliError, Exit};
use crate::cli::source;
use crate::cli::source::{offline, schema_flags};
use crate::cli::terminal::io::Io;

/// Writes the session files of the sources. A file that cannot be written as a batch does not keep
/// the others from it.
pub(crate) fn run(args: &ExportArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let folder = check_flags(args)?;
    let mut files = Vec::new();
    for source in std::iter::once(&args.source.source).chain(&args.more) {
        files.extend(session_files(source, io)?);
    }
    let (mut written, mut present, mut rows, mut bytes) = (0_u64, 0_u64, 0, 0);
    let mut first_error = None;
    for file in &files {
        match export_file(args, file, folder, global, io) {
            Ok(batch) => {
                match batch.outcome {
                    BatchOutcome::Written => written += 1,
                    BatchOutcome::Present => present += 1,
                }
                rows += batch.rows;
                bytes += batch.bytes;
            }
            Err(error) if files.len() == 1 => return Err(error),
            Err(error) => {
                io.say(&format!("{}: {}", display_safe(&file.display().to_string()), error.summary()));
                first_error.get_or_insert(error.exit);
            }
        }
    }
    if !global.quiet {
        let known = if present > 0 { format!(", {present} there before") } else { String::new() };
        io.say(&display_safe(&format!(
            "{} written to {}{known}; {}, {}",
            plural(written, "session file"),
            folder.display(),
            plural(rows, "row"),
            size(bytes)
        )));
    }
    Ok(first_error.unwrap_or(Exit::Yes))
}

/// Refuses flags that select messages, and returns the folder.
fn check_flags(args: &ExportArgs) -> Result<&Path, CliError> {
    let source = shell_word(&args.source.source);
    let is_part = args.filter.is_some()
        || args.streams.pick().is_some()
        || args.from != ReplayPosition::Start
        || args.until != ReplayPosition::End;
    if is_part {
        let error = CliError::usage("--to parquet writes whole session files");
        return Err(error.next("the call without --filter, --node, --stream, --from and --until"));
    }
    if args.force {
        let error = CliError::usage("--force has no effect: --to parquet replaces no file");
        return Err(error.next("the call without --force"));
    }
    args.output.as_deref().ok_or_else(|| {
        let error = CliError::usage("--to parquet needs --output DIRECTORY");
        error.next(format!("xdscope export {source} --to parquet --output fleet"))
    })
}

/// Lists the recordings that a source stands for: a file, or those in a folder.
fn session_files(source: &str, io: &Io<'_>) -> Result<Vec<PathBuf>, CliError> {
    let path = offline::find(source, io)?;
    let files: BTreeSet<PathBuf> = xdscope_sources::files_of(&path).into_iter().collect();
    if files.is_empty() {
        let error = CliError::unreadable(format!("no recordings in {}", path.display()));
        return Err(error.next("a folder with files that end in .xdsrec"));
    }
    Ok(files.into_iter().collect())
}

fn header_of(path: &Path) -> Result<Header, CliError> {
    let name = path.display().to_string();
    let file = File::open(path)
        .map_err(|error| CliError::unreadable(format!("cannot read {name}")).because(error))?;
    let (header, _) = Header::read(&mut BufReader::new(file)).map_err(|error| {
        let error = CliError::unreadable(format!("{name} is not a recording")).because(error);
        error.next(format!("xdscope export {} --to xdsrec --output session.xdsrec", shell_word(&name)))
    })?;
    if header.keep_secrets {
        let error = CliError::usage(format!("{name} holds secrets, which tables do not"));
        return Err(error.next(format!("xdscope redact {} --output clean.xdsrec", shell_word(&name))));
    }
    Ok(header)
}

/// Writes the batch of one session file.
fn export_file(
    args: &ExportArgs,
    path: &Path,
    folder: &Path,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<FinishedBatch, CliError> {
    let header = header_of(path)?;
    let id = BatchId::new(
        args.tap.as_deref().unwrap_or(&header.source),
        (header.seed, header.clock),
        header.created,
    );
    let schema = schema_flags::schema(&args.source.descriptors, global)?;
    let failed = |error| failure(error, path);
    let batch = Batch::create(folder, &id, header.clock, &schema).map_err(failed)?;
    let writing = RefCell::new((batch, Ok(())));
    let show = |facts: &Analysis, rows| {
        let (batch, result) = &mut *writing.borrow_mut();
        if result.is_ok() {
            *result = batch.put_rows(facts.store(), rows);
        }
    };
    let source = SourceArgs { source: path.display().to_string(), ..args.source.clone() };
    let folded = source::fold(&source, global, io, |catalog, clock, schema| {
        let facts = source::analysis_of(&source, analysis::rules(schema), (catalog, clock), schema);
        RowSink::new(facts, show)
    })?;
    let facts = folded.facts.finish();
    source::say_dropped(&facts, &source, global, io);
    let (batch, result) = writing.into_inner();
    result.and_then(|()| batch.finish(&facts)).map_err(failed)
}

/// Says what to do about a batch that cannot be written.
fn failure(error: BatchError, session: &Path) -> CliError {
    match error {
        BatchError::Differs { path } => CliError::unreadable(format!(
            "{} was written with other rows: the session has grown since, or flags or xdscope are others",
            path.display()
        ))
        .next("--output OTHER-DIRECTORY, or remove the files of the batch"),
        BatchError::Undated => {
            let name = session.display();
            CliError::unreadable(format!("{name} has no dates, which tables need"))
                .next("a recording of a run")
        }
        error @ BatchError::File { .. } => {
            CliError::unreadable("the batch is not complete, and queries do not read it").because(error)
        }
    }
}
