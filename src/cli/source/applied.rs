//! `--applied FILE`: what a client has applied, to compare with what it was sent.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use xdscope_engine::applied::{self, AppliedState, DumpError};
use xdscope_present::applied::dump_notice;
use xdscope_present::text::shell_word;
use xdscope_schema::Schema;

use crate::cli::error::CliError;

/// Size limit of a dump in bytes.
pub(crate) const MAX_DUMP_BYTES: u64 = 1 << 30;

/// Reads a config dump or CSDS response.
///
/// # Errors
/// The file cannot be read, is cut, or is not a dump.
pub(crate) fn open(path: &Path, schema: &Arc<Schema>) -> Result<AppliedState, CliError> {
    let failed = || CliError::unreadable(format!("cannot read --applied {}", path.display()));
    let size = std::fs::metadata(path).map_err(|error| failed().because(error))?.len();
    if size > MAX_DUMP_BYTES {
        return Err(
            failed().because(format!("{} is more than the limit of 1 GiB", xdscope_wire::text::size(size)))
        );
    }
    let content = std::fs::read(path).map_err(|error| failed().because(error))?;
    let dump = applied::read(&path.to_string_lossy(), &content, schema).map_err(|error| {
        let next = "curl -s http://ADMIN/config_dump?include_eds > config_dump.json";
        let syntax = matches!(error, DumpError::Syntax(_));
        let error = failed().because(error).next(next);
        if syntax {
            error
        } else {
            error.next(format!("xdscope diff SOURCE {}", shell_word(&path.to_string_lossy())))
        }
    })?;
    if dump.clients.is_empty() {
        return Err(failed().because("a CSDS response without a client"));
    }
    Ok(AppliedState::new(dump, schema.clone()))
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
    schema: &Arc<Schema>,
) -> Result<Option<std::rc::Rc<crate::app::applied::AppliedFile>>, CliError> {
    use crate::app::applied::AppliedFile;
    let Some(path) = path else { return Ok(None) };
    let beside = open(path, schema)?;
    Ok(Some(AppliedFile::new(path.to_owned(), beside, schema.clone()).into()))
}
