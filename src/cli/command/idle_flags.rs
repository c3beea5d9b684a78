//! Flags without effect because of the other flags, or of what a verb prints.

use clap::{Args as _, Command};

use crate::cli::args::{
    ClientFlags, DemoArgs, DescriptorFlags, ExportArgs, ExportTo, FaultFlags, Format, GetArgs, LintArgs,
    LintFormat, PictureFormat, ReplayArgs, ServeArgs, TapArgs, TimerFlags, Verb, WatchArgs,
};
use crate::cli::export::picture;
use crate::cli::output::output_file;
use crate::cli::read::nodes;

/// Limits of states.
const STATE_LIMITS: [&str; 2] = ["resource_timeout", "stale_after"];

/// Flags of screens. The first is about a file that live runs read without screens too.
const OF_SCREENS: [&str; 5] = ["applied", "theme", "slow_link", "mouse", "notify"];

/// Flags that select streams.
const OF_STREAMS: [&str; 2] = ["stream", "node"];

/// Returns why a flag has no effect on what a verb does. `None` if the flag has one.
///
/// `is_bootstrap`: `lint` reads a bootstrap.
pub(crate) fn reason(verb: &Verb, id: &str, is_bootstrap: bool) -> Option<String> {
    if id == "no_headers" {
        return (!has_titles(verb)).then(|| "nothing printed has column titles".to_owned());
    }
    if id == "force" {
        return (!is_file_named(verb)).then(|| "no --output names a file".to_owned());
    }
    if STATE_LIMITS.contains(&id) && !has_states(verb) {
        return Some("nothing printed depends on states".to_owned());
    }
    match verb {
        Verb::Lint(args) => of_lint(args, id, is_bootstrap),
        Verb::Get(args) => of_get(args, id),
        Verb::Log(args) if id == "time" && args.rows.filter.is_none() && is_for_programs(args.format) => {
            Some("formats for programs have one form of times".to_owned())
        }
        Verb::Picture(args)
            if id == "theme" && matches!(picture::format_of(args), Ok(PictureFormat::Text)) =>
        {
            Some("a picture in text has no colours".to_owned())
        }
        Verb::Replay(args) if OF_SCREENS.contains(&id) && prints_rows(args) => {
            Some("rows are printed, and no screen opens".to_owned())
        }
        Verb::Tap(TapArgs { live, .. })
        | Verb::Serve(ServeArgs { live, .. })
        | Verb::Watch(WatchArgs { live, .. })
        | Verb::Demo(DemoArgs { live, .. })
            if OF_SCREENS[1..].contains(&id) && (live.no_tui || live.format.is_some()) =>
        {
            Some("events are printed, and no screen opens".to_owned())
        }
        Verb::Tap(args) => of_faults(&args.faults, may_hold(args), id),
        // A script may state faults.
        Verb::Serve(args) if !args.source.ends_with(".xds") => of_faults(&args.faults, false, id),
        _ => None,
    }
}

/// Whether a verb prints a table with titles.
fn has_titles(verb: &Verb) -> bool {
    let is_table = |format: Format| {
        matches!(format, Format::Table | Format::Text | Format::Wide | Format::Md | Format::Columns(_))
    };
    match verb {
        Verb::Status(args) => is_table(args.format),
        Verb::Log(args) => is_table(args.format) && !args.ladder,
        Verb::Blame(args) => is_table(args.format),
        Verb::Get(args) => args.format.is_none_or(is_table),
        Verb::Lint(args) => {
            let is_other = matches!(
                args.format,
                LintFormat::Json
                    | LintFormat::Jsonl
                    | LintFormat::Sarif
                    | LintFormat::Junit
                    | LintFormat::Github
            );
            !is_other && !args.expect
        }
        Verb::Diff(args) => matches!(args.format, Format::Table | Format::Md) && !args.stat,
        Verb::Sessions(args) => is_table(args.format),
        _ => true,
    }
}

/// Whether a verb that can overwrite a file writes one.
fn is_file_named(verb: &Verb) -> bool {
    match verb {
        Verb::Export(args) => args.output.is_some(),
        Verb::Report(args) => output_file::named(args.output.as_deref()).is_some(),
        Verb::Picture(args) => args.output.is_some(),
        _ => true,
    }
}

/// Whether the output of a verb depends on the states of types and resources.
fn has_states(verb: &Verb) -> bool {
    match verb {
        Verb::Redact(_) | Verb::Info(_) | Verb::Diff(_) => false,
        Verb::Export(ExportArgs { to, .. }) => {
            matches!(to, ExportTo::Dot | ExportTo::Mermaid | ExportTo::Md | ExportTo::Parquet)
        }
        Verb::Log(args) => !is_for_programs(args.format) && args.since.is_none(),
        // The summary counts problems; expectations are about states.
        Verb::Lint(args) => args.expect || matches!(args.format, LintFormat::Text | LintFormat::Wide),
        _ => true,
    }
}

fn is_for_programs(format: Format) -> bool {
    format.is_of_objects() || format == Format::Name
}

fn prints_rows(args: &ReplayArgs) -> bool {
    args.no_tui || args.format.is_some() || args.tail.is_some()
}

/// Whether a person can hold messages of a tap.
fn may_hold(args: &TapArgs) -> bool {
    let end = &args.end;
    let is_timed = end.until.is_some() || end.max_time.is_some() || args.faults.fault_plan.is_some();
    let ends = is_timed || end.junit.is_some();
    let has_screens = !ends && !args.live.no_tui && args.live.format.is_none();
    args.hold.intercept.is_some() || has_screens && !args.live.read_only
}

fn of_faults(faults: &FaultFlags, may_hold: bool, id: &str) -> Option<String> {
    let has_faults = !faults.fault.is_empty() || faults.fault_plan.is_some();
    match id {
        "fault_seed" if !has_faults => Some("there is no --fault or --fault-plan".to_owned()),
        "hold_timeout" if !may_hold => Some("nobody can hold messages without screens".to_owned()),
        "i_know" if !has_faults && !may_hold => Some("nothing changes or holds messages".to_owned()),
        _ => None,
    }
}

fn of_lint(args: &LintArgs, id: &str, is_bootstrap: bool) -> Option<String> {
    let is_of_session = ["profile", "timers", "at"].contains(&id)
        || OF_STREAMS.contains(&id)
        || is_one_of(TimerFlags::augment_args, id)
        || is_one_of(DescriptorFlags::augment_args, id);
    if args.list_rules {
        let is_idle = is_of_session
            || ["source", "fail_on"].contains(&id)
            || is_one_of(ClientFlags::augment_args, id)
            || (id == "format"
                && matches!(
                    args.format,
                    LintFormat::Wide | LintFormat::Sarif | LintFormat::Junit | LintFormat::Github
                ));
        return is_idle.then(|| "--list-rules prints a list, and reads no source".to_owned());
    }
    if args.expect {
        let is_idle = ["severity", "format", "json"].contains(&id) || OF_STREAMS.contains(&id);
        return is_idle.then(|| "--expect checks the `expect` lines of a script only".to_owned());
    }
    (is_bootstrap && is_of_session).then(|| "a bootstrap has neither messages nor streams".to_owned())
}

fn of_get(args: &GetArgs, id: &str) -> Option<String> {
    let is_about_nodes = matches!(args.what.as_slice(), [what] if nodes::is_word(what));
    let is_idle = is_about_nodes && ["filter", "subscriptions"].contains(&id);
    is_idle.then(|| "nodes are printed, which --node and --stream select".to_owned())
}

/// Whether a flag is one of a group.
pub(crate) fn is_one_of(flags: fn(Command) -> Command, id: &str) -> bool {
    flags(Command::new("flags")).get_arguments().any(|arg| arg.get_id() == id)
}
