//! Flags of the verbs that read a source, or describe xdscope.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::*;
use xdscope_engine::{diff, lint};
use xdscope_sources::ReplayPosition;
use xdscope_wire::Profile;

/// `replay`: a recording with a time cursor.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("source", |_| {
    clap::Arg::new("source").value_name("SOURCE").index(1).default_value("").hide_default_value(true).help(
        "Recording, capture, script or file; `-` is stdin, a bare name a kept session [default: the last session]",
    )
}))]
pub struct ReplayArgs {
    /// First position of the cursor, or the last row without screens: start, end, nack, #487,
    /// 14:02:08, +30s
    #[arg(long, value_name = "WHEN", default_value = "end", help_heading = "Replay")]
    pub at: ReplayPosition,
    /// Start playing
    #[arg(long, conflicts_with_all = ["no_tui", "format"], help_heading = "Replay")]
    pub play: bool,
    /// Playback speed: 0.25 to 64
    #[arg(long, value_name = "TIMES", default_value_t = 1.0, value_parser = speed, help_heading = "Replay")]
    #[arg(conflicts_with_all = ["no_tui", "format"])]
    pub speed: f64,
    /// Shorten silences to this time
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = time, help_heading = "Replay")]
    #[arg(conflicts_with_all = ["no_tui", "format"])]
    pub idle_limit: Duration,
    /// Follow a file that is still growing
    #[arg(short = 'f', long, help_heading = "Replay")]
    pub follow: bool,
    /// Without screens: print only the last N rows, and with --follow those that come
    #[arg(short = 'n', long, value_name = "N", conflicts_with_all = ["view", "play"], help_heading = "Replay")]
    pub tail: Option<usize>,
    /// Print one line (text) or object (jsonl) per event; text is the default without a terminal
    #[arg(short = 'o', long, value_name = "FORMAT", alias = "output", help_heading = "Replay")]
    #[arg(value_parser = formats(&[Format::Text, Format::Jsonl]))]
    pub format: Option<Format>,
    /// Print one line per event instead of opening screens
    #[arg(long, visible_alias = "headless", help_heading = "Replay")]
    pub no_tui: bool,
    /// Screen to open first
    #[arg(long, value_name = "SCREEN", conflicts_with = "no_tui", help_heading = "Replay")]
    pub view: Option<String>,
    /// Select events that match (`xdscope help filter`)
    #[arg(long, value_name = "EXPR", help_heading = "Replay")]
    pub filter: Option<String>,
    /// Show times of day, or seconds since the start or since the row before
    #[arg(long, value_name = "FORMAT", default_value = "local", help_heading = "Replay")]
    pub time: TimeFormat,
    /// Config dump, CSDS response or admin port (envoy:host:port) to compare with what the client
    /// was sent
    #[arg(long, value_name = "FILE", help_heading = "Replay")]
    pub applied: Option<PathBuf>,
    #[command(flatten)]
    pub screens: ScreenFlags,
    #[command(flatten)]
    pub source: SourceArgs,
}

/// `attach`: a `replay` that follows the session of a run elsewhere.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("source", |arg| arg.value_name("ADDRESS").help(ATTACH_ADDRESS)))]
#[command(mut_arg("follow", |arg| arg.hide(true)))]
pub struct AttachArgs {
    #[command(flatten)]
    pub replay: ReplayArgs,
}

/// Help of the address of a run.
const ATTACH_ADDRESS: &str = "Address of a run with --attach: host:port, https://host:port or unix:/path";

/// `status`: a matrix of nodes and types.
#[derive(Clone, Debug, Args)]
pub struct StatusArgs {
    /// table: the matrix; wide: also versions, nonces and open requests; name: the nodes
    #[arg(short = 'o', long, value_name = "FORMAT", alias = "output", default_value = "table")]
    #[arg(value_parser = formats(&[
        Format::Table, Format::Wide, Format::Text, Format::Json, Format::Jsonl, Format::Yaml, Format::Name,
        Format::Md,
    ]))]
    pub format: Format,
    /// Wait this long for a server, or a growing recording, to be in sync
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub wait: Option<Duration>,
    /// Print again what changes, until it is stopped: of a server, or of a growing recording
    #[arg(short = 'w', long, conflicts_with_all = ["wait", "nodes", "applied"])]
    pub watch: bool,
    /// Position in the recording: #487, 14:02:08, +30s, start, end
    #[arg(long, value_name = "WHEN", default_value = "end", conflicts_with_all = ["wait", "watch"])]
    pub at: ReplayPosition,
    /// With --wait on a recording: require this many nodes, all in sync
    #[arg(long, value_name = "N", requires = "wait")]
    pub nodes: Option<u64>,
    /// Config dump, CSDS response or admin port (envoy:host:port) to compare with what the client
    /// was sent
    #[arg(long, value_name = "FILE")]
    pub applied: Option<PathBuf>,
    /// Edition of the protocol that peers are judged by; a script can set its own
    #[arg(long, value_name = "EDITION", default_value = "current")]
    pub profile: ProfileWord,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub rows: RowArgs,
}

/// `log`: messages, with what answers what.
#[derive(Clone, Debug, Args)]
pub struct LogArgs {
    /// text: rows of at most 100 columns on a terminal; wide: all columns, uncut
    #[arg(short = 'o', long, value_name = "FORMAT", alias = "output", default_value = "text")]
    #[arg(value_parser = formats(&[
        Format::Text, Format::Table, Format::Wide, Format::Json, Format::Jsonl, Format::Yaml, Format::Name,
        Format::Md,
    ]))]
    pub format: Format,
    /// Print only the last N matching rows, and with --follow those that come
    #[arg(short = 'n', long, value_name = "N")]
    pub tail: Option<usize>,
    /// Print only rows of the last 5m (or 30s, 1h) of the recording, and with --follow
    /// those that come
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub since: Option<Duration>,
    /// Stay subscribed to the server, or follow the file, and print what comes
    #[arg(short = 'f', long, conflicts_with_all = ["ladder", "body"])]
    pub follow: bool,
    /// Draw messages between client and server
    #[arg(long, conflicts_with_all = ["body", "format"])]
    pub ladder: bool,
    /// Print the content of each message, and the details of each NACK
    #[arg(long)]
    pub body: bool,
    /// Show times of day, or seconds since the start or since the row before
    #[arg(long, value_name = "FORMAT", default_value = "local")]
    pub time: TimeFormat,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub rows: RowArgs,
}

/// `get`: resources.
#[derive(Clone, Debug, Args)]
pub struct GetArgs {
    /// TYPE, TYPE/NAME or TYPE NAME...: cds, clusters, Cluster, a type URL, cds 're*'; `nodes`:
    /// the clients [default: counts of all types]
    #[arg(value_name = "WHAT", index = 2)]
    pub what: Vec<String>,
    /// table: names and states; yaml, json: content; tree: what each resource refers to
    #[arg(short = 'o', long, value_name = "FORMAT", alias = "output")]
    #[arg(value_parser = formats(&[
        Format::Table, Format::Wide, Format::Text, Format::Name, Format::Tree, Format::Yaml, Format::Json,
        Format::Jsonl, Format::Md,
    ]))]
    pub format: Option<Format>,
    /// Position in the recording: #487, 14:02:08, +30s, start, end
    #[arg(long, value_name = "WHEN", default_value = "end")]
    pub at: ReplayPosition,
    /// Print subscriptions, and which of their names were delivered
    #[arg(long)]
    pub subscriptions: bool,
    /// Print again what changes, until it is stopped: of a server, or of a growing recording
    #[arg(short = 'w', long, conflicts_with_all = ["at", "subscriptions"])]
    pub watch: bool,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub rows: RowArgs,
}

/// `blame`: what a Kubernetes object made.
#[derive(Clone, Debug, Args)]
pub struct BlameArgs {
    /// KIND/NAMESPACE/NAME or KIND NAMESPACE/NAME..., also without the namespace, or a glob such as
    /// 'VirtualService/shop/*' [default: a list of owners]
    #[arg(value_name = "OWNER", index = 2)]
    pub owners: Vec<String>,
    /// table: clients with one state on one line; wide: each client on its own; name: the resources
    #[arg(short = 'o', long, value_name = "FORMAT", alias = "output", default_value = "table")]
    #[arg(value_parser = formats(&[
        Format::Table, Format::Wide, Format::Text, Format::Name, Format::Json, Format::Jsonl, Format::Yaml,
        Format::Md,
    ]))]
    pub format: Format,
    /// Position in the recording: #487, 14:02:08, +30s, start, end
    #[arg(long, value_name = "WHEN", default_value = "end")]
    pub at: ReplayPosition,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub rows: RowArgs,
}

#[derive(Clone, Debug, Args)]
#[command(override_usage = "xdscope diff [OPTIONS] SOURCE TYPE/NAME [V1 [V2]]
       xdscope diff [OPTIONS] SOURCE @T1 [@T2] [TYPE[/NAME]]...
       xdscope diff [OPTIONS] SOURCE OTHER [TYPE[/NAME]]...")]
/// `diff`: versions, moments or sources compared.
pub struct DiffArgs {
    /// TYPE/NAME or TYPE NAME, and versions (41, #487); moments (@14:01:00, @#487, @+30s, @start);
    /// or another source
    #[arg(value_name = "WHAT", index = 2)]
    pub words: Vec<String>,
    /// text: by field path; table: one row per path; json: `change` objects
    #[arg(short = 'o', long, value_name = "FORMAT", alias = "output", default_value = "text")]
    #[arg(value_parser = formats(&[
        Format::Text, Format::Table, Format::Json, Format::Jsonl, Format::Yaml, Format::Md,
    ]))]
    pub format: Format,
    /// Print only how many resources of each type were added, changed and removed
    #[arg(long, conflicts_with_all = ["format", "unified", "side_by_side"])]
    pub stat: bool,
    /// Compare line by line, removed before added
    #[arg(long, conflicts_with_all = ["format", "side_by_side"])]
    pub unified: bool,
    /// Compare line by line, in two columns
    #[arg(long, conflicts_with = "format")]
    pub side_by_side: bool,
    /// Ignore a field and all below it: connect_timeout, virtual_hosts[name=shop].routes,
    /// **.metadata
    #[arg(long, value_name = "PATH", value_parser = diff::IgnorePattern::parse)]
    pub ignore: Vec<diff::IgnorePattern>,
    /// Treat a new order of a keyed list as a change (as for filters and routes)
    #[arg(long)]
    pub strict_order: bool,
    #[command(flatten)]
    pub streams: StreamFlags,
    /// Print no column titles
    #[arg(long)]
    pub no_headers: bool,
    #[command(flatten)]
    pub source: SourceArgs,
}

/// `lint`: findings.
#[derive(Clone, Debug, Args)]
pub struct LintArgs {
    /// Recording, raw JSONL, script, file with a response, or bootstrap; `-` is stdin, a bare name
    /// a kept session
    #[arg(value_name = "SOURCE", value_parser = source)]
    #[arg(required_unless_present_any = ["list_rules", "bootstrap"])]
    pub source: Option<String>,
    /// text: findings with one cause on one line; wide: each on its own; json or jsonl; sarif,
    /// junit or github for tools that read them
    #[arg(short = 'o', long, value_name = "FORMAT", alias = "output", default_value = "text")]
    #[arg(value_parser = FormatParser::with_columns(LintFormat::value_variants(), LintFormat::Columns))]
    pub format: LintFormat,
    /// Check only this rule, or the rules that match a glob such as 'delta-*'; repeatable
    #[arg(long, value_name = "RULE")]
    pub rule: Vec<String>,
    /// Print findings of this severity or worse
    #[arg(long, value_name = "SEVERITY", default_value = "info")]
    pub severity: SeverityWord,
    /// Exit with 1 if there is a finding of this severity or worse; never: print only
    #[arg(long, value_name = "SEVERITY", default_value = "warn")]
    pub fail_on: FailOn,
    /// Edition of the protocol that peers are judged by; a script can set its own
    #[arg(long, value_name = "EDITION", default_value = "current")]
    pub profile: ProfileWord,
    /// Timeouts of rules: ack=5s,answer=15s,exist=15s,warm=15s
    #[arg(long, value_name = "NAME=TIME,…", default_value = "", value_parser = timers, hide_default_value = true)]
    pub timers: lint::Timers,
    /// Position in the recording: #487, 14:02:08, +30s, start, end
    #[arg(long, value_name = "WHEN", default_value = "end", conflicts_with_all = ["list_rules", "expect"])]
    pub at: ReplayPosition,
    /// Print the rules; needs no SOURCE
    #[arg(long)]
    pub list_rules: bool,
    /// Check the `expect` lines of an arrow script instead; --fail-on has no effect
    #[arg(long, conflicts_with_all = ["rule", "list_rules"])]
    pub expect: bool,
    #[command(flatten)]
    pub streams: StreamFlags,
    /// Print no column titles
    #[arg(long)]
    pub no_headers: bool,
    #[command(flatten)]
    pub client: ClientFlags,
    #[command(flatten)]
    pub limits: TimerFlags,
    #[command(flatten)]
    pub descriptors: DescriptorFlags,
}

/// Formats of `lint`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LintFormat {
    Text,
    Wide,
    Json,
    Jsonl,
    Sarif,
    Junit,
    Github,
    Md,
    /// `custom-columns=SPEC`: JSON objects as rows.
    #[value(skip)]
    Columns(&'static CustomColumns),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SeverityWord {
    Error,
    Warn,
    Info,
}

/// The findings that fail a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    Error,
    Warn,
    Info,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProfileWord {
    Current,
    #[value(name = "003")]
    P003,
    #[value(name = "002")]
    P002,
}

impl ProfileWord {
    /// Returns the edition; `None` for the current one, which is the default.
    pub fn edition(self) -> Option<Profile> {
        match self {
            ProfileWord::Current => None,
            ProfileWord::P003 => Some(Profile::P003),
            ProfileWord::P002 => Some(Profile::P002),
        }
    }
}

/// `report`: a source as one HTML page.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("keep_secrets", |arg| arg.hide(true)))]
pub struct ReportArgs {
    /// File to write; `-` is stdout, also the default unless stdout is a terminal
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite the file that --output names
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub streams: StreamFlags,
    #[command(flatten)]
    pub source: SourceArgs,
}

/// `picture`: a screen as SVG or text.
#[derive(Clone, Debug, Args)]
pub struct PictureArgs {
    /// Screen to draw: overview, stream, timeline, resources, diff, nack, subs, graph, lint, hold
    #[arg(long, value_name = "SCREEN", default_value = "overview")]
    pub screen: String,
    /// Columns and rows of the terminal
    #[arg(long, value_name = "COLUMNSxROWS", default_value = "120x36", value_parser = screen_size)]
    pub size: (u16, u16),
    /// Colour theme; [themes.NAME] in config.toml adds themes
    #[arg(long, value_name = "THEME", default_value = "dark")]
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(xdscope_tui::Themes::BUILT_IN.map(|(name, _)| name)))]
    pub theme: String,
    /// Position in the recording: #487, 14:02:08, +30s, start, end, nack
    #[arg(long, value_name = "WHEN", default_value = "end")]
    pub at: ReplayPosition,
    /// Keys to type before the picture is taken (`xdscope help keys`); `<Enter>`, `<Tab>`, `<Esc>`
    #[arg(long, value_name = "KEYS", default_value = "", hide_default_value = true)]
    pub keys: String,
    /// svg or text [default: by the ending of --output, else text]
    #[arg(short = 'o', long, value_name = "FORMAT")]
    pub format: Option<PictureFormat>,
    /// File to write [default: stdout]
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite the file that --output names
    #[arg(long)]
    pub force: bool,
    /// Show times of day, or seconds since the start or since the row before
    #[arg(long, value_name = "FORMAT", default_value = "local")]
    pub time: TimeFormat,
    #[command(flatten)]
    pub source: SourceArgs,
}

/// `sessions`: the recordings of the state folder.
#[derive(Clone, Debug, Args)]
pub struct SessionsArgs {
    #[command(subcommand)]
    pub verb: Option<SessionsVerb>,
    /// table, json or jsonl; name: the names alone
    #[arg(short = 'o', long, value_name = "FORMAT", alias = "output", default_value = "table")]
    #[arg(value_parser = formats(&[Format::Table, Format::Json, Format::Jsonl, Format::Name, Format::Md]))]
    pub format: Format,
    /// List at most N sessions, the last ones; 0: all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    pub tail: usize,
    /// Print no column titles
    #[arg(long)]
    pub no_headers: bool,
}

/// Verbs of `sessions`.
#[derive(Clone, Debug, Subcommand)]
pub enum SessionsVerb {
    /// Give a session a name; named sessions are never removed to make room
    #[command(visible_alias = "rename")]
    Name {
        /// Session, or `last`
        session: String,
        /// New name, without a folder
        name: String,
    },
    /// Open a session with a time cursor, like `replay`
    Open {
        /// Session, or `last`
        #[arg(default_value = "last", hide_default_value = true)]
        session: String,
        #[command(flatten)]
        screens: ScreenFlags,
    },
    /// Remove sessions
    #[command(visible_alias = "rm")]
    Remove {
        /// Sessions, `last`, or globs such as 'session-2026*'
        #[arg(required = true)]
        sessions: Vec<String>,
        /// Remove without asking
        #[arg(short = 'y', long)]
        yes: bool,
    },
}

/// `export`: a source in another format.
#[derive(Clone, Debug, Args)]
pub struct ExportArgs {
    /// raw: JSON lines with bytes; jsonl: objects of `log` with bodies; script, xdsrec; dot,
    /// mermaid: graph of a client; dir: a file for each resource; bootstrap: a static Envoy
    /// bootstrap; md: a bug report about a problem; parquet: tables for `fleet`
    #[arg(long, value_name = "FORMAT")]
    pub to: ExportTo,
    /// With --to parquet: more recordings, or folders of them
    #[arg(value_name = "MORE", index = 2, value_parser = source)]
    pub more: Vec<String>,
    /// File to write, or directory for `dir` and `parquet` [default: stdout]
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite the file that --output names
    #[arg(long)]
    pub force: bool,
    /// Select messages that match (`xdscope help filter`)
    #[arg(long, value_name = "EXPR")]
    pub filter: Option<String>,
    #[command(flatten)]
    pub streams: StreamFlags,
    /// First message: #487, 14:02:08, +30s
    #[arg(long, value_name = "WHEN", default_value = "start")]
    pub from: ReplayPosition,
    /// Last message
    #[arg(long, value_name = "WHEN", default_value = "end")]
    pub until: ReplayPosition,
    /// With --to md: number of the problem in the list of `status` [default: 1, the worst]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub problem: Option<u32>,
    /// With --to parquet: name of the tap [default: what it listened on, and its upstream]
    #[arg(long, value_name = "NAME")]
    pub tap: Option<String>,
    #[command(flatten)]
    pub source: SourceArgs,
}

/// `fleet`: questions about the tables of many taps.
#[derive(Clone, Debug, Args)]
pub struct FleetArgs {
    /// Query; without one, the queries are listed
    #[arg(value_name = "QUERY")]
    pub query: Option<String>,
    /// Folder or bucket with the tables of `export --to parquet`
    #[arg(value_name = "DIR", default_value = ".")]
    pub dir: String,
    /// Condition such as node=edge-*, or a value that the query needs; repeatable
    #[arg(long = "where", value_name = "KEY=VALUE", requires = "query")]
    pub conditions: Vec<String>,
    /// Run the query with `duckdb`, and print its rows; else print the SQL
    #[arg(long, requires = "query")]
    pub run: bool,
    /// With --run: format of the rows
    #[arg(short = 'o', long, value_name = "FORMAT", alias = "output", default_value = "table")]
    #[arg(value_parser = formats(&[Format::Table, Format::Json, Format::Md]), requires = "run")]
    pub format: Format,
}

/// `redact`: a copy of a source without its secrets.
#[derive(Clone, Debug, Args)]
pub struct RedactArgs {
    /// File to write, in the format of SOURCE: a recording or raw JSONL
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
    /// Overwrite the recording that --output names
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub source: SourceArgs,
}

/// `info`: a summary of a file.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("node_file", |arg| arg.alias("node")))]
pub struct InfoArgs {
    #[arg(short = 'o', long, value_name = "FORMAT", alias = "output", default_value = "text")]
    #[arg(value_parser = formats(&[Format::Text, Format::Json, Format::Jsonl, Format::Yaml]))]
    pub format: Format,
    #[command(flatten)]
    pub source: SourceArgs,
}

/// `explain`: documentation of one word.
#[derive(Clone, Debug, Args)]
pub struct ExplainArgs {
    /// Field (Cluster.connect_timeout), message, lint rule (nonce-unknown), state (stale), kind
    /// (resend), class (newest_nonce), rule of the protocol (e-07), or quoted line of a log
    pub word: String,
    #[command(flatten)]
    pub descriptors: DescriptorFlags,
}

/// `descriptors`: what decodes resources.
#[derive(Clone, Debug, Args)]
pub struct DescriptorsArgs {
    #[command(subcommand)]
    pub verb: DescriptorsVerb,
}

/// Verbs of `descriptors`.
#[derive(Clone, Debug, Subcommand)]
pub enum DescriptorsVerb {
    /// List loaded messages, and where they come from
    List {
        #[command(flatten)]
        descriptors: DescriptorFlags,
        /// Select names that contain this
        #[arg(value_name = "TEXT")]
        containing: Option<String>,
    },
    /// Write all loaded descriptors as one set, for --protoset
    Build {
        /// File to write
        #[arg(long, short_alias = 'o', value_name = "FILE")]
        output: PathBuf,
        /// Overwrite the file that --output names
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        descriptors: DescriptorFlags,
    },
    /// List the types of a source that cannot be decoded
    Check {
        #[command(flatten)]
        source: Box<SourceArgs>,
    },
}

/// `completions`: a script for a shell.
#[derive(Clone, Debug, Args)]
pub struct CompletionsArgs {
    pub shell: clap_complete::Shell,
}

/// `man`: manual pages.
#[derive(Clone, Debug, Args)]
pub struct ManArgs {
    /// Directory for a page of the program and one of each verb [default: one page to stdout]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// `doctor`: the terminal, all settings, and a server.
///
/// Takes every flag that can be preset, to print the value of each.
#[derive(Clone, Debug, Args)]
pub struct DoctorArgs {
    /// Server to check: name, port, TLS, HTTP/2, variants, reflection
    #[arg(value_name = "SERVER", value_parser = source)]
    pub server: Option<String>,
    /// Node id to send to the server
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
    #[arg(short = 'o', long, value_name = "FORMAT", alias = "output", default_value = "text")]
    #[arg(value_parser = formats(&[Format::Text, Format::Json, Format::Jsonl]))]
    pub format: Format,
    /// Show times of day, or seconds since the start or since the row before
    #[arg(long, value_name = "FORMAT", default_value = "local", help_heading = "Settings")]
    pub time: TimeFormat,
    /// Timeout of a connection to the control plane
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time, help_heading = "Settings")]
    pub connect_timeout: Duration,
    #[command(flatten)]
    pub screens: ScreenFlags,
    #[command(flatten)]
    pub timers: TimerFlags,
}

/// `help`: help about a verb or a topic.
#[derive(Clone, Debug, Args)]
pub struct HelpArgs {
    /// Verb or topic
    pub topic: Option<String>,
}
