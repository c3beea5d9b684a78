//! The words and flags of the command line, as parsed.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValue;
use clap::{Args, Parser, Subcommand, ValueEnum};

#[cfg(feature = "net")]
use crate::net::demo::Scenario;
use crate::{diff, filter, lint};

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
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
    /// Only ASCII symbols and lines
    #[arg(long, global = true)]
    pub ascii: bool,
    /// The keys of the screens, by `config.toml`.
    #[cfg(feature = "tui")]
    #[arg(skip)]
    pub keys: crate::tui::Keymap,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// A built-in control plane and clients on loopback, through the real tap
    #[cfg(feature = "net")]
    Demo(DemoArgs),
    /// Stand between clients and a control plane: forward, show, record
    #[cfg(feature = "net")]
    Tap(TapArgs),
    /// Be a client of a control plane: subscribe, show and record what comes
    #[cfg(feature = "net")]
    #[command(visible_alias = "client")]
    Watch(WatchArgs),
    /// Wait until something is so: for scripts and CI
    #[cfg(feature = "net")]
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

/// `replay`: a recording with a time cursor.
#[derive(Clone, Debug, Args)]
pub struct ReplayArgs {
    /// Where the cursor stands at first: start, end, nack, #487, 14:02:08, +30s. Without screens, the last row
    #[arg(long, value_name = "WHEN", default_value = "end", help_heading = "Replay")]
    pub at: At,
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
    #[command(flatten)]
    pub screens: ScreenFlags,
    #[command(flatten)]
    pub source: SourceArgs,
}

#[derive(Clone, Debug, Args)]
pub struct StatusArgs {
    /// table: the matrix; wide: versions, nonces and what is owed; json: with streams
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    #[arg(value_parser = formats(&[Format::Table, Format::Wide, Format::Json, Format::Jsonl]))]
    pub output: Format,
    /// How long a server may take to be in sync, instead of --resource-timeout
    #[cfg(feature = "net")]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub wait: Option<Duration>,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub rows: RowArgs,
}

#[derive(Clone, Debug, Args)]
pub struct LogArgs {
    /// text is the table
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    #[arg(value_parser = formats(&[
        Format::Text, Format::Table, Format::Json, Format::Jsonl, Format::Yaml, Format::Name,
    ]))]
    pub output: Format,
    /// Only the last N of the rows that match
    #[arg(long, value_name = "N")]
    pub tail: Option<usize>,
    /// Stay subscribed to a server, and print what comes
    #[cfg(feature = "net")]
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
    /// yaml and json print the content, tree what each resource refers to
    #[arg(short, long, value_name = "FORMAT")]
    #[arg(value_parser = formats(&[
        Format::Table, Format::Wide, Format::Name, Format::Tree, Format::Yaml, Format::Json, Format::Jsonl,
    ]))]
    pub output: Option<Format>,
    /// As it was then: #487, 14:02:08, +30s, start, end
    #[arg(long, value_name = "WHEN", default_value = "end")]
    pub at: At,
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
    pub ignore: Vec<diff::Pattern>,
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
    #[arg(value_name = "SOURCE", required_unless_present = "list_rules")]
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
    #[cfg(feature = "net")]
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
    pub from: At,
    /// Up to here
    #[arg(long, value_name = "WHEN", default_value = "end")]
    pub until: At,
    #[command(flatten)]
    pub source: SourceArgs,
}

#[derive(Clone, Debug, Args)]
pub struct InfoArgs {
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    #[arg(value_parser = formats(&[Format::Text, Format::Json, Format::Jsonl]))]
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
    #[cfg(feature = "net")]
    #[arg(value_name = "SERVER")]
    pub server: Option<String>,
    /// The node to be there
    #[cfg(feature = "net")]
    #[arg(
        long,
        value_name = "ID",
        default_value = "xdscope-doctor",
        requires = "server",
        help_heading = "Connection"
    )]
    pub node_id: String,
    #[cfg(feature = "net")]
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

/// How the screens look.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Screens")]
pub struct ScreenFlags {
    /// Colours and weights: the terminal's own, none, or bright and bold
    #[arg(long, value_name = "THEME", default_value = "default")]
    pub theme: ThemeWord,
    /// At most five frames a second
    #[arg(long)]
    pub slow_link: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ThemeWord {
    Default,
    Mono,
    Contrast,
}

#[derive(Clone, Debug, Args)]
pub struct HelpArgs {
    /// A verb, or one of the topics config, descriptors, exit-codes, filter, json, keys, states
    pub topic: Option<String>,
}

/// The source of a verb that looks at what was recorded, or at what a server says now.
#[derive(Clone, Debug, Args)]
pub struct SourceArgs {
    /// A server (host:port, http://, https://, unix:/path), a recording, raw JSONL or an arrow script; `-` is stdin, a
    /// bare name a kept session
    #[arg(value_name = "SOURCE", index = 1)]
    pub source: String,
    /// What to ask a server for, where the verb has words for that.
    #[arg(skip)]
    pub ask: Vec<String>,
    /// How long a server may take, where the verb says so.
    #[arg(skip)]
    pub patience: Option<Duration>,
    #[cfg(feature = "net")]
    #[command(flatten)]
    pub client: ClientFlags,
    /// Leave secrets in what raw JSONL and scripts hold; recordings have none left
    #[arg(long, help_heading = "Source")]
    pub keep_secrets: bool,
    #[command(flatten)]
    pub timers: TimerFlags,
    #[command(flatten)]
    pub descriptors: DescriptorFlags,
}

/// Limits of what is seen and kept.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Source")]
pub struct TimerFlags {
    /// A name asked for and not delivered for this long is MISS
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = time)]
    pub resource_timeout: Duration,
    /// A push without an answer for this long is STALE
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time)]
    pub stale_after: Duration,
    /// Messages kept at hand; beyond it the oldest lose their bodies, never their rows
    #[arg(long, value_name = "SIZE", default_value = "512MB", value_parser = bytes)]
    pub memory: u64,
}

/// Descriptors beside the built-in ones. Later wins in the order built-in, reflection, proto, protoset.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Descriptors")]
pub struct DescriptorFlags {
    /// A descriptor set beside the built-in one (protoc --descriptor_set_out, buf build -o)
    #[arg(long, value_name = "FILE")]
    pub protoset: Vec<PathBuf>,
    /// A .proto file
    #[arg(long, value_name = "FILE")]
    pub proto: Vec<PathBuf>,
    /// A directory to find .proto files in
    #[arg(short = 'I', value_name = "DIR")]
    pub include: Vec<PathBuf>,
    /// A server to ask for its types (gRPC server reflection, v1 or v1alpha)
    #[cfg(feature = "net")]
    #[arg(long, value_name = "SERVER")]
    pub reflection: Option<String>,
    /// A type to ask it for beside those of its services, such as what it puts into an Any
    #[cfg(feature = "net")]
    #[arg(long, value_name = "TYPE", requires = "reflection")]
    pub reflection_symbol: Vec<String>,
    #[cfg(feature = "net")]
    #[command(flatten)]
    pub connect: ConnectFlags,
}

/// Who xdscope is as a client, and how it behaves.
#[cfg(feature = "net")]
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Client")]
pub struct ClientFlags {
    /// How the protocol is spoken: state of the world or delta, one stream or one for each type
    #[arg(long, value_name = "VARIANT")]
    pub variant: Option<VariantWord>,
    /// An Envoy or gRPC bootstrap: its node, server and variant, where flags don't say otherwise
    #[arg(long, value_name = "FILE")]
    pub bootstrap: Option<PathBuf>,
    /// The node's id; without it one of our own
    #[arg(long, value_name = "ID", visible_alias = "service-node")]
    pub node_id: Option<String>,
    /// The node's cluster
    #[arg(long, value_name = "NAME", visible_alias = "service-cluster")]
    pub node_cluster: Option<String>,
    /// Where the node says it is
    #[arg(long, value_name = "REGION/ZONE/SUBZONE")]
    pub node_locality: Option<String>,
    /// A text in the node's metadata; may stand several times
    #[arg(long, value_name = "NAME=VALUE")]
    pub node_metadata: Vec<String>,
    /// Subscribe to what resources refer to, as Envoy does; the default where no WHAT is given
    #[arg(long, conflicts_with = "no_expand")]
    pub expand: bool,
    /// Subscribe to WHAT and nothing else
    #[arg(long)]
    pub no_expand: bool,
    /// Ask for everything by an empty list; the default in state of the world, as Envoy does
    #[arg(long, conflicts_with = "explicit_wildcard")]
    pub legacy_wildcard: bool,
    /// Ask for everything by the name `*`; the default in delta
    #[arg(long)]
    pub explicit_wildcard: bool,
    /// Who answers pushes. validate refuses what can't be decoded or breaks its type's rules; ask and never leave them open
    #[arg(long, value_name = "WHO", default_value = "auto")]
    pub ack: AckWord,
    /// How long each answer waits
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = time)]
    pub ack_delay: Duration,
    /// Refuse pushes that match, with this text: 'type:cds version:42 => no thanks'
    #[arg(long, value_name = "EXPR => TEXT")]
    pub nack: Vec<String>,
    /// How long each step of connecting may take
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time)]
    pub connect_timeout: Duration,
    /// The largest message that is taken
    #[arg(long, value_name = "SIZE", default_value = "512MB", value_parser = bytes)]
    pub max_message_size: u64,
}

/// `--variant`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum VariantWord {
    Ads,
    DeltaAds,
    Sotw,
    Delta,
}

/// `--ack`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AckWord {
    Auto,
    Validate,
    Ask,
    Never,
}

/// `watch`: be a client and stay subscribed.
#[cfg(feature = "net")]
#[derive(Clone, Debug, Args)]
pub struct WatchArgs {
    /// The control plane: host:port, http://, https:// or unix:/path
    #[arg(value_name = "SERVER", required_unless_present = "bootstrap")]
    pub server: Option<String>,
    /// TYPE or TYPE/NAME: cds, cds/reviews, eds/*. Nothing: all listeners and clusters, and what they refer to
    #[arg(value_name = "WHAT")]
    pub what: Vec<String>,
    /// Without screens: end with success once this is so, as `wait` says it
    #[arg(long, value_name = "CONDITION")]
    pub until: Option<String>,
    #[command(flatten)]
    pub client: ClientFlags,
    #[command(flatten)]
    pub live: LiveFlags,
}

/// `wait`: block until a condition holds.
#[cfg(feature = "net")]
#[derive(Clone, Debug, Args)]
pub struct WaitArgs {
    /// synced: all that is subscribed is; nack: something is refused; or an expression over resources or states
    /// ('type:cds name:reviews version:43')
    #[arg(value_name = "CONDITION", index = 2)]
    pub condition: String,
    /// How long to wait
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = time)]
    pub timeout: Duration,
    /// It must hold for so many nodes, all of them; on a recording that is still growing
    #[arg(long, value_name = "N")]
    pub nodes: Option<u64>,
    #[command(flatten)]
    pub source: SourceArgs,
}

/// How servers are connected to: the upstreams of a tap, and the server of --reflection.
#[cfg(feature = "net")]
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Connection")]
pub struct ConnectFlags {
    /// No TLS to the server; the default is TLS, but for loopback and unix sockets
    #[arg(long, conflicts_with_all = ["insecure", "cacert", "cert", "servername"])]
    pub plaintext: bool,
    /// TLS, and any certificate will do
    #[arg(long, conflicts_with = "cacert")]
    pub insecure: bool,
    /// TLS, and trust these CAs (PEM) instead of the system's
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// TLS, with this client certificate (PEM, with its chain)
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,
    /// Its private key (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
    /// TLS, with this name to ask for (SNI) and to verify
    #[arg(long, value_name = "NAME")]
    pub servername: Option<String>,
    /// The HTTP/2 :authority to ask for; not on a tap
    #[arg(long, value_name = "NAME")]
    pub authority: Option<String>,
    /// A header to add (`name: value`); not on a tap
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub header: Vec<String>,
}

/// Which rows, and how they stand.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Rows")]
pub struct RowArgs {
    /// Only this stream or node
    #[arg(long, value_name = "NODE|#N")]
    pub stream: Option<StreamPick>,
    /// Only rows that match (`xdscope help filter`)
    #[arg(long, value_name = "EXPR")]
    pub filter: Option<String>,
    /// No line of column titles
    #[arg(long)]
    pub no_headers: bool,
}

/// Flags of the verbs that run until they are stopped.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Live")]
pub struct LiveFlags {
    /// Print one line per event (text, the default without a terminal) or object per line
    #[arg(short, long, value_name = "FORMAT")]
    #[arg(value_parser = formats(&[Format::Text, Format::Jsonl]))]
    pub output: Option<Format>,
    /// No screens: one line per event
    #[arg(long, visible_alias = "headless")]
    pub no_tui: bool,
    /// The screen to begin with
    #[arg(long, value_name = "SCREEN", conflicts_with = "no_tui")]
    pub view: Option<String>,
    /// Only events that match (`xdscope help filter`)
    #[arg(long, value_name = "EXPR")]
    pub filter: Option<String>,
    /// Times of day, or seconds from the start, or from the row before
    #[arg(long, value_name = "FORM", default_value = "local")]
    pub time: TimeFormat,
    /// The session file; without it a new one among the kept sessions
    #[arg(long, value_name = "FILE", conflicts_with = "no_record")]
    pub record: Option<PathBuf>,
    /// Keep no session file
    #[arg(long)]
    pub no_record: bool,
    /// Keep private keys, tokens and the like as they are
    #[arg(long)]
    pub keep_secrets: bool,
    #[command(flatten)]
    pub screens: ScreenFlags,
    #[command(flatten)]
    pub timers: TimerFlags,
    #[command(flatten)]
    pub descriptors: DescriptorFlags,
}

/// `tap`: proxy streams to a control plane, show and record them.
#[cfg(feature = "net")]
#[derive(Clone, Debug, Args)]
pub struct TapArgs {
    /// The control plane: host:port or unix:/path
    #[arg(value_name = "SERVER", required_unless_present = "map")]
    pub server: Option<String>,
    /// Where clients connect to
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:18001")]
    pub listen: String,
    /// Listen with TLS: the certificate that clients get (PEM, with its chain)
    #[arg(long, value_name = "FILE", requires = "listen_key")]
    pub listen_cert: Option<PathBuf>,
    /// Its private key (PEM)
    #[arg(long, value_name = "FILE", requires = "listen_cert")]
    pub listen_key: Option<PathBuf>,
    /// Clients must present a certificate of these CAs (PEM)
    #[arg(long, value_name = "FILE", requires = "listen_cert")]
    pub listen_client_ca: Option<PathBuf>,
    /// LISTEN=UPSTREAM; once for each pair
    #[arg(long, value_name = "LISTEN=UPSTREAM")]
    pub map: Vec<String>,
    /// Print this Envoy or gRPC bootstrap with its servers replaced by the tap, and end
    #[arg(long, value_name = "FILE")]
    pub rewrite_bootstrap: Option<PathBuf>,
    /// Forward and count only: nothing is decoded, shown or recorded
    #[arg(long, conflicts_with_all = ["record", "view", "filter", "output"])]
    pub no_decode: bool,
    /// How long a connection to the control plane may take
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time)]
    pub connect_timeout: Duration,
    #[command(flatten)]
    pub live: LiveFlags,
}

/// `demo`: a built-in control plane and clients on loopback.
#[cfg(feature = "net")]
#[derive(Clone, Debug, Args)]
pub struct DemoArgs {
    /// Which of its nodes take part (`--list`)
    #[arg(long, value_name = "NAME", default_value = "tour", value_parser = scenario)]
    pub scenario: Scenario,
    /// Print the scenarios
    #[arg(long)]
    pub list: bool,
    /// Another seed, other resources
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub live: LiveFlags,
}

#[cfg(feature = "net")]
fn scenario(text: &str) -> Result<Scenario, String> {
    Scenario::ALL.into_iter().find(|scenario| scenario.word() == text).ok_or_else(|| {
        let words: Vec<_> = Scenario::ALL.iter().map(|scenario| scenario.word()).collect();
        format!("one of {}", words.join(", "))
    })
}

/// The forms of `-o`; each verb takes some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Table,
    Wide,
    Text,
    Json,
    Jsonl,
    Yaml,
    Name,
    Tree,
}

/// Reads only the formats that a verb has.
fn formats(known: &'static [Format]) -> impl clap::builder::TypedValueParser<Value = Format> {
    use clap::builder::TypedValueParser as _;
    let values = known.iter().filter_map(|format| format.to_possible_value()).collect::<Vec<PossibleValue>>();
    clap::builder::PossibleValuesParser::new(values).try_map(|word| Format::from_str(&word, false))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
    #[value(name = "16")]
    Sixteen,
    #[value(name = "256")]
    Many,
    True,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TimeFormat {
    Local,
    Utc,
    Relative,
    Delta,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportTo {
    Raw,
    Jsonl,
    Script,
    Xdsrec,
    Dot,
    Mermaid,
}

/// One stream, or all of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamPick {
    Stream(u32),
    Node(String),
}

impl std::str::FromStr for StreamPick {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix('#') {
            Some(number) => {
                number.parse().map(StreamPick::Stream).map_err(|_| "expected #N, or a node".into())
            }
            None => Ok(StreamPick::Node(text.to_owned())),
        }
    }
}

/// A place in a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    Start,
    End,
    /// The first NACK.
    Nack,
    Moment(filter::Moment),
}

impl std::str::FromStr for At {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "start" => Ok(At::Start),
            "end" => Ok(At::End),
            "nack" => Ok(At::Nack),
            text => filter::Moment::parse(text)
                .map(At::Moment)
                .ok_or_else(|| "expected #487, 14:02:08, +30s, a date, start, end or nack".into()),
        }
    }
}

fn ignored(text: &str) -> Result<diff::Pattern, String> {
    diff::Pattern::parse(text).map_err(|(at, why)| format!("{why} at column {}", at + 1))
}

fn bytes(text: &str) -> Result<u64, String> {
    filter::bytes(text).ok_or_else(|| "expected a size such as 512MB".into())
}

/// `ack=5s,answer=15s`: what is left out keeps its default.
fn timers(text: &str) -> Result<lint::Timers, String> {
    let mut timers = lint::Timers::default();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').ok_or("expected NAME=TIME such as ack=5s")?;
        let slot = match name.trim() {
            "ack" => &mut timers.ack,
            "answer" => &mut timers.answer,
            "exist" => &mut timers.exist,
            "warm" => &mut timers.warm,
            other => return Err(format!("no timer `{other}`: ack, answer, exist or warm")),
        };
        *slot = time(value.trim())?;
    }
    Ok(timers)
}

fn speed(text: &str) -> Result<f64, String> {
    let speed = text.trim_end_matches('x').parse().ok().filter(|speed| (0.25..=64.0).contains(speed));
    speed.ok_or_else(|| "expected a number from 0.25 to 64".into())
}

fn time(text: &str) -> Result<Duration, String> {
    filter::duration(text).ok_or_else(|| "expected a time such as 500ms, 10s or 2m".into())
}
