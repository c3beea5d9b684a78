//! `check`: checks a control plane as a client, or a client as a control plane.

mod print;

use std::collections::BTreeSet;

use xdscope_wire::event::Variant;

use super::args::{CheckArgs, CheckVariant, ClientFlags, Global, SourceArgs, TimerFlags};
use super::error::{CliError, Exit};
use super::peer::client::{ClientSetup, broken};
use super::peer::connect;
use super::source::{offline, schema_flags, target};
use super::terminal::io::Io;
use crate::app::check::client::{ClientCheck, ClientCheckOptions};
use crate::app::check::rows::{SERVER_ROWS, VARIANTS};
use crate::app::check::server::{Checked, ServerCheck};
use crate::app::check::{CLIENT_ROWS, ChangeCommand, CheckOutcome, CheckTimes, RowResult};
use crate::app::client::Options;
use crate::app::process::signals;
use crate::app::tap::DRAIN_TIME;
use crate::cli::command::suggest;
use crate::cli::terminal::diagnostics;
use crate::net::own_secrets::OwnSecrets;
use crate::net::transport::Address;
use print::CheckPrinter;

/// Timeouts of the client of a check, which `--timeout` limits further.
const CONNECT_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);

/// The largest response that is read, in bytes.
const MAX_MESSAGE_BYTES: u64 = 512_000_000;

pub(super) fn run(args: &CheckArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let is_client = args.listen.is_some();
    args.row.iter().try_for_each(|id| known(id, is_client, args.list_rows))?;
    if args.list_rows {
        print::list(args, global, io)?;
        return Ok(Exit::Yes);
    }
    let _signals = signals::watch(false, DRAIN_TIME)
        .map_err(|error| CliError::new(Exit::Defect, "cannot handle signals").because(error))?;
    let results = match &args.listen {
        Some(listen) => of_client(listen, args, global, io)?,
        None => of_server(args, global, io)?,
    };
    Ok(exit_of(&results))
}

/// Returns the exit code of a check that has ended.
fn exit_of(results: &[RowResult]) -> Exit {
    if signals::is_interrupted() {
        return Exit::Interrupted;
    }
    let has = |outcome: CheckOutcome| results.iter().any(|result| result.outcome == outcome);
    match has(CheckOutcome::Failed) || has(CheckOutcome::Unanswered) {
        true => Exit::No,
        false if has(CheckOutcome::Passed) => Exit::Yes,
        false => Exit::Never,
    }
}

/// Refuses ids that no row has.
fn known(id: &str, is_client: bool, is_list: bool) -> Result<(), CliError> {
    let of_server = SERVER_ROWS.iter().map(|row| row.id);
    let of_client = CLIENT_ROWS.iter().map(|row| row.id);
    let ids: Vec<&str> = match (is_list, is_client) {
        (true, _) => of_server.chain(of_client).collect(),
        (false, true) => of_client.collect(),
        (false, false) => of_server.collect(),
    };
    if ids.contains(&id) {
        return Ok(());
    }
    let error = CliError::usage(format!("unknown row `{id}`"));
    let near = suggest::near(id, ids);
    let next = near.first().map(|near| format!("--row {near}"));
    Err(error.next(next.unwrap_or_else(|| "xdscope check --list-rows".to_owned())))
}

fn times(args: &CheckArgs) -> CheckTimes {
    CheckTimes { answer: args.timeout, settle: args.settle }
}

fn timers(args: &CheckArgs) -> TimerFlags {
    TimerFlags { resource_timeout: args.timeout, stale_after: args.timeout, memory: MAX_MESSAGE_BYTES }
}

fn of_server(args: &CheckArgs, global: &Global, io: &mut Io<'_>) -> Result<Vec<RowResult>, CliError> {
    let schema = match &args.server {
        Some(server) => schema_flags::schema_of_server(&args.descriptors, server, global, io)?,
        None => schema_flags::schema(&args.descriptors, global)?,
    };
    schema.warm();
    let what = target::join_names(&args.what);
    let connect = &args.descriptors.connect;
    let secrets = OwnSecrets::new(&connect.headers_now()?);
    let mut printer = CheckPrinter::new("server", args.format, secrets);
    let chosen: BTreeSet<usize> = args
        .variant
        .iter()
        .filter_map(|word| VARIANTS.iter().position(|variant| *variant == Variant::from(*word)))
        .collect();
    let variants = match chosen.is_empty() {
        true => VARIANTS.to_vec(),
        false => chosen.into_iter().map(|at| VARIANTS[at]).collect(),
    };
    let mut is_first = true;
    let checked = {
        let (mut errors, mut said) = (Vec::new(), None);
        let printer = &mut printer;
        let io_cell = std::cell::RefCell::new(&mut *io);
        let mut client = |variant: Variant| -> Result<Options, CliError> {
            let flags = client_flags(args, variant);
            let quiet = global.quiet || !std::mem::replace(&mut is_first, false);
            let setup = ClientSetup {
                server: args.server.as_deref(),
                targets: &what,
                flags: &flags,
                connect,
                schema: schema.clone(),
                quiet,
            };
            setup.options(offline::options(&timers(args)), &mut io_cell.borrow_mut())
        };
        let mut check = ServerCheck {
            client: &mut client,
            variants,
            rows: args.row.clone(),
            times: times(args),
            change: args.change.clone().map(ChangeCommand),
        };
        let checked = check.run(&mut |result| {
            let io = &mut **io_cell.borrow_mut();
            if said != result.variant && !global.quiet && io.stderr_is_terminal {
                io.say(&format!("checking {}", result.variant.unwrap_or_default()));
            }
            said = result.variant;
            errors.extend(printer.put(result, io).err());
        })?;
        match errors.into_iter().next() {
            Some(error) => return Err(error),
            None => checked,
        }
    };
    if let Checked::Unreachable(progress) = checked {
        let server = args.server.clone().unwrap_or_default();
        return Err(broken(&progress, &as_source(args, &server)));
    }
    printer.finish(global, io)
}

/// Returns the flags of a client of this variant.
fn client_flags(args: &CheckArgs, variant: Variant) -> ClientFlags {
    ClientFlags {
        variant: Some(CheckVariant::client_word(variant)),
        bootstrap: args.bootstrap.clone(),
        node_file: args.node_file.clone(),
        node_id: args.node_id.clone(),
        node_cluster: args.node_cluster.clone(),
        node_metadata: args.node_metadata.clone(),
        connect_timeout: CONNECT_TIMEOUT,
        keepalive_timeout: CONNECT_TIMEOUT,
        max_message_size: MAX_MESSAGE_BYTES,
        ..ClientFlags::default()
    }
}

/// Returns the server as a source, for the words of a connection error.
fn as_source(args: &CheckArgs, server: &str) -> SourceArgs {
    SourceArgs {
        source: server.to_owned(),
        ask: Vec::new(),
        accept_broken: false,
        timeout: None,
        client: client_flags(args, Variant::Ads),
        keep_secrets: false,
        timers: timers(args),
        descriptors: args.descriptors.clone(),
    }
}

fn of_client(
    listen: &str,
    args: &CheckArgs,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<Vec<RowResult>, CliError> {
    let listen = Address::listen(listen)
        .map_err(|error| CliError::usage(error.to_string()).next("xdscope check --client 127.0.0.1:18000"))?;
    let schema = schema_flags::schema(&args.descriptors, global)?;
    schema.warm();
    let secrets = OwnSecrets::new(&[]);
    let mut printer = CheckPrinter::new("client", args.format, secrets);
    diagnostics::detach_stderr();
    let options = ClientCheckOptions {
        listen,
        tls: connect::listen(&args.secure)?,
        times: times(args),
        connect: args.connect_within,
        schema,
        store: offline::options(&timers(args)),
        rows: args.row.clone(),
    };
    let mut check = ClientCheck::start(options)?;
    if !global.quiet {
        io.say(&format!("waiting for a client on {}", check.listening()));
    }
    let address = check.listening().to_string();
    let mut errors = Vec::new();
    let is_connected = check.run(&mut |result| errors.extend(printer.put(result, io).err()));
    if let Some(error) = errors.into_iter().next() {
        return Err(error);
    }
    if !is_connected && !signals::is_interrupted() {
        let text = format!("no client has connected to {address} within {:?}", args.connect_within);
        return Err(CliError::new(Exit::Connection, text).next("--connect-within TIME"));
    }
    printer.finish(global, io)
}
