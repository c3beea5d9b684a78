//! The words and flags of the command line, as parsed.

mod client;
mod flags;
mod live;
mod values;
mod verbs;

use clap::{Args, Parser, Subcommand};

pub use client::*;
pub use flags::*;
pub use live::*;
pub use values::*;
pub use verbs::*;

/// See what every client of an xDS control plane was told, asked for and refused.
#[derive(Debug, Parser)]
#[command(name = "xdscope", version, disable_help_subcommand = true, subcommand_value_name = "VERB")]
#[command(subcommand_help_heading = "Verbs", max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

/// Flags that every verb takes.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct Global {
    /// Say nothing on stderr but errors
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Say on stderr, or in --log-file, what the program itself does, step by step
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// Where the program's own troubles go, line by line, screens open or not
    #[arg(long, global = true, value_name = "FILE")]
    pub log_file: Option<std::path::PathBuf>,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
    /// Only ASCII symbols and lines
    #[arg(long, global = true)]
    pub ascii: bool,
    /// The keys of the screens, by `config.toml`.
    #[arg(skip)]
    pub keys: crate::tui::Keymap,
}

impl Global {
    /// For what is read on the side.
    pub(super) fn silent() -> Global {
        Global {
            quiet: true,
            verbose: false,
            log_file: None,
            color: Color::Never,
            ascii: true,
            keys: crate::tui::Keymap::default(),
        }
    }
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// A built-in control plane and clients on loopback, through the real tap
    Demo(DemoArgs),
    /// Stand between clients and a control plane: forward, show, record
    Tap(TapArgs),
    /// Be the control plane, from a recording or from files of resources
    Serve(ServeArgs),
    /// Be a client of a control plane: subscribe, show and record what comes
    #[command(visible_alias = "client")]
    Watch(WatchArgs),
    /// Wait until something is so: for scripts and CI
    Wait(WaitArgs),
    /// A recording with a time cursor: step, play, seek, and every screen as of then
    Replay(ReplayArgs),
    /// Which nodes are in sync, and what is open: a matrix of nodes and types
    Status(StatusArgs),
    /// Messages, with what answers what and how long it took
    Log(LogArgs),
    /// Resources: counts, a table, or content
    Get(GetArgs),
    /// What changed between versions of a resource, moments, or sources
    Diff(DiffArgs),
    /// Which rules of the protocol or of good order were broken
    Lint(LintArgs),
    /// Turn a source into another form
    Export(ExportArgs),
    /// A copy of a recording without its secrets
    Redact(RedactArgs),
    /// What a file holds
    Info(InfoArgs),
    /// A field of a resource type, a lint rule, a state, a kind of message, or a line of a log
    Explain(ExplainArgs),
    /// The descriptors by which resources are decoded
    Descriptors(DescriptorsArgs),
    /// What this terminal can do, where each setting comes from; what a server speaks, and why it can't be reached
    Doctor(DoctorArgs),
    /// Completions for a shell, on stdout
    Completions(CompletionsArgs),
    /// The manual page, on stdout; a page for each verb in a directory
    Man(ManArgs),
    /// Help about a verb or a topic: config, descriptors, exit-codes, filter, json, keys, states
    Help(HelpArgs),
}
