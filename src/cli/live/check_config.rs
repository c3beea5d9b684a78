//! `tap --check-config`: the run that the flags and the files that they name would begin.

use std::io::Write as _;
use std::path::Path;

use jiff::Timestamp;

use xdscope_engine::filter::RowKind;
use xdscope_present::text::shell_word;

use crate::app::recording::recording_file::{self, Replaces};
use crate::cli::args::{Global, TapArgs};
use crate::cli::error::{CliError, Exit};
use crate::cli::source::{prefixes, schema_flags, select};
use crate::cli::terminal::io::Io;
use crate::net::tap::Tls;
use crate::net::transport::Address;

use super::service;

/// Checks what only a run would read, and prints what the run would do. Nothing is listened on
/// or written, and no server is asked but that of `--reflection`.
///
/// # Errors
/// Descriptors cannot be loaded, or an address or a folder cannot be used.
pub(super) fn run(
    args: &TapArgs,
    maps: &[(Address, Address)],
    tls: &Tls,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<Exit, CliError> {
    let live = &args.live;
    schema_flags::schema(&live.descriptors, global)?;
    let metrics = service::address(&live.service)?;
    let viewers = service::viewers(live)?;
    select::filter(live.filter.as_deref(), RowKind::Messages, &io.zone)?;
    let mut lines = Vec::new();
    if let Some(file) = &live.service.config {
        lines.push(("config", file.display().to_string()));
    }
    for (listen, upstream) in maps {
        lines.push(("tap", format!("{listen} → {upstream}")));
    }
    if let Some(server) = &tls.listen {
        lines.push(("clients", of_certificate(server.certificate().map(|own| own.not_after))));
    }
    if let Some(path) =
        live.applied.as_ref().filter(|path| !path.exists() && !prefixes::is_port(&path.to_string_lossy()))
    {
        return Err(
            CliError::unreadable(format!("--applied: no file {}", path.display())).next("--applied FILE")
        );
    }
    if tls.upstream.is_some() {
        lines.push(("server", "TLS".to_owned()));
    }
    if let Some(address) = metrics {
        lines.push(("metrics", address.to_string()));
    }
    if let Some((address, access)) = viewers {
        let tls = if access.tls.is_some() { ", TLS" } else { "" };
        let token = if access.token.is_some() { ", with a token" } else { "" };
        lines.push(("viewers", format!("{address}{tls}{token}")));
    }
    let record = match &live.record {
        _ if live.no_record => "nothing".to_owned(),
        Some(path) if recording_file::is_folder(path) => format!("{}, a file for each run", path.display()),
        Some(path) => {
            check_file(path, live.force)?;
            path.display().to_string()
        }
        None => io.state_dir().map_or("nothing: no home".to_owned(), |dir| dir.display().to_string()),
    };
    lines.push(("records", record));
    for (what, text) in lines {
        writeln!(io.stdout, "{what:<9} {}", xdscope_wire::text::display_safe(&text))?;
    }
    if !global.quiet {
        io.flush()?;
        io.say("the configuration can be used");
    }
    Ok(Exit::Yes)
}

/// The words for TLS on the side of clients, with the end of the certificate.
fn of_certificate(not_after: Option<i64>) -> String {
    match not_after.and_then(|end| Timestamp::from_second(end).ok()) {
        Some(end) => format!("TLS, certificate until {end}"),
        None => "TLS".to_owned(),
    }
}

/// Checks that a run can write the file of a recording, as the run would: a file that exists keeps
/// its content, and none is created.
fn check_file(path: &Path, force: bool) -> Result<(), CliError> {
    if path.exists() {
        let replaces = if force { Replaces::Recordings } else { Replaces::Nothing };
        return match recording_file::claim(path, replaces) {
            Ok(_) => Ok(()),
            Err(error) => Err(CliError::unreadable(format!("--record: cannot write {}", path.display()))
                .because(error)
                .next("--record OTHER-FILE, or --force for a recording")),
        };
    }
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if folder.is_dir() {
        return Ok(());
    }
    Err(CliError::unreadable(format!("--record: no folder {}", folder.display()))
        .next(format!("mkdir -p {}", shell_word(&folder.display().to_string()))))
}
