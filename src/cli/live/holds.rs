//! `--intercept` of `tap`.

use std::sync::Arc;

use crate::cli::args::TapArgs;
use crate::cli::error::CliError;
use crate::net::tap::HoldDesk;
use crate::net::transport::Address;
use xdscope_engine::hold::HoldCommand;
use xdscope_sources::peers::intercept::HoldOptions;

/// One part in this many of `--memory` is for held messages; beyond, the oldest is released.
const MEMORY_DIVISOR: usize = 8;

/// The access to held messages of a run.
pub(crate) struct HoldAccess {
    /// The messages that are held; `None`: nobody can hold any.
    pub desk: Option<Arc<HoldDesk>>,
    /// Why nobody can, for the screen.
    pub refusal: Option<String>,
}

/// Returns who may hold messages of a tap.
///
/// # Errors
///
/// `--intercept` cannot be read, or messages must not be held.
pub(crate) fn of_tap(
    args: &TapArgs,
    maps: &[(Address, Address)],
    has_screens: bool,
    memory: usize,
) -> Result<HoldAccess, CliError> {
    let wanted = args.hold.intercept.as_deref();
    let open = maps.iter().map(|(listen, _)| listen).find(|listen| !listen.is_local());
    let refusal = if args.live.read_only {
        let error = "--intercept changes traffic, which --read-only forbids";
        Some((error.to_owned(), "omit one of the two", "--read-only forbids to hold messages".to_owned()))
    } else if let Some(listen) = open
        && !args.faults.i_know
    {
        let why = format!("{listen} is reachable from other machines, whose traffic would be held");
        Some((why.clone(), "--listen 127.0.0.1:18001, or --i-know", format!("{why}: start with --i-know")))
    } else if !has_screens {
        let error = "--intercept holds messages for a person at the screens, and there are none";
        Some((error.to_owned(), "xdscope tap --fault 'EXPR => hold 5s'", String::new()))
    } else {
        None
    };
    match (refusal, wanted) {
        (Some((error, next, _)), Some(_)) => Err(CliError::usage(error).next(next)),
        (Some((_, _, refusal)), None) => Ok(HoldAccess { desk: None, refusal: Some(refusal) }),
        (None, wanted) => {
            let desk = new_desk(args.hold.hold_timeout, memory);
            if let Some(text) = wanted {
                if text.trim().is_empty() {
                    let error = CliError::usage("--intercept: the expression is empty");
                    return Err(error.next("--intercept 'dir:req | dir:resp', for all messages"));
                }
                let armed = desk.command(HoldCommand::Arm(text.to_owned()));
                armed.map_err(|error| {
                    CliError::usage(format!("--intercept `{text}`: {error}")).next("xdscope help filter")
                })?;
            }
            Ok(HoldAccess { desk: Some(desk), refusal: None })
        }
    }
}

/// Creates a desk whose messages are part of `memory`.
pub(crate) fn new_desk(timeout: std::time::Duration, memory: usize) -> Arc<HoldDesk> {
    HoldDesk::new(HoldOptions { timeout, max_bytes: memory / MEMORY_DIVISOR, ..HoldOptions::default() })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::args::{Cli, Verb};

    fn desk(args: &[&str], has_screens: bool) -> Result<HoldAccess, CliError> {
        let args = [&["xdscope", "tap", "cp.mesh:15010"], args].concat();
        let cli = Cli::try_parse_from(args).expect("arguments");
        let Some(Verb::Tap(args)) = cli.verb else { panic!("a tap") };
        let listen = args.listen.parse().expect("an address");
        of_tap(&args, &[(listen, Address::Tcp("cp.mesh:15010".into()))], has_screens, 1 << 20)
    }

    fn refusal(args: &[&str], has_screens: bool) -> String {
        desk(args, has_screens).err().expect("refused").message
    }

    #[test]
    fn arms_the_desk_of_the_screens() {
        let idle = desk(&[], true).expect("a desk").desk.expect("a desk");
        assert!(!idle.is_armed());
        let armed = desk(&["--intercept", "type:cds", "--hold-timeout", "5s"], true).expect("a desk");
        let status = armed.desk.expect("a desk").status();
        assert_eq!(status.armed.as_deref(), Some("type:cds"));
        assert_eq!(status.timeout, std::time::Duration::from_secs(5));
    }

    #[test]
    fn refuses_to_hold_what_is_not_meant() {
        let wanted = ["--intercept", "type:cds"];
        assert!(refusal(&wanted, false).contains("holds messages for a person at the screens"));
        assert!(refusal(&[&wanted[..], &["--read-only"]].concat(), true).contains("--read-only"));
        let open = [&wanted[..], &["--listen", "0.0.0.0:18001"]].concat();
        assert!(refusal(&open, true).starts_with("0.0.0.0:18001 is reachable"));
        assert!(desk(&[&open[..], &["--i-know"]].concat(), true).is_ok());
        assert_eq!(refusal(&["--intercept", " "], true), "--intercept: the expression is empty");
        assert!(refusal(&["--intercept", "stream:1"], true).contains("`stream` is not known while"));
        let quiet = desk(&["--read-only"], true).expect("a tap");
        assert!(quiet.desk.is_none() && quiet.refusal.is_some_and(|why| why.contains("--read-only")));
    }
}
