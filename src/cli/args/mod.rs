//! Verbs and flags, as parsed.

mod check;
mod client;
mod columns;
mod flags;
mod hold;
mod kubernetes;
mod live;
mod values;
mod verbs;

use clap::{Args, Parser, Subcommand};

pub use check::*;
pub use client::*;
pub use columns::CustomColumns;
pub use flags::*;
pub use hold::*;
pub use kubernetes::*;
pub use live::*;
pub use values::*;
pub use verbs::*;

/// Shows what every client of an xDS control plane was told, asked for and refused
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
    /// Print nothing but errors to stderr
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Log what the program does, step by step, to stderr or --log-file
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// Write the log of the program to this file, also while screens are open
    #[arg(long, global = true, value_name = "FILE")]
    pub log_file: Option<std::path::PathBuf>,
    /// Write messages and the log of the program as text, or as a JSON object a line
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text")]
    pub log_format: LogFormat,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
    /// Use ASCII symbols and lines only
    #[arg(long, global = true)]
    pub ascii: bool,
    /// Key bindings of the screens, from `config.toml`.
    #[arg(skip)]
    pub keys: xdscope_tui::Keymap,
    /// Themes of the screens, from `config.toml`.
    #[arg(skip)]
    pub themes: xdscope_tui::Themes,
    #[arg(skip)]
    pub secret_names: xdscope_schema::redact::SecretNames,
}

impl Global {
    /// Returns flags for a source that is read without a word to the user.
    pub(super) fn silent() -> Global {
        Global {
            quiet: true,
            verbose: false,
            log_file: None,
            log_format: LogFormat::Text,
            color: Color::Never,
            ascii: true,
            keys: xdscope_tui::Keymap::default(),
            themes: xdscope_tui::Themes::default(),
            secret_names: Default::default(),
        }
    }
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a built-in control plane and its clients through the tap, on loopback
    Demo(DemoArgs),
    /// Forward, show and record streams between clients and a control plane
    Tap(TapArgs),
    /// Serve a recording or files of resources as a control plane
    Serve(ServeArgs),
    /// Subscribe to a control plane as a client, and show and record what it sends
    #[command(visible_alias = "client")]
    Watch(WatchArgs),
    /// Wait for a condition, for scripts and CI
    Wait(WaitArgs),
    /// Open a recording with a time cursor: step, play and seek on every screen
    Replay(ReplayArgs),
    /// Open the session of a run elsewhere (--attach), and follow it on every screen
    Attach(AttachArgs),
    /// Print which nodes are in sync and what is open: a matrix of nodes and types
    Status(StatusArgs),
    /// Print messages, with what answers what and how long it took
    Log(LogArgs),
    /// Print resources: counts, a table, or content
    Get(GetArgs),
    /// Print what a Kubernetes object made, and in which clients it is in force
    Blame(BlameArgs),
    /// Print what changed between versions of a resource, moments, or sources
    Diff(DiffArgs),
    /// Print which rules of the protocol or of good order were broken
    Lint(LintArgs),
    /// Write a source as one HTML page: problems with evidence, matrix, timeline, rules
    Report(ReportArgs),
    /// Draw a screen of a source as SVG or text
    Picture(PictureArgs),
    /// Convert a source to another format
    Export(ExportArgs),
    /// Print or run questions about the tables of many taps (export --to parquet)
    Fleet(FleetArgs),
    /// Copy a recording without its secrets
    Redact(RedactArgs),
    /// Print what a file contains
    Info(InfoArgs),
    /// List, name, open and remove kept sessions
    Sessions(SessionsArgs),
    /// Explain a field, a lint rule, a state, a kind of message, or a line of a log
    Explain(ExplainArgs),
    /// List, build or check the descriptors that decode resources
    Descriptors(DescriptorsArgs),
    /// Check whether a control plane, or a client, keeps the rules of the protocol
    Check(CheckArgs),
    /// Check this terminal, its settings, and whether and how a server can be reached
    Doctor(DoctorArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write a page for each verb to a directory
    Man(ManArgs),
    /// Print help about a verb or a topic: client, config, descriptors, exit-codes, faults, filter,
    /// intercept, json, keys, states
    Help(HelpArgs),
}
