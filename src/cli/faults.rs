//! `--fault` of `tap`.

use std::path::Path;

use super::args::TapArgs;
use super::error::CliError;
use crate::net::tap::Address;
use crate::peers::intercept::FaultSet;

/// Longest file of faults, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// A fault and where it was written.
struct Written {
    text: String,
    place: String,
}

/// Returns the faults of a tap; `None` if there are none.
///
/// # Errors
///
/// A fault cannot be read, or the tap must not be armed.
pub(super) fn of_tap(args: &TapArgs, maps: &[(Address, Address)]) -> Result<Option<FaultSet>, CliError> {
    let mut faults = Vec::new();
    for text in &args.faults.fault {
        match text.strip_prefix('@') {
            Some(file) => faults.extend(of_file(Path::new(file))?),
            None => faults.push(Written { text: text.clone(), place: format!("`{text}`") }),
        }
    }
    if faults.is_empty() {
        return Ok(None);
    }
    if args.live.read_only {
        return Err(
            CliError::usage("--fault changes traffic, which --read-only forbids").next("omit one of the two")
        );
    }
    let open = maps.iter().map(|(listen, _)| listen).find(|listen| !listen.is_local());
    if let Some(listen) = open.filter(|_| !args.faults.i_know) {
        let what = format!("{listen} is reachable from other machines, whose traffic --fault would change");
        return Err(CliError::usage(what).next("--listen 127.0.0.1:18001, or --i-know"));
    }
    let texts = faults.iter().map(|fault| fault.text.as_str());
    let set = FaultSet::parse(texts, args.faults.fault_seed).map_err(|(i, error)| {
        let place = faults.get(i).map_or("", |fault| &fault.place);
        CliError::usage(format!("--fault {place}: {error}")).next("xdscope help faults")
    })?;
    Ok(Some(set))
}

/// Reads a file of faults: one a line, with empty lines and comments after `#`.
fn of_file(file: &Path) -> Result<Vec<Written>, CliError> {
    let failed = || CliError::unreadable(format!("cannot read the faults in {}", file.display()));
    let size = std::fs::metadata(file).map_err(|error| failed().because(error))?.len();
    if size > MAX_FILE_BYTES {
        return Err(failed().next("at most 1 MB"));
    }
    let text = std::fs::read_to_string(file).map_err(|error| failed().because(error))?;
    let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let written = |(number, line): (usize, &str)| Written {
        text: line.to_owned(),
        place: format!("{}:{number}", file.display()),
    };
    Ok(lines.map(written).collect())
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
        of_tap(&args, &[(listen, Address::Tcp("cp.mesh:15010".into()))])
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
