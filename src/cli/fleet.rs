//! `fleet`: questions about the tables of many taps.

use std::path::Path;
use std::process::{Command, Stdio};

use xdscope_fleet::{MANIFESTS, NamedQuery, queries};
use xdscope_present::text::shell_word;
use xdscope_wire::text::display_safe;

use super::args::{FleetArgs, Format, Global};
use super::error::{CliError, Exit};
use crate::cli::command::suggest;
use crate::cli::terminal::io::Io;

/// The program that runs queries.
const DUCKDB: &str = "duckdb";

pub(super) fn run(args: &FleetArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let Some(name) = &args.query else {
        io.stdout.write_all(xdscope_fleet::listed().as_bytes())?;
        return Ok(Exit::Yes);
    };
    let query = queries().iter().find(|query| query.name == name).ok_or_else(|| unknown(name))?;
    let sql = query.sql(&args.dir, &args.conditions).map_err(|error| wrong_condition(query, &error))?;
    if !args.run {
        io.stdout.write_all(sql.as_bytes())?;
        return Ok(Exit::Yes);
    }
    check_folder(&args.dir)?;
    let rows = rows_of(&sql, args.format)?;
    if rows.trim().is_empty() && !global.quiet {
        io.say("no row matches");
    }
    // Names and versions are those of peers.
    for line in rows.lines() {
        writeln!(io.stdout, "{}", display_safe(line))?;
    }
    Ok(Exit::Yes)
}

fn unknown(name: &str) -> CliError {
    let near = suggest::near(name, queries().iter().map(|query| query.name));
    let next = near.into_iter().map(|query| format!("xdscope fleet {query}"));
    let error = CliError { next: next.collect(), ..CliError::usage(format!("unknown query `{name}`")) };
    error.next("xdscope fleet   lists the queries")
}

fn wrong_condition(query: &NamedQuery, error: &xdscope_fleet::QueryError) -> CliError {
    let key = query.keys().next().unwrap_or("node");
    CliError::usage(format!("--where: {error}")).next(format!("xdscope fleet {} --where {key}=…", query.name))
}

/// Refuses a folder without batches, of which DuckDB would say that no files match.
fn check_folder(dir: &str) -> Result<(), CliError> {
    if dir.contains("://") || Path::new(dir).join(MANIFESTS).is_dir() {
        return Ok(());
    }
    let error = CliError::unreadable(format!("no batches in {dir}"));
    Err(error.next(format!("xdscope export SESSION.xdsrec --to parquet --output {}", shell_word(dir))))
}

/// Runs the SQL with the user's DuckDB, without a shell, and returns what DuckDB prints.
fn rows_of(sql: &str, format: Format) -> Result<String, CliError> {
    let form = match format {
        Format::Json => "-json",
        Format::Md => "-markdown",
        _ => "-box",
    };
    let mut command = Command::new(DUCKDB);
    command.args(["-no-init", form, "-c", sql]).stdin(Stdio::null());
    let output = command.output().map_err(|error| {
        let error = CliError::unreadable(format!("cannot run {DUCKDB}")).because(error);
        error.next("https://duckdb.org/install   or the call without --run, which prints the SQL")
    })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if !output.status.success() {
        let mut error = CliError::unreadable(format!("{DUCKDB} failed: {}", output.status));
        error.shown = text(&output.stderr).lines().map(|line| display_safe(line).into_owned()).collect();
        return Err(error);
    }
    Ok(text(&output.stdout))
}
