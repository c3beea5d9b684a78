//! `man`: manual pages, with the words of `--help`.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;

use clap_mangen::Man;

use crate::app::recording::recording_file::Replaces;
use crate::cli::args::ManArgs;

use super::command_line;
use crate::cli::error::{CliError, Exit};
use crate::cli::output::output_file;
use crate::cli::terminal::io::Io;
use clap::Command;

/// Last sections of every page.
const FILES: &str = r#".SH ENVIRONMENT
Every flag but \-\-format, \-\-output and \-\-keep\-secrets has a variable:
.B XDSCOPE_STALE_AFTER
for \-\-stale\-after. Flags win.
.SH FILES
.TP
.I $XDG_CONFIG_HOME/xdscope/config.toml
Settings and keys; see xdscope help config.
.TP
.I $XDG_STATE_HOME/xdscope
Kept sessions.
"#;

/// Writes the page of the program to stdout, or with `--output` pages of it and of each verb to a
/// folder.
pub(crate) fn run(args: &ManArgs, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let mut command = command_line::command();
    command.build();
    let Some(dir) = &args.output else {
        io.stdout.write_all(&page(&command, "xdscope")?)?;
        return Ok(Exit::Yes);
    };
    fs::create_dir_all(dir)
        .map_err(|error| CliError::unreadable(format!("cannot write {}", dir.display())).because(error))?;
    let mut pages = vec![("xdscope".to_owned(), &command)];
    all(&command, "xdscope", &mut pages);
    for (name, command) in &pages {
        let path = dir.join(format!("{name}.1"));
        output_file::write(&path, Replaces::OtherFiles, &page(command, name)?)?;
    }
    io.say(&format!(
        "{} pages in {}; man -l {}",
        pages.len(),
        dir.display(),
        dir.join("xdscope.1").display()
    ));
    Ok(Exit::Yes)
}

/// Collects all verbs below `command`, with the names of their pages.
fn all<'a>(command: &'a Command, name: &str, out: &mut Vec<(String, &'a Command)>) {
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help") {
        let name = format!("{name}-{}", verb.get_name());
        out.push((name.clone(), verb));
        all(verb, &name, out);
    }
}

fn page(command: &Command, name: &str) -> Result<Vec<u8>, CliError> {
    let man = Man::new(command.clone()).title(name.to_uppercase()).manual("xdscope manual");
    let mut out = Vec::new();
    man.render_title(&mut out)?;
    man.render_name_section(&mut out)?;
    // The order of the parser; clap_mangen puts all flags first.
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").replace('\\', "\\\\").replace('-', "\\-");
    writeln!(out, ".SH SYNOPSIS\n.nf\n{usage}\n.fi")?;
    man.render_description_section(&mut out)?;
    man.render_options_section(&mut out)?;
    man.render_subcommands_section(&mut out)?;
    man.render_extra_section(&mut out)?;
    let mut more = String::from(".SH \"EXIT STATUS\"\n");
    for exit in Exit::ALL {
        let _ = writeln!(more, ".TP\n.B {}\n{}", exit.code(), exit.meaning().replace('-', "\\-"));
    }
    more.push_str(FILES);
    out.extend(more.into_bytes());
    Ok(out)
}
