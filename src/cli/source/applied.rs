//! `--applied FILE`, or an admin port: what a client has applied, to compare with what it was sent.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use crate::app::applied::{self, AppliedFile, ReadError};
use crate::app::live_copy::LiveCopy;
use xdscope_engine::applied::{AppliedState, DumpError, DumpOrigin};
use xdscope_present::applied::dump_notice;
use xdscope_present::text::shell_word;
use xdscope_schema::Schema;

use crate::cli::error::CliError;
use crate::cli::terminal::io::Io;

use super::prefixes;

/// Reads a config dump or CSDS response, which may take `memory` bytes as a whole.
///
/// # Errors
/// The file cannot be read, needs more memory, is cut, or is not a dump.
pub(crate) fn open(
    path: &Path,
    memory: usize,
    schema: &Arc<Schema>,
    io: &Io<'_>,
) -> Result<AppliedState, CliError> {
    let state = applied::read(&file_of(path, io), memory, schema).map_err(|error| refused(path, error))?;
    check(path, &state)?;
    Ok(state)
}

/// Returns the file of `--applied`: the one that is named, or the copy of an admin port.
fn file_of(path: &Path, io: &Io<'_>) -> PathBuf {
    let copy = path.to_str().and_then(|name| io.copy_of(name));
    copy.map_or_else(|| path.to_owned(), |copy| copy.path.clone())
}

fn failed(path: &Path) -> CliError {
    CliError::unreadable(format!("cannot read --applied {}", path.display()))
}

fn refused(path: &Path, error: ReadError) -> CliError {
    let error = match error {
        ReadError::File(error) => return error.into(),
        ReadError::Dump(error) => error,
    };
    if path.to_str().is_some_and(prefixes::is_port) {
        return failed(path).because(error).next("the address of an Envoy's admin port");
    }
    let is_syntax = matches!(error, DumpError::Syntax(_));
    let next = "curl -s http://ADMIN/config_dump?include_eds > config_dump.json";
    let error = failed(path).because(error).next(next);
    if is_syntax {
        return error;
    }
    error.next(format!("xdscope diff SOURCE {}", shell_word(&path.to_string_lossy())))
}

fn check(path: &Path, state: &AppliedState) -> Result<(), CliError> {
    let why = match state.dump.origin {
        DumpOrigin::ConfigDump | DumpOrigin::Csds => "",
        DumpOrigin::Syncz => "istiod says what proxies have acknowledged, and not what they use",
        DumpOrigin::Ztunnel => "a ztunnel shows its resources in a form of its own, without versions",
    };
    if !why.is_empty() {
        return Err(failed(path).because(why).next("envoy:HOST:PORT, csds:HOST:PORT, or a config dump"));
    }
    if state.dump.clients.is_empty() {
        return Err(failed(path).because("a CSDS response without a client"));
    }
    Ok(())
}

/// Lists what could not be read, and clients that the source does not have.
pub(crate) fn notices(path: &Path, beside: &AppliedState, nodes: &HashSet<&str>) -> Vec<String> {
    let name = path.display();
    let notices = beside.dump.notices.iter().map(dump_notice);
    let mut out: Vec<String> = notices.map(|notice| format!("{name}: {notice}")).collect();
    let of = beside.nodes();
    if !of.is_empty() && !of.iter().any(|node| nodes.contains(node)) {
        out.push(format!("{name} is of {}: no stream of this source has that node", of.join(", ")));
    }
    if of.is_empty() && nodes.len() > 1 {
        out.push(format!(
            "{name} does not say of which node it is (a dump without its bootstrap): held against each"
        ));
    }
    out
}

/// Opens the file for screens, which read it again when it changes.
pub(crate) fn file(
    path: Option<&Path>,
    memory: usize,
    schema: &Arc<Schema>,
    io: &Io<'_>,
) -> Result<Option<Rc<AppliedFile>>, CliError> {
    let Some(path) = path else { return Ok(None) };
    let trouble = path.to_str().and_then(|name| io.copy_of(name)).map(LiveCopy::trouble);
    let name = path.display().to_string();
    let file = AppliedFile::open(name, file_of(path, io), memory, schema.clone(), trouble);
    let file = file.map_err(|error| refused(path, error))?;
    check(path, &file.beside())?;
    Ok(Some(file.into()))
}
