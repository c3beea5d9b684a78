//! `--fault` of `tap`.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use crate::app::process::open;
use crate::cli::args::{FaultFlags, Global, ServeArgs};
use crate::cli::error::CliError;
use crate::cli::source::{offline, select};
use crate::cli::terminal::io::Io;
use crate::net::transport::Address;
use xdscope_schema::Schema;
use xdscope_sources::peers::intercept::FaultSet;
use xdscope_sources::{SourceFormat, script};

/// Longest file of faults, in bytes.
pub(crate) const MAX_FILE_BYTES: u64 = 1 << 20;

/// A fault and where it was written.
pub(crate) struct Written {
    text: String,
    place: String,
}

/// Returns the faults of flags, files and a script; `None` if there are none.
///
/// # Errors
///
/// A fault cannot be read, or the run must not be armed.
pub(crate) fn read<'a>(
    flags: &FaultFlags,
    of_script: Vec<Written>,
    is_read_only: bool,
    mut listen: impl Iterator<Item = &'a Address>,
) -> Result<Option<FaultSet>, CliError> {
    let mut faults = of_script;
    for text in &flags.fault {
        match text.strip_prefix('@') {
            Some(file) => faults.extend(of_file(Path::new(file))?),
            None => faults.push(Written { text: text.clone(), place: format!("--fault `{text}`") }),
        }
    }
    if faults.is_empty() && flags.fault_plan.is_none() {
        return Ok(None);
    }
    if is_read_only {
        let place = match faults.first() {
            None => "--fault-plan",
            Some(_) if !flags.fault.is_empty() => "--fault",
            // A script states it.
            Some(fault) => &fault.place,
        };
        let error = CliError::usage(format!("{place} changes traffic, which --read-only forbids"));
        return Err(error.next("omit one of the two"));
    }
    if let Some(open) = listen.find(|listen| !listen.is_local())
        && !flags.i_know
    {
        let what = format!("{open} is reachable from other machines, whose traffic --fault would change");
        return Err(CliError::usage(what).next("--listen 127.0.0.1:18001, or --i-know"));
    }
    let texts = faults.iter().map(|fault| fault.text.as_str());
    let mut set = FaultSet::parse(texts, flags.fault_seed).map_err(|(i, error)| {
        let place = faults.get(i).map_or("", |fault| &fault.place);
        CliError::usage(format!("{place}: {error}")).next("xdscope help faults")
    })?;
    if let Some(file) = &flags.fault_plan {
        let text = read_text(file)?;
        set.add_plan(&text).map_err(|error| {
            CliError::usage(format!("--fault-plan {}, {error}", file.display())).next("xdscope help faults")
        })?;
    }
    Ok(Some(set))
}

/// Returns the faults of `serve`, those of its script included.
///
/// # Errors
///
/// A fault cannot be read, or the run must not be armed.
pub(crate) fn of_serve(
    args: &ServeArgs,
    listen: &Address,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<Option<FaultSet>, CliError> {
    let of_script = of_script(&args.source, io)?;
    let faults = read(&args.faults, of_script, args.live.read_only, [listen].into_iter())?;
    say_unknown(faults.as_ref(), global, io);
    Ok(faults)
}

/// Refuses values that no type of a fault can have.
///
/// # Errors
///
/// A value does not fit.
pub(crate) fn check_values(faults: &FaultSet, schema: &Schema) -> Result<(), CliError> {
    faults
        .check_values(schema)
        .map_err(|(fault, error)| CliError::usage(format!("{fault}: {error}")).next("xdscope help faults"))
}

/// Says which types of faults are not built in.
pub(crate) fn say_unknown(faults: Option<&FaultSet>, global: &Global, io: &mut Io<'_>) {
    let filters = faults.into_iter().flat_map(FaultSet::filters);
    filters.for_each(|filter| select::say_unknown_types(filter, global.quiet, io));
}

/// Returns the faults that an arrow script states; none for another source.
fn of_script(source: &str, io: &Io<'_>) -> Result<Vec<Written>, CliError> {
    if source == "-" {
        return Ok(Vec::new());
    }
    Ok(of_script_file(&offline::find(source, io)?, source))
}

/// Returns the faults that a file states if it is an arrow script.
pub(crate) fn of_script_file(path: &Path, source: &str) -> Vec<Written> {
    if !path.is_file() || xdscope_sources::format_of(path) != Some(SourceFormat::Script) {
        return Vec::new();
    }
    // Reading the source says what is wrong with the script.
    let Some(script) = read_text(path).ok().and_then(|text| script::parse(&text, source).ok()) else {
        return Vec::new();
    };
    let faults = script
        .faults()
        .map(|(line, text)| Written { text: text.to_owned(), place: format!("{source}:{line}") });
    faults.collect()
}

/// Reads a file with faults.
fn read_text(file: &Path) -> Result<String, CliError> {
    let failed = || CliError::unreadable(format!("cannot read the faults in {}", file.display()));
    let read = File::open(file).and_then(|file| open::read_text(file, MAX_FILE_BYTES));
    read.map_err(|error| match error.kind() {
        ErrorKind::FileTooLarge => failed().because(error).next("at most 1 MB"),
        _ => failed().because(error),
    })
}

/// Reads a file of faults: one a line, with empty lines and comments after `#`.
fn of_file(file: &Path) -> Result<Vec<Written>, CliError> {
    let text = read_text(file)?;
    let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let written = |(number, line): (usize, &str)| Written {
        text: line.to_owned(),
        place: format!("--fault {}:{number}", file.display()),
    };
    let faults: Vec<Written> = lines.map(written).collect();
    if faults.is_empty() {
        return Err(CliError::usage(format!("--fault @{}: the file has no fault", file.display()))
            .next("xdscope help faults"));
    }
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::args::{Cli, Verb};

    fn faults(args: &[&str]) -> Result<Option<FaultSet>, CliError> {
        let args = [&["xdscope", "tap", "cp.mesh:15010"], args].concat();
        let cli = Cli::try_parse_from(args).expect("arguments");
        let Some(Verb::Tap(args)) = cli.verb else { panic!("a tap") };
        let listen = args.listen.parse().expect("an address");
        read(&args.faults, Vec::new(), args.live.read_only, [&listen].into_iter())
    }

    #[test]
    fn reads_faults_of_flags_and_files() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("faults.txt");
        std::fs::write(&file, "# two faults\n\ntype:cds => drop\n  kind:nack => delay 1s\n").unwrap();
        let flag = format!("@{}", file.display());
        let set = faults(&["--fault", "=> reset times=1", "--fault", &flag]).unwrap().unwrap();
        assert_eq!(set.len(), 3);
        assert!(faults(&[]).unwrap().is_none());
        std::fs::write(&file, "type:cds => drop\ntype:cds => explode\n").unwrap();
        let error = faults(&["--fault", &flag]).unwrap_err().message;
        assert!(error.contains("faults.txt:2: unknown action `explode`"), "{error}");
        std::fs::write(&file, "# nothing yet\n").unwrap();
        let error = faults(&["--fault", &flag]).unwrap_err().message;
        assert!(error.ends_with("faults.txt: the file has no fault"), "{error}");
    }

    #[test]
    fn refuses_values_that_no_type_can_have() {
        let error = |text: &str| {
            let faults = faults(&["--fault", text]).unwrap().unwrap();
            check_values(&faults, &Schema::builtin()).err().map(|error| error.message)
        };
        let message = error("type:cds => set connect_timeout=abc").unwrap();
        assert!(message.starts_with("fault 1: type:cds => set connect_timeout=abc: CDS cannot"), "{message}");
        assert_eq!(error("type:cds => set connect_timeout=3s"), None);
    }

    #[test]
    fn refuses_faults_that_are_not_meant() {
        let error = faults(&["--fault", "=> drop", "--read-only"]).unwrap_err();
        assert_eq!(error.message, "--fault changes traffic, which --read-only forbids");
        let open = ["--fault", "=> drop", "--listen", "0.0.0.0:18001"];
        assert!(faults(&open).unwrap_err().message.starts_with("0.0.0.0:18001 is reachable"));
        assert!(faults(&[&open[..], &["--i-know"]].concat()).unwrap().is_some());
    }
}
