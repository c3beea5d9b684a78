//! Flags of the verbs that look at a source, or at xdscope itself.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::*;
use crate::engine::{diff, lint};
use crate::sources::ReplayPosition;

/// `replay`: a recording with a time cursor.
#[derive(Clone, Debug, Args)]
pub struct ReplayArgs {
    /// Where the cursor stands at first: start, end, nack, #487, 14:02:08, +30s. Without screens, the last row
    #[arg(long, value_name = "WHEN", default_value = "end", help_heading = "Replay")]
    pub at: ReplayPosition,
    /// Play from there
    #[arg(long, conflicts_with_all = ["no_tui", "output"], help_heading = "Replay")]
    pub play: bool,
    /// How fast it plays: 0.25 to 64
    #[arg(long, value_name = "TIMES", default_value_t = 1.0, value_parser = speed, help_heading = "Replay")]
    pub speed: f64,
    /// Silences are played no longer than this
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = time, help_heading = "Replay")]
    pub idle_limit: Duration,
    /// The file is still growing: show what comes
    #[arg(long, help_heading = "Replay")]
    pub follow: bool,
    /// Print one line per event (text, the default without a terminal) or object per line
    #[arg(short, long, value_name = "FORMAT", help_heading = "Replay")]
    #[arg(value_parser = formats(&[Format::Text, Format::Jsonl]))]
    pub output: Option<Format>,
    /// No screens: one line per event
    #[arg(long, visible_alias = "headless", help_heading = "Replay")]
    pub no_tui: bool,
    /// The screen to begin with
    #[arg(long, value_name = "SCREEN", conflicts_with = "no_tui", help_heading = "Replay")]
    pub view: Option<String>,
    /// Only events that match (`xdscope help filter`)
    #[arg(long, value_name = "EXPR", help_heading = "Replay")]
    pub filter: Option<String>,
    /// Times of day, or seconds from the start, or from the row before
    #[arg(long, value_name = "FORM", default_value = "local", help_heading = "Replay")]
    pub time: TimeFormat,
    /// What the client has applied, to hold against what it was sent: a config dump of Envoy, or a CSDS answer
    #[arg(long, value_name = "FILE", help_heading = "Replay")]
    pub applied: Option<PathBuf>,
    #[command(flatten)]
    pub screens: ScreenFlags,
    #[command(flatten)]
    pub source: SourceArgs,
}

#[derive(Clone, Debug, Args)]
pub struct StatusArgs {
    /// table (text): the matrix; wide: versions, nonces and what is owed; json: with streams; name: the nodes
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    #[arg(value_parser = formats(&[
        Format::Table, Format::Wide, Format::Text, Format::Json, Format::Jsonl, Format::Yaml, Format::Name,
    ]))]
    pub output: Format,
    /// How long a server may take to be in sync, instead of --resource-timeout; or a recording that is still growing
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub wait: Option<Duration>,
    /// With --wait on a recording: so many nodes, and all of them in sync
    #[arg(long, value_name = "N", requires = "wait")]
    pub nodes: Option<u64>,
    /// What the client has applied, to hold against what it was sent: a config dump of Envoy, or a CSDS answer
    #[arg(long, value_name = "FILE")]
    pub applied: Option<PathBuf>,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub rows: RowArgs,
}

#[derive(Clone, Debug, Args)]
pub struct LogArgs {
    /// text is the table; wide has the node and the class of each message too
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    #[arg(value_parser = formats(&[
        Format::Text, Format::Table, Format::Wide, Format::Json, Format::Jsonl, Format::Yaml, Format::Name,
    ]))]
    pub output: Format,
    /// Only the last N of the rows that match
    #[arg(long, value_name = "N")]
    pub tail: Option<usize>,
    /// Stay subscribed to a server, or with a file that grows, and print what comes
    #[arg(long, conflicts_with_all = ["tail", "ladder", "body"])]
    pub follow: bool,
    /// Draw the messages between the two ends
    #[arg(long, conflicts_with_all = ["body", "output"])]
    pub ladder: bool,
    /// With the content of each message; of a NACK also what is read out of its text, and what was refused
    #[arg(long)]
    pub body: bool,
    /// Times of day, or seconds from the start, or from the row before
    #[arg(long, value_name = "FORM", default_value = "local")]
    pub time: TimeFormat,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub rows: RowArgs,
}

#[derive(Clone, Debug, Args)]
pub struct GetArgs {
    /// TYPE or TYPE/NAME: cds, clusters, Cluster, a type URL; cds/reviews. Nothing: counts of all types
    #[arg(value_name = "WHAT", index = 2)]
    pub what: Vec<String>,
    /// table (text): names and states; yaml and json print the content, tree what each resource refers to
    #[arg(short, long, value_name = "FORMAT")]
    #[arg(value_parser = formats(&[
        Format::Table, Format::Wide, Format::Text, Format::Name, Format::Tree, Format::Yaml, Format::Json,
        Format::Jsonl,
    ]))]
    pub output: Option<Format>,
    /// As it was then: #487, 14:02:08, +30s, start, end
    #[arg(long, value_name = "WHEN", default_value = "end")]
    pub at: ReplayPosition,
    /// What is subscribed to, and what of it came
    #[arg(long)]
    pub subscriptions: bool,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub rows: RowArgs,
}

#[derive(Clone, Debug, Args)]
#[command(override_usage = "xdscope diff [OPTIONS] SOURCE TYPE/NAME [V1 [V2]]
       xdscope diff [OPTIONS] SOURCE @T1 [@T2] [TYPE[/NAME]]...
       xdscope diff [OPTIONS] SOURCE OTHER [TYPE[/NAME]]...")]
pub struct DiffArgs {
    /// TYPE/NAME with versions (41, or #487: as sent by then); moments (@14:01:00, @#487, @+30s, @start,
    /// @end); or another source, a server too. Sources may also be files and directories of resources, YAML or JSON,
    /// and Envoy's config dumps
    #[arg(value_name = "WHAT", index = 2)]
    pub words: Vec<String>,
    /// text: by field path; table: a row for each path; json: `change` objects
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    #[arg(value_parser = formats(&[
        Format::Text, Format::Table, Format::Json, Format::Jsonl, Format::Yaml,
    ]))]
    pub output: Format,
    /// Only how many resources of each type were added, changed and removed
    #[arg(long, conflicts_with_all = ["output", "unified", "side_by_side"])]
    pub stat: bool,
    /// By line, removed before added
    #[arg(long, conflicts_with_all = ["output", "side_by_side"])]
    pub unified: bool,
    /// By line, in two columns
    #[arg(long, conflicts_with = "output")]
    pub side_by_side: bool,
    /// Leave out a field and all below it: connect_timeout, virtual_hosts[name=shop].routes, **.metadata
    #[arg(long, value_name = "PATH", value_parser = ignored)]
    pub ignore: Vec<diff::IgnorePattern>,
    /// The order of keyed lists counts, too (that of filters and routes always does)
    #[arg(long)]
    pub strict_order: bool,
    /// Only this stream or node
    #[arg(long, value_name = "NODE|#N")]
    pub stream: Option<StreamPick>,
    /// No line of column titles
    #[arg(long)]
    pub no_headers: bool,
    #[command(flatten)]
    pub source: SourceArgs,
}

#[derive(Clone, Debug, Args)]
pub struct LintArgs {
    /// A recording, raw JSONL, an arrow script, a file with a DiscoveryResponse, or a bootstrap; `-` is stdin, a
    /// bare name a kept session
    #[arg(value_name = "SOURCE")]
    #[arg(required_unless_present_any = ["list_rules", "bootstrap"])]
    pub source: Option<String>,
    /// sarif, junit, github: for what reads them
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub output: LintFormat,
    /// Only this rule; may stand several times
    #[arg(long, value_name = "RULE")]
    pub rule: Vec<String>,
    /// Only findings this bad or worse
    #[arg(long, value_name = "SEVERITY", default_value = "info")]
    pub severity: SeverityWord,
    /// Exit with 1 if there is a finding this bad or worse
    #[arg(long, value_name = "SEVERITY", default_value = "warn")]
    pub fail_on: SeverityWord,
    /// The edition of the protocol text that peers are judged by; a script's own word wins
    #[arg(long, value_name = "EDITION", default_value = "current")]
    pub profile: ProfileWord,
    /// How long rules wait: ack=5s,answer=15s,exist=15s,warm=15s
    #[arg(long, value_name = "NAME=TIME,…", default_value = "", value_parser = timers, hide_default_value = true)]
    pub timers: lint::Timers,
    /// The rules, with what they are about; needs no source
    #[arg(long)]
    pub list_rules: bool,
    /// Check the `expect` lines of an arrow script instead; --fail-on plays no part
    #[arg(long, conflicts_with_all = ["rule", "list_rules"])]
    pub expect: bool,
    /// Only findings about this stream or node
    #[arg(long, value_name = "NODE|#N")]
    pub stream: Option<StreamPick>,
    /// No line of column titles
    #[arg(long)]
    pub no_headers: bool,
    #[command(flatten)]
    pub client: ClientFlags,
    #[command(flatten)]
    pub limits: TimerFlags,
    #[command(flatten)]
    pub descriptors: DescriptorFlags,
}

/// The forms of `lint -o`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LintFormat {
    Text,
    Json,
    Jsonl,
    Sarif,
    Junit,
    Github,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SeverityWord {
    Error,
    Warn,
    Info,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProfileWord {
    Current,
    #[value(name = "003")]
    P003,
    #[value(name = "002")]
    P002,
}

#[derive(Clone, Debug, Args)]
pub struct ExportArgs {
    /// raw: lines of JSON with each message's bytes, to read back; jsonl: the message objects of `log`
    /// with their bodies; script: text to read and edit; xdsrec: a recording; dot, mermaid: the graph of
    /// what refers to what, with states, for one client (--stream)
    #[arg(long, value_name = "FORM")]
    pub to: ExportTo,
    /// Where to; without it stdout
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Only messages that match (`xdscope help filter`)
    #[arg(long, value_name = "EXPR")]
    pub filter: Option<String>,
    /// Only this stream or node
    #[arg(long, value_name = "NODE|#N")]
    pub stream: Option<StreamPick>,
    /// From here on: #487, 14:02:08, +30s
    #[arg(long, value_name = "WHEN", default_value = "start")]
    pub from: ReplayPosition,
    /// Up to here
    #[arg(long, value_name = "WHEN", default_value = "end")]
    pub until: ReplayPosition,
    #[command(flatten)]
    pub source: SourceArgs,
}

#[derive(Clone, Debug, Args)]
pub struct RedactArgs {
    /// Where to, in the form that SOURCE has: a recording, or raw JSONL
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub source: SourceArgs,
}

#[derive(Clone, Debug, Args)]
pub struct InfoArgs {
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    #[arg(value_parser = formats(&[Format::Text, Format::Json, Format::Jsonl, Format::Yaml]))]
    pub output: Format,
    #[command(flatten)]
    pub source: SourceArgs,
}

#[derive(Clone, Debug, Args)]
pub struct ExplainArgs {
    /// A field (Cluster.connect_timeout), a message, a lint rule (nonce-unknown), a state (stale), a kind (resend), or a
    /// line of a log, in quotes ("gRPC config stream closed: 14, ...")
    pub word: String,
    #[command(flatten)]
    pub descriptors: DescriptorFlags,
}

#[derive(Clone, Debug, Args)]
pub struct DescriptorsArgs {
    #[command(subcommand)]
    pub verb: DescriptorsVerb,
}

#[derive(Clone, Debug, Subcommand)]
pub enum DescriptorsVerb {
    /// The files and messages that are loaded, and where from
    List {
        #[command(flatten)]
        descriptors: DescriptorFlags,
        /// Only names that contain this
        #[arg(value_name = "TEXT")]
        containing: Option<String>,
    },
    /// Write everything that is loaded as one descriptor set, for --protoset
    Build {
        #[command(flatten)]
        descriptors: DescriptorFlags,
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
    /// Which types of a source can't be decoded
    Check {
        #[command(flatten)]
        source: Box<SourceArgs>,
    },
}

#[derive(Clone, Debug, Args)]
pub struct CompletionsArgs {
    pub shell: clap_complete::Shell,
}

#[derive(Clone, Debug, Args)]
pub struct ManArgs {
    /// Where to put the pages of the program and of all verbs
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// `doctor`: it takes the flags that can be preset, so that all of them have a value to tell.
#[derive(Clone, Debug, Args)]
pub struct DoctorArgs {
    /// A server to look at, too: name, port, TLS, HTTP/2, variants, reflection
    #[arg(value_name = "SERVER")]
    pub server: Option<String>,
    /// The node to be there
    #[arg(
        long,
        value_name = "ID",
        default_value = "xdscope-doctor",
        requires = "server",
        help_heading = "Connection"
    )]
    pub node_id: String,
    #[command(flatten)]
    pub connect: ConnectFlags,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    #[arg(value_parser = formats(&[Format::Text, Format::Json, Format::Jsonl]))]
    pub output: Format,
    /// Times of day, or seconds from the start, or from the row before
    #[arg(long, value_name = "FORM", default_value = "local", help_heading = "Settings")]
    pub time: TimeFormat,
    /// How long a connection to the control plane may take
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time, help_heading = "Settings")]
    pub connect_timeout: Duration,
    #[command(flatten)]
    pub screens: ScreenFlags,
    #[command(flatten)]
    pub timers: TimerFlags,
}

#[derive(Clone, Debug, Args)]
pub struct HelpArgs {
    /// A verb, or one of the topics config, descriptors, exit-codes, filter, json, keys, states
    pub topic: Option<String>,
}
